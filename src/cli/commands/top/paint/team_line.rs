//! The team in one line, as much of it as there is room for.

use console::measure_text_width;

use crate::cli::commands::top::screen::Screen;
use crate::domain::text::counted::counted;
use crate::view::{Board, IN_ENDED_TURNS, short};

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
    let (beside, used) = if has_cost {
        (tokens, Some((usage.cost_in_words(), usage.least_cost())))
    } else {
        (None, tokens.map(|tokens| (tokens.clone(), tokens)))
    };
    let (used, used_short) = used.unzip();
    let used = used.map(|used| format!("{used} {IN_ENDED_TURNS}"));
    let absent = board.unread_without_row();
    let unread = some(totals.unread, format!("{} unread", totals.unread));
    let with_absent = unread.as_ref().filter(|_| absent > 0);
    let with_absent =
        with_absent.map(|unread| format!("{unread} ({absent} for members who are not here)"));
    let (members, working) = (totals.members_counted(), totals.working_in_words());
    let some_of_them = working.as_ref().map(|working| format!("{members}, {working}"));
    // The forms of each part, the longest first, each with its rank: the highest goes first.
    let mut parts: Vec<Vec<(u8, String)>> = [
        vec![(0, board.needs_in_words())],
        vec![(1, some(problems, counted(problems, "problem")))],
        vec![
            (5, Some(totals.members_in_words())),
            (3, some_of_them.or(Some(members))),
            (2, working),
        ],
        vec![(7, with_absent), (4, unread)],
        vec![(6, beside)],
        vec![(8, used), (0, used_short)],
        vec![(9, Some(screen.project.clone()))],
    ]
    .into_iter()
    .map(|forms| forms.into_iter().filter_map(|(rank, form)| Some((rank, form?))).collect())
    .collect();
    let line = |parts: &[Vec<(u8, String)>]| {
        let shown = parts.iter().filter_map(|forms| Some(forms.first()?.1.as_str()));
        shown.collect::<Vec<_>>().join(", ")
    };
    let room = usize::from(screen.size.1);
    while measure_text_width(&line(&parts)) > room {
        let rank_of = |forms: &Vec<(u8, String)>| forms.first().map_or(0, |(rank, _)| *rank);
        match parts.iter_mut().max_by_key(|forms| rank_of(forms)) {
            Some(forms) if rank_of(forms) > 0 => drop(forms.remove(0)),
            _ => break,
        }
    }
    line(&parts)
}
