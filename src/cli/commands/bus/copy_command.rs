//! `bus copy`: takes a project's bus to a server with all its history, and back into files.

use std::path::{Path, PathBuf};

use clap::Args;

use super::init_command::team_name;
use crate::bus::storage::OrderedBy;
use crate::bus::storage::file::Proof;
use crate::bus::storage::file::copying::{self, Copied, Copying, NotCopied};
use crate::cli::commands::look::{foreign, no_team, unusable, whose};
use crate::cli::open_bus::{self, KeptBy};
use crate::cli::{Failure, below_agent, find_project, output, with_hint};
use crate::domain::text::counted::{counted, counted_as};
use crate::domain::text::shown_path::ShownPath as _;

/// Where the bus is to go.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
All lines stay as they are, and so do texts and transcripts; all lines are compared on both
sides. End all sessions first. If it is interrupted, the bus is usable, and the same command
ends what was begun.

Examples:
  cli-team-bridge bus copy postgres://bridge@localhost/agents --team shop
  cli-team-bridge bus copy --files      back into files; the team on the server has ended then")]
pub(super) struct CopyArguments {
    /// The server that is to keep the order: postgres://USER@HOST:PORT/DATABASE, or words as for `psql`.
    #[arg(required_unless_present = "files")]
    server: Option<String>,
    /// The name of the team, which must be new on the server [default: the name of the project's directory].
    #[arg(long, value_name = "NAME")]
    team: Option<String>,
    /// Take the team from its server into files here.
    #[arg(long, conflicts_with_all = ["server", "team"])]
    files: bool,
    /// The project directory [default: found from the current directory].
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
}

pub(super) fn run(arguments: &CopyArguments) -> Result<(), Failure> {
    below_agent::refuse_to("choose the server of its team")?;
    let project = find_project::find(arguments.project.as_deref())?;
    let (root, directory, proof) = (&project.root, project.bus_directory(), whose());
    let copying = match &arguments.server {
        Some(server) => {
            let team = team_name(arguments.team.as_deref(), root)?;
            copying::to_server(&directory, &proof, server, &team).map_err(unusable)?
        }
        None => to_files(&directory, &proof)?,
    };
    match copying {
        Copying::Absent => Err(no_team(root).into()),
        Copying::Foreign => Err(foreign(&directory)),
        Copying::Done(copied) => {
            say(&copied, arguments.files);
            Ok(())
        }
        Copying::Not(NotCopied::IsInFiles) => {
            output::say("The project's bus is in files already.");
            Ok(())
        }
        Copying::Not(why) => Err(refusal(&why, root)),
    }
}

/// Brings the mirror up to date, and makes it a bus in files.
fn to_files(directory: &Path, proof: &Proof) -> Result<Copying, Failure> {
    if let KeptBy::Server(_) = open_bus::kept_by(directory)? {
        open_bus::fetch(directory)?;
    }
    copying::to_files(directory, proof).map_err(unusable)
}

fn say(copied: &Copied, is_to_files: bool) {
    let Copied { events, lines, texts, missing_texts, hash, order } = copied;
    let hash = data_encoding::HEXLOWER.encode(hash);
    let (events, lines) = (counted(*events, "event"), counted(*lines, "line"));
    let texts = counted(*texts, "long text");
    output::say(&format!("{events} in {lines}, and {texts}: the same on both sides"));
    output::say(&format!("sha256 of all lines: {hash}"));
    if *missing_texts > 0 {
        let missing = counted_as(*missing_texts, "long text was", "long texts were");
        output::tell(&format!("{missing} missing before, and still {}.", "missing"));
    }
    let team = &order.team;
    output::say(&if is_to_files {
        format!(
            "The bus is in files here now. The team {team:?} has ended on its server, which keeps its lines."
        )
    } else {
        format!(
            "The bus is the team {team:?} now. On each other machine: cli-team-bridge bus init {} --team {}",
            word(&order.server),
            word(team)
        )
    });
}

/// Returns a word as a shell reads it back.
fn word(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "@%+=:,./-_".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

fn refusal(why: &NotCopied, root: &Path) -> Failure {
    let named = |names: &[String]| names.join(", ");
    match why {
        NotCopied::InUse(members) => {
            let what = format!("members of `{}` live: {}", root.shown(), named(members));
            with_hint(what, "end their sessions first")
        }
        NotCopied::MachinesAtWork(machines) => {
            let what = format!("other machines are at work in the team: {}", named(machines));
            with_hint(what, "end their sessions first")
        }
        NotCopied::IsMirror(OrderedBy { server, team, .. }) => {
            let what = format!(
                "the bus is the team {team:?} of another server or name already ({server})"
            );
            with_hint(what, "`cli-team-bridge bus copy --files` takes it into files first")
        }
        NotCopied::IsInFiles => "the bus is in files already".into(),
        NotCopied::Differs { here, there } => {
            let what = format!(
                "the lines differ: {here} are here, and {there} on the server. The bus is as it was"
            );
            with_hint(what, "copy it into another team, with `--team`")
        }
        NotCopied::Behind => {
            with_hint("another machine has written meanwhile; the bus is as it was", "try again")
        }
        NotCopied::Parted(OrderedBy { server, team, .. }) => {
            let what = format!(
                "the bus is in files here, but the team {team:?} has gone on without it on {server}: there are two histories now"
            );
            with_hint(what, "end the sessions of the other machines, and keep one of the two")
        }
    }
}
