//! The status as lines for people: what needs you first. Pure.

use super::rows_as_lines as cells;
use super::table::aligned;
use crate::domain::text::counted::counted;
use crate::view::{Board, Group, MemberRow, Moment, Need, Problem, StatusLook};

/// Returns the lines of a board.
pub(in crate::cli::commands::look) fn of(board: &Board) -> Vec<String> {
    let now = board.at;
    let mut lines = vec![summary(board)];
    let is_answerable = |need: &Need| need.kind.is_allowed_or_denied() && need.id.is_some();
    let heading = if board.needs_you.iter().any(is_answerable) {
        "Needs you (`cli-team-bridge allow ID` or `deny ID` answers; no answer in time is a no)"
    } else {
        "Needs you"
    };
    block(&mut lines, heading, board.needs_you.iter().map(|need| need_cells(need, now)));
    put_commands_below(&mut lines, &board.needs_you);
    let problems = board.problems_beside_needs();
    for group in [Group::NeedsYou, Group::Working, Group::Idle, Group::Ended] {
        let members =
            board.members.iter().filter(|row| row.group == group && !board.is_problem(row));
        let heading =
            if group == Group::NeedsYou { "Members that are held up" } else { group.heading() };
        let older = match board.without_row(group) {
            0 => String::new(),
            some => format!(" ({some} older: `cli-team-bridge log --kind member`)"),
        };
        let heading = format!("{heading}{older}");
        block(&mut lines, &heading, members.map(|row| cells::member(row, board)));
    }
    let heading = match board.ended_tasks_without_row() {
        0 => "Tasks".to_owned(),
        1 => "Tasks (1 more has ended: `cli-team-bridge tasks`)".to_owned(),
        some => format!("Tasks ({some} more have ended: `cli-team-bridge tasks`)"),
    };
    block(&mut lines, &heading, board.tasks.iter().map(|task| cells::task(task, now)));
    let requests = board.requests.iter().chain(&board.ended_requests);
    let requests = requests.map(|request| cells::request(request, now));
    block(&mut lines, "Requests", requests);
    let conflicts = board.conflicts.iter().map(|row| {
        vec![row.names(), row.thread.clone(), cells::ago(row.since, now), row.in_full()]
    });
    block(&mut lines, "Disagreements", conflicts);
    let workflows = board.workflows.iter().map(|workflow| cells::workflow(workflow, now));
    let interrupted = |is_trial: bool| {
        let mut all = board.workflows.iter();
        all.any(|workflow| workflow.is_trial == is_trial && workflow.has_no_leader())
    };
    let heading = match (interrupted(false), interrupted(true)) {
        (true, false) => "Workflows (`cli-team-bridge run --resume ID` resumes an interrupted one)",
        (true, true) => {
            "Workflows (`cli-team-bridge run --resume ID` resumes an interrupted one, but no trial)"
        }
        (false, true) => "Workflows (a trial cannot be resumed)",
        (false, false) => "Workflows",
    };
    block(&mut lines, heading, workflows);
    put_problems(&mut lines, &problems, board);
    lines
}

/// Adds what is wrong, each with what helps below it, and then who has ended: those that led first.
fn put_problems(
    lines: &mut Vec<String>,
    problems: &[(&Problem, Option<&MemberRow>)],
    board: &Board,
) {
    if problems.is_empty() {
        return;
    }
    lines.extend([String::new(), "Problems".to_owned()]);
    let plain = problems.iter().filter(|(_, row)| row.is_none());
    let plain: Vec<_> = plain.map(|(problem, _)| *problem).collect();
    let rows = plain
        .iter()
        .map(|problem| vec![format!("✗ {}", problem.who()), problem_words(problem, board.at)]);
    let rows = aligned(&rows.collect::<Vec<_>>(), 2);
    for (place, row) in rows.into_iter().enumerate() {
        lines.push(row);
        let next = plain.get(place + 1).and_then(|next| next.advice());
        let advice = plain[place].advice().filter(|advice| next.as_ref() != Some(advice));
        lines.extend(advice.map(|advice| format!("      {advice}")));
    }
    let mut ends: Vec<_> = problems.iter().filter_map(|(_, row)| *row).collect();
    ends.sort_by_key(|row| row.kind == "agent");
    let ends: Vec<_> = ends.into_iter().map(|row| cells::member(row, board)).collect();
    lines.extend(aligned(&ends, 2));
}

/// Says what is wrong, and since when.
fn problem_words(problem: &Problem, now: Moment) -> String {
    let since = problem.since.map(|since| format!(" ({} ago)", cells::ago(since, now)));
    format!("{}{}", problem.words, since.unwrap_or_default())
}

/// Returns the cells of something that waits for a person. Its words, which may be long, come last.
fn need_cells(need: &Need, now: Moment) -> Vec<String> {
    let since = need.since.map(|since| cells::ago(since, now));
    let times: Vec<_> = since.into_iter().chain(need.time_left(now)).collect();
    let mark = StatusLook::of_group(Group::NeedsYou).mark;
    vec![
        format!("{mark} {}", need.word()),
        need.who.clone(),
        need.id.clone().unwrap_or_default(),
        times.join(", "),
        need.full_words(),
    ]
}

/// Puts the commands that show and answer each need below its line. These lines are the last ones.
fn put_commands_below(lines: &mut Vec<String>, needs: &[Need]) {
    let first = lines.len() - needs.len();
    for (place, need) in needs.iter().enumerate().rev() {
        let help = need.command().map(|command| format!("`{command}`"));
        let help = help.or_else(|| need.way_out().map(|way_out| way_out.advice().to_owned()));
        if let Some(help) = help {
            lines.insert(first + place + 1, format!("      {help}"));
        }
        if let Some(command) = need.command_to_read() {
            lines.insert(first + place + 1, format!("      `{command}` shows all of it"));
        }
    }
}

/// Adds a heading and its rows, if there are any.
fn block(lines: &mut Vec<String>, heading: &str, rows: impl Iterator<Item = Vec<String>>) {
    let rows: Vec<_> = rows.collect();
    if !rows.is_empty() {
        lines.push(String::new());
        lines.push(heading.to_owned());
        lines.extend(aligned(&rows, 2));
    }
}

/// Says how many messages are unread. More than the rows below it have are for members who are not here.
fn unread(board: &Board) -> String {
    let all = counted(board.totals.unread, "unread message");
    match board.unread_without_row() {
        0 => all,
        some if some == board.totals.unread => format!("{all} for members who are not here"),
        some => format!("{all} ({some} for members who are not here)"),
    }
}

/// Returns the team in one line.
fn summary(board: &Board) -> String {
    let (totals, need_you) = (&board.totals, board.needs_you.len());
    let problems = board.problems_beside_needs().len();
    if need_you == 0 && totals.members == 0 && totals.tasks_open == 0 && totals.workflows_open == 0
    {
        return "Nobody is here.".to_owned();
    }
    let some = |count: usize, words: String| (count > 0).then_some(words);
    let parts = [
        Some(totals.members_in_words()),
        board.needs_in_words(),
        some(problems, counted(problems, "problem")),
        some(totals.tasks_open, counted(totals.tasks_open, "open task")),
        some(totals.requests_open, counted(totals.requests_open, "open request")),
        some(totals.workflows_open, counted(totals.workflows_open, "open workflow")),
        some(totals.unread, unread(board)),
        totals.used_in_words(),
    ];
    let line = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    match line.strip_prefix("nobody") {
        Some(rest) => format!("Nobody{rest}"),
        None => line,
    }
}
