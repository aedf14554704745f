//! The next step that the overview suggests. Pure.

use super::first_request::{FirstRequest, first_request};
use super::overview_parts::{BusView, FileView, Hindrance, Overview, ProjectView, TeamNow};
use crate::setup::connected_clients::Connection;
use crate::setup::installed_agents::InstalledAgent;

/// Returns the one step that helps most: what was begun comes before what could be, and what is missing before its use.
pub(super) fn suggested_step(overview: &Overview) -> String {
    let (file, bus) = match &overview.project {
        ProjectView::Found { file, bus, .. } => (file, Some(bus)),
        ProjectView::Absent(_) => (&FileView::Good, None),
    };
    if let FileView::Invalid { place, .. } = file {
        return format!("correct {place}");
    }
    match bus {
        Some(BusView::Present { team: TeamNow::NeedsYou, .. }) => {
            return "`cli-team-bridge status` shows what needs you, and the command for it"
                .to_owned();
        }
        Some(BusView::Present { resumable, .. }) => match &resumable[..] {
            [] => {}
            [id] => {
                return format!(
                    "`cli-team-bridge run --resume {id}` resumes the interrupted workflow"
                );
            }
            more => {
                let count = more.len();
                return format!(
                    "`cli-team-bridge run --resume` lists the {count} interrupted workflows"
                );
            }
        },
        Some(BusView::Foreign | BusView::Unusable(_)) => return doctor(),
        Some(BusView::Absent) | None => {}
    }
    let Ok(agents) = &overview.agents else {
        return doctor();
    };
    // Who has an entry means to use that client, even if another one is connected.
    let to_connect = |one: &Hindrance| format!("to connect {}, {}", one.client, one.remedy);
    if let Some(broken) = overview.hindrances.iter().find(|one| !one.is_trust) {
        return to_connect(broken);
    }
    let connected =
        |connection| overview.clients.iter().find(move |client| client.connection == connection);
    let Some(client) = connected(Connection::Connected) else {
        if let Some(untrusted) = overview.hindrances.first() {
            return to_connect(untrusted);
        }
        return match connected(Connection::NotConnected) {
            Some(client) => format!("`cli-team-bridge setup` connects {}", client.title),
            None if overview.clients.is_empty() => {
                "install Claude Code or another client, then run `cli-team-bridge setup`".to_owned()
            }
            None => doctor(),
        };
    };
    let say = match first_request(agents) {
        FirstRequest::Install => return install(agents),
        FirstRequest::LogIn(how) => return how,
        FirstRequest::Say(say) => say,
    };
    if let FileView::Unapproved { command, .. } = file {
        return format!("`{command}` shows what a file of the project would run");
    }
    let place = if bus.is_some() { "here" } else { "in a project's directory" };
    match bus {
        // With a live bridge, that one is told.
        Some(BusView::Present { lost, members: 0, .. }) if !lost.is_empty() => {
            let what = if lost.len() == 1 { "the task that was" } else { "the tasks that were" };
            format!("start {} here: it is told of {what} not done", client.title)
        }
        Some(BusView::Present { team: TeamNow::AtWork, .. }) => {
            "`cli-team-bridge top` shows the team at work".to_owned()
        }
        Some(BusView::Present { team: TeamNow::Alone, .. }) => {
            format!("in the session that leads the team here, say: {say}")
        }
        _ => format!("start {} {place}, and say: {say}", client.title),
    }
}

/// Returns how to get the first agent: who has a vendor's program needs only its adapter.
fn install(agents: &[InstalledAgent]) -> String {
    let half = agents.iter().find(|agent| agent.cli.path.is_some() && !agent.is_ready());
    match half.and_then(|agent| Some((agent.profile, agent.install.as_ref()?))) {
        Some((profile, command)) => {
            format!("`{command}` installs the adapter that the agent {profile} needs")
        }
        None => "`cli-team-bridge setup` says how to install an agent".to_owned(),
    }
}

fn doctor() -> String {
    "`cli-team-bridge doctor` says what is wrong, and how to fix it".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::{TaskId, WorkflowId};
    use crate::setup::connected_clients::InstalledClient;
    use crate::setup::installed_agents::{FoundProgram, LoginSign};

    fn agent(profile: &'static str, login: LoginSign) -> InstalledAgent {
        let found = FoundProgram { name: profile.to_owned(), path: Some("/bin/x".into()) };
        InstalledAgent {
            profile,
            cli: found.clone(),
            adapter: found,
            login,
            install: None,
            how_to_log_in: Some("run `it` and log in".to_owned()),
        }
    }

    fn one(name: &'static str, title: &'static str, connection: Connection) -> InstalledClient {
        InstalledClient { name, title, connection }
    }

    /// An overview of a project with a bus, where nothing is missing.
    fn whole() -> Overview {
        let client = one("zed", "Zed", Connection::Connected);
        let bus = BusView::Present {
            members: 0,
            team: TeamNow::Unled,
            unfinished: 0,
            trials: 0,
            resumable: Vec::new(),
            lost: Vec::new(),
        };
        let key = LoginSign::Variable("KEY".into());
        Overview {
            clients: vec![client],
            hindrances: Vec::new(),
            agents: Ok(vec![
                agent("qwen", LoginSign::NotSeen),
                agent("codex", key.clone()),
                agent("gemini", key),
            ]),
            project: ProjectView::Found { root: "/p".to_owned(), file: FileView::Good, bus },
        }
    }

    fn with_bus(bus: BusView) -> Overview {
        Overview {
            project: ProjectView::Found { root: "/p".to_owned(), file: FileView::Good, bus },
            ..whole()
        }
    }

    #[track_caller]
    fn check(overview: &Overview, expected: &str) {
        assert_eq!(suggested_step(overview), expected);
    }

    #[test]
    fn where_nothing_is_missing_it_says_what_to_tell_the_client() {
        let say = "Ask codex to fix the failing test, and gemini to review the change.";
        check(&whole(), &format!("start Zed here, and say: {say}"));
        let nowhere = Overview { project: ProjectView::Absent("x".to_owned()), ..whole() };
        check(&nowhere, &format!("start Zed in a project's directory, and say: {say}"));
    }

    #[test]
    fn a_lost_task_is_told_to_the_client_that_is_started_next() {
        let with = |members, lost: &[&str]| {
            let lost = lost.iter().map(|id| TaskId::parse(id).unwrap()).collect();
            with_bus(BusView::Present {
                members,
                team: TeamNow::Unled,
                unfinished: 0,
                trials: 0,
                resumable: Vec::new(),
                lost,
            })
        };
        let one = ["task-k3j7x2abq5wt"];
        let told = |what: &str| format!("start Zed here: it is told of {what} not done");
        check(&with(0, &one), &told("the task that was"));
        check(&with(0, &["task-k3j7x2abq5wt", "task-a3j7x2abq5wt"]), &told("the tasks that were"));
        assert!(suggested_step(&with(1, &one)).contains("and say: Ask codex"));
    }

    #[test]
    fn where_a_session_leads_the_team_no_other_is_started() {
        let with = |team| {
            let (resumable, lost) = (Vec::new(), Vec::new());
            let (members, unfinished, trials) = (2, 0, 0);
            with_bus(BusView::Present { members, team, unfinished, trials, resumable, lost })
        };
        check(
            &with(TeamNow::NeedsYou),
            "`cli-team-bridge status` shows what needs you, and the command for it",
        );
        check(&with(TeamNow::AtWork), "`cli-team-bridge top` shows the team at work");
        let say = "Ask codex to fix the failing test, and gemini to review the change.";
        let alone = format!("in the session that leads the team here, say: {say}");
        check(&with(TeamNow::Alone), &alone);
    }

    #[test]
    fn a_file_that_needs_its_user_comes_before_a_request() {
        let with = |file| {
            let bus = BusView::Absent;
            let project = ProjectView::Found { root: "/p".to_owned(), file, bus };
            Overview { project, ..whole() }
        };
        let (place, why) = ("/p/x:1:2".to_owned(), "x".to_owned());
        check(&with(FileView::Invalid { place, why }), "correct /p/x:1:2");
        let (title, command) = ("x".to_owned(), "cli-team-bridge trust".to_owned());
        check(
            &with(FileView::Unapproved { title, command }),
            "`cli-team-bridge trust` shows what a file of the project would run",
        );
    }

    /// An overview in which Codex cannot start the bridge, beside another client.
    fn hindered(is_trust: bool, other: Connection) -> Overview {
        let (connection, remedy) = if is_trust {
            (Connection::Untrusted, "trust the folder".to_owned())
        } else {
            (Connection::Broken, "run `x`, which mends it".to_owned())
        };
        let hindrance = Hindrance { client: "Codex", is_trust, says: "x".to_owned(), remedy };
        let clients = vec![one("zed", "Zed", other), one("codex", "Codex", connection)];
        Overview { clients, hindrances: vec![hindrance], ..whole() }
    }

    #[test]
    fn an_entry_that_does_not_work_comes_before_a_client_that_is_connected_or_could_be() {
        for other in [Connection::Connected, Connection::NotConnected] {
            check(&hindered(false, other), "to connect Codex, run `x`, which mends it");
        }
    }

    #[test]
    fn a_directory_that_a_client_does_not_trust_matters_if_no_other_client_is_connected() {
        let trusting = "to connect Codex, trust the folder";
        check(&hindered(true, Connection::NotConnected), trusting);
        let step = suggested_step(&hindered(true, Connection::Connected));
        assert!(step.starts_with("start Zed here, and say: "), "{step}");
    }

    #[test]
    fn an_interrupted_workflow_comes_first() {
        let bus = |resumable: &[&str]| BusView::Present {
            trials: 0,
            members: 0,
            team: TeamNow::Unled,
            unfinished: 2,
            lost: Vec::new(),
            resumable: resumable.iter().map(|id| WorkflowId::parse(id).unwrap()).collect(),
        };
        let one = Overview { clients: Vec::new(), ..with_bus(bus(&["wf-k3j7x2abq5wt"])) };
        check(
            &one,
            "`cli-team-bridge run --resume wf-k3j7x2abq5wt` resumes the interrupted workflow",
        );
        let two = with_bus(bus(&["wf-k3j7x2abq5wt", "wf-a3j7x2abq5wt"]));
        check(&two, "`cli-team-bridge run --resume` lists the 2 interrupted workflows");
    }

    #[test]
    fn what_is_missing_comes_before_its_use() {
        let client =
            |connection| Overview { clients: vec![one("zed", "Zed", connection)], ..whole() };
        let doctor = super::doctor();
        check(&client(Connection::NotConnected), "`cli-team-bridge setup` connects Zed");
        check(&client(Connection::Unknown), &doctor);
        check(&client(Connection::Joins), &doctor);
        let none = Overview { clients: Vec::new(), ..whole() };
        check(&none, "install Claude Code or another client, then run `cli-team-bridge setup`");
        let agentless = Overview { agents: Ok(Vec::new()), ..whole() };
        check(&agentless, "`cli-team-bridge setup` says how to install an agent");
        let mut half = agent("codex", LoginSign::NotSeen);
        half.adapter.path = None;
        half.install = Some("npm install -g x".to_owned());
        let half = Overview { agents: Ok(vec![half]), ..whole() };
        check(&half, "`npm install -g x` installs the adapter that the agent codex needs");
        let logged_out =
            Overview { agents: Ok(vec![agent("qwen", LoginSign::NotSeen)]), ..whole() };
        check(&logged_out, "no login of qwen was found. To log in, run `it` and log in");
        check(&Overview { agents: Err("x".to_owned()), ..whole() }, &doctor);
        check(&with_bus(BusView::Unusable("x".to_owned())), &doctor);
        check(&with_bus(BusView::Foreign), &doctor);
    }
}
