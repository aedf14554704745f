//! The line format: one entry as one line of JSON with a checksum.
//!
//! `{"seq":n,"ts":…,"tick":…,"id":…,"by":…,"events":[…],"crc":"8 hex"}`; the crc is CRC-32 (IEEE) of the bytes before `,"crc"`.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::bus::event::{Entry, Event};
use crate::domain::ids::{CommandId, SessionId};
use crate::domain::time::Tick;

/// The longest line, newline included: a reader never holds more of one.
pub const MAX_LINE_BYTES: usize = 1024 * 1024;

/// The greatest seq of an event. The bridge writes none over it, and none could follow one.
pub const MAX_SEQ: u64 = u64::MAX / 2;

/// `,"crc":"` + 8 digits + `"}`: the end of a line, after the checked bytes.
const TAIL_BYTES: usize = 18;

/// A line of the log as it was read.
#[derive(Debug, PartialEq, Eq)]
pub enum Decoded {
    /// An entry. Some of its events may be unknown to this version and skippable.
    Entry {
        /// The entry with its known events only, so `events` may be shorter than in the line.
        entry: Entry,
        /// The index of each known event in the line's list.
        indices: Vec<u16>,
        /// The number of events in the line.
        count: u64,
    },
    /// The checksum is wrong, or the seq is impossible.
    Damaged,
    /// The checksum fits, but a newer version wrote a line of another form, or an event that must not be skipped.
    Newer,
}

#[derive(Serialize)]
struct WrittenLine<'a> {
    seq: u64,
    ts: i64,
    tick: Tick,
    id: CommandId,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<SessionId>,
    events: &'a [Event],
}

#[derive(Deserialize)]
struct Head<E> {
    seq: u64,
    ts: i64,
    tick: Tick,
    id: CommandId,
    #[serde(default)]
    by: Option<SessionId>,
    events: Vec<E>,
}

/// Writes an entry as a line, newline included.
///
/// # Panics
/// Never: an entry has no map whose keys JSON cannot hold.
pub fn encode(entry: &Entry) -> Vec<u8> {
    let written = WrittenLine {
        seq: entry.seq,
        ts: entry.ts,
        tick: entry.tick,
        id: entry.id,
        by: entry.by,
        events: &entry.events,
    };
    seal(serde_json::to_string(&written).expect("an entry is plain data"))
}

/// Returns the length of an event in a line, with the comma after it.
pub(crate) fn bytes_of(event: &Event) -> usize {
    /// Counts written bytes.
    struct Counter(usize);
    impl Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(1);
    serde_json::to_writer(&mut counter, event).expect("an event is plain data");
    counter.0
}

/// Writes a JSON object piece by piece, then its checksum and a newline: for an object that is too long to hold in memory as a text.
pub(crate) struct Sealing<W> {
    out: W,
    crc: crc32fast::Hasher,
    /// The last byte so far. At the end it is the closing brace.
    last: Option<u8>,
}

impl<W: Write> Sealing<W> {
    pub(crate) fn new(out: W) -> Self {
        Self { out, crc: crc32fast::Hasher::new(), last: None }
    }

    /// Ends the object.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        let crc = self.crc.finalize();
        self.out.write_all(format!(",\"crc\":\"{crc:08x}\"}}\n").as_bytes())
    }

    fn pass_on(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.crc.update(bytes);
        self.out.write_all(bytes)
    }
}

impl<W: Write> Write for Sealing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some((end, rest)) = bytes.split_last() {
            if let Some(last) = self.last.replace(*end) {
                self.pass_on(&[last])?;
            }
            self.pass_on(rest)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Adds the checksum to a JSON object, and a newline after it.
pub(crate) fn seal(mut object: String) -> Vec<u8> {
    object.pop();
    let crc = crc32fast::hash(object.as_bytes());
    writeln!(object, ",\"crc\":\"{crc:08x}\"}}").expect("writing to a string succeeds");
    object.into_bytes()
}

/// Reads a line, given without its newline.
pub fn decode(line: &[u8]) -> Decoded {
    let Some(checked) = checked(line) else {
        return Decoded::Damaged;
    };
    // The checked bytes lack the closing brace; parse the line with its crc, which serde ignores.
    debug_assert!(checked.len() < line.len());
    if let Ok(head) = serde_json::from_slice::<Head<Event>>(line) {
        if !head.has_room() {
            return Decoded::Damaged;
        }
        let count = head.events.len();
        let indices = (0..).take(count).collect();
        return Decoded::Entry { entry: head.into_entry(), indices, count: count as u64 };
    }
    decode_slowly(line)
}

/// Reads a line with an event of an unknown kind or form.
fn decode_slowly(line: &[u8]) -> Decoded {
    let Ok(head) = serde_json::from_slice::<Head<&RawValue>>(line) else {
        return Decoded::Newer;
    };
    if !head.has_room() {
        return Decoded::Damaged;
    }
    let count = head.events.len() as u64;
    let (mut events, mut indices) = (Vec::new(), Vec::new());
    for (index, raw) in (0u16..).zip(&head.events) {
        match serde_json::from_str::<Event>(raw.get()) {
            Ok(event) => {
                events.push(event);
                indices.push(index);
            }
            Err(_) if may_be_skipped(raw) => {}
            Err(_) => return Decoded::Newer,
        }
    }
    let entry =
        Entry { seq: head.seq, ts: head.ts, tick: head.tick, id: head.id, by: head.by, events };
    Decoded::Entry { entry, indices, count }
}

/// Says whether an unknown event is marked as one that older versions may skip.
fn may_be_skipped(raw: &RawValue) -> bool {
    let Ok(serde_json::Value::Object(event)) = serde_json::from_str(raw.get()) else {
        return false;
    };
    event.len() == 1
        && event.values().all(|body| body.get("skip") == Some(&serde_json::Value::Bool(true)))
}

/// Returns the bytes that the checksum covers, if it fits.
pub(crate) fn checked(line: &[u8]) -> Option<&[u8]> {
    let split = line.len().checked_sub(TAIL_BYTES)?;
    let (body, tail) = line.split_at(split);
    let digits = tail.strip_prefix(b",\"crc\":\"")?.strip_suffix(b"\"}")?;
    let digits = std::str::from_utf8(digits).ok()?;
    let stated = u32::from_str_radix(digits, 16).ok()?;
    (stated == crc32fast::hash(body)).then_some(body)
}

/// Says whether that many events from `seq` on, and the entry after them, all have a possible seq. Other lines are neither written nor
/// read.
pub(crate) fn has_room(seq: u64, events: usize) -> bool {
    let next = seq.checked_add(events as u64);
    next.is_some_and(|next| next <= MAX_SEQ)
}

impl<E> Head<E> {
    fn has_room(&self) -> bool {
        has_room(self.seq, self.events.len())
    }
}

impl Head<Event> {
    fn into_entry(self) -> Entry {
        Entry {
            seq: self.seq,
            ts: self.ts,
            tick: self.tick,
            id: self.id,
            by: self.by,
            events: self.events,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::RequestId;

    fn entry() -> Entry {
        Entry {
            seq: 7,
            ts: 1_770_000_000_000,
            tick: Tick { boot: 1, ms: 2 },
            id: CommandId(uuid::Uuid::from_u128(3)),
            by: Some(SessionId(uuid::Uuid::from_u128(4))),
            events: vec![Event::RequestNudged { id: RequestId::from_bits(5) }],
        }
    }

    fn with_crc(body: &str) -> String {
        format!("{body},\"crc\":\"{:08x}\"}}", crc32fast::hash(body.as_bytes()))
    }

    #[test]
    fn an_object_is_sealed_the_same_in_pieces_and_whole() {
        let (mut pieces, object) = (Vec::new(), "{\"a\":[1,2]}");
        let mut sealing = Sealing::new(&mut pieces);
        for byte in object.as_bytes() {
            sealing.write_all(&[*byte]).unwrap();
        }
        sealing.finish().unwrap();
        assert_eq!(pieces, seal(object.to_owned()));
    }

    #[test]
    fn a_line_reads_back() {
        let line = encode(&entry());
        let (newline, line) = line.split_last().unwrap();
        assert_eq!(*newline, b'\n');
        assert_eq!(decode(line), Decoded::Entry { entry: entry(), indices: vec![0], count: 1 });
    }

    #[test]
    fn any_changed_byte_is_noticed() {
        let line = encode(&entry());
        let line = &line[..line.len() - 1];
        for at in 0..line.len() {
            let mut bad = line.to_vec();
            bad[at] ^= 0x04;
            assert_eq!(decode(&bad), Decoded::Damaged, "byte {at}");
            assert_eq!(decode(&line[..at]), Decoded::Damaged, "cut at {at}");
        }
    }

    #[test]
    fn an_unknown_event_is_skipped_only_if_it_says_so() {
        let head = r#"{"seq":7,"ts":1,"tick":[1,2],"id":"00000000-0000-0000-0000-000000000003","events":["#;
        let known = r#"{"request_nudged":{"id":"req-aaaaaaaf"}}"#;
        let skippable = with_crc(&format!(r#"{head}{{"comet":{{"skip":true}}}},{known}]"#));
        let Decoded::Entry { entry, indices, count } = decode(skippable.as_bytes()) else {
            panic!("{skippable}")
        };
        assert_eq!((entry.events.len(), indices, count), (1, vec![1], 2));
        let strict = with_crc(&format!(r#"{head}{{"comet":{{"tail":1}}}},{known}]"#));
        assert_eq!(decode(strict.as_bytes()), Decoded::Newer);
    }

    #[test]
    fn a_line_of_another_form_with_a_fitting_checksum_is_newer_and_not_damaged() {
        for head in [
            r#"{"seq":7,"ts":1,"tick":{"host":"a","boot":1,"ms":2},"id":"00000000-0000-0000-0000-000000000003","events":[]"#,
            r#"{"seq":"7a","ts":1,"tick":[1,2],"id":"00000000-0000-0000-0000-000000000003","events":[]"#,
            r#"{"packed":"AAAA""#,
        ] {
            let line = with_crc(head);
            assert_eq!(decode(line.as_bytes()), Decoded::Newer, "{line}");
            let damaged = line.replacen('"', "'", 1);
            assert_eq!(decode(damaged.as_bytes()), Decoded::Damaged);
        }
    }

    #[test]
    fn a_seq_that_leaves_none_for_the_next_entry_is_damage() {
        for seq in [MAX_SEQ, u64::MAX - 1, u64::MAX] {
            let line = encode(&Entry { seq, ..entry() });
            assert_eq!(decode(&line[..line.len() - 1]), Decoded::Damaged, "{seq}");
        }
        let line = encode(&Entry { seq: MAX_SEQ - 1, ..entry() });
        assert!(matches!(decode(&line[..line.len() - 1]), Decoded::Entry { .. }));
    }
}
