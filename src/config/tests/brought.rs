//! The settings of a project's own file that need its user's consent.

use super::test_directories::TestDirectories;
use crate::config::defaults::{AGENTS, RETENTION_DAYS, UNREAD};
use crate::config::{Brought, Config, ProjectFile, Resume};
use crate::domain::name::Name;

/// The user's own file in all of these tests.
const OWN: &str = r#"
[agents.codex]
command = "codex-acp"
args = ["--own"]
env = { A = "1" }
env_pass = ["OPENAI_*", "HF_*"]
permissions = "ask"
mode = "careful"
install = "npm install codex"
[limits]
agents = 5
stall_seconds = 100
[workflows]
gate_env = ["DATABASE_*"]
"#;

fn load(project: &str) -> Config {
    TestDirectories::new().user(OWN).project(project).load().unwrap()
}

/// Asserts which lines need consent.
#[track_caller]
fn check(project: &str, expected: &[&str]) {
    let config = load(project);
    let file = &config.project_files()[0];
    assert_eq!(file.lines(), expected, "{project}");
    assert_eq!(file.needs_yes(), !expected.is_empty());
    assert_eq!(config.unagreed().next().is_some(), !expected.is_empty());
}

#[test]
fn settings_that_run_or_widen_need_consent() {
    let runs = "[agents.codex] would run \"codex-acp\" [\"--own\"]";
    for (key, line) in [
        ("env = { LD_PRELOAD = 'x' }", r#"  env = "LD_PRELOAD" = "x""#),
        ("env = { A = '2' }", r#"  env = "A" = "2""#),
        ("env_pass = ['OPENAI_*', '*']", r#"  env_pass = ["OPENAI_*", "*"]"#),
        ("permissions = 'rules'", r#"  permissions = "rules""#),
        ("file_system = true", "  file_system = true"),
        ("user_entry_wins = true", "  user_entry_wins = true"),
        ("mode = 'yolo'", r#"  mode = "yolo""#),
        ("install = 'curl x | sh'", r#"  install = "curl x | sh""#),
        ("login = 'curl x | sh'", r#"  login = "curl x | sh""#),
        ("roles = ['reviewer']", r#"  roles = ["reviewer"]"#),
        ("lane = 'parser'", r#"  lane = "parser""#),
        ("capabilities = ['rust']", r#"  capabilities = ["rust"]"#),
    ] {
        check(&format!("[agents.codex]\n{key}"), &[runs, line]);
    }
    check(
        "[agents.codex]\ncommand = 'sh'\nargs = ['-c', \"\\u001b[2Jid\"]",
        &[
            r#"[agents.codex] would run "sh" ["-c", "\u{1b}[2Jid"]"#,
            r#"  command = "sh""#,
            r#"  args = ["-c", "\u{1b}[2Jid"]"#,
        ],
    );
    check(
        "[agents.new]\ncommand = '$self'\npermissions = 'deny'",
        &[r#"[agents.new] would run "$self" []"#, r#"  command = "$self""#],
    );
    check(
        "[limits]\nagents = 6\nstall_seconds = 99\noutput_per_second = 1_073_741_824\nallow_network_file_system = true",
        &[
            "[limits] agents = 6 (5 without it)",
            "[limits] output_per_second = 1073741824 (4194304 without it)",
            "[limits] allow_network_file_system = true",
        ],
    );
    check("[workflows]\ngate_env = ['*']", &[r#"[workflows] gate_env = ["*"]"#]);
    check(
        "[conflict]\narbiter = 'eve'",
        &[r#"[conflict] arbiter = "eve" (@architect without it)"#],
    );
}

#[test]
fn settings_that_restrict_or_only_name_need_none() {
    for project in [
        "",
        "[agents.codex]\npermissions = 'deny'",
        "[agents.codex]\npermissions = 'ask'\nmode = 'careful'\ncommand = 'codex-acp'\nargs = ['--own']\nenv = { A = '1' }",
        "[agents.codex]\nenv_pass = ['HF_*']",
        "[agents.codex]\nenv_pass = []\nfile_system = false",
        "[agents.codex]\ndefault_model = 'y'\nrestart = 'on_failure'\nsettle_ms = 5\none_session = true\n\
         mid_turn = 'never'\ninterrupt = 'never'\npermission_seconds = 60",
        "[agents.codex]\ntopics = ['x']\n[names]\npool = ['Ada']",
        "[limits]\nagents = 1\nallow_network_file_system = false",
        "[workflows]\ngate_env = []\nresume = 'auto'",
        "[conflict]\narbiter = '@architect'",
    ] {
        check(project, &[]);
    }
}

#[test]
fn without_consent_no_limit_is_raised_and_no_variable_passes_into_gates() {
    let project = "[limits]\nagents = 6\nunread = 7\n[workflows]\ngate_env = ['*']\n\
        [agents.codex]\npermissions = 'allow'";
    let mut config = load(project);
    let own = || {
        [("TOKEN", "x"), ("DATABASE_URL", "y")]
            .map(|(name, value)| (name.into(), value.into()))
            .into_iter()
    };
    assert_eq!(config.limits().number(&AGENTS).value, 5);
    assert_eq!(config.limits().number(&UNREAD).value, 7);
    assert_eq!(config.gate_environment(own(), |_| true).len(), 1);
    config.agree();
    assert_eq!(config.limits().number(&AGENTS).value, 6);
    assert_eq!(config.gate_environment(own(), |_| true).len(), 2);
    assert!(config.unagreed().next().is_none());
    let revoked = |file: &Brought| {
        assert_eq!(file, &config.project_files()[0].file);
        false
    };
    assert_eq!(config.gate_environment(own(), revoked).len(), 1);
}

#[test]
fn a_project_does_not_choose_who_decides_without_consent() {
    let mut config = load("[conflict]\narbiter = 'eve'");
    assert_eq!(config.arbiter().to_string(), "@architect");
    config.agree();
    assert_eq!(config.arbiter().to_string(), "eve");
    let place = TestDirectories::new().user("[conflict]\narbiter = '@boss'");
    assert_eq!(place.load().unwrap().arbiter().to_string(), "@boss");
}

#[test]
fn no_consent_lets_a_project_resume_workflows_by_itself() {
    let mut config = load("[workflows]\nresume = 'auto'");
    config.agree();
    assert_eq!(config.resume(), Resume::Ask);
    assert!(config.leaves_out_auto_resume());
    let place = TestDirectories::new().user("[workflows]\nresume = 'auto'");
    assert_eq!(place.load().unwrap().resume(), Resume::Auto);
    let place = place.project("[workflows]\nresume = 'ask'");
    assert_eq!(place.load().unwrap().resume(), Resume::Ask);
    let place = place.explicit("[workflows]\nresume = 'auto'");
    assert_eq!(place.load().unwrap().resume(), Resume::Auto);
}

#[test]
fn the_file_that_the_command_line_names_needs_no_consent() {
    let place = TestDirectories::new()
        .project("[agents.a]\ncommand = 'sh'\nargs = ['-c', 'id']")
        .explicit("[agents.a]\ncommand = 'a'\nargs = []");
    assert!(place.load().unwrap().unagreed().next().is_none());
    let place = TestDirectories::new()
        .project("[agents.a]\ncommand = 'sh'")
        .explicit("[agents.a]\nroles = ['x']");
    let config = place.load().unwrap();
    let name = Name::parse("A").unwrap();
    let demanded = config.unagreed().next().unwrap().demanded_of(&name).unwrap();
    assert_eq!(demanded, r#"would run "sh" [], with command = "sh""#);
}

#[test]
fn a_script_replaces_the_projects_command_of_a_profile() {
    let place =
        TestDirectories::new().project("[agents.a]\ncommand = 'sh'\n[agents.b]\ncommand = 'sh'");
    let mut config = place.load().unwrap();
    let name = |name| Name::parse(name).unwrap();
    config.play([name("a")], "/play.toml".as_ref()).unwrap();
    let file = config.unagreed().next().unwrap();
    assert_eq!(file.demanded_of(&name("a")), None);
    assert!(file.demanded_of(&name("b")).is_some());
    let place = TestDirectories::new().project("[agents.scripted]\ncommand = 'sh'");
    let mut config = place.load().unwrap();
    config.play([name("a")], "/play.toml".as_ref()).unwrap();
    let file = config.unagreed().next().unwrap();
    assert!(file.demanded_of(&name("a")).is_some());
}

#[test]
fn removing_a_mode_needs_consent() {
    let own = "[agents.codex]\ncommand = 'codex-acp'\nmode = 'yolo'\nmodes = { rules = 'careful', deny = 'plan' }";
    let check = |project: &str, expected: &[&str]| {
        let place = TestDirectories::new().user(own).project(project);
        let config = place.load().unwrap();
        let lines = config.project_files()[0].lines();
        assert_eq!(lines.get(1..).unwrap_or_default(), expected, "{project}");
    };
    check(
        "[agents.codex]\nmode = 'yolo'",
        &[r#"  modes = rules = "yolo""#, r#"  modes = deny = "yolo""#],
    );
    check("[agents.codex]\nmodes = { deny = 'plan' }", &[r#"  modes = rules = "yolo""#]);
}

#[test]
fn consent_is_for_the_file_of_one_project_and_links_do_not_extend_it() {
    use std::os::unix::fs::symlink;
    const FILE: &str = "project/.claude/bridge.toml";
    let text = "[agents.a]\ncommand = 'sh'";
    let trusted = TestDirectories::new().project(text);
    let own = trusted.load().unwrap().project_files()[0].file.clone();
    let refused = |place: &TestDirectories| place.load().unwrap_err().to_string();

    // The file itself, or its directory, is a link.
    let other = TestDirectories::new();
    let (theirs, mine) = (trusted.path(FILE), other.path(FILE));
    std::fs::create_dir_all(mine.parent().unwrap()).unwrap();
    symlink(&theirs, &mine).unwrap();
    assert!(refused(&other).contains("leads out of the project"), "{}", refused(&other));
    let other = TestDirectories::new();
    let mine = other.path(FILE);
    std::fs::create_dir_all(mine.parent().unwrap().parent().unwrap()).unwrap();
    symlink(theirs.parent().unwrap(), mine.parent().unwrap()).unwrap();
    assert!(refused(&other).contains("leads out of the project"), "{}", refused(&other));

    // A link inside a project is a file of that project.
    let other = TestDirectories::new();
    let mine = other.path(FILE);
    std::fs::create_dir_all(mine.parent().unwrap()).unwrap();
    std::fs::write(mine.parent().unwrap().join("shared.toml"), text).unwrap();
    symlink("shared.toml", &mine).unwrap();
    let file = other.load().unwrap().project_files()[0].file.clone();
    assert_eq!(file.sha256, own.sha256);
    assert!(file.path.ends_with(".claude/bridge.toml"), "{}", file.quoted());
}

#[test]
fn changing_how_long_the_log_is_kept_needs_consent() {
    for (days, line) in [
        (29, "[limits] retention_days = 29 (30 without it)"),
        (31, "[limits] retention_days = 31 (30 without it)"),
    ] {
        let project = format!("[limits]\nretention_days = {days}");
        check(&project, &[line]);
        let mut config = load(&project);
        assert_eq!(config.limits().number(&RETENTION_DAYS).value, 30);
        config.agree();
        assert_eq!(config.limits().number(&RETENTION_DAYS).value, days);
    }
}

#[test]
fn variables_that_a_pattern_covers_need_no_consent() {
    for names in ["['OPENAI_API_*']", "['OPENAI_KEY', 'HF_TOKEN']"] {
        check(&format!("[agents.codex]\nenv_pass = {names}"), &[]);
    }
    check("[workflows]\ngate_env = ['DATABASE_URL']", &[]);
    check(
        "[workflows]\ngate_env = ['*DATABASE_*']",
        &[r#"[workflows] gate_env = ["*DATABASE_*"]"#],
    );
}

#[test]
fn a_file_of_the_project_that_the_command_line_names_needs_consent() {
    let named =
        "[agents.codex]\ncommand = 'sh'\n[limits]\nagents = 6\n[workflows]\nresume = 'auto'";
    let place = TestDirectories::new().user(OWN).named_in_project(named);
    let mut config = place.load().unwrap();
    let [file] = config.project_files() else { panic!("{:?}", config.project_files()) };
    let lines = [
        r#"[agents.codex] would run "sh" ["--own"]"#,
        r#"  command = "sh""#,
        "[limits] agents = 6 (5 without it)",
    ];
    assert_eq!(file.lines(), lines);
    assert!(file.title().ends_with("/named.toml\", a file of the project that --config names"));
    assert_eq!(file.trust_argument(), place.explicit.as_deref());
    assert_eq!(config.limits().number(&AGENTS).value, 5);
    config.agree();
    assert_eq!(config.limits().number(&AGENTS).value, 6);
    assert_eq!(config.resume(), Resume::Ask);
}

#[test]
fn each_file_of_the_project_needs_consent_for_its_own_values() {
    let place = TestDirectories::new()
        .user(OWN)
        .project("[agents.codex]\ncommand = 'sh'\nargs = []\n[limits]\nagents = 6")
        .named_in_project("[agents.codex]\nargs = ['-c', 'id']\n[limits]\nunread = 100_000");
    let config = place.load().unwrap();
    let lines = config.project_files().iter().map(ProjectFile::lines).collect::<Vec<_>>();
    let runs = r#"[agents.codex] would run "sh" ["-c", "id"]"#;
    let own = [runs, r#"  command = "sh""#, "[limits] agents = 6 (5 without it)"];
    assert_eq!(lines[0], own);
    assert_eq!(lines[1][..2], [runs, r#"  args = ["-c", "id"]"#]);
    assert!(lines[1][2].starts_with("[limits] unread = 100000"), "{:?}", lines[1]);
    let name = Name::parse("codex").unwrap();
    assert!(config.unagreed().all(|file| file.demanded_of(&name).is_some()));
}

#[test]
fn a_project_file_that_is_named_too_is_read_once() {
    let mut place = TestDirectories::new().project("[agents.a]\ncommand = 'sh'");
    place.name_in_project("project/.claude/bridge.toml");
    let config = place.load().unwrap();
    let [file] = config.project_files() else { panic!("{:?}", config.project_files()) };
    assert_eq!(file.trust_argument(), None);
}

#[test]
fn a_script_plays_a_role_in_place_of_all_profiles_that_have_it_or_of_nobody() {
    let own = "[agents.a]\ncommand = 'sh'\nroles = ['reviewer']\n[agents.b]\ncommand = 'sh'\nlane = 'Reviewers'\n\
               [agents.c]\ncommand = 'sh'";
    let mut config = TestDirectories::new().user(own).load().unwrap();
    let label = |text| crate::domain::member::Label::parse(text).unwrap();
    for role in ["reviewers", "tester"] {
        config.play_role(&label(role), "/play.toml".as_ref()).unwrap();
    }
    for (name, word, plays) in [
        ("a", "reviewer", true),
        ("b", "reviewer", true),
        ("c", "", false),
        ("tester", "tester", true),
    ] {
        let profile = config.profile(name).unwrap();
        let has_script = profile.args.value.iter().any(|argument| argument == "/play.toml");
        assert_eq!(has_script, plays, "{name}");
        assert!(word.is_empty() || profile.has_word(&label(word)), "{name}");
    }
}
