//! Other projects: what is read, and what is refused.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::test_directories::TestDirectories;

/// Asserts the whole error about the user's own file.
#[track_caller]
fn check_refused(text: &str, expected: &str) {
    let error = TestDirectories::new().user(text).error();
    let (_, error) = error.split_once("config.toml:").expect("it has a place");
    assert_eq!(error, expected);
}

#[test]
fn a_project_is_a_tag_with_a_directory() {
    let place = TestDirectories::new()
        .user("[projects]\nweb = \"/src/web\"\npo = \"~/src/po\"")
        .explicit("[projects]\nWEB = \"/src/web-2\"");
    let config = place.load().unwrap();
    let [po, web] = config.projects() else { panic!("{:?}", config.projects()) };
    assert_eq!((po.tag.as_str(), web.tag.as_str()), ("po", "WEB"));
    assert_eq!(po.directory(Some(Path::new("/home/ann"))), Some("/home/ann/src/po".into()));
    assert_eq!(po.directory(None), None);
    // The later one counts, and the case of a tag does not.
    assert_eq!(web.directory(None), Some(PathBuf::from("/src/web-2")));
}

#[test]
fn what_is_no_tag_or_no_directory_is_refused_with_its_place() {
    check_refused(
        "\n[projects]\n\"two words\" = \"/x\"",
        "3:1: invalid tag of a project: \"two words\" is no word",
    );
    check_refused(
        "[projects]\nhuman = \"/x\"",
        "2:1: invalid tag of a project: \"human\" is no word",
    );
    check_refused(
        "[projects]\nweb = \"src/web\"",
        "2:7: `web` of [projects] is \"src/web\": it must be the project's directory, absolute or from `~/` on",
    );
    let error = TestDirectories::new().user("[projects]\nweb = 7").error();
    assert!(error.contains("`web` of [projects] must be"), "{error}");
    let mut many = "[projects]\n".to_owned();
    for number in 0..=32 {
        writeln!(many, "p-{number} = \"/p\"").unwrap();
    }
    let error = TestDirectories::new().user(&many).error();
    assert!(error.ends_with("`projects` has more than 32 of them, the limit"), "{error}");
}

#[test]
fn a_repository_names_no_project() {
    let error = TestDirectories::new().project("[projects]\nweb = \"/src/web\"").error();
    assert!(
        error.ends_with("`[projects]` is yours alone: put it in your own `config.toml`"),
        "{error}"
    );
}

#[test]
fn the_server_of_a_new_bus_is_named_by_the_user_alone() {
    let place =
        TestDirectories::new().user("bus = \"postgres://bridge@db/agents\"\nteam = \"shop\"");
    let config = place.load().unwrap();
    assert_eq!(config.bus_of_new().server.as_deref(), Some("postgres://bridge@db/agents"));
    assert_eq!(config.bus_of_new().team.as_deref(), Some("shop"));
    let place = TestDirectories::new()
        .user("bus = \"postgres://bridge@db/agents\"")
        .explicit("bus = \"files\"");
    assert_eq!(place.load().unwrap().bus_of_new().server, None);
    for key in ["bus", "team"] {
        let text = format!("{key} = \"x\"");
        let error = TestDirectories::new().project(&text).error();
        let why = format!("`{key}` is yours alone: put it in your own `config.toml`");
        assert!(error.ends_with(&why), "{error}");
    }
}
