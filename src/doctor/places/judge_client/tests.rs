//! Entries of clients, and what is said of them.

use serde_json::json;

use super::*;
use crate::doctor::finding::Level;
use crate::setup::edits::entry_arguments::StartedServer;

fn client(files: Vec<ExaminedFile>) -> ExaminedClient {
    ExaminedClient {
        name: "claude-code",
        title: "Claude Code",
        has_plugin: false,
        untrusted: Vec::new(),
        lost_logins: Vec::new(),
        files,
    }
}

fn servers(entry: Option<Value>) -> ExaminedFile {
    let expected = Some(json!({ "command": "/own/cli-team-bridge", "timeout": 150_000 }));
    let key = "servers.bridge".to_owned();
    let written = Ok(Written { entry, key, expected, ..Written::default() });
    ExaminedFile { path: "/f.json".into(), scope: Scope::User, written, opening: None }
}

fn settings(missing: &[&str], of_project: bool) -> ExaminedFile {
    let lists = ["permissions.allow", "hooks.Stop"].map(str::to_owned).to_vec();
    let missing = missing.iter().map(|list| (*list).to_owned()).collect();
    let written = Ok(Written { lists, missing, ..Written::default() });
    let scope = if of_project { Scope::Project } else { Scope::User };
    ExaminedFile { path: "/s.json".into(), scope, written, opening: None }
}

/// Takes no arguments, too.
fn started(arguments: &[String]) -> Result<StartedServer, String> {
    let named = arguments.iter().position(|argument| argument == "--project");
    let project = named.and_then(|at| arguments.get(at + 1)).map(Into::into);
    let role = match arguments.first().map(String::as_str) {
        None | Some("orchestrator") => ServerRole::Orchestrator,
        Some("peer") => ServerRole::Peer,
        Some(one) => return Err(format!("`{one}` is not a command")),
    };
    Ok(StartedServer { role, project })
}

/// Knows `${HOME}`.
fn expanded(text: &str) -> Expanded {
    let form = text.split('/').next().unwrap_or_default().to_owned();
    let (text, left) = match form.as_str() {
        "${HOME}" => (text.replace("${HOME}", "/h"), None),
        "$not_set" => (text.to_owned(), Some(Left::NotSet(form))),
        "$unknown" => (text.to_owned(), Some(Left::NotKnown(form))),
        _ if form.starts_with('$') => (text.to_owned(), Some(Left::NotExpanded(form))),
        _ => (text.to_owned(), None),
    };
    Expanded { text, left }
}

fn judged(files: Vec<ExaminedFile>) -> Vec<Finding> {
    let is_executable = |program: &str| {
        program.ends_with("/cli-team-bridge")
            && !program.starts_with("/gone/")
            && !program.starts_with('$')
    };
    let judge_program = |program: &str| match program {
        "/project/bin/cli-team-bridge" => Err(EntryFault::ProjectsProgram),
        "/shared/cli-team-bridge" => Err(EntryFault::OthersProgram),
        _ => Ok(()),
    };
    let programs = Programs {
        is_executable: &is_executable,
        judge_brought: &judge_program,
        own: "/own/cli-team-bridge",
        judge_arguments: started,
        expand: &expanded,
        is_directory: &|path| path == Path::new("/p"),
    };
    judge(&client(files), &programs)
}

/// Returns the check and the level of each finding.
fn levels(files: Vec<ExaminedFile>) -> Vec<(&'static str, Level)> {
    let findings = judged(files);
    findings.iter().map(|finding| (finding.check, finding.level)).collect()
}

#[test]
fn wrong_arguments_are_named_with_what_corrects_them() {
    let file = |scope: Scope| {
        let entry = json!({ "command": "/own/cli-team-bridge", "args": ["orchestrate"] });
        let expected = json!({ "command": "/own/cli-team-bridge", "args": ["orchestrator"] });
        let (entry, expected) = (Some(entry), Some(expected));
        let written = Written { entry, key: "k".to_owned(), expected, ..Written::default() };
        ExaminedFile { path: "/f.json".into(), scope, written: Ok(written), opening: None }
    };
    let check = |scope: Scope, says: &str, remedy: &str| {
        let findings = judged(vec![file(scope)]);
        let found = findings.iter().find(|found| found.check == "entry").unwrap();
        assert_eq!((found.level, found.says.as_str()), (Level::Problem, says));
        assert_eq!(found.remedy.as_deref(), Some(remedy));
    };
    check(
        Scope::User,
        "the entry `bridge` in /f.json has wrong arguments: `orchestrate` is not a command",
        "run `cli-team-bridge setup --client claude-code`, which sets them to `[\"orchestrator\"]`",
    );
    check(
        Scope::Local { directory: "/p".into(), removal: "claude mcp remove bridge" },
        "the entry `bridge` in /f.json (scope \"local\", in /p) has wrong arguments: `orchestrate` is \
         not a command",
        "set `args` of `k` in /f.json to `[\"orchestrator\"]`, or remove the entry (`claude mcp \
         remove bridge` in /p) and run `cli-team-bridge setup --client claude-code`",
    );
}

#[test]
fn an_entry_is_right_only_if_it_leads_in_a_project_that_exists() {
    let check = |args: Value, level: Level, says: &str, remedy: Option<&str>| {
        let entry = json!({ "command": "/own/cli-team-bridge", "args": args, "timeout": 150_000 });
        let findings = judged(vec![servers(Some(entry))]);
        let found = (findings[0].level, findings[0].says.as_str(), findings[0].remedy.as_deref());
        assert_eq!(found, (level, says, remedy));
        assert_eq!(findings.len(), 1, "{findings:?}");
    };
    let starts = "/f.json starts `/own/cli-team-bridge`";
    check(json!(["orchestrator", "--project", "/p"]), Level::Ok, starts, None);
    check(
        json!(["orchestrator", "--project", "/gone"]),
        Level::Problem,
        "/f.json starts the bridge in a project that is no directory: `/gone`",
        Some(
            "correct `--project` in `args` of `servers.bridge` in /f.json, or remove it there: without \
             it, the bridge leads in the directory in which Claude Code is started",
        ),
    );
    check(
        json!(["peer"]),
        Level::Note,
        &format!("{starts} as a peer, which joins a team and leads none"),
        Some(
            "if Claude Code should lead a team, set `args` of `servers.bridge` in /f.json to \
             `[\"orchestrator\"]`",
        ),
    );
}

#[test]
fn an_entry_must_start_a_program_and_wait_long_enough() {
    let whole = json!({ "command": "/own/cli-team-bridge", "timeout": 150_000 });
    assert_eq!(levels(vec![servers(Some(whole))]), [("entry", Level::Ok)]);
    let wrong = json!({ "command": "/gone/cli-team-bridge", "timeout": 60_000 });
    let expected = [("entry", Level::Problem), ("timeout", Level::Note)];
    assert_eq!(levels(vec![servers(Some(wrong))]), expected);
    assert_eq!(levels(vec![servers(None)]), [("entry", Level::Note)]);
}

#[test]
fn an_entry_whose_program_has_moved_is_mended_by_setup_and_its_permissions_are_not_judged() {
    let ours = json!(["orchestrator"]);
    let gone = |args: &Value| {
        let mut file = servers(Some(
            json!({ "command": "/old/x/cli-team-bridge", "args": args, "timeout": 150_000 }),
        ));
        file.written.as_mut().unwrap().expected.as_mut().unwrap()["args"] = ours.clone();
        file
    };
    let judged = |file: ExaminedFile| {
        let programs = Programs {
            is_executable: &|program| program.starts_with("/own/"),
            judge_brought: &|_| Ok(()),
            judge_arguments: started,
            expand: &expanded,
            is_directory: &|_| true,
            own: "/own/cli-team-bridge",
        };
        let lacking = settings(&["permissions.allow", "hooks.Stop"], false);
        let findings = judge(&client(vec![file, lacking]), &programs);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].says.contains("`/old/x/cli-team-bridge`, which does not exist"));
        findings[0].remedy.clone().unwrap()
    };
    let remedy = "run `cli-team-bridge setup --client claude-code`, which sets its program to `/own/cli-team-bridge`";
    assert_eq!(judged(gone(&ours)), remedy);
    assert_eq!(judged(gone(&json!(["orchestrator", "--name", "ann"]))), remedy);
    let remedy = "set `command` of `servers.bridge` in /f.json to `/own/cli-team-bridge`";
    assert_eq!(judged(gone(&json!(["peer", "--name", "ann"]))), remedy);
    let brought = ExaminedFile { scope: Scope::Project, ..gone(&ours) };
    let remedy = judged(brought);
    assert!(remedy.contains("setup --client claude-code --project .`, which"), "{remedy}");
    let directory = "/p".into();
    let scope = Scope::Local { directory, removal: "claude mcp remove bridge -s local" };
    let remedy = judged(ExaminedFile { scope, ..gone(&ours) });
    assert!(remedy.contains("`claude mcp remove bridge -s local` in /p"), "{remedy}");
}

#[test]
fn fields_with_which_another_program_may_run_are_a_problem() {
    let entry = |key: &str, value: Value| {
        let mut entry = json!({ "command": "/own/cli-team-bridge", "timeout": 600_000 });
        entry[key] = value;
        entry
    };
    let (ok, problem) = ([("entry", Level::Ok)], [("entry", Level::Problem)]);
    for (key, value, of_user, of_project) in [
        ("timeout", json!(150_000), ok, ok),
        ("env", json!({ "KEY": "x" }), ok, problem),
        ("type", json!("http"), problem, problem),
        ("httpUrl", json!("https://x"), problem, problem),
    ] {
        let entry = entry(key, value);
        assert_eq!(levels(vec![servers(Some(entry.clone()))]), of_user, "{key}");
        let brought = ExaminedFile { scope: Scope::Project, ..servers(Some(entry)) };
        assert_eq!(levels(vec![brought]), of_project, "{key}");
    }
}

#[test]
fn a_kind_of_server_without_an_address_lets_no_other_program_run() {
    for kind in ["http", "local"] {
        let entry =
            json!({ "command": "/own/cli-team-bridge", "args": ["orchestrator"], "type": kind });
        let brought = ExaminedFile { scope: Scope::Project, ..servers(Some(entry)) };
        let says = &judged(vec![brought])[0].says;
        assert!(says.contains("names a kind of server that is not `stdio`"), "{kind}: {says}");
    }
}

#[test]
fn a_projects_entry_that_starts_a_program_of_the_project_is_a_problem() {
    let entry = || Some(json!({ "command": "/project/bin/cli-team-bridge", "timeout": 150_000 }));
    let brought = ExaminedFile { scope: Scope::Project, ..servers(entry()) };
    let findings = judged(vec![brought]);
    let says = "the entry `bridge` in /f.json starts a program of the project: `/project/bin/cli-team-bridge`";
    assert_eq!((findings[0].level, findings[0].says.as_str()), (Level::Problem, says));
    let remedy = findings[0].remedy.as_deref().unwrap();
    assert!(remedy.starts_with("remove `servers.bridge` in /f.json, then run"), "{remedy}");
    // In a file of the user, it is the user's choice.
    assert_eq!(levels(vec![servers(entry())]), [("entry", Level::Ok)]);
}

#[test]
fn a_projects_entry_with_other_arguments_or_a_program_of_others_is_a_problem() {
    let arguments = json!(["orchestrator", "--config", ".evil.toml"]);
    for (key, value, says) in [
        (
            "args",
            arguments,
            r#"has arguments that setup does not write, with which another program may run: ["orchestrator","--config",".evil.toml"]"#,
        ),
        (
            "command",
            json!("/shared/cli-team-bridge"),
            "starts a program that another user may replace: `/shared/cli-team-bridge`",
        ),
    ] {
        let mut entry = json!({ "command": "/own/cli-team-bridge", "timeout": 150_000 });
        entry[key] = value;
        let brought = ExaminedFile { scope: Scope::Project, ..servers(Some(entry.clone())) };
        let findings = judged(vec![brought]);
        let says = format!("the entry `bridge` in /f.json {says}");
        assert_eq!((findings[0].level, &findings[0].says), (Level::Problem, &says));
        assert_eq!(levels(vec![servers(Some(entry))]), [("entry", Level::Ok)], "{key}");
    }
}

#[test]
fn a_limit_that_is_too_short_has_the_key_and_the_file_in_its_remedy() {
    let short = json!({ "command": "/own/cli-team-bridge", "timeout": 60_000 });
    let findings = judged(vec![servers(Some(short))]);
    assert_eq!(findings[1].says, "`timeout` is 60000, shorter than the longest wait of a tool");
    let remedy = "set `timeout` of `servers.bridge` in /f.json to 150000, or remove it";
    assert_eq!(findings[1].remedy.as_deref(), Some(remedy));
}

#[test]
fn missing_settings_are_noted_unless_the_project_has_them() {
    let entry = || servers(Some(json!({ "command": "/own/cli-team-bridge", "timeout": 150_000 })));
    let lacks = || settings(&["permissions.allow", "hooks.Stop"], false);
    let expected = [("entry", Level::Ok), ("permission", Level::Note), ("hooks", Level::Note)];
    assert_eq!(levels(vec![entry(), lacks()]), expected);
    assert_eq!(levels(vec![entry(), lacks(), settings(&[], true)]), [("entry", Level::Ok)]);
    // Without an entry, the other settings have no use.
    assert_eq!(levels(vec![servers(None), lacks()]), [("entry", Level::Note)]);
}

#[test]
fn hooks_beside_the_entry_in_one_file_are_found() {
    let whole = || Some(json!({ "command": "/own/cli-team-bridge", "timeout": 150_000 }));
    let file = |entry: Option<Value>, missing: &[&str], of_project| {
        let (servers, settings) = (servers(entry), settings(missing, of_project));
        let (servers, settings) = (servers.written.unwrap(), settings.written.unwrap());
        let written = Written { lists: settings.lists, missing: settings.missing, ..servers };
        let scope = if of_project { Scope::Project } else { Scope::User };
        ExaminedFile { path: "/f.json".into(), scope, written: Ok(written), opening: None }
    };
    let lacking = ["permissions.allow", "hooks.Stop"];
    let of_user = file(whole(), &["hooks.Stop"], false);
    assert_eq!(levels(vec![of_user]), [("entry", Level::Ok), ("hooks", Level::Note)]);
    let of_project = file(whole(), &[], true);
    assert_eq!(levels(vec![file(None, &lacking, false), of_project]), [("entry", Level::Ok)]);
}

#[test]
fn a_plugin_is_enough_and_an_entry_beside_it_is_one_too_many() {
    let whole = json!({ "command": "/own/cli-team-bridge", "timeout": 150_000 });
    let levels = |entry| {
        let with_plugin = ExaminedClient { has_plugin: true, ..client(vec![servers(entry)]) };
        let programs = Programs {
            is_executable: &|_| true,
            judge_brought: &|_| Ok(()),
            judge_arguments: started,
            expand: &expanded,
            is_directory: &|_| true,
            own: "/own/cli-team-bridge",
        };
        let findings = judge(&with_plugin, &programs);
        findings.iter().map(|finding| (finding.check, finding.level)).collect::<Vec<_>>()
    };
    assert_eq!(levels(None), [("entry", Level::Ok)]);
    assert_eq!(levels(Some(whole)), [("entry", Level::Ok), ("plugin", Level::Problem)]);
}

#[test]
fn a_file_that_cannot_be_read_is_a_problem() {
    let unreadable = ExaminedFile {
        path: "/f.json".into(),
        scope: Scope::User,
        written: Err(Unreadable {
            why: "it does not parse".to_owned(),
            remedy: "correct /f.json".to_owned(),
            is_unused: false,
        }),
        opening: None,
    };
    let findings = judged(vec![unreadable]);
    assert_eq!(findings.len(), 1, "setup would refuse it: {findings:?}");
    assert_eq!(findings[0].level, Level::Problem);
    assert_eq!(findings[0].says, "cannot use /f.json: it does not parse");
    let remedy = "correct /f.json, then run `cli-team-bridge doctor` again";
    assert_eq!(findings[0].remedy.as_deref(), Some(remedy));
}

#[test]
fn beside_an_entry_of_another_author_nothing_is_missing_that_setup_would_add() {
    for (entry, level) in
        [(json!({ "command": "/x/other" }), Level::Problem), (json!({}), Level::Note)]
    {
        let files = || vec![servers(Some(entry.clone())), settings(&["permissions.allow"], false)];
        assert_eq!(levels(files()), [("entry", level)], "{entry}");
    }
}

/// Setup would refuse the client, and change nothing.
#[test]
fn what_lets_setup_change_a_file_comes_before_setup() {
    let opening = || Some("make /d writable (`chmod u+w`)".to_owned());
    let closed = |file: ExaminedFile| ExaminedFile { opening: opening(), ..file };
    let remedy = |files: Vec<ExaminedFile>, check: &str| {
        let found = judged(files).into_iter().find(|found| found.check == check).unwrap();
        found.remedy.unwrap()
    };
    let whole = || Some(json!({ "command": "/own/cli-team-bridge", "timeout": 150_000 }));
    let set_up = "run `cli-team-bridge setup --client claude-code`";
    let both = format!("make /d writable (`chmod u+w`), then {set_up}");
    assert_eq!(remedy(vec![closed(servers(None))], "entry"), both);
    let missing = || settings(&["permissions.allow"], false);
    assert_eq!(remedy(vec![servers(whole()), closed(missing())], "permission"), both);
    // A file that is complete is not written.
    assert_eq!(remedy(vec![closed(servers(whole())), missing()], "permission"), set_up);
    let gone = Some(json!({ "command": "/gone/cli-team-bridge" }));
    let corrected = format!("{both}, which sets its program to `/own/cli-team-bridge`");
    assert_eq!(remedy(vec![closed(servers(gone))], "entry"), corrected);
}

#[test]
fn a_command_is_judged_as_it_is_after_the_clients_own_expansion() {
    let check = |command: &str, level: Level, says: &str| {
        let entry = json!({ "command": command, "args": ["orchestrator"], "timeout": 150_000 });
        let findings = judged(vec![servers(Some(entry))]);
        let found = (findings.len(), findings[0].level, findings[0].says.as_str());
        assert_eq!(found, (1, level, says), "{command}");
    };
    let path = "cli-team-bridge";
    check(&format!("${{HOME}}/{path}"), Level::Ok, "/f.json starts `/h/cli-team-bridge`");
    for (form, level, why) in [
        ("$x", Level::Problem, "in which Claude Code does not expand `$x`"),
        ("$not_set", Level::Unknown, "in which `$not_set` is not set here"),
        ("$unknown", Level::Unknown, "and only Claude Code knows what `$unknown` stands for"),
    ] {
        let says = format!("/f.json starts `{form}/{path}`, {why}");
        check(&format!("{form}/{path}"), level, &says);
    }
    let says = "the entry `bridge` in /f.json starts `$unknown`, and only Claude Code knows what `$unknown` stands for";
    check("$unknown", Level::Unknown, says);
    let says = "the entry `bridge` in /f.json starts another program: `$x`";
    check("$x", Level::Problem, says);
}

#[test]
fn a_login_in_variables_that_the_client_keeps_is_a_note_with_what_passes_them_on() {
    let lost = |profile, variables: &[&str]| LostLogin {
        profile,
        variables: variables.iter().map(|name| (*name).to_owned()).collect(),
        how_to_log_in: Some("run `it`".to_owned()),
    };
    let entry = json!({ "command": "/own/cli-team-bridge", "args": ["orchestrator"] });
    let judged = |name, scope: Scope| {
        let mut client = client(vec![ExaminedFile { scope, ..servers(Some(entry.clone())) }]);
        client.name = name;
        client.lost_logins =
            vec![lost("claude-code", &["B_KEY"]), lost("qwen", &["A_KEY", "B_KEY"])];
        let subject = Subject::Client(name.to_owned());
        let note = lost_login::judge_lost_logins(&client, &subject).unwrap();
        assert_eq!((note.check, note.level), ("login", Level::Note));
        assert!(note.says.contains("pass A_KEY, B_KEY on"), "{note:?}");
        assert!(note.says.ends_with(": claude-code, qwen"), "{note:?}");
        note.remedy.unwrap()
    };
    let codex = judged("codex", Scope::User);
    assert!(codex.contains(r#"`env_vars = ["A_KEY", "B_KEY"]`"#), "{codex}");
    let gemini = judged("gemini", Scope::User);
    assert!(gemini.contains(r#"`"env": { "A_KEY": "$A_KEY", "B_KEY": "$B_KEY" }`"#), "{gemini}");
    let log_in = "to log claude-code in without that variable, run `it`";
    assert_eq!(judged("claude-code", Scope::User), log_in);
    assert_eq!(judged("codex", Scope::Project), log_in, "a project's entry has no such fields");
    assert_eq!(lost_login::judge_lost_logins(&client(Vec::new()), &Subject::Bridge), None);
}
