//! What the tool calls of a session have named, beyond the turn in which they did: a call may go on in a later one.

use std::collections::{BTreeMap, HashMap};

use super::touched::Touched;
use super::update::ToolCallUpdate;

/// The calls that are remembered, and the bytes that they take. Beyond either those are forgotten of which nothing was heard for the
/// longest time: a call spans a handful of turns.
const MOST_CALLS: usize = 4096;
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// What a call takes besides its places, and besides its id, which stands there twice.
const CALL_BYTES: usize = 128;

/// The places and kinds of the calls of a session, by their ids.
#[derive(Debug, Clone, Default)]
pub struct Places {
    by_id: HashMap<String, (u64, Touched)>,
    /// The ids in the order in which they were last heard of.
    in_order: BTreeMap<u64, String>,
    heard: u64,
    bytes: usize,
}

impl Places {
    /// Takes in a message about a call.
    pub fn see(&mut self, message: &ToolCallUpdate) {
        let id = &message.id;
        let mut touched = match self.by_id.remove(id) {
            Some((heard, touched)) => {
                self.in_order.remove(&heard);
                self.bytes -= bytes(id, &touched);
                touched
            }
            None => Touched::default(),
        };
        touched.add(message.touched.clone());
        self.heard += 1;
        self.bytes += bytes(id, &touched);
        self.in_order.insert(self.heard, id.clone());
        self.by_id.insert(id.clone(), (self.heard, touched));
        while self.by_id.len() > MOST_CALLS || self.bytes > MOST_BYTES {
            let Some((_, oldest)) = self.in_order.pop_first() else {
                break;
            };
            if let Some((_, gone)) = self.by_id.remove(&oldest) {
                self.bytes -= bytes(&oldest, &gone);
            }
        }
    }

    /// Returns all that any message has named of a call, as far as it is remembered.
    pub fn of(&self, id: &str) -> Option<&Touched> {
        self.by_id.get(id).map(|(_, touched)| touched)
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
    fn all_that_was_named_of_a_call_is_kept() {
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
    fn what_was_not_heard_of_for_the_longest_time_is_forgotten() {
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
        let all = all.map(|(id, (_, touched))| bytes(id, touched));
        assert_eq!(all.sum::<usize>(), places.bytes);
        // One that is too long by itself.
        places.see(&message(&"x".repeat(MOST_BYTES), "a"));
        assert_eq!((places.by_id.len(), places.bytes), (0, 0));
    }
}
