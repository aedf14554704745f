//! Every error about an invalid file, in full.

use std::fs;
use std::path::PathBuf;

use super::test_directories::TestDirectories;

/// Asserts the whole error about a project's file.
#[track_caller]
fn check_refused(text: &str, expected: &str) {
    let expected = expected.replace('@', "project/.claude/bridge.toml:");
    assert_eq!(TestDirectories::new().project(text).error(), expected);
}

#[test]
fn of_very_many_problems_the_first_are_listed_and_the_others_counted() {
    let lines: Vec<_> = (0..1_000).map(|number| format!("x{number} = 0\n")).collect();
    let text = lines.concat();
    let error = TestDirectories::new().project(&text).error();
    assert_eq!(error.matches("unknown key").count(), 20, "{error}");
    assert!(error.contains("bridge.toml:20:1: unknown key `x19`"), "{error}");
    assert!(error.ends_with(":21:1: 980 more problems in this file, not listed here"), "{error}");
}

#[test]
fn an_unknown_key_is_refused_with_its_place_and_the_nearest_one() {
    check_refused(
        "[agents.a]\n  comand = \"x\"",
        "@2:3: unknown key `comand` in [agents.a]: did you mean `command`?",
    );
    check_refused(
        "[agents.a]\ncommand = \"x\"\nzzz = 1",
        "@3:1: unknown key `zzz` in [agents.a]: the keys here are `command`, `args`, `env`, `env_pass`, \
         `permissions`, `permission_seconds`, `guarded`, `file_system`, `start_seconds`, `roles`, `lane`, `capabilities`, `topics`, `default_model`, `mode`, `modes`, \
         `restart`, `install`, `login`, `settle_ms`, `one_session`, `user_entry_wins`, `mid_turn`, `interrupt`, `tool_prefix`, `result_bytes` and `prompt_bytes`",
    );
    for part in ["/etc", "../x", "a//b", "a/", "./a"] {
        check_refused(
            &format!("[agents.a]\ncommand = \"x\"\nguarded = [\"ok\", {part:?}]"),
            &format!(
                "@3:18: `guarded` of [agents.a] has `{part}`: it must be a path inside the \
                 project: names separated by `/`"
            ),
        );
    }
    check_refused("[agent.a]", "@1:2: unknown key `agent` in the file: did you mean `agents`?");
    check_refused(
        "[workflows]\nresume = \"soon\"",
        "@2:10: `resume` of [workflows] is \"soon\": it must be \"ask\" or \"auto\"",
    );
    check_refused(
        "[workflows]\nresum = \"auto\"",
        "@2:1: unknown key `resum` in [workflows]: did you mean `resume`?",
    );
    check_refused(
        "x = 1",
        "@1:1: unknown key `x` in the file: the keys here are `agents`, `bus`, `conflict`, `limits`, `names`, `notify`, `projects`, `team`, `top`, `webhooks` and `workflows`",
    );
    check_refused(
        "\"a\\nb\" = 1",
        "@1:1: unknown key `a\\nb` in the file: the keys here are `agents`, `bus`, `conflict`, `limits`, `names`, `notify`, `projects`, `team`, `top`, `webhooks` and `workflows`",
    );
}

#[test]
fn modes_are_named_for_policies_and_beside_a_mode() {
    check_refused(
        "[agents.a]\ncommand = \"x\"\nmode = \"m\"\nmodes = { alow = \"n\" }",
        "@4:11: unknown key `alow` in `modes` of [agents.a]: did you mean `allow`?",
    );
    check_refused(
        "[agents.a]\ncommand = \"x\"\nmode = \"m\"\nmodes = { ask = 1 }",
        "@4:17: `modes.ask` of [agents.a] must be a string, not an integer",
    );
    check_refused(
        "[agents.a]\ncommand = \"x\"\nmodes = { ask = \"n\" }",
        "@1:9: the profile `a` sets `modes` without `mode`: set `mode` for the policies that `modes` leaves out",
    );
}

#[test]
fn a_tool_prefix_has_only_the_characters_of_a_name() {
    for prefix in ["a b", "`", "a;b", &"a".repeat(25)] {
        check_refused(
            &format!("[agents.a]\ncommand = \"x\"\ntool_prefix = \"{prefix}\""),
            &format!(
                "@3:15: `tool_prefix` of [agents.a] is `{prefix}`: it must be at most 24 letters, digits, `_`, `-`, `.` or `/`"
            ),
        );
    }
}

#[test]
fn a_limit_is_a_number_that_makes_sense() {
    check_refused(
        "[limits]\nagent = 3",
        "@2:1: unknown key `agent` in [limits]: did you mean `agents`?",
    );
    check_refused("[limits]\nagents = 0", "@2:10: `agents` of [limits] is 0: it must be 1 to 1000");
    check_refused(
        "[limits]\nqueued_tasks = 101",
        "@2:16: `queued_tasks` of [limits] is 101: it must be 1 to 100",
    );
    check_refused(
        "[limits]\nunread = -1",
        "@2:10: `unread` of [limits] is -1: it must be 1 to 100000",
    );
    check_refused(
        "[limits]\nstall_seconds = \"300\"",
        "@2:17: `stall_seconds` of [limits] must be an integer, not a string",
    );
    check_refused(
        "[limits]\nallow_network_file_system = 1",
        "@2:29: `allow_network_file_system` of [limits] must be a boolean, not an integer",
    );
    check_refused(
        "[agents.a]\ncommand = \"x\"\nrestart = \"always\"",
        "@3:11: `restart` of [agents.a] is `always`: the choices are `never` and `on_failure`",
    );
}

#[test]
fn a_column_counts_characters() {
    check_refused(
        "agents.a = { command = \"ä€😀\", arg = [] }",
        "@1:31: unknown key `arg` in [agents.a]: did you mean `args`?",
    );
}

#[test]
fn a_wrong_type_is_named_with_its_line() {
    for (line, expected) in [
        ("command = 1", "2:11: `command` of [agents.a] must be a string, not an integer"),
        ("args = \"x\"", "2:8: `args` of [agents.a] must be an array of strings, not a string"),
        (
            "args = [\"x\", 1.5]",
            "2:14: each element of `args` of [agents.a] must be a string, not a float",
        ),
        ("env = [\"A=1\"]", "2:7: `env` of [agents.a] must be a table, not an array"),
        ("env = { PORT = 80 }", "2:16: `env.PORT` of [agents.a] must be a string, not an integer"),
        (
            "env_pass = true",
            "2:12: `env_pass` of [agents.a] must be an array of strings, not a boolean",
        ),
        (
            "permissions = 2020-01-01",
            "2:15: `permissions` of [agents.a] must be a string, not a date or time",
        ),
        ("roles = {}", "2:9: `roles` of [agents.a] must be an array of strings, not a table"),
        (
            "default_model = 4",
            "2:17: `default_model` of [agents.a] must be a string, not an integer",
        ),
    ] {
        check_refused(&format!("[agents.a]\n{line}"), &format!("@{expected}"));
    }
    check_refused("agents = []", "@1:10: `agents` must be a table, not an array");
    check_refused("agents.a = \"node\"", "@1:12: `agents.a` must be a table, not a string");
}

#[test]
fn a_value_out_of_its_bounds_is_refused() {
    for (line, expected) in [
        ("command = \" \"", "2:11: `command` of [agents.a] is empty: set it, or leave it out"),
        (
            "command = \"a\\u0000\"",
            "2:11: `command` of [agents.a] must not contain a NUL character",
        ),
        (
            "command = \"bin/agent\"",
            "2:11: `command` of [agents.a] is `bin/agent`: it must be a program on PATH, an absolute path or `$self`",
        ),
        (
            "command = \"$HOME\"",
            "2:11: `command` of [agents.a] is `$HOME`: it must be a program on PATH, an absolute path or `$self`",
        ),
        (
            "env = { \"A=B\" = \"\" }",
            "2:9: `env` of [agents.a] cannot set `A=B`: it is not the name of a variable",
        ),
        (
            "env_pass = [\"A=B\"]",
            "2:13: `env_pass` of [agents.a] has `A=B`: it must be the name of a variable, without `=`",
        ),
        (
            "env_pass = [\"A*B\"]",
            "2:13: `env_pass` of [agents.a] has `A*B`: a `*` is allowed only at its beginning or \
                end",
        ),
        (
            "env_pass = [\"BRIDGE_*\"]",
            "2:13: `env_pass` of [agents.a] has `BRIDGE_*`: a variable of the bridge itself must \
             be named in full, such as `BRIDGE_SCRIPT`",
        ),
        (
            "permissions = \"alow\"",
            "2:15: `permissions` of [agents.a] is `alow`: did you mean `allow`?",
        ),
        (
            "permissions = \"yes\"",
            "2:15: `permissions` of [agents.a] is `yes`: the choices are `allow`, `rules`, `ask` and `deny`",
        ),
        (
            "roles = [\"\"]",
            "2:10: each element of `roles` of [agents.a]: \"\" is not a word: use 1 to 64 of the characters A-Z a-z 0-9 . _ - and begin with a letter or digit; the words all, human, bridge, you, and s with a number have a meaning of their own",
        ),
        ("mode = \"\"", "2:8: `mode` of [agents.a] is empty: set it, or leave it out"),
        (
            "default_model = \"\"",
            "2:17: `default_model` of [agents.a] is empty: set it, or leave it out",
        ),
        (
            "settle_ms = \"soon\"",
            "2:13: `settle_ms` of [agents.a] must be an integer, not a string",
        ),
        ("one_session = 1", "2:15: `one_session` of [agents.a] must be a boolean, not an integer"),
        (
            "mid_turn = \"stear\"",
            "2:12: `mid_turn` of [agents.a] is `stear`: did you mean `steer`?",
        ),
        ("settle_ms = -1", "2:13: `settle_ms` of [agents.a] is -1: it must be 0 to 10000"),
    ] {
        check_refused(&format!("[agents.a]\n{line}"), &format!("@{expected}"));
    }
}

#[test]
fn a_profile_without_a_command_is_refused_by_its_name() {
    check_refused(
        "\n[agents.reviewer]\nargs = []",
        "@2:9: the profile `reviewer` has no `command`: name a program on PATH, an absolute path or `$self`",
    );
    check_refused(
        "[agents.scriptd]\ndefault_model = \"x\"",
        "@1:9: the profile `scriptd` has no `command`: name a program on PATH, an absolute path or `$self`, \
         or did you mean the profile `scripted`?",
    );
}

#[test]
fn a_profile_is_named_like_a_member() {
    check_refused(
        "[agents.ALL]",
        "@1:9: invalid profile name: `ALL` is reserved: choose another name",
    );
    check_refused(
        "[agents.s12]",
        "@1:9: invalid profile name: `s12` is reserved: choose another name",
    );
    check_refused(
        "[agents.\"a b\"]",
        "@1:9: invalid profile name: \"a b\" is not a valid name: use 1 to 64 of the characters A-Z a-z 0-9 . _ - \
         and begin with a letter or digit",
    );
    check_refused(
        "[agents.one]\ncommand = \"x\"\n[agents.One]\ncommand = \"y\"",
        "@3:9: the profile `One` already exists as `one`: names that differ only in case are the same",
    );
}

#[test]
fn a_syntax_error_is_refused_with_its_place() {
    check_refused(
        "[agents.a]\ncommand = my-agent",
        "@2:11: this is not TOML: string values must be quoted, expected literal string",
    );
    check_refused(
        "[agents.a]\ncommand = \"x\"\ncommand = \"y\"",
        "@3:1: this is not TOML: duplicate key",
    );
    check_refused("[agents.a", "@1:10: this is not TOML: unclosed table, expected `]`");
}

#[test]
fn all_problems_of_all_files_are_reported_at_once_in_order() {
    let place = TestDirectories::new()
        .user("x = 1")
        .project("[agents.b]\nzzz = 1\n[agents.a]\ncomand = \"x\"\nargs = 1\n[yyy]")
        .explicit("=");
    assert_eq!(
        place.error().lines().map(|line| line.split(": ").next().unwrap()).collect::<Vec<_>>(),
        [
            "home/.config/cli-team-bridge/config.toml:1:1",
            "project/.claude/bridge.toml:2:1",
            "project/.claude/bridge.toml:4:1",
            "project/.claude/bridge.toml:5:8",
            "project/.claude/bridge.toml:6:2",
            "explicit.toml:1:1",
        ]
    );
}

#[test]
fn the_file_that_was_named_must_exist() {
    let mut place = TestDirectories::new();
    place.explicit = Some(place.path("missing.toml"));
    assert_eq!(
        place.error(),
        "the configuration file `missing.toml` does not exist: correct --config or leave it out"
    );
}

#[test]
fn a_directory_a_device_or_an_oversized_or_binary_file_is_refused() {
    let place = TestDirectories::new();
    fs::create_dir_all(place.path("project/.claude/bridge.toml")).unwrap();
    assert_eq!(
        place.error(),
        "`project/.claude/bridge.toml` is a directory, not a configuration file: name a regular TOML file"
    );

    let mut place = TestDirectories::new();
    place.explicit = Some(PathBuf::from("/dev/null"));
    assert_eq!(
        place.error(),
        "`/dev/null` is a pipe or a device, not a configuration file: name a regular TOML file"
    );

    let largest = "#".repeat(1_048_576);
    assert!(TestDirectories::new().project(&largest).load().is_ok());
    assert_eq!(
        TestDirectories::new().project(&(largest + "#")).error(),
        "`project/.claude/bridge.toml` is larger than 1048576 bytes, the limit for a configuration file: \
         it is probably another kind of file"
    );

    let place = TestDirectories::new();
    place.write("project/.claude/bridge.toml", b"# one\n# two \xff\n");
    assert_eq!(
        place.error(),
        "project/.claude/bridge.toml:2: this line is not valid UTF-8: save the file as UTF-8"
    );
}

#[test]
fn an_unreadable_file_is_reported_with_the_reason() {
    let place = TestDirectories::new();
    let path = place.path("project/.claude/bridge.toml");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&path, &path).unwrap();
    let error = place.error();
    assert!(
        error.starts_with(
            "cannot read the configuration file `project/.claude/bridge.toml`: Too many levels"
        ),
        "{error}"
    );
}

#[test]
fn texts_and_lists_of_a_profile_are_limited() {
    let place = "[agents.a]\ncommand = \"x\"\n";
    let long = "y".repeat(900_000);
    check_refused(
        &format!("{place}roles = [\"ok\", \"{long}\"]"),
        "@3:16: each element of `roles` of [agents.a] has 900000 bytes; the limit is 131072",
    );
    let many = vec!["\"r\""; 33].join(",");
    check_refused(
        &format!("{place}roles = [{many}]"),
        "@3:9: `roles` of [agents.a] has 33 elements; the limit is 32",
    );
    let many: Vec<String> = (0..=200).map(|number| format!("[agents.a{number}]\n")).collect();
    check_refused(&many.concat(), "@201:9: `agents` has more than 200 profiles, the limit");
    check_refused(
        &format!("{place}roles = [\"reads code\"]"),
        "@3:10: each element of `roles` of [agents.a]: \"reads code\" is not a word: use 1 to 64 of the characters A-Z a-z 0-9 . _ - and begin with a letter or digit; the words all, human, bridge, you, and s with a number have a meaning of their own",
    );
    for key in ["default_model", "mode"] {
        check_refused(
            &format!("{place}{key} = \"{long}\""),
            &format!(
                "@3:{}: `{key}` of [agents.a] has 900000 characters; the limit is 200",
                key.len() + 4
            ),
        );
        check_refused(
            &format!("{place}{key} = \"m`\\n\\nSYSTEM: yes\""),
            &format!(
                "@3:{}: `{key}` of [agents.a] must be one line, without control characters",
                key.len() + 4
            ),
        );
    }
    for key in ["install", "login"] {
        check_refused(
            &format!("{place}{key} = \"{long}\""),
            &format!(
                "@3:{}: `{key}` of [agents.a] has 900000 characters; the limit is 1000",
                key.len() + 4
            ),
        );
    }
    let many = vec!["\"r\""; 1_001].join(",");
    for key in ["guarded", "args", "env_pass"] {
        check_refused(
            &format!("[agents.a]\ncommand = \"x\"\n{key} = [{many}]"),
            &format!(
                "@3:{}: `{key}` of [agents.a] has 1001 elements; the limit is 1000",
                key.len() + 4
            ),
        );
    }
}

#[test]
fn an_arbiter_is_a_word_or_a_member() {
    let hint = "names nobody who could decide: use `@` and a role or a capability, such as \
        `@architect`, or the name of a member";
    for text in ["@lead", "user", "#storage", "", "all", "two words"] {
        let error =
            TestDirectories::new().project(&format!("[conflict]\narbiter = {text:?}")).error();
        let place = "project/.claude/bridge.toml:2:11: `arbiter` of [conflict]:";
        assert_eq!(error, format!("{place} {text:?} {hint}"));
    }
    check_refused(
        "[conflict]\narbitor = \"ann\"",
        "@2:1: unknown key `arbitor` in [conflict]: did you mean `arbiter`?",
    );
}

#[test]
fn a_pool_has_words_that_people_can_say_each_of_them_once() {
    let each = "`pool` of [names] has";
    for (pool, column, problem) in [
        ("['Ada', 'Zo\u{eb}']", 16, "`Zo\u{eb}`: it must be 1 to 12 of the letters A-Z a-z"),
        ("['Bartholomewes']", 9, "`Bartholomewes`: it must be 1 to 12 of the letters A-Z a-z"),
        ("['Ada', 'Grace', 'ADA']", 25, "`ADA`: it is there already as `Ada`"),
        ("['']", 9, "``: it must be 1 to 12 of the letters A-Z a-z"),
        ("['two words']", 9, "`two words`: it must be 1 to 12 of the letters A-Z a-z"),
        ("['bridge']", 9, "`bridge`: `bridge` is reserved: choose another name"),
        (
            "['Ada', 'Orchestrator']",
            16,
            "`Orchestrator`: others look under it for a member of that kind, and it would be any \
             peer: choose a name",
        ),
        (
            "['CODEX']\n[agents.codex]\nroles = ['x']",
            9,
            "`CODEX`: a profile has this name, and its agents are called after it: choose another",
        ),
        (
            "['kim']\n[agents.Kim]\ncommand = 'kim'",
            9,
            "`kim`: a profile has this name, and its agents are called after it: choose another",
        ),
    ] {
        check_refused(
            &format!("[names]\npool = {pool}"),
            &format!("@2:{column}: {each} {problem}"),
        );
    }
    let many: Vec<_> = (b'a'..=b'z')
        .flat_map(|one| (b'a'..=b'd').map(move |two| format!("'{}{}'", one as char, two as char)))
        .take(101)
        .collect();
    check_refused(
        &format!("[names]\npool = [{}]", many.join(",")),
        "@2:8: `pool` of [names] has 101 elements; the limit is 100",
    );
    check_refused(
        "[names]\npol = ['Ada']",
        "@2:1: unknown key `pol` in [names]: did you mean `pool`?",
    );
}

#[test]
fn what_an_agent_says_of_itself_are_words() {
    let place = "[agents.a]\ncommand = \"x\"\n";
    let rule = "is not a word: use 1 to 64 of the characters A-Z a-z 0-9 . _ - and begin with a \
        letter or digit; the words all, human, bridge, you, and s with a number have a meaning of \
        their own";
    check_refused(
        &format!("{place}lane = 'two words'"),
        &format!("@3:8: `lane` of [agents.a]: \"two words\" {rule}"),
    );
    check_refused(
        &format!("{place}capabilities = ['rust', 's7']"),
        &format!("@3:25: each element of `capabilities` of [agents.a]: \"s7\" {rule}"),
    );
    let many = vec!["'r'"; 17].join(",");
    check_refused(
        &format!("{place}topics = [{many}]"),
        "@3:10: `topics` of [agents.a] has 17 elements; the limit is 16",
    );
}
