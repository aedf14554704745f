//! `[top.keys]` of real files.

use super::test_directories::TestDirectories;
use crate::config::window_keys::{KeyAction, KeyPress};

#[test]
fn a_users_file_binds_keys_and_takes_them_from_their_default_action() {
    let config =
        TestDirectories::new().user("[top.keys]\nkill = [\"x\", \"ctrl-k\"]\nquit = \"Q\"\n");
    let keys = config.load().unwrap().window_keys().clone();
    assert_eq!(keys.action(KeyPress::Letter('x')), Some(KeyAction::Kill));
    assert_eq!(keys.action(KeyPress::Control('k')), Some(KeyAction::Kill));
    assert_eq!(keys.action(KeyPress::Letter('K')), None);
    assert_eq!(keys.action(KeyPress::Letter('q')), None);
    assert_eq!(keys.keys_of(KeyAction::Cancel), []);
    assert_eq!(keys.keys_of(KeyAction::Up), [KeyPress::Up, KeyPress::Letter('k')]);
}

#[test]
fn a_bad_binding_is_refused_with_its_line() {
    for (text, problem) in [
        ("[top.keys]\n\nkil = \"x\"", ":3:1: unknown key `kil` in [top.keys]"),
        (
            "[top.keys]\nkill = \"ctrl-K\"",
            ":2:8: `kill` of [top.keys] names no key with \"ctrl-K\"",
        ),
        (
            "[top.keys]\nkill = \"esc\"",
            ":2:8: `kill` of [top.keys] is esc, which has a fixed meaning",
        ),
        (
            "[top.keys]\nkill = \"z\"\nquit = \"z\"",
            ":3:8: `quit` of [top.keys] is z, which is already bound to `kill`",
        ),
        ("[top.keys]\nkill = []", ":2:8: `kill` of [top.keys] must name 1 to 8 keys"),
        ("[top.keys]\nkill = 3", "must be the name of a key, or a list of names, not an integer"),
        ("[top]\nmouse = true", "unknown key `mouse` in [top]"),
    ] {
        let error = TestDirectories::new().user(text).error();
        assert!(error.contains(problem), "{text}: {error}");
    }
}

#[test]
fn a_project_cannot_bind_keys() {
    let error = TestDirectories::new().project("[top.keys]\nkill = \"a\"").error();
    assert!(error.contains(":1:2: `top` counts only in your own config.toml"), "{error}");
}
