//! The program and the environment that result from a profile.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::test_directories::TestDirectories;
use crate::config::{Command, MidTurn};
use crate::domain::permission::Policy;

#[test]
fn an_unknown_profile_names_the_nearest_or_all() {
    let config = TestDirectories::new().load().unwrap();
    let error = config.profile("codx").unwrap_err();
    assert_eq!(error.to_string(), "there is no profile `codx`: did you mean `codex`?");
    assert_eq!(error.known.len(), 6);
    for (name, shown) in
        [("zebra", "zebra"), ("a\nb", "a\\nb"), (&"x".repeat(99), &format!("{}…", "x".repeat(64)))]
    {
        let error = config.profile(name).unwrap_err();
        let expected = format!(
            "there is no profile `{shown}`: the profiles are `claude-code`, `codex`, `droid`, `gemini`, `qwen` and `scripted`"
        );
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn a_program_is_this_binary_or_the_one_that_is_found() {
    let text = "[agents.bare]\ncommand = \"node\"\n[agents.absolute]\ncommand = \"/opt/agent\"";
    let config = TestDirectories::new().project(text).load().unwrap();
    let program = |name: &str| {
        let find = |program: &str| Some(Path::new("/found").join(program.trim_start_matches('/')));
        config.profile(name).unwrap().program(Path::new("/own/binary"), find).unwrap()
    };
    assert_eq!(program("scripted"), Path::new("/own/binary"));
    assert_eq!(program("bare"), Path::new("/found/node"));
    assert_eq!(program("absolute"), Path::new("/found/opt/agent"));
}

#[test]
fn the_error_for_a_missing_program_names_its_profile_and_origin() {
    let check = |place: TestDirectories, expected: &str| {
        let config = place.load().unwrap();
        let error = config.profile("a").unwrap().program(Path::new("/own"), |_| None).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    check(
        TestDirectories::new().project("[agents.a]\ncommand = \"node\""),
        "the profile `a` needs the program `node`, which is not on PATH: install it, or correct `command` of \
         [agents.a] (it comes from `bridge.toml` in the project's `.claude` folder)",
    );
    check(
        TestDirectories::new().user("[agents.a]\ncommand = \"/opt/agent\""),
        "the profile `a` needs the program `/opt/agent`, which does not exist or is not executable: install it, or correct \
         `command` of [agents.a] (it comes from the user's own `config.toml`)",
    );
}

#[test]
fn the_error_for_a_missing_program_says_how_to_install_it() {
    let missing = |place: TestDirectories| {
        let config = place.load().unwrap();
        let profile = config.profile("gemini").unwrap();
        let error = profile.program(Path::new("/own"), |_| None).unwrap_err();
        error.to_string()
    };
    assert_eq!(
        missing(TestDirectories::new()),
        "the profile `gemini` needs the program `gemini`, which is not on PATH: install it with \
         `npm install -g @google/gemini-cli`, or correct `command` of [agents.gemini] (it comes from the built-in \
         profiles)"
    );
    let other = missing(TestDirectories::new().user("[agents.gemini]\ncommand = \"mine\""));
    assert!(other.contains("`mine`, which is not on PATH: install it, or correct"), "{other}");
}

#[test]
fn every_built_in_agent_says_how_to_install_it_and_how_to_log_in() {
    let config = TestDirectories::new().load().unwrap();
    for profile in config.profiles() {
        let name = profile.name.as_str();
        let external = profile.command.value != Command::OwnBinary;
        assert_eq!(profile.install.is_some(), external, "{name}");
        assert_eq!(profile.login.is_some(), external, "{name}");
    }
}

/// Facts about the agents that a profile can express.
#[test]
fn the_quirks_of_the_built_in_agents_are_in_their_profiles() {
    let config = TestDirectories::new().load().unwrap();
    let profile = |name: &str| config.profile(name).unwrap();
    let sets = |name: &str, variable: &str| {
        let env = &profile(name).env;
        env.get(variable).map(|value| value.value.clone())
    };
    // Without the first it starts no MCP server; without the second a launcher that ignores signals is its parent.
    for variable in ["GEMINI_CLI_TRUST_WORKSPACE", "GEMINI_CLI_NO_RELAUNCH"] {
        assert_eq!(sets("gemini", variable).as_deref(), Some("true"));
    }
    // Otherwise models decide, and the user is not asked.
    assert_eq!(sets("codex", "INITIAL_AGENT_MODE").as_deref(), Some("read-only"));
    // In its wider modes it edits files and runs commands in the project without asking.
    let codex = profile("codex");
    let under = Policy::WORDS.map(|(_, policy)| codex.mode_under(policy));
    let [allow, rest @ ..] = under;
    assert_eq!(allow, Some("workspace-write"));
    assert_eq!(rest, [Some("read-only"); 3]);
    assert!(
        profile("qwen").args.value.ends_with(&["--approval-mode".to_owned(), "default".to_owned()])
    );
    for name in ["qwen", "droid"] {
        assert!(profile(name).settle.value >= Duration::from_millis(500));
    }
    for of in config.profiles() {
        let name = of.name.as_str();
        assert_eq!(of.one_session.value, name == "droid", "{name}");
        assert_eq!(of.user_entry_wins.value, name == "droid", "{name}");
        let mid_turn = match name {
            "claude-code" => MidTurn::SteerBetweenCalls,
            "qwen" => MidTurn::Drain,
            _ => MidTurn::Steer,
        };
        assert_eq!(of.mid_turn.value, mid_turn, "{name}");
    }
}

#[test]
fn an_agents_environment_follows_its_profile() {
    let text = "[agents.scripted]\nenv = { LANG = \"C\" }";
    let config = TestDirectories::new().project(text).load().unwrap();
    let own = ["BRIDGE_SCRIPT", "BRIDGE_TOKEN", "LANG", "PATH", "SECRET"]
        .map(|name| (name.into(), "own".into()));
    let environment = config.profile("scripted").unwrap().environment(own.into_iter());
    let expected = [("BRIDGE_SCRIPT", "own"), ("LANG", "C"), ("PATH", "own")];
    assert_eq!(
        environment,
        expected.map(|(name, value)| (OsString::from(name), OsString::from(value)))
    );
}
