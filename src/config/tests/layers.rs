//! The merging of layers, and the origin of each value.

use std::path::Path;
use std::time::Duration;

use super::test_directories::TestDirectories;
use crate::config::defaults::{AGENTS, STALL_SECONDS, UNREAD};
use crate::config::{Command, Load, MidTurn, Sourced, ValueOrigin};
use crate::domain::member::Label;
use crate::domain::permission::Policy;

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn without_any_file_there_are_the_built_in_profiles() {
    let config = TestDirectories::new().load().unwrap();
    let names: Vec<&str> = config.profiles().map(|profile| profile.name.as_str()).collect();
    assert_eq!(names, ["claude-code", "codex", "droid", "gemini", "qwen", "scripted"]);
    let scripted = config.profile("scripted").unwrap();
    assert_eq!(scripted.command, Sourced::new(Command::OwnBinary, ValueOrigin::BuiltIn));
    assert_eq!(scripted.args.value, ["scripted-agent"]);
    assert_eq!(scripted.permissions.value, Policy::Rules);
    assert!(!scripted.comes_from_project_file());
}

#[test]
fn every_field_of_a_profile_is_read() {
    let place = TestDirectories::new().project(
        r#"
        [agents.Reviewer]
        command = "node"
        args = ["agent.js", ""]
        env = { KEY = "value", EMPTY = "" }
        env_pass = ["OPENAI_*"]
        permissions = "ask"
        guarded = ["deploy", "ci/run.sh"]
        start_seconds = 300
        roles = ["reviewer"]
        lane = "storage"
        capabilities = ["rust", "review"]
        topics = ["releases"]
        default_model = "large"
        mode = "plan"
        modes = { allow = "act", rules = "ask" }
        install = "npm install agent"
        login = "set KEY"
        settle_ms = 1_500
        one_session = true
        user_entry_wins = true
        mid_turn = "steer_between_calls"
        tool_prefix = "mcp__bridge__"
        result_bytes = 5000
        prompt_bytes = 6000
        "#,
    );
    let config = place.load().unwrap();
    let profile = config.profile("rEVIEWER").unwrap();
    let source = ValueOrigin::Project(place.path("project/.claude/bridge.toml"));
    let sourced = |text: &str| Sourced::new(text.to_owned(), source.clone());
    assert_eq!(profile.name.as_str(), "Reviewer");
    assert_eq!(profile.command.value, Command::OnPath("node".to_owned()));
    assert_eq!(profile.args, Sourced::new(owned(&["agent.js", ""]), source.clone()));
    assert_eq!(profile.env["KEY"], sourced("value"));
    assert_eq!(profile.env["EMPTY"], sourced(""));
    assert_eq!(profile.env_pass.value, ["OPENAI_*".parse().unwrap()]);
    assert_eq!(profile.permissions.value, Policy::Ask);
    assert_eq!(profile.roles.value, ["reviewer"]);
    let traits = profile.traits();
    assert_eq!(traits.lane.as_ref().map(Label::as_str), Some("storage"));
    let words = |labels: &[Label]| -> Vec<_> { labels.iter().map(Label::to_string).collect() };
    assert_eq!(words(&traits.capabilities), ["rust", "review"]);
    assert_eq!(words(&traits.topics), ["releases"]);
    assert_eq!(profile.default_model, Some(sourced("large")));
    assert_eq!(profile.mode, Some(sourced("plan")));
    let under = Policy::WORDS.map(|(_, policy)| profile.mode_under(policy));
    assert_eq!(under, ["act", "ask", "plan", "plan"].map(Some));
    assert_eq!(profile.install, Some(sourced("npm install agent")));
    assert_eq!(profile.login, Some(sourced("set KEY")));
    assert!(profile.one_session.value && profile.user_entry_wins.value);
    assert_eq!(profile.tool_prefix, Some(sourced("mcp__bridge__")));
    assert_eq!(profile.mid_turn.value, MidTurn::SteerBetweenCalls);
    assert_eq!(profile.result_bytes.value, 5000);
    assert_eq!(profile.prompt_bytes.value, 6000);
    assert_eq!(profile.settle.value, Duration::from_millis(1500));
    assert_eq!(profile.guarded, ["deploy", "ci/run.sh"]);
    assert_eq!(profile.start.value, Duration::from_mins(5));
}

#[test]
fn no_layer_removes_guarded_paths_of_an_earlier_one() {
    let guarded = |names: &str| format!("[agents.scripted]\nguarded = [{names}]");
    let place = TestDirectories::new()
        .user(&guarded("\"deploy\""))
        .project(&guarded(""))
        .explicit(&guarded("\"ci\""));
    let config = place.load().unwrap();
    let profile = config.profile("scripted").unwrap();
    assert_eq!(profile.guarded, ["deploy", "ci"]);
    assert_eq!(profile.start.value, Duration::from_mins(2));
}

#[test]
fn later_layers_win() {
    let model = |name| format!("[agents.scripted]\ndefault_model = \"{name}\"");
    let check = |place: &TestDirectories, expected: &str| {
        let config = place.load().unwrap();
        let found = config.profile("scripted").unwrap().default_model.clone().unwrap();
        assert_eq!(found.value, expected);
    };
    let place = TestDirectories::new().user(&model("user's"));
    check(&place, "user's");
    let place = place.project(&model("project's"));
    check(&place, "project's");
    let place = place.explicit(&model("explicit"));
    check(&place, "explicit");
}

#[test]
fn a_layer_changes_only_the_fields_it_names() {
    let place = TestDirectories::new()
        .user("[agents.a]\ncommand = \"one\"\nargs = [\"x\", \"y\"]\nenv = { A = \"1\", B = \"1\" }\npermissions = \"deny\"")
        .project("[agents.A]\nargs = []\nenv = { B = \"2\", C = \"2\" }")
        .explicit("[agents.a]\nroles = [\"tester\"]");
    let config = place.load().unwrap();
    let profile = config.profile("a").unwrap();
    let user = ValueOrigin::User(place.path("home/.config/cli-team-bridge/config.toml"));
    let project = ValueOrigin::Project(place.path("project/.claude/bridge.toml"));
    let explicit = ValueOrigin::Explicit(place.path("explicit.toml"));
    assert_eq!(profile.command, Sourced::new(Command::OnPath("one".to_owned()), user.clone()));
    assert_eq!(profile.args, Sourced::new(Vec::new(), project.clone()));
    assert_eq!(profile.env["A"].source, user);
    assert_eq!(profile.env["B"], Sourced::new("2".to_owned(), project.clone()));
    assert_eq!(profile.env["C"].source, project);
    assert_eq!(profile.permissions, Sourced::new(Policy::Deny, user));
    assert_eq!(profile.roles, Sourced::new(owned(&["tester"]), explicit));
    assert_eq!(profile.default_model, None);
    assert_eq!(profile.fields_from_project_file(), ["args", "env"]);
}

#[test]
fn a_later_mode_removes_earlier_modes_and_later_modes_are_added() {
    let modes = "[agents.scripted]\nmode = \"a\"\nmodes = { allow = \"b\" }";
    let check = |later: &str, expected: [&str; 4]| {
        let config = TestDirectories::new().user(modes).project(later).load().unwrap();
        let profile = config.profile("scripted").unwrap();
        let under = Policy::WORDS.map(|(_, policy)| profile.mode_under(policy));
        assert_eq!(under, expected.map(Some), "{later}");
    };
    check("", ["b", "a", "a", "a"]);
    check("[agents.scripted]\nmode = \"c\"", ["c", "c", "c", "c"]);
    check("[agents.scripted]\nmodes = { deny = \"d\" }", ["a", "a", "a", "d"]);
}

#[test]
fn a_project_file_counts_where_it_decides_the_command_or_permissions() {
    let check = |text: &str, expected: &[&str]| {
        let config =
            TestDirectories::new().project(&format!("[agents.scripted]\n{text}")).load().unwrap();
        let profile = config.profile("scripted").unwrap();
        assert_eq!(profile.fields_from_project_file(), expected);
        assert_eq!(profile.comes_from_project_file(), !expected.is_empty());
    };
    check("default_model = \"large\"\nroles = [\"tester\"]", &[]);
    check("command = \"node\"", &["command"]);
    check("env = { NODE_OPTIONS = \"--require x\" }", &["env"]);
    check("env_pass = [\"*\"]\npermissions = \"allow\"", &["env_pass", "permissions"]);
    check("mode = \"plan\"\nmodes = { allow = \"act\" }", &["mode", "modes"]);
}

#[test]
fn the_users_configuration_directory_counts_when_it_is_absolute() {
    let (project, home) = (Path::new("/project"), Some(Path::new("/home/me")));
    let check = |home: Option<&Path>, config_home: Option<&str>, expected: Option<&str>| {
        let config_home = config_home.map(Path::new);
        let load = Load { project, home, config_home, explicit: None };
        assert_eq!(load.user_file().as_deref(), expected.map(Path::new));
    };
    check(home, None, Some("/home/me/.config/cli-team-bridge/config.toml"));
    check(home, Some("/xdg"), Some("/xdg/cli-team-bridge/config.toml"));
    check(home, Some("xdg"), Some("/home/me/.config/cli-team-bridge/config.toml"));
    check(home, Some(""), Some("/home/me/.config/cli-team-bridge/config.toml"));
    check(None, None, None);
}

#[test]
fn later_limits_win_one_by_one_and_each_knows_its_layer() {
    let place = TestDirectories::new()
        .user("[limits]\nagents = 3\nunread = 0x10")
        .project("[limits]\nagents = 2\n")
        .explicit("[limits]\nqueued_tasks = 20\nallow_network_file_system = true");
    let config = place.load().unwrap();
    let limits = config.limits();
    assert_eq!((limits.number(&AGENTS).value, limits.number(&UNREAD).value), (2, 16));
    assert!(limits.number(&AGENTS).is_from_project() && !limits.number(&UNREAD).is_from_project());
    assert!(limits.allow_network_file_system.value);
    assert_eq!(limits.number(&STALL_SECONDS).value, 300);
    assert_eq!(limits.team().queued_tasks, 20);
}

#[test]
fn the_last_layer_with_a_pool_sets_the_names_for_peers() {
    let place = TestDirectories::new().user("[names]\npool = ['Ada', 'Grace']");
    let pool = |place: &TestDirectories| -> Vec<_> {
        place.load().unwrap().pool().iter().map(ToString::to_string).collect()
    };
    assert_eq!(pool(&place), ["Ada", "Grace"]);
    let place = place.project("[names]\npool = ['Linus']");
    assert_eq!(pool(&place), ["Linus"]);
    assert!(pool(&TestDirectories::new()).is_empty());
}
