//! Performs a wish of the window as an act of the person at the terminal.

use std::path::Path;

use super::wish::Wish;
use crate::cli::steer::perform as perform_act;
use crate::domain::messaging::Priority;
use crate::web::Act;

/// Performs a wish, and returns what came of it as a sentence. Blocks until then.
pub(super) fn perform(project: &Path, wish: Wish) -> String {
    perform_act(project, act(wish))
        .map_or_else(|error| format!("error: {error}"), |outcome| outcome.words)
}

fn act(wish: Wish) -> Act {
    match wish {
        Wish::Send { to, text } => Act::Send { to, text, priority: Priority::Normal },
        Wish::Stop { member, session } => Act::Stop { member, session: Some(session) },
        Wish::Kill { member, session } => Act::Kill { member, session: Some(session) },
        Wish::Cancel { id } => Act::Cancel { id },
        Wish::Answer { id, decision } => Act::Answer { id, decision },
        Wish::Approve { workflow, step, given, reason } => {
            Act::Approve { workflow, step, given, reason }
        }
    }
}
