//! The matrix of results for each agent, which the run itself writes into a document.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::agent_kinds::KINDS;
use crate::programs::version;
use crate::suites::permission_policies::{Action, POLICIES};

/// The lines before and after the matrix in the document.
const BEGIN: &str = "<!-- The matrix, as `e2e` writes it. -->";
const END: &str = "<!-- The end of the matrix. -->";

/// A result that is noted for each agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Column {
    Start,
    Memory,
    Tools,
    Called,
    Permission,
    Steer,
    Drain,
    Piggyback,
    Urgent,
    Wake,
    Cancel,
    Second,
    Fresh,
    Resume,
    Models,
    Usage,
    Shutdown,
    Kill,
    /// The outcome of an action under a policy.
    Under(&'static str, Action),
}

const COLUMNS: [(Column, &str); 18] = [
    (Column::Start, "start"),
    (Column::Memory, "memory"),
    (Column::Tools, "tools proven"),
    (Column::Called, "tool called"),
    (Column::Permission, "permission"),
    (Column::Steer, "steer"),
    (Column::Drain, "drain"),
    (Column::Piggyback, "piggyback"),
    (Column::Urgent, "urgent interrupts"),
    (Column::Wake, "wake"),
    (Column::Cancel, "cancel"),
    (Column::Second, "second task"),
    (Column::Fresh, "fresh session"),
    (Column::Resume, "resume"),
    (Column::Models, "models offered"),
    (Column::Usage, "usage reported"),
    (Column::Shutdown, "shutdown"),
    (Column::Kill, "kill"),
];

/// The results so far. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Matrix {
    cells: Arc<Mutex<BTreeMap<(&'static str, Column), String>>>,
}

impl Matrix {
    /// Notes a result of an agent.
    pub(crate) fn note(&self, agent: &'static str, column: Column, result: &str) {
        self.cells.lock().unwrap().insert((agent, column), result.to_owned());
    }

    /// Writes the matrix between the marks of a document.
    pub(crate) fn write_into(&self, document: &Path) {
        let text = std::fs::read_to_string(document).unwrap();
        let begin = text.find(BEGIN).expect("the document has the first mark") + BEGIN.len();
        let end = text.find(END).expect("the document has the last mark");
        let text = format!("{}\n\n{}\n{}", &text[..begin], self.table(), &text[end..]);
        std::fs::write(document, text).unwrap();
    }

    fn table(&self) -> String {
        let cells = self.cells.lock().unwrap();
        let row = |name: &str, cell: &dyn Fn(&'static str) -> String| {
            let row: Vec<_> = KINDS.iter().map(|kind| cell(kind.name)).collect();
            format!("| {name} | {} |\n", row.join(" | "))
        };
        let mut table = row("", &str::to_owned);
        table.push_str(&row("---", &|_| "---".to_owned()));
        table.push_str(&row("version", &|agent| version(agent).to_owned()));
        for (column, name) in COLUMNS {
            let result = |agent| cells.get(&(agent, column)).map_or("–", String::as_str);
            table.push_str(&row(name, &|agent| result(agent).to_owned()));
        }
        for policy in POLICIES {
            for action in Action::ALL {
                let column = Column::Under(policy, action);
                let result = |agent| cells.get(&(agent, column)).map_or("–", String::as_str);
                let name = format!("`{policy}`: {}", action.description());
                table.push_str(&row(&name, &|agent| result(agent).to_owned()));
            }
        }
        table
    }
}
