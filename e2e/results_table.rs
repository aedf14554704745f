//! The matrix of what each agent was seen to do, as the run itself writes it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::agent_kinds::KINDS;
use crate::programs::version;
use crate::suites::permission_policies::{Deed, POLICIES};

/// The lines between which the document has the matrix.
const BEGIN: &str = "<!-- The matrix, as `e2e` writes it. -->";
const END: &str = "<!-- The end of the matrix. -->";

/// What is noted of an agent.
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
    /// What became of a deed while a policy held.
    Under(&'static str, Deed),
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
    (Column::Usage, "tells of its use"),
    (Column::Shutdown, "shutdown"),
    (Column::Kill, "kill"),
];

/// What was noted so far. Clones are the same matrix.
#[derive(Clone, Default)]
pub(crate) struct Matrix {
    cells: Arc<Mutex<BTreeMap<(&'static str, Column), String>>>,
}

impl Matrix {
    /// Notes what an agent was seen to do.
    pub(crate) fn note(&self, agent: &'static str, column: Column, seen: &str) {
        self.cells.lock().unwrap().insert((agent, column), seen.to_owned());
    }

    /// Writes the matrix into a document that has its place.
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
            let seen = |agent| cells.get(&(agent, column)).map_or("–", String::as_str);
            table.push_str(&row(name, &|agent| seen(agent).to_owned()));
        }
        for policy in POLICIES {
            for deed in Deed::ALL {
                let column = Column::Under(policy, deed);
                let seen = |agent| cells.get(&(agent, column)).map_or("–", String::as_str);
                let name = format!("`{policy}`: {}", deed.description());
                table.push_str(&row(&name, &|agent| seen(agent).to_owned()));
            }
        }
        table
    }
}
