//! Webhooks: what is read, and what is refused.

use super::test_directories::TestDirectories;
use crate::domain::messaging::Audience;

/// Asserts the whole error about the user's own file.
#[track_caller]
fn check_refused(text: &str, expected: &str) {
    let error = TestDirectories::new().user(text).error();
    let (_, error) = error.split_once("config.toml:").expect("it has a place");
    assert_eq!(error, expected);
}

#[test]
fn a_webhook_has_a_url_and_the_address_of_its_messages() {
    let place = TestDirectories::new()
        .user(
            "[webhooks.ci]\nurl = \"https://ci.example/hook\"\nto = \"#builds\"\nsecret_env = \"KEY\"\n\
             [webhooks.ann]\nurl = \"http://127.0.0.1:1/\"\nto = \"ann\"",
        )
        .explicit("[webhooks.ann]\nurl = \"http://127.0.0.1:2/\"\nto = \"all\"");
    let config = place.load().unwrap();
    let [ci, ann] = config.webhooks() else { panic!("{:?}", config.webhooks()) };
    assert_eq!((ci.name.as_str(), ci.url.as_str()), ("ci", "https://ci.example/hook"));
    assert_eq!((ci.to.to_string().as_str(), ci.secret_env.as_deref()), ("#builds", Some("KEY")));
    // The later one counts as a whole.
    assert_eq!((ann.url.as_str(), &ann.to), ("http://127.0.0.1:2/", &Audience::All));
}

#[test]
fn a_webhook_without_its_url_or_its_address_is_refused_with_its_place() {
    check_refused(
        "\n[webhooks.ci]\nto = \"ann\"",
        "2:11: the webhook `ci` has no `url`: set where its messages go",
    );
    check_refused(
        "[webhooks.ci]\nurl = \"https://ci.example\"",
        "1:11: the webhook `ci` has no `to`: set an address such as \"#releases\" or the name of a member",
    );
    check_refused(
        "[webhooks.ci]\nurl = \"ftp://x\"\nto = \"ann\"",
        "2:7: `url` of [webhooks.ci] must be a URL that begins with https:// or http://",
    );
    check_refused(
        "[webhooks.ci]\nurl = \"https://x\"\nto = \"two words\"",
        "3:6: `to` of [webhooks.ci] is \"two words\": it must be the name of a member, `@word`, `#topic`, `all` or `human`",
    );
    check_refused(
        "[webhooks.ci]\nurl = \"https://x\"\nto = \"s7\"",
        "3:6: `to` of [webhooks.ci] is \"s7\": it must be the name of a member, `@word`, `#topic`, `all` or `human`",
    );
    check_refused(
        "[webhooks.ci]\nurl = \"https://x\"\nto = \"ann\"\nsecret = \"x\"",
        "4:1: unknown key `secret` in [webhooks.ci]: did you mean `secret_env`?",
    );
    check_refused(
        "[webhooks.\"two words\"]\nurl = \"https://x\"\nto = \"ann\"",
        "1:11: invalid name of a webhook: \"two words\" is no word",
    );
    check_refused(
        "[webhooks]\nurl = \"https://x\"\nto = \"ann\"\nsecret_env = \"KEY\"",
        "2:1: `[webhooks]` has a webhook without a name: name it, as in [webhooks.NAME]",
    );
}

#[test]
fn a_repository_names_no_webhook() {
    let text = "[webhooks.ci]\nurl = \"https://x\"\nto = \"all\"";
    let error = TestDirectories::new().project(text).error();
    assert!(
        error.ends_with("`[webhooks]` is yours alone: put it in your own `config.toml`"),
        "{error}"
    );
}
