//! What has happened on a bus after a seq, read from its log a few entries at a time.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::bus::event::{Entry, LogPosition};
use crate::bus::state::State;
use crate::bus::storage::LogError;
use crate::bus::storage::file::Follower;
use crate::domain::ids::MessageId;
use crate::reader::LogTexts;
use crate::view::{Happening, Happenings, LostMessages, MessageEvent, MessageEvents, Texts};

/// How many entries are read at a time: whoever else asks the bus waits no longer than this takes.
const ENTRIES: usize = 256;

/// How many entries before the first that is told are read: the words about a receipt need its delivery, whose proof may come minutes later.
const BEFORE: u64 = 8_192;

/// Says what the entries of a log mean, under names of its own.
pub(super) trait Telling: Default + Send + 'static {
    /// One thing that it says.
    type Said: Serialize + Send + 'static;

    /// Says what an entry means. Messages that are lost have no text.
    fn of(
        &mut self,
        entry: &Entry,
        state: &State,
        texts: &mut dyn Texts,
        is_lost: &dyn Fn(&MessageId) -> bool,
    ) -> Vec<Self::Said>;

    /// Returns the seq of an event, and the name of its kind.
    fn place_of(said: &Self::Said) -> (u64, &'static str);
}

impl Telling for Happenings {
    type Said = Happening;

    fn of(
        &mut self,
        entry: &Entry,
        state: &State,
        texts: &mut dyn Texts,
        is_lost: &dyn Fn(&MessageId) -> bool,
    ) -> Vec<Happening> {
        self.of_readable(entry, state, texts, is_lost)
    }

    fn place_of(said: &Happening) -> (u64, &'static str) {
        (said.seq, said.topic.as_str())
    }
}

impl Telling for MessageEvents {
    type Said = MessageEvent;

    fn of(
        &mut self,
        entry: &Entry,
        state: &State,
        texts: &mut dyn Texts,
        is_lost: &dyn Fn(&MessageId) -> bool,
    ) -> Vec<MessageEvent> {
        self.of(entry, state, texts, is_lost)
    }

    fn place_of(said: &MessageEvent) -> (u64, &'static str) {
        (said.seq, said.kind.as_str())
    }
}

/// A reader of what has happened after a seq.
pub(super) struct LogEvents<T> {
    position: LogPosition,
    /// Later events are new to whoever reads.
    seen: u64,
    telling: T,
    /// Messages that nobody may read any more, and that the state has forgotten.
    lost: BTreeSet<MessageId>,
    /// The look ahead that finds them: where it is, and what it knows. None once it is at the end.
    ahead: Option<(LogPosition, LostMessages)>,
    /// The first event that the log still has, if others before it are gone that nobody has seen.
    pub(super) gap_to: Option<u64>,
}

/// What has happened.
pub(super) struct News<S> {
    pub(super) said: Vec<S>,
    /// Whether there is more already.
    pub(super) has_more: bool,
    /// Whether the bus is another one than before: it has fewer events than were seen.
    pub(super) is_other: bool,
}

impl<T: Telling> LogEvents<T> {
    /// Begins after a seq.
    pub(super) fn after(bus: &mut Follower, seen: u64) -> Result<Self, LogError> {
        let parts = bus.parts()?;
        let mut first = 0;
        for (index, part) in parts.iter().enumerate().rev() {
            if first_seq(bus, *part)?.is_some_and(|first| first.saturating_add(BEFORE) <= seen + 1)
            {
                first = index;
                break;
            }
        }
        let position = parts.get(first).copied().unwrap_or_default();
        let oldest = first_seq(bus, position)?.unwrap_or(1);
        let gap_to = (oldest > seen + 1).then_some(oldest);
        let ahead = (seen < bus.seq()).then(|| (position, LostMessages::default()));
        let (telling, lost) = (T::default(), BTreeSet::new());
        Ok(Self { position, seen, telling, lost, ahead, gap_to })
    }

    /// Reads what comes next, of so many entries at most.
    pub(super) fn next(&mut self, bus: &mut Follower) -> Result<News<T::Said>, LogError> {
        if bus.seq() < self.seen {
            return Ok(News { said: Vec::new(), has_more: false, is_other: true });
        }
        if self.ahead.is_some() {
            self.look_ahead(bus)?;
            return Ok(News { said: Vec::new(), has_more: true, is_other: false });
        }
        let (entries, next) = bus.entries_after(self.position, ENTRIES)?;
        let mut said = Vec::new();
        let (state, texts) = bus.state_and_texts();
        let mut texts = LogTexts(texts);
        let lost = &self.lost;
        let is_lost = |id: &MessageId| lost.contains(id) || LostMessages::is_known(state, id);
        for (_, entry) in &entries {
            let all = self.telling.of(entry, state, &mut texts, &is_lost).into_iter();
            said.extend(all.filter(|one| T::place_of(one).0 > self.seen));
        }
        self.seen = said.last().map_or(self.seen, |last| T::place_of(last).0);
        self.position = if entries.is_empty() && next <= self.position {
            // The rest of what the state has is damaged.
            self.position.max(bus.position())
        } else {
            next
        };
        let has_more = self.position < bus.position();
        Ok(News { said, has_more, is_other: false })
    }

    /// Reads on towards the end of the log before the first event is told: only there it says which messages nobody was ever shown.
    fn look_ahead(&mut self, bus: &mut Follower) -> Result<(), LogError> {
        let Some((position, lost)) = &mut self.ahead else { return Ok(()) };
        let (entries, next) = bus.entries_after(*position, ENTRIES)?;
        for (_, entry) in &entries {
            lost.note(entry);
        }
        let is_end = entries.is_empty() || next >= bus.position();
        *position = next;
        if is_end {
            let (state, _) = bus.state_and_texts();
            self.lost = lost.lost(state);
            self.ahead = None;
        }
        Ok(())
    }
}

/// Returns the seq of the first event of a part; none if it has none yet.
fn first_seq(bus: &mut Follower, part: LogPosition) -> Result<Option<u64>, LogError> {
    let (entries, _) = bus.entries_after(part, 1)?;
    Ok(entries.first().map(|(_, entry)| entry.seq))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::bus::rules::{Description, NameChoice};
    use crate::bus::storage::file::{FileLog, Networks, Options, Origin};
    use crate::bus::{Bus, Joining, Membership};
    use crate::domain::member::MemberKind;
    use crate::domain::name::Name;
    use crate::sys::fs::disk::RealDisk;

    /// More than two readings of entries.
    const MESSAGES: usize = 2 * ENTRIES + 50;

    async fn peer(bus: &Bus, name: &str) -> Membership {
        let choice = NameChoice::Chosen(Name::parse(name).unwrap());
        let joining = Joining {
            choice,
            kind: MemberKind::Peer,
            roles: Vec::new(),
            description: Description::default(),
        };
        Membership::join(bus, joining).await.unwrap()
    }

    /// Makes a bus of many parts.
    async fn talk(directory: &Path) {
        let options = Options {
            segment_bytes: 8_000,
            snapshot_events: 100,
            snapshot_percent: 0,
            networks: Networks::Allowed,
            ..Options::default()
        };
        let log = FileLog::open(directory, Arc::new(RealDisk), options).unwrap();
        let bus = Bus::open(Box::new(log)).unwrap();
        let (ann, _ben) = (peer(&bus, "ann").await, peer(&bus, "ben").await);
        for number in 0..MESSAGES {
            let mut call = ann.call();
            call.send("ben".into(), format!("number {number}"), None).await.unwrap();
            call.answered().await;
        }
        bus.close().await;
    }

    fn follow(directory: &Path) -> Follower {
        Follower::open(directory, Origin::Believed, Arc::new(|| {})).unwrap().unwrap()
    }

    /// Reads all that comes after a seq.
    fn read(bus: &mut Follower, seen: u64) -> (Vec<Happening>, Option<u64>) {
        let mut events = LogEvents::<Happenings>::after(bus, seen).unwrap();
        let mut happenings = Vec::new();
        loop {
            let news = events.next(bus).unwrap();
            happenings.extend(news.said);
            if !news.has_more {
                return (happenings, events.gap_to);
            }
        }
    }

    #[tokio::test]
    async fn from_each_seq_on_all_is_read_once_and_what_is_gone_is_said() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("bus");
        talk(&directory).await;
        let mut bus = follow(&directory);
        let parts = bus.parts().unwrap().len();
        assert!(parts > 5, "{parts}");
        let (whole, gap) = read(&mut bus, 0);
        assert_eq!(gap, None);
        let sent = whole.iter().filter(|happening| happening.words.contains("number ")).count();
        assert_eq!(sent, MESSAGES);
        let last = bus.seq();
        for seen in [1, 2, last / 3, last / 2, last - 1, last] {
            let after: Vec<_> =
                whole.iter().filter(|happening| happening.seq > seen).cloned().collect();
            assert_eq!(read(&mut bus, seen), (after, None), "{seen}");
        }

        // As retention does with parts that a snapshot has made needless.
        let mut segments: Vec<_> = std::fs::read_dir(directory.join("log"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        segments.sort();
        for old in &segments[..2] {
            std::fs::remove_file(old).unwrap();
        }
        let mut bus = follow(&directory);
        let (rest, gap) = read(&mut bus, 1);
        let oldest = gap.expect("the first parts are gone");
        assert_eq!(rest[0].seq, oldest);
        let after: Vec<_> = whole.into_iter().filter(|happening| happening.seq >= oldest).collect();
        assert_eq!(rest, after);
        assert_eq!(read(&mut bus, oldest - 1).1, None);
    }
}
