//! A courier between two buses in memory, both of which fail where a test wants it to.

use std::path::Path;
use std::sync::Arc;

use super::errands::{Errand, errands};
use super::known_projects::tests::tag;
use super::run_errand::{Ended, hold, run};
use super::{Courier, KnownProjects};
use crate::bus::event::{Entry, Event};
use crate::bus::rules::{Description, NameChoice};
use crate::bus::storage::faulty_log::{Fault, FaultPoint, Faults};
use crate::bus::storage::in_memory::Store;
use crate::bus::{Bus, Joining, Membership, Outgoing, WaitFor, Waited};
use crate::domain::ids::MessageId;
use crate::domain::member::{Departure, Label, MemberKind};
use crate::domain::messaging::{
    Acknowledgement, DirectoryMark, HeldWhy, ListedProjects, MessageKind, Priority,
};
use crate::domain::name::Name;
use crate::domain::{limits, wait_times};
use crate::sys::clock;

/// A project: its bus, what fails there, and a session that is its courier.
struct Project {
    store: Store,
    faults: Faults,
    bus: Bus,
    me: Membership,
    listed: ListedProjects,
}

fn label(text: &str) -> Label {
    Label::parse(text).unwrap()
}

fn listed(own: &str, other: &str) -> ListedProjects {
    let tags = [(label(other), DirectoryMark::of(Path::new(other)))];
    ListedProjects { own: Some(label(own)), tags: tags.into(), ..ListedProjects::default() }
}

async fn join(
    bus: &Bus,
    called: &str,
    kind: MemberKind,
    projects: Option<ListedProjects>,
) -> Membership {
    let joining = Joining {
        choice: NameChoice::Chosen(Name::parse(called).unwrap()),
        kind,
        roles: Vec::new(),
        description: Description { projects, ..Description::default() },
    };
    Membership::join(bus, joining).await.unwrap()
}

impl Project {
    async fn new(own: &str, other: &str, called: &str) -> Self {
        Self::listing(listed(own, other), called, MemberKind::Peer).await
    }

    /// A project whose courier is of that kind and has listed these.
    async fn listing(listed: ListedProjects, called: &str, kind: MemberKind) -> Self {
        let store = Store::new(Arc::new(clock::now));
        let faults = Faults::default();
        let bus = Bus::open(Box::new(faults.before(store.log()))).unwrap();
        let me = join(&bus, called, kind, Some(listed.clone())).await;
        Self { store, faults, bus, me, listed }
    }

    /// Opens the bus as another process does.
    fn opened(&self) -> Bus {
        Bus::open(Box::new(self.faults.before(self.store.log()))).unwrap()
    }

    async fn send(&self, to: &str, content: &str, reply_to: Option<String>) -> String {
        self.send_as(&self.me, to, content, reply_to).await
    }

    async fn send_as(
        &self,
        me: &Membership,
        to: &str,
        content: &str,
        reply_to: Option<String>,
    ) -> String {
        let (to, content) = (to.to_owned(), content.to_owned());
        let message = Outgoing { to, content, reply_to, priority: Priority::Normal, more: None };
        me.call().send_out(message).await.unwrap().id.to_string()
    }

    fn errand(&self) -> Errand {
        self.bus.refresh().unwrap();
        let all = self.bus.look(|state| errands(state, self.me.session(), &self.listed, 0));
        all.into_values().next().unwrap_or_default()
    }

    /// Goes once with everything.
    async fn go(&self, own: &str, to: &Self) -> Ended {
        let other = to.opened();
        let ended = run(&self.me, &label(own), &other, self.errand()).await;
        other.close().await;
        ended
    }

    /// Returns the texts of the messages to a member, without notices.
    fn texts(&self, of: &str) -> Vec<String> {
        self.bus.refresh().unwrap();
        let name = Name::parse(of).unwrap();
        let is_talk = |kind: MessageKind| kind != MessageKind::Notice;
        let bodies: Vec<_> = self.bus.look(|state| {
            let unread = state.unread(&name).filter(|message| is_talk(message.kind));
            unread.map(|message| message.body).collect()
        });
        bodies.into_iter().map(|body| self.bus.text(body).unwrap()).collect()
    }

    fn notices(&self, of: &str) -> Vec<String> {
        self.bus.refresh().unwrap();
        let name = Name::parse(of).unwrap();
        let bodies: Vec<_> = self.bus.look(|state| {
            let unread = state.unread(&name).filter(|one| one.kind == MessageKind::Notice);
            unread.filter(|one| !one.is_presence()).map(|message| message.body).collect()
        });
        bodies.into_iter().map(|body| self.bus.text(body).unwrap()).collect()
    }
}

async fn two() -> (Project, Project) {
    (Project::new("po", "web", "writer").await, Project::new("web", "po", "alice").await)
}

#[tokio::test]
async fn texts_of_any_length_arrive_whole_and_in_their_order() {
    let (po, web) = two().await;
    let long = "lang ".repeat(limits::INLINE_BYTES / 4);
    po.send("web:alice", "first", None).await;
    po.send("web:alice", &long, None).await;
    assert_eq!(po.go("po", &web).await, Ended::Done);
    assert_eq!(web.texts("alice"), ["first", long.as_str()]);
    assert_eq!(po.errand(), Errand::default());
}

/// Every append of either bus fails in every way once, and a courier begins anew each time.
#[tokio::test]
async fn whatever_fails_between_the_two_buses_each_message_is_there_once() {
    for at_other in [false, true] {
        for point in [FaultPoint::Append, FaultPoint::Sync] {
            for fault in [Fault::Busy, Fault::Io, Fault::OutcomeUnknown] {
                for nth in 1..=4 {
                    let (po, web) = two().await;
                    po.send("web:alice", "one", None).await;
                    po.send("web:alice", "two", None).await;
                    let failing = if at_other { &web } else { &po };
                    failing.faults.fail(point, nth, 1, fault);
                    for _ in 0..4 {
                        po.go("po", &web).await;
                    }
                    let case = format!("{at_other} {point:?} {fault:?} {nth}");
                    assert_eq!(web.texts("alice"), ["one", "two"], "{case}");
                    let is_empty = po.bus.look(|state| state.outbox().is_empty());
                    assert!(is_empty, "{case}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_note_that_is_lost_is_made_up_for_by_the_next_courier() {
    let (po, web) = two().await;
    let id = po.send("web:alice", "one", None).await;
    let is_note = |event: &Event| matches!(event, Event::MessageRelayed(_));
    po.faults.fail_at(u64::MAX / 2, Fault::Io, is_note);
    assert_eq!(po.go("po", &web).await, Ended::Again);
    assert_eq!(po.go("po", &web).await, Ended::Again);
    assert_eq!(po.errand().letters.len(), 1);
    po.faults.mend();
    assert_eq!(po.go("po", &web).await, Ended::Done);
    assert_eq!(web.texts("alice"), ["one"]);
    let id = MessageId::parse(&id).unwrap();
    assert!(po.bus.look(|state| state.is_relayed(&id)));
}

#[tokio::test]
async fn who_is_not_there_is_told_with_those_who_are() {
    let (po, web) = two().await;
    web.bus.join_peer("bob").await;
    po.send("web:bobb", "one", None).await;
    po.send("web:alice", "two", None).await;
    assert_eq!(po.go("po", &web).await, Ended::Done);
    assert_eq!(web.texts("alice"), ["two"]);
    let [notice] = &po.notices("writer")[..] else { panic!("{:?}", po.notices("writer")) };
    assert!(notice.ends_with("no member there has that name; there are bob, alice"), "{notice}");
}

#[tokio::test]
async fn what_cannot_be_delivered_is_said_once_and_kept() {
    let (po, web) = two().await;
    let id = po.send("web:alice", "one", None).await;
    let letters = po.errand().letters;
    for _ in 0..3 {
        hold(&po.me, &letters, HeldWhy::NoBus).await;
    }
    let expected = format!(
        "your message {id} to web:alice is kept, for 30 days at most, and delivered when it can be: there is no team in that project yet"
    );
    assert_eq!(po.notices("writer"), [expected]);
    assert_eq!(po.go("po", &web).await, Ended::Done);
    assert_eq!(web.texts("alice"), ["one"]);
}

#[tokio::test]
async fn receipts_and_answers_go_back_the_same_way() {
    let (po, web) = two().await;
    let id = po.send("web:alice", "one", None).await;
    po.go("po", &web).await;
    let there = web.bus.look(|state| {
        let name = Name::parse("alice").unwrap();
        let unread = state.unread(&name).find(|message| message.from.elsewhere().is_some());
        unread.unwrap().id.clone()
    });
    // She names the message, which acknowledges nothing, and answers it.
    web.send("po:writer", "two", Some(there.to_string())).await;
    let mut acknowledging = web.me.call();
    let said = Some("it is done".to_owned());
    acknowledging.acknowledge(vec![there], Acknowledgement::Resolved, said).await.unwrap();
    assert_eq!(web.errand().receipts.len(), 1);
    assert_eq!(web.go("web", &po).await, Ended::Done);
    assert_eq!(web.errand(), Errand::default());
    assert_eq!(po.texts("writer"), ["two"]);
    po.bus.look(|state| {
        let id = MessageId::parse(&id).unwrap();
        let [receipt] = &state.crossed(&id).unwrap().receipts[..] else { panic!() };
        assert_eq!((receipt.name.as_str(), receipt.state.as_str()), ("alice", "resolved"));
        assert_eq!(receipt.note, None, "it stands in the log alone");
    });
    let mut notes = Vec::new();
    let relayed = |event: Event| match event {
        Event::MessageRelayed(relayed) => Some(relayed.receipts),
        _ => None,
    };
    let keep = |_, entry: Entry| {
        let receipts = entry.events.into_iter().filter_map(relayed).flatten();
        notes.extend(receipts.filter_map(|receipt| receipt.note));
    };
    po.bus.entries_with_any(&[&id], keep).unwrap();
    assert_eq!(notes, ["it is done"]);
}

#[tokio::test]
async fn where_somebody_leads_only_they_are_the_courier() {
    let (po, _web) = two().await;
    po.send("web:alice", "one", None).await;
    assert_eq!(po.errand().letters.len(), 1);
    let lead = join(&po.bus, "chief", MemberKind::Orchestrator, None).await;
    assert_eq!(po.errand(), Errand::default());
    assert_eq!(po.bus.look(|state| errands(state, lead.session(), &po.listed, 0)).len(), 1);
}

#[tokio::test]
async fn who_knows_another_directory_takes_nothing_and_says_so_in_time() {
    let po = Project::new("po", "web", "writer").await;
    let id = MessageId::parse(&po.send("web:alice", "hello", None).await).unwrap();
    po.bus.refresh().unwrap();
    let moved = ListedProjects {
        tags: [(label("web"), DirectoryMark::of(Path::new("elsewhere")))].into(),
        ..po.listed.clone()
    };
    let sent_ms = po.bus.look(|state| state.message(&id).unwrap().sent_ms);
    let at = |ms: i64| po.bus.look(|state| errands(state, po.me.session(), &moved, sent_ms + ms));
    assert_eq!(at(wait_times::LEFT_IN_OUTBOX_MS).len(), 0, "another one may take it");
    let late = at(wait_times::LEFT_IN_OUTBOX_MS + 1);
    let errand = &late[&label("web")];
    assert!(!errand.is_of_team, "it is not taken");
    hold(&po.me, &errand.letters, HeldWhy::Unlisted).await;
    po.bus.refresh().unwrap();
    assert_eq!(at(2 * wait_times::LEFT_IN_OUTBOX_MS).len(), 0, "its sender is told once");
}

/// Waits until something holds on a bus.
async fn until(of: &Project, holds: impl Fn(&Project) -> bool) {
    let mut changes = of.bus.changes();
    let deadline = std::time::Duration::from_mins(1);
    let waiting = async {
        while !holds(of) {
            changes.changed().await.unwrap();
        }
    };
    tokio::time::timeout(deadline, waiting).await.expect("it comes to hold in time");
}

/// The directories of projects whose own is `po`, and each of which may hang; none is there.
fn projects(directories: &[(&str, &Path)]) -> KnownProjects {
    let own = Path::new("/nowhere/po");
    let others = directories.iter().map(|(called, directory)| tag(called, directory));
    let listed: Vec<_> = others.chain([tag("po", own)]).collect();
    KnownProjects::of(&listed, own, None).that_may_hang()
}

#[tokio::test]
async fn a_project_whose_directory_hangs_holds_up_nothing_else() {
    let place = tempfile::tempdir().unwrap();
    let (web, wiki) = (place.path().join("web"), place.path().join("wiki"));
    let projects = projects(&[("web", &web), ("wiki", &wiki)]);
    let po = Project::listing(projects.listed(), "writer", MemberKind::Peer).await;
    let hung = web.with_extension("hung");
    std::fs::write(&hung, "").unwrap();
    po.send("web:alice", "one", None).await;
    po.send("wiki:bob", "two", None).await;
    let courier = Courier::start(&po.me, projects);
    // What hangs is looked at by other threads: this one, the only one of this runtime, goes on.
    until(&po, |po| !po.notices("writer").is_empty()).await;
    let [told] = &po.notices("writer")[..] else { panic!("{:?}", po.notices("writer")) };
    assert!(told.contains("to wiki:bob is kept"), "{told}");
    std::fs::remove_file(&hung).unwrap();
    until(&po, |po| po.notices("writer").len() == 2).await;
    courier.finish().await;
}

#[tokio::test]
async fn what_was_on_its_way_to_a_former_directory_ends_also_while_no_team_is_in_the_new_one() {
    let place = tempfile::tempdir().unwrap();
    let (before, now) = (place.path().join("before"), place.path().join("now"));
    let before = projects(&[("web", &before)]).listed();
    let po = Project::listing(before, "writer", MemberKind::Peer).await;
    let id = po.send("web:alice", "one", None).await;
    let now = projects(&[("web", &now)]);
    let lead = join(&po.bus, "chief", MemberKind::Orchestrator, Some(now.listed())).await;
    let courier = Courier::start(&lead, now);
    until(&po, |po| !po.notices("writer").is_empty()).await;
    courier.finish().await;
    let expected = format!(
        "your message {id} to web:alice was not delivered: its tag means another directory since then: send it again"
    );
    assert_eq!(po.notices("writer"), [expected]);
}

#[tokio::test]
async fn a_bus_that_is_busy_is_told_from_one_that_cannot_be_used() {
    for (fault, expected) in [(Fault::Busy, Ended::Busy), (Fault::Io, Ended::Again)] {
        let (po, web) = two().await;
        po.send("web:alice", "one", None).await;
        web.faults.fail(FaultPoint::Append, 1, u64::MAX / 2, fault);
        assert_eq!(po.go("po", &web).await, expected);
        assert_eq!(po.notices("writer").len(), usize::from(fault == Fault::Io));
    }
}

#[tokio::test]
async fn whoever_comes_to_lead_later_lists_the_projects_that_the_team_goes_by() {
    let place = tempfile::tempdir().unwrap();
    let (before, now) = (place.path().join("before"), place.path().join("now"));
    let before = projects(&[("web", &before)]).listed();
    let po = Project::listing(before, "chief", MemberKind::Orchestrator).await;
    let now = projects(&[("web", &now), ("wiki", place.path())]);
    let next = join(&po.bus, "next", MemberKind::Orchestrator, Some(now.listed())).await;
    let courier = Courier::start(&next, now);
    let writer = join(&po.bus, "writer", MemberKind::Peer, None).await;
    let id = po.send_as(&writer, "web:alice", "one", None).await;
    let tags = |po: &Project| po.bus.look(|state| state.other_projects().tags.len());
    assert_eq!(tags(&po), 1, "the other one leads");
    po.me.leave(Departure::Closed).await.unwrap();
    until(&po, |po| tags(po) == 2).await;
    // What was on its way to the former directory ends.
    until(&po, |po| po.bus.look(|state| state.outbox().is_empty())).await;
    let [told] = &po.notices("writer")[..] else { panic!("{:?}", po.notices("writer")) };
    assert!(told.contains(&id) && told.contains("its tag means another directory"), "{told}");
    courier.finish().await;
}

#[tokio::test]
async fn a_wait_for_the_answer_to_what_was_not_delivered_says_so() {
    let (po, web) = two().await;
    let id = po.send("web:nobody", "one", None).await;
    let what = || WaitFor { reply_to: MessageId::parse(&id).ok(), ..WaitFor::default() };
    let mut waiting = po.me.call();
    assert_eq!(po.go("po", &web).await, Ended::Done);
    let waited = waiting.wait(what(), wait_times::ERRAND).await.unwrap();
    let Waited::NoAnswer(why) = waited else { panic!("{waited:?}") };
    assert_eq!(why.to_string(), format!("nobody will answer `{id}`: it was not delivered"));
}
