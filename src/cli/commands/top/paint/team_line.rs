//! The team in one line, as much of it as there is room for.

use console::measure_text_width;

use crate::cli::commands::top::screen::Screen;
use crate::domain::text::counted::counted;
use crate::view::{Board, short};

/// Returns the team in one line. What has no room is left out, the least important first; never what needs a person, nor the cost.
pub(super) fn team_line(screen: &Screen, board: &Board) -> String {
    let totals = &board.totals;
    let some = |count: usize, words: String| (count > 0).then_some(words);
    let problems = board.problems_beside_needs().len();
    let usage = &totals.usage;
    let costs = usage.cost.iter().map(|(currency, amount)| format!("{amount:.2} {currency}"));
    let costs = costs.collect::<Vec<_>>().join(", ");
    let tokens = some(1, format!("{} tokens", short(usage.total_tokens)));
    let tokens = tokens.filter(|_| usage.total_tokens > 0);
    // Without a cost the tokens are all that is known of it.
    let tokens_rank = if costs.is_empty() { 0 } else { 5 };
    // Each part with its rank: the highest goes first.
    let mut parts: Vec<(u8, String)> = [
        (0, board.needs_in_words()),
        (1, some(problems, counted(problems, "problem"))),
        (3, Some(counted(totals.members, "member"))),
        (2, totals.working_in_words()),
        (4, some(totals.unread, format!("{} unread", totals.unread))),
        (tokens_rank, tokens),
        (0, Some(costs).filter(|costs| !costs.is_empty())),
        (6, Some(screen.project.clone())),
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
            Some((at, (rank, _))) if *rank > 0 => drop(parts.remove(at)),
            _ => break,
        }
    }
    line(&parts)
}
