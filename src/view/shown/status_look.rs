//! What a status looks like: its mark, and what it means for a person at a glance. A meaning always has a mark, so none depends on a
//! colour.

use crate::view::{Group, MemberRow, ReceiptStatus};

/// What something means for a person, which a window may show as a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// It is at work.
    Active,
    Good,
    Bad,
    /// It waits for a person.
    Urgent,
    /// It is nothing special.
    Plain,
    /// It is less important.
    Faint,
}

/// The look of a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusLook {
    pub mark: &'static str,
    pub tone: Tone,
}

impl StatusLook {
    /// Returns the look of a task, a step, a workflow or a request by the word of its status.
    pub fn of(status: &str) -> Self {
        let (mark, tone) = match status {
            "done" | "completed" => ("✓", Tone::Good),
            "failed" | "interrupted" | "expired" | "gone" => ("✗", Tone::Bad),
            "running" | "claimed" | "starting" | "cancelling" => ("●", Tone::Active),
            "asking" | "stalled" | "stuck" | "hung" | "waiting_permission" => ("!", Tone::Urgent),
            "cancelled" | "skipped" | "unneeded" => ("-", Tone::Faint),
            _ => ("·", Tone::Faint),
        };
        Self { mark, tone }
    }

    /// Returns the look of a member by its group.
    pub fn of_group(group: Group) -> Self {
        let (mark, tone) = match group {
            Group::NeedsYou => ("!", Tone::Urgent),
            Group::Working => ("●", Tone::Active),
            Group::Idle => ("○", Tone::Plain),
            Group::Ended => ("✗", Tone::Bad),
        };
        Self { mark, tone }
    }

    /// Returns the look of a member: an agent that waits does not look as if it worked.
    pub fn of_member(row: &MemberRow) -> Self {
        if row.group == Group::Working && row.state == "waiting" {
            Self::of("waiting")
        } else {
            Self::of_group(row.group)
        }
    }

    /// Returns the look of a receipt.
    pub fn of_receipt(status: ReceiptStatus) -> Self {
        let (mark, tone) = match status {
            ReceiptStatus::Queued => ("◌", Tone::Plain),
            ReceiptStatus::Unread => ("○", Tone::Plain),
            ReceiptStatus::Delivered => ("◐", Tone::Plain),
            ReceiptStatus::Seen => ("●", Tone::Good),
            ReceiptStatus::Acked => ("✓", Tone::Good),
            ReceiptStatus::Resolved => ("■", Tone::Good),
            ReceiptStatus::Superseded => ("□", Tone::Faint),
            ReceiptStatus::Withdrawn => ("-", Tone::Faint),
            ReceiptStatus::Expired | ReceiptStatus::Undelivered => ("✗", Tone::Bad),
        };
        Self { mark, tone }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_meaning_depends_on_a_colour() {
        let words =
            ["waiting", "asking", "running", "done", "failed", "unneeded", "skipped", "cancelled"];
        let looks: Vec<_> = words.map(StatusLook::of).to_vec();
        for look in &looks {
            let same_mark = looks.iter().filter(|other| other.mark == look.mark);
            assert!(same_mark.into_iter().all(|other| other.tone == look.tone), "{look:?}");
        }
        let marks: BTreeSet<_> = looks.iter().map(|look| look.mark).collect();
        assert_eq!(marks.len(), 6);
    }
}
