//! Walks over the log of a real bus of many parts, compared with one reading of all of it.

use std::path::Path;
use std::sync::Arc;

use futures::future::join_all;

use super::{Kept, Walk};
use crate::bus::rules::{Description, NameChoice, Pick};
use crate::bus::storage::file::{FileLog, Follower, Networks, Options, Origin};
use crate::bus::{Bus, Joining, Membership};
use crate::domain::ids::MessageId;
use crate::domain::limits;
use crate::domain::member::MemberKind;
use crate::domain::messaging::{Acknowledgement, DeliveryMethod};
use crate::domain::name::Name;
use crate::reader::walk_all;
use crate::sys::fs::disk::RealDisk;
use crate::view::{Conversation, Letter};
use crate::web::pages::{Extra, View};

/// Many pages of them.
const MESSAGES: usize = 4_000;

/// How many are sent at once, so that they share a sync.
const AT_ONCE: usize = 50;

/// The most entries that a page may cost: those that hold it, some before them and some behind.
const PAGE_ENTRIES: usize = 1_200;

/// How many entries a step reads in these tests.
const ENTRIES: usize = 16;

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

/// Makes a bus of many parts, on which one member reads now and then and the other never, and returns the id of the thread.
async fn talk(directory: &Path) -> String {
    let options = Options {
        segment_bytes: 30_000,
        snapshot_events: 100,
        snapshot_percent: 0,
        networks: Networks::Allowed,
        ..Options::default()
    };
    let log = FileLog::open(directory, Arc::new(RealDisk), options).unwrap();
    let bus = Bus::open(Box::new(log)).unwrap();
    let (ann, ben, _cay) =
        (peer(&bus, "ann").await, peer(&bus, "ben").await, peer(&bus, "cay").await);
    let send = async |to: &str, number: usize, reply_to: Option<String>| {
        let mut call = ann.call();
        let sent = call.send(to.into(), format!("number {number}"), reply_to).await.unwrap();
        call.answered().await;
        sent.id.to_string()
    };
    let mut thread = None;
    for first in (0..MESSAGES).step_by(AT_ONCE) {
        // The thread has two messages that are far apart.
        let is_thread = first == 4 * AT_ONCE || first == MESSAGES - 4 * AT_ONCE;
        let count = if is_thread { AT_ONCE - 1 } else { AT_ONCE };
        let to = |number: usize| if number.is_multiple_of(20) { "cay" } else { "ben" };
        join_all((0..count).map(|number| send(to(number), first + number, None))).await;
        if is_thread {
            let id = send("ben", first + count, thread.clone()).await;
            thread.get_or_insert(id);
        }
        let pick = Pick::any(limits::MAX_CHECK_LIMIT, usize::MAX, limits::HEAD_BYTES);
        let mut call = ben.call();
        call.receive(DeliveryMethod::Pull, pick).await.unwrap();
        call.answered().await;
    }
    bus.close().await;
    thread.unwrap()
}

fn follow(directory: &Path) -> Follower {
    Follower::open(directory, Origin::Believed, Arc::new(|| {})).unwrap().unwrap()
}

/// Walks to the end, and returns what was found and after how many steps.
fn walked(bus: &mut Follower, kept: &mut Kept, view: &View, before: Option<u64>) -> (Extra, usize) {
    let mut walk = Walk::of(view, before).unwrap();
    let mut steps = 1;
    loop {
        if let Some(extra) = walk.step(bus, kept).unwrap() {
            return (extra, steps);
        }
        steps += 1;
        assert!(steps < 10_000, "it never ends");
    }
}

/// Reads everything at once.
fn all(bus: &mut Follower) -> Vec<Letter> {
    let mut conversation = Conversation::new(usize::MAX, limits::WINDOW_MESSAGE_CHARS);
    walk_all(bus, &mut |entry, state, texts| conversation.take(entry, state, texts)).unwrap();
    conversation.letters().filter(|letter| !letter.is_routine()).cloned().collect()
}

#[tokio::test]
async fn older_pages_show_what_the_whole_log_shows_and_cost_what_they_show() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("bus");
    talk(&directory).await;
    let mut bus = follow(&directory);
    assert!(bus.parts().unwrap().len() > 5);
    let all = all(&mut bus);
    assert_eq!(all.len(), MESSAGES);
    let mut kept = Kept { entries: ENTRIES, ..Kept::default() };
    let (mut before, mut pages) = (bus.seq() + 1, 0);
    loop {
        let (extra, _) = walked(&mut bus, &mut kept, &View::Conversation, Some(before));
        let older = extra.older.unwrap();
        let earlier: Vec<_> = all.iter().filter(|letter| letter.seq < before).cloned().collect();
        let expected = &earlier[earlier.len().saturating_sub(limits::WEB_OLDER)..];
        assert_eq!(older.letters, expected, "{before}");
        assert_eq!(older.has_more, earlier.len() > limits::WEB_OLDER, "{before}");
        pages += 1;
        // Wherever in the log it is, a page costs what it shows, and not the log behind it.
        let (_, steps) = walked(&mut bus, &mut kept, &View::Conversation, Some(before));
        assert!(steps * ENTRIES <= PAGE_ENTRIES, "{steps} steps at {before}");
        if !older.has_more {
            break;
        }
        before = older.letters[0].seq;
    }
    assert_eq!(pages, MESSAGES / limits::WEB_OLDER);
    let (extra, _) = walked(&mut bus, &mut kept, &View::Conversation, Some(1));
    assert!(extra.older.unwrap().letters.is_empty());
}

#[tokio::test]
async fn an_older_page_has_the_last_words_about_a_message() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("bus");
    let log = FileLog::open(&directory, Arc::new(RealDisk), Options::default()).unwrap();
    let bus = Bus::open(Box::new(log)).unwrap();
    let (ann, ben) = (peer(&bus, "ann").await, peer(&bus, "ben").await);
    let send = async |text: String| {
        let mut call = ann.call();
        let sent = call.send("ben".into(), text, None).await.unwrap();
        call.answered().await;
        sent.id
    };
    let resolve = async |id: MessageId, summary: &str| {
        let mut call = ben.call();
        let (ids, status) = (vec![id], Acknowledgement::Resolved);
        call.acknowledge(ids, status, Some(summary.to_owned())).await.unwrap();
        call.answered().await;
    };
    let first = send("a question".to_owned()).await;
    resolve(first.clone(), "one").await;
    let others = (0..2 * limits::WEB_OLDER).map(|number| send(format!("number {number}")));
    join_all(others).await;
    resolve(first, "two").await;
    bus.close().await;
    let mut bus = follow(&directory);
    let all = all(&mut bus);
    let summary = all[0].resolved.as_ref().map(|end| end.summary.as_str());
    assert_eq!(summary, Some("two"));
    let mut kept = Kept { entries: ENTRIES, ..Kept::default() };
    let (extra, _) = walked(&mut bus, &mut kept, &View::Conversation, Some(all[1].seq));
    assert_eq!(extra.older.unwrap().letters, all[..1]);
}

#[tokio::test]
async fn a_thread_is_found_across_parts_and_one_that_is_not_there_costs_no_walk() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("bus");
    let thread = talk(&directory).await;
    let mut bus = follow(&directory);
    let parts = bus.parts().unwrap().len();
    let all = all(&mut bus);
    let mut kept = Kept { entries: ENTRIES, ..Kept::default() };
    let (extra, _) = walked(&mut bus, &mut kept, &View::Thread(thread.clone()), None);
    let expected: Vec<_> = all.into_iter().filter(|letter| letter.thread_id == thread).collect();
    let answer = expected[1].message_id.clone();
    assert_eq!((extra.thread.len(), extra.thread), (2, expected.clone()));
    // Any message of it names it.
    let (extra, _) = walked(&mut bus, &mut kept, &View::Thread(answer), None);
    assert_eq!(extra.thread, expected);
    let unknown = crate::domain::ids::MessageId::from_bits(7).to_string();
    let (extra, steps) = walked(&mut bus, &mut kept, &View::Thread(unknown), None);
    assert!(extra.thread.is_empty() && steps <= parts + 2, "{steps} steps");
    for none in ["", "x", "../../etc/passwd", "\"", "message_sent"] {
        let (extra, steps) = walked(&mut bus, &mut kept, &View::Thread(none.to_owned()), None);
        assert!(extra.thread.is_empty() && steps == 1, "{none}");
    }
}

#[tokio::test]
async fn sums_of_usage_are_read_once_and_then_only_what_is_new() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("bus");
    talk(&directory).await;
    let mut bus = follow(&directory);
    let mut kept = Kept { entries: ENTRIES, ..Kept::default() };
    let view = View::Usage(crate::view::SpentBy::Agent);
    let (_, steps) = walked(&mut bus, &mut kept, &view, None);
    assert!(steps * ENTRIES > MESSAGES, "{steps}");
    let (_, steps) = walked(&mut bus, &mut kept, &view, None);
    assert_eq!(steps, 1);
}
