//! The fields of the events of messages from project to project.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::bus::event::Skip;
use crate::domain::ids::{MessageId, SessionId};
use crate::domain::member::Label;
use crate::domain::messaging::{DirectoryMark, HeldWhy, ReceiptElsewhere};

/// The projects whose members can be written to, as the user's configuration says. Their directories stand nowhere on a bus, but a mark of
/// each does: who takes messages across takes them to that directory alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectsListed {
    /// The session that has read them. The first versions that knew this event wrote none, and no marks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<SessionId>,
    /// The tag of this project; without one nobody there could answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<Label>,
    /// The tags of the others.
    pub tags: Vec<Label>,
    /// The marks of their directories.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub marks: BTreeMap<Label, DirectoryMark>,
    /// Older versions refuse addresses in other projects.
    pub skip: Skip,
}

/// A message is on the bus of another project, or its receipts there have changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageRelayed {
    pub id: MessageId,
    /// Its id there.
    pub there: MessageId,
    pub receipts: Vec<ReceiptElsewhere>,
}

/// A message to another project cannot be delivered yet, and its sender was told why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageHeld {
    pub id: MessageId,
    pub why: HeldWhy,
}

/// The project that a message came from has these receipts of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptsTold {
    /// The message here.
    pub id: MessageId,
    pub receipts: Vec<ReceiptElsewhere>,
}

#[cfg(test)]
mod tests {
    use crate::bus::event::Event;

    /// As they were first written, which is read for ever.
    #[test]
    fn messages_from_project_to_project_read_as_they_were_first_written() {
        for event in [
            r#"{"projects_listed":{"own":"po","tags":["web","wiki"],"skip":true}}"#,
            r#"{"projects_listed":{"tags":[],"skip":true}}"#,
            r#"{"projects_listed":{"by":"00000000-0000-0000-0000-000000000001","own":"po","tags":["web","wiki"],"marks":{"web":4503599627370495,"wiki":7},"skip":true}}"#,
            r#"{"message_sent":{"id":"msg-aaaaaaab","kind":"message","from":"ann","audience":"web:alice","to":[],"more":{"queue":true},"body":{"text":"x"}}}"#,
            r#"{"message_sent":{"id":"msg-aaaaaaab","kind":"message","from":"ann","audience":"web:*","to":[],"more":{"queue":true},"body":{"text":"x"}}}"#,
            r#"{"message_sent":{"id":"msg-aaaaaaab","kind":"message","from":"po:ann","audience":"bob","to":["bob"],"more":{"origin":{"tag":"po","id":"msg-aaaaaaac","sent_ms":1770000000000}},"body":{"text":"x"}}}"#,
            r#"{"message_sent":{"id":"msg-aaaaaaab","kind":"message","from":"po:ann","audience":"bob","to":["bob"],"more":{"origin":{"tag":"po","id":"msg-aaaaaaac","sent_ms":1770000000000,"place":{"bus":"00000000-0000-0000-0000-000000000001","seq":9,"oldest":7}}},"body":{"text":"x"}}}"#,
            r#"{"message_relayed":{"id":"msg-aaaaaaab","there":"msg-aaaaaaac","receipts":[{"name":"alice","state":"unread"}]}}"#,
            r#"{"message_held":{"id":"msg-aaaaaaab","why":"no_bus"}}"#,
            r#"{"receipts_told":{"id":"msg-aaaaaaac","receipts":[{"name":"alice","state":"seen"}]}}"#,
        ] {
            let read: Event = serde_json::from_str(event).unwrap();
            assert!(!read.is_progress(), "a power cut loses none: {read:?}");
            assert_eq!(serde_json::to_string(&read).unwrap(), event);
        }
    }
}
