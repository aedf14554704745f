//! The keys that the last row names.

use console::measure_text_width;

use crate::cli::commands::top::screen::{Item, Screen};
use crate::config::KeyAction;
use crate::domain::workflow::StepStatus;
use crate::view::{Board, Need, WayOut};

/// Returns the keys that count in an opened row: those that act on it, too.
pub(super) fn of_opened_row(screen: &Screen) -> String {
    let acts = match screen.chosen() {
        _ if screen.looks_only.is_some() => None,
        Some(Item::Need(need, _)) if need.kind.is_answered() => Some((KeyAction::Answer, "answer")),
        Some(Item::Need(need, _)) => way_out(need),
        Some(Item::Step(_, step, _)) if step.status == StepStatus::Asking => {
            Some((KeyAction::Answer, "answer"))
        }
        Some(Item::Member(_) | Item::Letter(_)) => Some((KeyAction::Message, "message")),
        _ => None,
    };
    let key = acts.and_then(|(action, words)| {
        let keys = screen.keys.keys_of(action);
        Some(format!("{} {words}  ", keys.first()?))
    });
    format!("{}↑↓ read  Esc close", key.unwrap_or_default())
}

/// Returns the key that helps a member that is stuck.
fn way_out(need: &Need) -> Option<(KeyAction, &'static str)> {
    match need.way_out()? {
        WayOut::Cancel => Some((KeyAction::Cancel, "cancel its task")),
        WayOut::Stop => Some((KeyAction::Cancel, "stop it")),
        WayOut::Kill => Some((KeyAction::Kill, "kill it")),
        WayOut::Process | WayOut::Wait => None,
    }
}

/// Says how many rows are out of sight, and that new ones do not come into sight by themselves.
fn out_of_sight(screen: &Screen) -> Option<String> {
    let layout = screen.layout();
    let (above, below) = screen.above_and_below(layout);
    let follows = screen.keys.keys_of(KeyAction::Last);
    let decided = match screen.decided_out_of_sight(layout) {
        0 => String::new(),
        some => format!(", {some} more decided"),
    };
    match (above, below) {
        (_, newer) if screen.is_paused() && !follows.is_empty() => {
            let newer = if newer > 0 { format!(" ({newer} newer)") } else { String::new() };
            Some(format!("paused{newer}, {} follows", follows[0]))
        }
        // The heading of what stands below the list says it.
        _ if layout.below.is_some() => None,
        (0, 0) => decided.strip_prefix(", ").map(|decided| format!("… {decided}")),
        (0, below) => Some(format!("… {below} below{decided}")),
        (above, 0) => Some(format!("… {above} above{decided}")),
        (above, below) => Some(format!("… {above} above, {below} below{decided}")),
    }
}

/// Returns the keys that count now, the most useful first, as many as there is room for.
pub(super) fn of_list(screen: &Screen, columns: usize) -> String {
    let mut parts = Vec::new();
    if !screen.filter.is_empty() {
        parts.push(format!("filter \"{}\" (Esc)", screen.filter));
    }
    let hint = |action: KeyAction, words: &str| {
        screen.keys.keys_of(action).first().map(|key| format!("{key} {words}"))
    };
    if screen.looks_only.is_none() {
        let stuck = match screen.chosen() {
            Some(Item::Need(need, _)) => way_out(need),
            _ => None,
        };
        let asks = |board: &Board| board.needs_you.iter().any(|it| it.kind.is_answered());
        if let Some((action, words)) = stuck {
            parts.extend(hint(action, words));
        } else if screen.board().is_some_and(asks) {
            parts.extend(hint(KeyAction::Answer, "answer"));
        }
        parts.extend(hint(KeyAction::Message, "message"));
    }
    let more = out_of_sight(screen);
    let peek = hint(KeyAction::Peek, "peek");
    // Who sees not all of a list rather needs the way out than a look at more.
    let (peek_first, peek_last) = if more.is_some() { (None, peek) } else { (peek, None) };
    let rest = [
        more,
        hint(KeyAction::Help, "help"),
        hint(KeyAction::Open, "open"),
        peek_first,
        hint(KeyAction::Quit, "quit"),
        peek_last,
        hint(KeyAction::Filter, "filter"),
    ];
    parts.extend(rest.into_iter().flatten());
    let mut line = String::new();
    for part in parts {
        let gap = if line.is_empty() { "" } else { "  " };
        if measure_text_width(&line) + gap.len() + measure_text_width(&part) <= columns {
            line = line + gap + &part;
        }
    }
    line
}
