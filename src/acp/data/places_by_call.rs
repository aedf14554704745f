//! The places that the tool calls of a session have named, kept beyond the turn of a call: it may continue in a later turn.

use std::collections::{BTreeMap, HashMap};

use super::tool_call_update::ToolCallUpdate;
use super::touched_paths::Touched;

/// The number of remembered calls, and their bytes. Beyond either limit, the calls without a message for the longest time are forgotten:
/// a call spans a handful of turns.
const MOST_CALLS: usize = 4096;
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// The bytes of a call besides its places and its id, which is stored twice.
const CALL_BYTES: usize = 128;

/// The places and kinds of the calls of a session, by their ids.
#[derive(Debug, Clone, Default)]
pub struct Places {
    by_id: HashMap<String, KnownCall>,
    /// The ids in the order of their last messages.
    in_order: BTreeMap<u64, String>,
    heard: u64,
    bytes: usize,
}

/// The known places of a call.
#[derive(Debug, Clone, Default)]
struct KnownCall {
    /// The number of its last message.
    heard: u64,
    touched: Touched,
    is_over: bool,
}

impl Places {
    /// Takes in a message about a call. A call that begins again after its end is a new one: some agents reuse ids.
    pub fn see(&mut self, message: &ToolCallUpdate) {
        let id = &message.id;
        let mut call = self.by_id.remove(id).unwrap_or_default();
        if self.in_order.remove(&call.heard).is_some() {
            self.bytes -= bytes(id, &call.touched);
        }
        if call.is_over && message.begins {
            call = KnownCall::default();
        }
        call.touched.add(message.touched.clone());
        call.is_over |= matches!(message.status.as_deref(), Some("completed" | "failed"));
        self.heard += 1;
        call.heard = self.heard;
        self.bytes += bytes(id, &call.touched);
        self.in_order.insert(self.heard, id.clone());
        self.by_id.insert(id.clone(), call);
        while self.by_id.len() > MOST_CALLS || self.bytes > MOST_BYTES {
            let Some((_, oldest)) = self.in_order.pop_first() else {
                break;
            };
            if let Some(gone) = self.by_id.remove(&oldest) {
                self.bytes -= bytes(&oldest, &gone.touched);
            }
        }
    }

    /// Returns all places that any message has named for a call, as far as they are remembered.
    pub fn of(&self, id: &str) -> Option<&Touched> {
        self.by_id.get(id).map(|call| &call.touched)
    }
}

fn bytes(id: &str, touched: &Touched) -> usize {
    CALL_BYTES + 2 * id.len() + touched.bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(id: &str, path: &str) -> ToolCallUpdate {
        let fields = json!({"toolCallId": id, "kind": "edit", "locations": [{"path": path}]});
        ToolCallUpdate::parse(&fields).expect("the message has an id")
    }

    #[track_caller]
    fn check(places: &Places, id: &str, paths: &[&str]) {
        let named = places.of(id).map(Touched::paths).unwrap_or_default();
        assert_eq!(named, paths, "{id}");
    }

    #[test]
    fn all_named_places_of_a_call_are_kept() {
        let mut places = Places::default();
        places.see(&message("c", "a"));
        places.see(&message("d", "b"));
        let fields = json!({"toolCallId": "c", "kind": "read", "locations": [{"path": "e"}]});
        places.see(&ToolCallUpdate::parse(&fields).expect("the message has an id"));
        check(&places, "c", &["a", "e"]);
        check(&places, "d", &["b"]);
        assert_eq!(places.of("c").map(Touched::kind), Some("edit"));
    }

    #[test]
    fn a_call_that_begins_again_after_its_end_is_a_new_one() {
        let said = |kind: &str, status: &str, path: &str| {
            let fields = json!({"sessionUpdate": kind, "toolCallId": "c", "status": status, "kind": "edit",
                "locations": [{"path": path}]});
            ToolCallUpdate::parse(&fields).expect("the message has an id")
        };
        let mut places = Places::default();
        places.see(&said("tool_call", "pending", "a"));
        // Some agents send each change as a `tool_call`, like a beginning.
        places.see(&said("tool_call", "in_progress", "b"));
        places.see(&said("tool_call_update", "completed", "c"));
        places.see(&said("tool_call_update", "completed", "d"));
        // A question is no beginning.
        places.see(&message("c", "e"));
        check(&places, "c", &["a", "b", "c", "d", "e"]);
        places.see(&said("tool_call", "pending", "f"));
        check(&places, "c", &["f"]);
        places.see(&said("tool_call_update", "in_progress", "g"));
        places.see(&said("tool_call", "failed", "h"));
        check(&places, "c", &["f", "g", "h"]);
        places.see(&said("tool_call", "pending", "i"));
        check(&places, "c", &["i"]);
        let taken: usize = places.by_id.iter().map(|(id, call)| bytes(id, &call.touched)).sum();
        assert_eq!(taken, places.bytes);
    }

    #[test]
    fn the_call_without_a_message_for_the_longest_time_is_forgotten() {
        let mut places = Places::default();
        for number in 0..10 * MOST_CALLS {
            places.see(&message(&format!("c{number}"), "a"));
            places.see(&message("often", "b"));
        }
        let kept = (places.by_id.len(), places.in_order.len());
        assert_eq!(kept, (MOST_CALLS, MOST_CALLS));
        check(&places, "often", &["b"]);
        check(&places, "c0", &[]);
        let long = "x".repeat(4000);
        for number in 0..2000 {
            places.see(&message(&format!("{long}{number}"), &long));
        }
        assert!(places.bytes <= MOST_BYTES, "{}", places.bytes);
        let all = places.by_id.iter();
        let all = all.map(|(id, call)| bytes(id, &call.touched));
        assert_eq!(all.sum::<usize>(), places.bytes);
        // A call that exceeds the limit by itself.
        places.see(&message(&"x".repeat(MOST_BYTES), "a"));
        assert_eq!((places.by_id.len(), places.bytes), (0, 0));
    }
}
