//! A small world of pure state in which members ask for things and time passes.

use uuid::Uuid;

use crate::bus::event::{Addressees, Body, Entry, Event, Joined, MessageSent, Starting};
use crate::bus::rules::{
    Command, NameChoice, NewAgent, NewMember, NewTask, Operation, Pick, Refusal, decide,
};
use crate::bus::state::{Delivery, Message, State};
use crate::bus::storage::file::line_format;
use crate::bus::storage::{LogPosition, Proposal};
use crate::domain::ids::{CallId, CommandId, MessageId, RequestId, SessionId, TaskId};
use crate::domain::member::{Departure, MemberKind};
use crate::domain::messaging::{DeliveryMethod, MessageKind, Priority, Signal, Urgency};
use crate::domain::name::Name;
use crate::domain::time::{Now, Tick};

/// The call of a claim, where it does not matter which.
pub(super) const CALL: CallId = CallId(Uuid::nil());

/// A state, the time, and a source of ids.
pub(super) struct World {
    /// Whether the news of who has come and left stays in inboxes. Most tests are about other things.
    pub(super) keeps_news: bool,
    pub(super) state: State,
    pub(super) next_seq: u64,
    pub(super) now: Now,
    pub(super) ids: u128,
    /// The number of lines, and the bytes of the longest one.
    pub(super) appends: usize,
    pub(super) longest: usize,
}

pub(super) fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

pub(super) fn text(text: &str) -> Body {
    Body::Text(text.into())
}

/// Returns the first message of these events.
#[track_caller]
pub(super) fn sent(events: &[Event]) -> &MessageSent {
    all_sent(events).next().expect("something is sent")
}

pub(super) fn all_sent(events: &[Event]) -> impl Iterator<Item = &MessageSent> {
    events.iter().filter_map(|event| match event {
        Event::MessageSent(sent) => Some(sent),
        _ => None,
    })
}

/// Returns the texts of the notices to a member.
pub(super) fn notices(events: &[Event], to: &str) -> Vec<String> {
    all_sent(events)
        .filter(|sent| sent.kind == MessageKind::Notice && sent.to.named() == [name(to)])
        .map(said)
        .collect()
}

pub(super) fn said(sent: &MessageSent) -> String {
    match &sent.body {
        Body::Text(text) => text.clone(),
        Body::Blob { .. } => String::new(),
    }
}

impl World {
    pub(super) fn new() -> Self {
        let tick = Tick { boot: 1, ms: 1_000_000 };
        Self {
            keeps_news: false,
            state: State::default(),
            next_seq: 1,
            now: Now { wall_ms: 1_770_000_000_000, tick },
            ids: 0,
            appends: 0,
            longest: 0,
        }
    }

    pub(super) fn fresh(&mut self) -> Uuid {
        self.ids += 1;
        Uuid::from_u128(self.ids)
    }

    pub(super) fn call(&mut self) -> CallId {
        CallId(self.fresh())
    }

    pub(super) fn pass(&mut self, ms: u64) {
        self.now.tick.ms += ms;
        self.now.wall_ms += i64::try_from(ms).unwrap();
    }

    pub(super) fn run(&mut self, command: &Command) -> Result<Vec<Event>, Refusal> {
        let mut events = Vec::new();
        loop {
            let Some(proposal) = decide(&self.state, self.now, command)? else {
                return Ok(events);
            };
            assert!(!proposal.events.is_empty());
            let is_whole = proposal.id == command.id;
            let entry = self.append(proposal);
            events.extend(entry.events);
            if is_whole {
                if !self.keeps_news && events.iter().any(is_news) {
                    self.forget_news();
                }
                return Ok(events);
            }
        }
    }

    pub(super) fn append(&mut self, proposal: Proposal) -> Entry {
        let entry = Entry {
            seq: self.next_seq,
            ts: self.now.wall_ms,
            tick: self.now.tick,
            id: proposal.id,
            by: proposal.by,
            events: proposal.events,
        };
        let bytes = line_format::encode(&entry).len();
        assert!(bytes <= line_format::MAX_LINE_BYTES, "{bytes} bytes in a line");
        self.longest = self.longest.max(bytes);
        self.appends += 1;
        let indices: Vec<u16> = (0..).take(entry.events.len()).collect();
        let place = LogPosition { segment: 0, offset: entry.seq };
        self.state.apply(&entry, &indices, place);
        self.next_seq = entry.next_seq();
        entry
    }

    pub(super) fn try_ask(
        &mut self,
        by: impl Into<Option<SessionId>>,
        operation: Operation,
    ) -> Result<Vec<Event>, Refusal> {
        let command = self.command(by, operation);
        self.run(&command)
    }

    pub(super) fn command(
        &mut self,
        by: impl Into<Option<SessionId>>,
        operation: Operation,
    ) -> Command {
        Command { id: CommandId(self.fresh()), by: by.into(), received: Vec::new(), operation }
    }

    #[track_caller]
    pub(super) fn ask(
        &mut self,
        by: impl Into<Option<SessionId>>,
        operation: Operation,
    ) -> Vec<Event> {
        self.try_ask(by, operation).unwrap()
    }

    #[track_caller]
    pub(super) fn refuse(&mut self, by: SessionId, operation: Operation) -> Refusal {
        let before = self.state.clone();
        let refusal = self.try_ask(by, operation).unwrap_err();
        assert_eq!(self.state, before);
        refusal
    }

    pub(super) fn joining(
        &mut self,
        choice: NameChoice,
        kind: MemberKind,
        dead: &[SessionId],
    ) -> NewMember {
        let session = SessionId(self.fresh());
        NewMember {
            dead: dead.iter().map(|dead| (*dead).into()).collect(),
            ..NewMember::new(session, choice, kind, 7)
        }
    }

    #[track_caller]
    pub(super) fn join(&mut self, choice: NameChoice, kind: MemberKind) -> SessionId {
        let new = self.joining(choice, kind, &[]);
        let session = new.session;
        self.ask(None, Operation::Join(Box::new(new)));
        session
    }

    /// A peer with a chosen name.
    #[track_caller]
    pub(super) fn peer(&mut self, called: &str) -> SessionId {
        self.join(NameChoice::Chosen(name(called)), MemberKind::Peer)
    }

    /// A peer that has joined with a chosen name in an earlier version.
    pub(super) fn joined_before(&mut self, called: &str) -> SessionId {
        let session = SessionId(self.fresh());
        let joined = Event::MemberJoined(Joined {
            session,
            name: name(called),
            chosen: true,
            kind: MemberKind::Peer,
            model: None,
            roles: Vec::new(),
            pid: 7,
            client: None,
        });
        let id = CommandId(self.fresh());
        self.append(Proposal { id, by: None, events: vec![joined] });
        session
    }

    /// An orchestrator with a generated name.
    #[track_caller]
    pub(super) fn lead(&mut self) -> SessionId {
        self.join(NameChoice::Like(name("orchestrator")), MemberKind::Orchestrator)
    }

    /// An orchestrator joins that takes the lead; returns the events.
    #[track_caller]
    pub(super) fn take_lead(&mut self, called: &str) -> Vec<Event> {
        let choice = NameChoice::Chosen(name(called));
        let mut new = self.joining(choice, MemberKind::Orchestrator, &[]);
        new.description.takes_lead = true;
        self.ask(None, Operation::Join(Box::new(new)))
    }

    pub(super) fn new_agent(&mut self, choice: NameChoice) -> NewAgent {
        let session = SessionId(self.fresh());
        let starting = Starting {
            session,
            name: name("overwritten"),
            chosen: false,
            profile: "codex".into(),
            model: None,
            cwd: "/project".into(),
            roles: Vec::new(),
            owner: session,
            token_hash: String::new(),
        };
        NewAgent::new(choice, starting)
    }

    /// A ready agent with a generated name.
    #[track_caller]
    pub(super) fn agent(&mut self, owner: SessionId, like: &str) -> SessionId {
        let new = self.new_agent(NameChoice::Like(name(like)));
        let session = new.starting.session;
        self.ask(owner, Operation::Start(Box::new(new), None));
        self.ready(owner, session);
        session
    }

    #[track_caller]
    pub(super) fn ready(&mut self, owner: SessionId, session: SessionId) {
        let ready = Operation::Ready { session, model: None, pid: 8 };
        self.ask(owner, ready);
    }

    pub(super) fn leave_with(&mut self, session: SessionId, departure: Departure) -> Vec<Event> {
        let leave = Operation::Leave { session, departure, detail: None };
        self.ask(session, leave)
    }

    pub(super) fn leave(&mut self, session: SessionId) -> Vec<Event> {
        self.leave_with(session, Departure::Closed)
    }

    pub(super) fn reap(&mut self, sessions: &[SessionId]) -> Vec<Event> {
        let dead = sessions.iter().map(|dead| (*dead).into());
        self.ask(None, Operation::Reap(dead.collect()))
    }

    pub(super) fn due(&mut self) -> Vec<Event> {
        self.ask(None, Operation::Due)
    }

    #[track_caller]
    pub(super) fn send(&mut self, by: SessionId, to: &str, content: &str) -> MessageId {
        let events = self.ask(by, sending(to, content, None));
        sent(&events).id.clone()
    }

    #[track_caller]
    pub(super) fn reply(&mut self, by: SessionId, to: &str, reply_to: &str) -> MessageSent {
        let events = self.ask(by, sending(to, "answer", Some(reply_to)));
        sent(&events).clone()
    }

    /// Opens a request with a nudge after 30 s and an end after 900 s, whose claims have no lease.
    #[track_caller]
    pub(super) fn open(&mut self, by: SessionId) -> RequestId {
        self.open_leased(by, None)
    }

    #[track_caller]
    pub(super) fn open_leased(&mut self, by: SessionId, lease_ms: Option<u64>) -> RequestId {
        self.open_with(by, lease_ms, None)
    }

    #[track_caller]
    pub(super) fn open_urgent(&mut self, by: SessionId, urgency: f64) -> RequestId {
        self.open_with(by, None, Urgency::new(urgency))
    }

    #[track_caller]
    fn open_with(
        &mut self,
        by: SessionId,
        lease_ms: Option<u64>,
        urgency: Option<Urgency>,
    ) -> RequestId {
        let open = Operation::Open {
            description: text("look at this"),
            context: None,
            to: None,
            nudge_ms: 30_000,
            ttl_ms: 900_000,
            lease_ms,
            urgency,
        };
        let events = self.ask(by, open);
        let opened = events.iter().find_map(|event| match event {
            Event::RequestOpened(opened) => Some(opened.id.clone()),
            _ => None,
        });
        opened.unwrap()
    }

    /// Delivers all unread messages by a new call.
    #[track_caller]
    pub(super) fn take(&mut self, session: SessionId) -> (CallId, Vec<MessageId>) {
        self.take_with(session, all())
    }

    #[track_caller]
    pub(super) fn take_with(&mut self, session: SessionId, pick: Pick) -> (CallId, Vec<MessageId>) {
        let call = self.call();
        let take = Operation::Take { session, call, method: DeliveryMethod::Pull, pick };
        self.ask(session, take);
        (call, self.held(session, call))
    }

    /// The messages in flight with a call.
    pub(super) fn held(&self, session: SessionId, call: CallId) -> Vec<MessageId> {
        let held = self.state.in_flight_to(session, call).into_iter();
        held.map(|message| message.id.clone()).collect()
    }

    /// Begins to wait for a minute, without filters.
    #[track_caller]
    pub(super) fn wait(&mut self, session: SessionId) -> CallId {
        self.wait_for(session, None, None)
    }

    #[track_caller]
    pub(super) fn wait_for(
        &mut self,
        session: SessionId,
        from: Option<&str>,
        request: Option<&RequestId>,
    ) -> CallId {
        let call = self.call();
        let wait = Operation::Wait {
            call,
            from: from.map(name),
            request: request.cloned(),
            reply_to: None,
            timeout_ms: 60_000,
        };
        self.ask(session, wait);
        call
    }

    /// Waits a minute for the answer to a message.
    pub(super) fn wait_for_answer(&mut self, to: &MessageId) -> (CallId, Operation) {
        let (call, reply_to) = (self.call(), Some(to.clone()));
        let wait =
            Operation::Wait { call, from: None, request: None, reply_to, timeout_ms: 60_000 };
        (call, wait)
    }

    pub(super) fn settle(&mut self, session: SessionId, call: CallId, seen: bool) -> Vec<Event> {
        let settle = Operation::Settle { session, call, seen };
        self.ask(session, settle)
    }

    pub(super) fn unread(&self, of: &str) -> Vec<MessageId> {
        let unread = self.state.unread(&name(of));
        unread.map(|message| message.id.clone()).collect()
    }

    /// Withdraws the news of who has come and left from all inboxes.
    fn forget_news(&mut self) {
        let is_unread = |message: &&Message| {
            let mut all = message.deliveries.iter();
            message.is_presence() && all.any(|(_, one)| matches!(one, Delivery::Unread { .. }))
        };
        let news = self.state.messages().filter(is_unread);
        let withdrawn = news.map(|message| Event::MessageSuperseded {
            id: message.id.clone(),
            members: Addressees::AllBut(Vec::new()),
        });
        let events: Vec<_> = withdrawn.collect();
        if !events.is_empty() {
            let id = CommandId(self.fresh());
            self.append(Proposal { id, by: None, events });
            self.appends -= 1;
        }
    }

    pub(super) fn kinds(&self, of: &str) -> Vec<MessageKind> {
        let unread = self.state.unread(&name(of));
        unread.map(|message| message.kind).collect()
    }

    pub(super) fn delivery(&self, id: &MessageId, of: &str) -> Option<Delivery> {
        self.state.message(id)?.delivery(&name(of))
    }

    /// The message that shows a request.
    pub(super) fn shown(&self, id: &RequestId) -> MessageId {
        self.state.request(id).unwrap().message.clone()
    }

    #[track_caller]
    pub(super) fn assign(&mut self, by: SessionId, session: SessionId) -> TaskId {
        let events = self.ask(by, Operation::Assign { session, task: task() });
        assigned(&events)
    }
}

/// Says whether an event tells that somebody has come or left.
fn is_news(event: &Event) -> bool {
    let Event::MessageSent(sent) = event else { return false };
    let signal = sent.more.as_ref().and_then(|more| more.signal.as_ref());
    signal.is_some_and(Signal::is_presence)
}

pub(super) fn assigned(events: &[Event]) -> TaskId {
    let assigned = events.iter().find_map(|event| match event {
        Event::TaskAssigned(assigned) => Some(assigned.id.clone()),
        _ => None,
    });
    assigned.unwrap()
}

pub(super) fn task() -> NewTask {
    NewTask {
        prompt: text("work"),
        model: None,
        fresh: false,
        permissions: None,
        priority: Priority::Normal,
        step: None,
        placed: None,
    }
}

pub(super) fn sending(to: &str, content: &str, reply_to: Option<&str>) -> Operation {
    Operation::Send {
        to: to.into(),
        body: text(content),
        reply_to: reply_to.map(str::to_owned),
        priority: Priority::Normal,
        more: None,
    }
}

pub(super) fn all() -> Pick {
    Pick::any(500, usize::MAX, usize::MAX)
}
