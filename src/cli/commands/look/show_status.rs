//! `status`: what stands on the project's bus now.

use clap::Args;

use super::lines::status_lines;
use super::open_to_look::{Place, no_team, open_project, print_json, until_exit};
use crate::bus::state::State;
use crate::bus::storage::file::Follower;
use crate::cli::{Failure, output};
use crate::reader::{board, last_stretches};
use crate::sys::clock;
use crate::view::{Board, Looked, NoTexts};

/// How many ended tasks, workflows and members the status shows of each: the news, while `tasks` and `log` have the rest.
const SHOWN_ENDED: usize = 5;

/// What to show.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge status          who is there, what each does, what waits for you
  cli-team-bridge status --json   the same for programs")]
pub(crate) struct StatusArguments {
    #[command(flatten)]
    place: Place,
}

pub(crate) fn run(arguments: &StatusArguments) -> Result<(), Failure> {
    let opened = arguments.place.open(None)?;
    let board = match opened.bus.map(until_exit) {
        Some(mut bus) => board_now(&mut bus),
        None if arguments.place.json => empty(),
        None => {
            output::say(&no_team(&opened.root));
            return Ok(());
        }
    };
    if arguments.place.json {
        print_json(&board);
    } else {
        for line in status_lines::of(&board) {
            output::say_fitted(&line);
        }
    }
    Ok(())
}

/// Returns the status of the current directory's project as lines, if a team is at work there or something waits for a person.
pub(in crate::cli::commands) fn lines_if_alive() -> Vec<String> {
    // The overview says itself why there is no team to look at.
    let opened = open_project(None, None).ok();
    let Some(mut bus) = opened.and_then(|opened| opened.bus) else {
        return Vec::new();
    };
    let board = board_now(&mut bus);
    let is_alive = board.totals.members > 0 || !board.needs_you.is_empty();
    if is_alive { status_lines::of(&board) } else { Vec::new() }
}

/// Returns the board of a bus. Who waits for whom does not flicker while a wait is asked anew, as in the windows.
fn board_now(bus: &mut Follower) -> Board {
    let board = board(bus, SHOWN_ENDED);
    if !board.may_be_waiting() {
        return board;
    }
    let stretches = last_stretches(bus).unwrap_or_default();
    board.with_last_stretches(&stretches)
}

/// Returns the board of a project without a bus.
fn empty() -> Board {
    let looked = Looked {
        state: &State::default(),
        seq: 0,
        now: clock::now(),
        is_held: &|_| false,
        damaged_lines: 0,
        most_ended: 0,
    };
    Board::of(&looked, &mut NoTexts)
}
