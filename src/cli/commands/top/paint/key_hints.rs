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

/// Returns the keys that count now, the most useful first, as many as there is room for.
pub(super) fn of_list(screen: &Screen, columns: usize) -> String {
    let mut parts = Vec::new();
    if !screen.filter.is_empty() {
        parts.push(format!("filter \"{}\" (Esc)", screen.filter));
    }
    let mut hint = |action: KeyAction, words: &str| {
        if let Some(key) = screen.keys.keys_of(action).first() {
            parts.push(format!("{key} {words}"));
        }
    };
    if screen.looks_only.is_none() {
        let stuck = match screen.chosen() {
            Some(Item::Need(need, _)) => way_out(need),
            _ => None,
        };
        let asks = |board: &Board| board.needs_you.iter().any(|it| it.kind.is_answered());
        if let Some((action, words)) = stuck {
            hint(action, words);
        } else if screen.board().is_some_and(asks) {
            hint(KeyAction::Answer, "answer");
        }
        hint(KeyAction::Message, "message");
    }
    hint(KeyAction::Help, "help");
    hint(KeyAction::Open, "open");
    hint(KeyAction::Peek, "peek");
    hint(KeyAction::Quit, "quit");
    hint(KeyAction::Filter, "filter");
    let mut line = String::new();
    for part in parts {
        let gap = if line.is_empty() { "" } else { "  " };
        if measure_text_width(&line) + gap.len() + measure_text_width(&part) <= columns {
            line = line + gap + &part;
        }
    }
    line
}
