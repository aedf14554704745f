//! What the window shows and what is chosen in it.

use std::sync::Arc;

use super::answering::{Answering, Subject};
use super::item::Item;
use super::pane::{Grouping, Pane};
use super::typed_line::TypedLine;
use crate::cli::commands::top::news::{AskingStep, News, Wanted};
use crate::config::WindowKeys;
use crate::domain::act::Act;
use crate::view::Board;

/// The window.
#[derive(Clone, Debug)]
pub(in crate::cli::commands::top) struct Screen {
    pub(in crate::cli::commands::top) news: Arc<News>,
    pub(in crate::cli::commands::top) keys: WindowKeys,
    /// The name of the project.
    pub(in crate::cli::commands::top) project: String,
    /// Why it only looks, if it does.
    pub(in crate::cli::commands::top) looks_only: Option<&'static str>,
    /// Rows and columns.
    pub(in crate::cli::commands::top) size: (u16, u16),
    pub(in crate::cli::commands::top) pane: Pane,
    /// The chosen row of each pane.
    chosen: [Chosen; Pane::ALL.len()],
    pub(in crate::cli::commands::top) filter: String,
    pub(in crate::cli::commands::top) grouping: Grouping,
    /// Whether live words are shown below the list.
    pub(in crate::cli::commands::top) has_peek: bool,
    pub(in crate::cli::commands::top) dialog: Dialog,
    /// What the last key or act has brought, until the next key, or for a while.
    pub(in crate::cli::commands::top) notice: Option<String>,
}

/// What lies over the list, and takes the keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::cli::commands::top) enum Dialog {
    #[default]
    None,
    Help {
        scroll: usize,
    },
    /// The filter is typed; `before` comes back with Esc.
    Filter {
        before: String,
    },
    /// The chosen row is open.
    Open {
        key: String,
        scroll: usize,
    },
    /// A message is typed.
    Write {
        to: String,
        /// The message that it answers.
        reply_to: Option<String>,
        line: TypedLine,
    },
    Answer(Answering),
    /// The reason is typed why a step is refused.
    Refuse {
        workflow: String,
        step: String,
        line: TypedLine,
    },
    /// An act is asked about, twice.
    Ask {
        question: String,
        act: Act,
        /// Whether this is the second time.
        is_second: bool,
    },
}

/// A chosen row.
#[derive(Clone, Debug, Default)]
struct Chosen {
    key: Option<String>,
    /// Its place when it was last seen, for the time when it is gone.
    index: usize,
}

impl Screen {
    /// The notice while an act is performed.
    pub(in crate::cli::commands::top) const ACTING: &str = "…";

    /// Makes a window without news.
    pub(in crate::cli::commands::top) fn new(
        project: String,
        keys: WindowKeys,
        looks_only: Option<&'static str>,
    ) -> Self {
        Self {
            news: Arc::default(),
            keys,
            project,
            looks_only,
            size: (0, 0),
            pane: Pane::default(),
            chosen: <[Chosen; 6]>::default(),
            filter: String::new(),
            grouping: Grouping::default(),
            has_peek: false,
            dialog: Dialog::None,
            notice: None,
        }
    }

    /// Takes news of the bus.
    pub(in crate::cli::commands::top) fn update(&mut self, news: Arc<News>) {
        self.news = news;
        if let (Dialog::Answer(answering), Some(board)) = (&self.dialog, self.board())
            && !answering.is_open(board)
        {
            self.dialog = Dialog::None;
            self.notice = Some("This question does not wait for an answer any more.".to_owned());
        }
        for pane in Pane::ALL {
            self.settle(pane);
        }
    }

    /// Returns the board, if the bus is open.
    pub(in crate::cli::commands::top) fn board(&self) -> Option<&Board> {
        self.news.board.as_deref()
    }

    /// Returns the rows of a pane, and the place of the chosen one.
    pub(in crate::cli::commands::top) fn rows(&self, pane: Pane) -> (Vec<Item<'_>>, Option<usize>) {
        let items = self.items(pane);
        let at = self.place(pane, &items);
        (items, at)
    }

    /// Returns the place of the chosen row. One that is gone is the row that took its place.
    fn place(&self, pane: Pane, items: &[Item<'_>]) -> Option<usize> {
        let chosen = &self.chosen[pane.index()];
        let known = chosen
            .key
            .as_ref()
            .and_then(|key| items.iter().position(|item| item.key().as_ref() == Some(key)));
        known.or_else(|| {
            let wanted = match chosen.key {
                None if pane.ends_with_news() => items.len(),
                _ => chosen.index,
            };
            let rows = items.iter().enumerate().filter(|(_, item)| item.key().is_some());
            rows.map(|(at, _)| at).min_by_key(|at| at.abs_diff(wanted))
        })
    }

    /// Returns the chosen row of the pane.
    pub(in crate::cli::commands::top) fn chosen(&self) -> Option<Item<'_>> {
        let (items, at) = self.rows(self.pane);
        at.map(|at| items[at])
    }

    /// Chooses a row by its place among all.
    pub(super) fn choose(&mut self, wanted: usize) {
        let pane = self.pane;
        let items = self.items(pane);
        let rows = items.iter().enumerate().filter(|(_, item)| item.key().is_some());
        let nearest = rows.map(|(at, _)| at).min_by_key(|at| at.abs_diff(wanted));
        let Some(at) = nearest else { return };
        // The last row of a list of news stays the last one.
        let is_last = pane.ends_with_news() && at + 1 == items.len();
        let key = items[at].key().filter(|_| !is_last);
        self.chosen[pane.index()] = Chosen { key, index: at };
    }

    /// Chooses a row some rows away, headings left out.
    pub(super) fn step(&mut self, by: isize) {
        let (items, at) = self.rows(self.pane);
        let rows: Vec<_> = (0..items.len()).filter(|at| items[*at].key().is_some()).collect();
        let Some(now) = at.and_then(|at| rows.iter().position(|row| *row == at)) else { return };
        let next = now.saturating_add_signed(by).min(rows.len() - 1);
        let next = rows[next];
        self.choose(next);
    }

    /// Keeps in mind where the chosen row is now, which the next news may take away.
    fn settle(&mut self, pane: Pane) {
        let (items, at) = self.rows(pane);
        let Some(at) = at else { return };
        let key = items[at].key();
        let chosen = &mut self.chosen[pane.index()];
        chosen.index = at;
        // Until a person chooses, the first row is chosen, whichever it is.
        if chosen.key.is_some() {
            chosen.key = key;
        }
    }

    /// Returns what is to be read besides the board.
    pub(in crate::cli::commands::top) fn wanted(&self) -> Wanted {
        let Some(board) = self.board() else { return Wanted::default() };
        let task = || self.chosen().and_then(|item| item.task(board)).map(str::to_owned);
        let question = |id: &String| {
            let row = board.permissions.iter().find(|row| row.permission_id == *id)?;
            Some((id.clone(), row.task_id.clone()?, row.title.clone()))
        };
        Wanted {
            live: self.has_peek.then(task).flatten(),
            task: match &self.dialog {
                Dialog::Open { key, .. } => key.strip_prefix("task ").map(str::to_owned),
                _ => None,
            },
            call: match &self.dialog {
                Dialog::Answer(Answering { subject: Subject::Permission(id), .. }) => question(id),
                _ => None,
            },
            step: match &self.dialog {
                Dialog::Answer(Answering { subject: Subject::Step(workflow, step), .. }) => {
                    Some(AskingStep { workflow: workflow.clone(), step: step.clone() })
                }
                Dialog::Open { key, .. } => self.step_in(key),
                _ => None,
            },
        }
    }

    /// Returns the step that asks to begin in a row.
    fn step_in(&self, key: &str) -> Option<AskingStep> {
        let Some(Item::Need(need, _)) = self.item_of(key) else { return None };
        let (workflow, step) = need.asking_step()?;
        Some(AskingStep { workflow: workflow.to_owned(), step: step.to_owned() })
    }

    /// Returns the title of the terminal's window.
    pub(in crate::cli::commands::top) fn title(&self) -> String {
        let needs = self.board().and_then(Board::needs_in_words);
        format!("{}: {}", needs.as_deref().unwrap_or("top"), self.project)
    }
}
