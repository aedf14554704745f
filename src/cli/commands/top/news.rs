//! What the window knows of the bus at one moment: parts of the read model.

use std::sync::Arc;

use crate::view::{Board, Decided, Happening, Letter, LiveLine};

/// Whether there is a bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum BusState {
    /// It has not been looked for yet.
    #[default]
    Opening,
    /// The project has none yet.
    Absent,
    Open,
    /// It was removed.
    Removed,
}

/// The news of the bus.
#[derive(Clone, Debug, Default)]
pub(super) struct News {
    pub(super) state: BusState,
    pub(super) board: Option<Arc<Board>>,
    /// The last messages, oldest first, without notices of the bridge.
    pub(super) letters: Arc<Vec<Letter>>,
    /// What has been decided, the last first.
    pub(super) decided: Arc<Vec<Decided>>,
    /// The last happenings, oldest first, without receipts and waits.
    pub(super) happenings: Arc<Vec<Happening>>,
    /// The live words of a task, by its id.
    pub(super) live: Option<(String, Arc<Vec<LiveLine>>)>,
    /// A whole task as lines, by its id.
    pub(super) task: Option<(String, Arc<Vec<String>>)>,
    /// The call behind a permission question as lines, by the id of the question.
    pub(super) call: Option<(String, Arc<Vec<String>>)>,
    /// The prompt of a step that waits for approval, as lines.
    pub(super) prompt: Option<(AskingStep, Arc<Vec<String>>)>,
}

/// What the window shows besides the board, and so needs to be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    /// The task whose live words are shown.
    pub(super) live: Option<String>,
    /// The task that is opened.
    pub(super) task: Option<String>,
    /// The permission question that is being answered, its task, and its title.
    pub(super) call: Option<(String, String, String)>,
    /// The step that is being approved.
    pub(super) step: Option<AskingStep>,
}

/// A step that waits for approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AskingStep {
    pub(super) workflow: String,
    pub(super) step: String,
}
