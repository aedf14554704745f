//! What the team of five has decided.

use super::team_of_five::ago;
use crate::view::{Decided, DecidedHow};

/// What was agreed, and what was allowed before.
pub(super) fn decided() -> Vec<Decided> {
    let row = Decided {
        at: ago(30),
        how: DecidedHow::Agreed,
        by: "cay".to_owned(),
        through: None,
        whom: vec!["ben".to_owned()],
        about: Some("One <log>?".to_owned()),
        words: Some("Two & no more.".to_owned()),
        why: None,
        id: "msg-3".to_owned(),
        thread_id: Some("msg-1".to_owned()),
        task_id: None,
    };
    let allowed = |number: i64| Decided {
        at: ago(60 + number),
        how: DecidedHow::Allowed,
        by: "human".to_owned(),
        through: None,
        whom: vec!["ann".to_owned()],
        about: Some(format!("execute \"make {number}\"")),
        words: None,
        why: None,
        id: format!("perm-{number}"),
        thread_id: None,
        task_id: Some("task-ann".to_owned()),
    };
    std::iter::once(row).chain((0..6).map(allowed)).collect()
}
