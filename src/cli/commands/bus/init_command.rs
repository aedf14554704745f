//! `bus init`: makes the bus of a project one that several machines share, with PostgreSQL as the keeper of its order.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;

use crate::bus::storage::OrderedBy;
use crate::bus::storage::postgres;
use crate::cli::commands::look::unusable;
use crate::cli::open_bus::KeptBy;
use crate::cli::{Failure, below_agent, find_project, open_bus, output, with_hint};
use crate::domain::text::counted::counted;
use crate::domain::text::shown_path::ShownPath as _;
use crate::domain::wait_times;

/// The longest name of a team.
const TEAM_BYTES: usize = 128;

/// Which server keeps the order.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Run it once in the checkout of each machine, with the same server and team. It makes the tables
and the team where they are missing. The password comes from a passfile (~/.pgpass) or from
PGPASSWORD, never from the address; agents need the passfile.

Examples:
  cli-team-bridge bus init postgres://bridge@localhost/agents
  cli-team-bridge bus init 'host=/run/postgresql user=bridge dbname=agents' --team shop
  cli-team-bridge bus init --role agent --team shop | psql --dbname agents
  cli-team-bridge bus init --files      a bus of its own again, in the place of one moved aside")]
pub(super) struct InitArguments {
    /// The server: postgres://USER@HOST:PORT/DATABASE, or words as for `psql`.
    #[arg(required_unless_present_any = ["files", "role"])]
    server: Option<String>,
    /// The name of the team on the server [default: the name of the project's directory].
    #[arg(long, value_name = "NAME")]
    team: Option<String>,
    /// Begin a bus of its own, in files alone, where a shared one was moved aside.
    #[arg(long, conflicts_with_all = ["server", "team"])]
    files: bool,
    /// Only print the SQL that gives this role of the server its rights in the team, and in no other.
    #[arg(long, value_name = "NAME", conflicts_with = "files")]
    role: Option<String>,
    /// The project directory [default: found from the current directory].
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
}

pub(super) fn run(arguments: &InitArguments) -> Result<(), Failure> {
    below_agent::refuse_to("choose the server of its team")?;
    let project = find_project::find(arguments.project.as_deref())?;
    let directory = project.bus_directory();
    if let Some(role) = &arguments.role {
        let team = team_name(arguments.team.as_deref(), &project.root)?;
        if role.is_empty() || role.chars().any(char::is_control) {
            return Err("the name of a role is not empty, and has no control characters".into());
        }
        output::say(&postgres::role_grants(role, &team));
        return Ok(());
    }
    let Some(server) = &arguments.server else {
        return begin_in_files(&project.root, &directory);
    };
    let team = team_name(arguments.team.as_deref(), &project.root)?;
    let present = open_bus::kept_by(&directory)?;
    if matches!(present, KeptBy::Files) {
        let what = format!("`{}` has a bus of its own already", project.root.shown());
        let hint = "end its sessions; then `cli-team-bridge bus copy` with the server takes it to a new team, or move `.claude/bridge` aside \
                    first";
        return Err(with_hint(what, hint));
    }
    let until = Instant::now() + wait_times::SERVER;
    let order = postgres::make_team(server, &team, until).map_err(unusable)?;
    if let KeptBy::Server(before) = &present
        && *before != order
    {
        return Err(another(before));
    }
    let bus = open_bus::create_mirror(&directory, &order)?;
    let events = bus.fetch().map_err(|error| Failure::from(error.to_string()))?;
    output::say(&format!(
        "The team {team:?} is on {}; this machine has its {} now.",
        shown(&order)?,
        counted(events, "event")
    ));
    Ok(())
}

/// Returns the name of a team: the given one, or that of the project's directory.
pub(super) fn team_name(given: Option<&str>, root: &Path) -> Result<String, Failure> {
    let of_directory = || root.file_name().map(|name| name.to_string_lossy().into_owned());
    let team = given.map(str::to_owned).or_else(of_directory).unwrap_or_default();
    if team.trim().is_empty() || team.len() > TEAM_BYTES || team.chars().any(char::is_control) {
        let what = format!("a team's name has 1 to {TEAM_BYTES} bytes and no control characters");
        return Err(with_hint(what, "name it with `--team`"));
    }
    Ok(team)
}

/// Begins a bus in files, also where this user's last one in the directory was a shared one.
fn begin_in_files(root: &Path, directory: &Path) -> Result<(), Failure> {
    match open_bus::kept_by(directory)? {
        KeptBy::Nobody => {}
        KeptBy::Files => {
            output::say("The project has a bus of its own already.");
            return Ok(());
        }
        KeptBy::Server(before) => return Err(another(&before)),
    }
    open_bus::create_in_files(directory)?;
    output::say(&format!("`{}` has a bus of its own now.", root.shown()));
    Ok(())
}

fn shown(order: &OrderedBy) -> Result<String, Failure> {
    let until = Instant::now() + wait_times::SERVER;
    Ok(postgres::inspect(order, until).map_err(unusable)?.server)
}

fn another(before: &OrderedBy) -> Failure {
    let what = format!(
        "the bus of this project is that of the team {:?} already, at this or another address",
        before.team
    );
    with_hint(what, "end its sessions and move `.claude/bridge` aside first")
}
