//! `tasks`: the tasks of a team, the newest first.

use clap::Args;

use super::lines::rows_as_lines as cells;
use super::lines::table::aligned;
use super::log_filter;
use super::open_to_look::{Place, print_json};
use crate::cli::{Failure, output, with_hint};
use crate::domain::text::suggest::nearest;
use crate::reader::{LogTexts, held_sessions};
use crate::view::{Moment, TASK_STATUS_WORDS, TaskRow, task_is_gone, task_status};

/// Which tasks to show.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge tasks                   the last 20 tasks
  cli-team-bridge tasks --status failed   those that failed
  cli-team-bridge tasks --agent codex     those of one agent or profile")]
pub(crate) struct TasksArguments {
    #[command(flatten)]
    place: Place,
    /// Only tasks with this status: queued, starting, running, done, failed, cancelled or interrupted; or gone: those that are open
    /// though the process of their agent has ended.
    #[arg(long, value_name = "STATUS", value_parser = status_words())]
    status: Option<String>,
    /// Only tasks of this agent or profile.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// The most tasks to show.
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = log_filter::count, default_value_t = 20)]
    last: usize,
}

/// The word for an open task whose agent's process has ended, which no session has recorded yet.
const GONE: &str = "gone";

/// Returns the words for a status, as the rows show them.
fn status_words() -> Vec<&'static str> {
    TASK_STATUS_WORDS.into_iter().chain([GONE]).collect()
}

pub(crate) fn run(arguments: &TasksArguments) -> Result<(), Failure> {
    let Some(mut bus) = arguments.place.open_once()? else {
        if arguments.place.json {
            print_json(&Vec::<TaskRow>::new());
        }
        return Ok(());
    };
    let looked = bus.now();
    let now = Moment(looked.wall_ms);
    let held = held_sessions(&bus);
    let is_held = |session| held.contains(&session);
    let (state, texts) = bus.state_and_texts();
    let mut texts = LogTexts(texts);
    let is_named = |agent: &str, profile: Option<&str>| {
        arguments.agent.as_deref().is_none_or(|name| {
            name.eq_ignore_ascii_case(agent)
                || profile.is_some_and(|profile| name.eq_ignore_ascii_case(profile))
        })
    };
    let all = state.newest_tasks();
    if let Some(name) = &arguments.agent
        && !all.iter().any(|task| is_named(task.agent.as_str(), state.profile_of(task)))
    {
        let names = all.iter().flat_map(|task| {
            [Some(task.agent.as_str()), state.profile_of(task)].into_iter().flatten()
        });
        let near = nearest(name, names);
        let hint = if near.is_empty() {
            "`cli-team-bridge tasks` lists the tasks of all".to_owned()
        } else {
            format!("did you mean {}?", near.join(" or "))
        };
        return Err(with_hint(format!("no task of `{name}` is known"), hint));
    }
    let fitting = all.into_iter().filter(|task| {
        let has_status = |wanted: &str| match wanted {
            GONE => task_is_gone(state, task, &is_held),
            status => status == task_status(state, task) && !task_is_gone(state, task, &is_held),
        };
        arguments.status.as_deref().is_none_or(has_status)
            && is_named(task.agent.as_str(), state.profile_of(task))
    });
    let mut rows: Vec<_> = fitting.take(arguments.last.saturating_add(1)).collect();
    let is_cut = rows.len() > arguments.last;
    rows.truncate(arguments.last);
    let rows =
        rows.into_iter().map(|task| TaskRow::of(state, task, (&is_held, looked), &mut texts));
    let rows: Vec<_> = rows.collect();
    if arguments.place.json {
        print_json(&rows);
        return Ok(());
    }
    if rows.is_empty() {
        output::tell(match (&arguments.status, &arguments.agent) {
            (None, None) => "There are no tasks yet.",
            _ => "There are no such tasks.",
        });
    }
    let cells: Vec<_> = rows.iter().map(|row| cells::task(row, now)).collect();
    for line in aligned(&cells, 0) {
        output::say_fitted(&line);
    }
    if is_cut {
        output::tell(&format!("Older ones: `--last {}`", arguments.last.saturating_mul(2)));
    }
    Ok(())
}
