//! The team in one line, as much of it as there is room for.

use console::measure_text_width;

use crate::cli::commands::top::screen::Screen;
use crate::domain::text::counted::counted;
use crate::view::{Board, IN_ENDED_TURNS, short};

/// The rank of what was used, which is said more shortly instead of being left out.
const USED: u8 = 5;

/// Returns the team in one line. What has no room is left out, the least important first; never what needs a person, nor the cost.
pub(super) fn team_line(screen: &Screen, board: &Board) -> String {
    let totals = &board.totals;
    let some = |count: usize, words: String| (count > 0).then_some(words);
    let problems = board.problems_beside_needs().len();
    let usage = &totals.usage;
    let tokens = format!("{} tokens", short(usage.total_tokens));
    let tokens = (usage.total_tokens > 0).then_some(tokens);
    // Without a cost the tokens are all that is known of it. What is used last says in which turns, where there is room for that.
    let has_cost = !usage.cost.is_empty();
    let (beside, last) = if has_cost {
        (tokens, Some((usage.cost_in_words(), usage.least_cost())))
    } else {
        (None, tokens.map(|tokens| (tokens.clone(), tokens)))
    };
    let (used, used_short) = last.unzip();
    let used = used.map(|used| format!("{used} {IN_ENDED_TURNS}"));
    // Each part with its rank: the highest goes first.
    let mut parts: Vec<(u8, String)> = [
        (0, board.needs_in_words()),
        (1, some(problems, counted(problems, "problem"))),
        (3, Some(counted(totals.members, "member"))),
        (2, totals.working_in_words()),
        (4, some(totals.unread, format!("{} unread", totals.unread))),
        (6, beside),
        (USED, used),
        (7, Some(screen.project.clone())),
    ]
    .into_iter()
    .filter_map(|(rank, words)| Some((rank, words?)))
    .collect();
    let line = |parts: &[(u8, String)]| {
        parts.iter().map(|(_, words)| words.as_str()).collect::<Vec<_>>().join(", ")
    };
    let room = usize::from(screen.size.1);
    while measure_text_width(&line(&parts)) > room {
        let last = parts.iter().enumerate().max_by_key(|(_, (rank, _))| *rank);
        match last {
            Some((at, (USED, _))) => parts[at] = (0, used_short.clone().unwrap_or_default()),
            Some((at, (rank, _))) if *rank > 0 => drop(parts.remove(at)),
            _ => break,
        }
    }
    line(&parts)
}
