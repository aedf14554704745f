//! The world of the model: several processes on one log, a clock, and all sessions that ever joined.

use proptest::sample::Index;
use uuid::Uuid;

use super::engines::{Engine, Process};
use super::ledger::Ledger;
use super::model_inputs::{
    choose, claim_update, ending, group, lane, name, one_of_few_texts, opening, says, sending,
    starting, task, text, user_word,
};
use super::model_step::ModelStep;
use super::neighbour::{Neighbour, report, sending_there};
use crate::bus::error::BusError;
use crate::bus::event::Event;
use crate::bus::replica::Replica;
use crate::bus::rules::{
    Broken, Command, DeadSession, NameChoice, NewMember, Operation, Pick, Refusal,
};
use crate::bus::state::State;
use crate::domain::ids::{CallId, CommandId, MessageId, RequestId, SessionId, TaskId};
use crate::domain::limits::TeamLimits;
use crate::domain::member::{Departure, Label, MemberKind};
use crate::domain::messaging::{Acknowledgement, DeliveryMethod, Priority};
use crate::domain::task::TaskStatus;

/// Processes on the log.
const HANDLES: usize = 3;

/// The most appends that overdue work may take.
const ENDLESS: usize = 2_000;

pub(super) struct World {
    engine: Box<dyn Engine>,
    handles: Vec<Box<dyn Process>>,
    ledger: Ledger,
    ids: u128,
    /// All sessions, ended ones too.
    sessions: Vec<SessionId>,
    /// The sessions whose process has died.
    dead: Vec<SessionId>,
    calls: Vec<(SessionId, CallId)>,
    requests: Vec<RequestId>,
    tasks: Vec<TaskId>,
    messages: Vec<MessageId>,
    neighbour: Neighbour,
    last: Option<Command>,
}

impl World {
    pub(super) fn new(engine: Box<dyn Engine>) -> Self {
        let handles = (0..HANDLES).map(|number| engine.open(number)).collect();
        Self {
            engine,
            handles,
            ledger: Ledger::default(),
            ids: 0,
            sessions: Vec::new(),
            dead: Vec::new(),
            calls: Vec::new(),
            requests: Vec::new(),
            tasks: Vec::new(),
            messages: Vec::new(),
            neighbour: Neighbour::default(),
            last: None,
        }
    }

    pub(super) fn take_step(&mut self, handle: usize, step: &ModelStep) {
        match step {
            ModelStep::Due => drop(self.ask(handle, None, Operation::Due)),
            ModelStep::Pass(ms) => self.engine.let_pass(*ms),
            ModelStep::Boot => self.handles[handle].boot(),
            ModelStep::Reopen => self.handles[handle] = self.engine.open(handle),
            ModelStep::Again => {
                if let Some(last) = self.last.clone() {
                    let again = self.run(handle, &last);
                    assert!(matches!(again, Ok(events) if events.is_empty()));
                }
            }
            ModelStep::JoinChosen(number) => {
                let called = ["a", "B", "c", "d"][usize::from(*number)];
                self.join(handle, NameChoice::Chosen(name(called)), Vec::new());
            }
            ModelStep::JoinLike => self.join(handle, NameChoice::Like(name("boss")), Vec::new()),
            ModelStep::Inherit(whose) => {
                let dead = choose(&self.dead, whose);
                let heir = dead.and_then(|dead| self.ledger.name_of(dead));
                if let (Some(dead), Some(heir)) = (dead, heir) {
                    self.join(handle, NameChoice::Chosen(heir), vec![dead.into()]);
                }
            }
            ModelStep::Reap => drop(self.ask(handle, None, self.reaping())),
            ModelStep::UserWord(to, answered) => {
                let to = choose(&self.sessions, to).and_then(|to| self.ledger.name_of(to));
                let word = to.map(|to| user_word(&to, choose(&self.messages, answered)));
                drop(word.map(|word| self.ask(handle, None, word)));
            }
            ModelStep::Hang(which) => {
                let hung = choose(&self.sessions, which).into_iter().collect();
                drop(self.ask(handle, None, Operation::Hung(hung, 30_000)));
            }
            ModelStep::Beat(which) => {
                let back = choose(&self.sessions, which).into_iter().collect();
                drop(self.ask(handle, None, Operation::Back(back)));
            }
            ModelStep::Comes(which, how) => {
                let state = &self.handles[handle].replica().state;
                let comes = self.neighbour.comes(state, &self.messages, which, *how);
                drop(comes.map(|comes| self.ask(handle, None, comes)));
            }
            ModelStep::Die(which) => self.dead.extend(choose(&self.sessions, which)),
            _ => self.take_members_step(handle, step),
        }
    }

    /// Takes a step of a member. The rules refuse it if the member has left.
    fn take_members_step(&mut self, handle: usize, step: &ModelStep) {
        let Some((by, operation)) = self.member_ask(step) else {
            return;
        };
        if self.dead.contains(&by) {
            return;
        }
        let outcome = self.ask(handle, by, operation);
        if !self.ledger.is_live(by) && !matches!(step, ModelStep::Leave(_)) {
            assert_eq!(outcome.unwrap_err(), Refusal::Left);
        }
    }

    #[expect(clippy::too_many_lines, reason = "one arm per kind of step")]
    fn member_ask(&mut self, step: &ModelStep) -> Option<(SessionId, Operation)> {
        let sessions = &self.sessions;
        let member = |index: &Index| choose(sessions, index);
        Some(match step {
            ModelStep::StartAgent(by) => (member(by)?, self.start()),
            ModelStep::Ready(which) => {
                let (session, by) = self.with_bridge(which)?;
                (by, Operation::Ready { session, model: None, pid: 1 })
            }
            ModelStep::Leave(which) => {
                let (session, by) = self.with_bridge(which)?;
                let leave =
                    Operation::Leave { session, departure: Departure::Closed, detail: None };
                (by, leave)
            }
            ModelStep::Crash(which, keeps) => {
                let (session, by) = self.with_bridge(which)?;
                let task = if *keeps { Broken::Kept } else { Broken::Interrupted };
                (by, Operation::Crash { session, detail: "exit code 7".into(), task })
            }
            ModelStep::Send(by, to, reply_to, more) => {
                let to = self.ledger.name_of(member(to)?)?;
                let reply_to = match reply_to {
                    Some(index) if index.index(2) == 0 => choose(&self.messages, index),
                    _ => None,
                };
                (member(by)?, sending(to.as_str().to_lowercase(), self.ids, reply_to, *more))
            }
            ModelStep::Answer(which) => {
                let id = choose(&self.requests, which)?;
                let (owner, requester) = self.ledger.owner_and_requester(&id)?;
                let answer = Operation::Send {
                    to: requester.to_string(),
                    body: text(),
                    reply_to: Some(id.to_string()),
                    priority: Priority::Urgent,
                    more: None,
                };
                (owner, answer)
            }
            ModelStep::UpdateClaim(which, how, to) => {
                let id = choose(&self.requests, which)?;
                let (owner, _) = self.ledger.owner_and_requester(&id)?;
                let to = self.ledger.name_of(member(to)?)?;
                (owner, Operation::UpdateClaim(id, claim_update(*how, &to, self.ids)))
            }
            ModelStep::Broadcast(by) => {
                (member(by)?, Operation::Broadcast(one_of_few_texts(self.ids)))
            }
            ModelStep::SendToGroup(by, number, reply_to) => {
                let reply_to = reply_to.as_ref().and_then(|index| choose(&self.messages, index));
                let envelope = u8::try_from(self.ids % 16).unwrap();
                (member(by)?, sending(group(*number).into(), self.ids, reply_to, envelope))
            }
            ModelStep::SendThere(by, how, reply_to) => {
                let reply_to = reply_to.as_ref().and_then(|index| choose(&self.messages, index));
                (member(by)?, sending_there(*how, self.ids, reply_to))
            }
            ModelStep::Report(by, which, how) => {
                (member(by)?, report(&self.newest().state, &self.messages, which, *how)?)
            }
            ModelStep::Lane(by, number, claims) => {
                let how = if *claims { Operation::ClaimLane } else { Operation::ReleaseLane };
                (member(by)?, how(lane(*number)))
            }
            ModelStep::Follow(by, follows) => {
                let topic = Label::parse("news").expect("it is one word");
                let follow = if *follows { Operation::FollowTopic } else { Operation::LeaveTopic };
                (member(by)?, follow(topic))
            }
            ModelStep::Limit(by, rate) => {
                let mut limits = TeamLimits { message_burst: 3, ..TeamLimits::default() };
                limits.messages_per_minute = u64::from(*rate);
                (member(by)?, Operation::Limit(limits))
            }
            ModelStep::Take(by, limit) => {
                let by = member(by)?;
                let methods = [DeliveryMethod::Pull, DeliveryMethod::Hook, DeliveryMethod::Channel];
                let method = methods[usize::from(*limit) % methods.len()];
                // A push carries one message.
                let most = if method == DeliveryMethod::Channel { 1 } else { usize::from(*limit) };
                (by, self.taking(by, method, most))
            }
            ModelStep::Deliver(which, method) => {
                let (session, by) = self.with_bridge(which)?;
                let methods = [
                    DeliveryMethod::Inject,
                    DeliveryMethod::Prompt,
                    DeliveryMethod::Steer,
                    DeliveryMethod::Drain,
                ];
                (by, self.taking(session, methods[usize::from(*method)], 5))
            }
            ModelStep::Settle(which, seen) => {
                let (session, call) = choose(&self.calls, which)?;
                (session, Operation::Settle { session, call, seen: *seen })
            }
            ModelStep::Wait(by, from, about, long) => {
                let by = member(by)?;
                let from = from.as_ref().and_then(member);
                // Some wait for an answer instead.
                let asked = about.filter(|_| self.ids.is_multiple_of(3));
                let about = about.filter(|_| asked.is_none());
                let wait = Operation::Wait {
                    from: from.and_then(|from| self.ledger.name_of(from)),
                    request: about.as_ref().and_then(|about| choose(&self.requests, about)),
                    reply_to: asked.and_then(|asked| choose(&self.messages, &asked)),
                    timeout_ms: if *long { 60_000 } else { 0 },
                    call: self.new_call(by),
                };
                (by, wait)
            }
            ModelStep::EndWait(which) => {
                let (session, call) = choose(&self.calls, which)?;
                (session, Operation::EndWait { call })
            }
            ModelStep::EndCalls(which) => {
                let (session, by) = self.with_bridge(which)?;
                (by, Operation::EndCalls(session))
            }
            ModelStep::Acknowledge(by, which, _) if self.ids.is_multiple_of(5) => {
                (member(by)?, Operation::Named(choose(&self.messages, which)?))
            }
            ModelStep::Acknowledge(by, which, status) => {
                let statuses = [
                    Acknowledgement::Acked,
                    Acknowledgement::Resolved,
                    Acknowledgement::Superseded,
                ];
                let acknowledge = Operation::Acknowledge {
                    ids: vec![choose(&self.messages, which)?],
                    status: statuses[usize::from(*status)],
                    note: self.ids.is_multiple_of(2).then(|| "done".to_owned()),
                };
                (member(by)?, acknowledge)
            }
            ModelStep::Written(which) => {
                let (session, call) = choose(&self.calls, which)?;
                (session, Operation::AnswerWritten(call))
            }
            ModelStep::Open(by, long) => {
                let ttl_ms = if *long { 300_000 } else { 20_000 };
                let lease_ms = self.ids.is_multiple_of(2).then_some(60_000);
                (member(by)?, opening(None, ttl_ms, lease_ms))
            }
            ModelStep::OpenFor(by, number) => {
                (member(by)?, opening(Some(group(*number).into()), 300_000, None))
            }
            ModelStep::Claim(by, which) => {
                let (by, request) = (member(by)?, choose(&self.requests, which)?);
                (by, Operation::Claim(request, self.new_call(by)))
            }
            ModelStep::Assign(by, agent) => {
                let session = member(agent)?;
                (member(by)?, Operation::Assign { session, task: task() })
            }
            ModelStep::RunTask(which) => self.run_task(choose(&self.tasks, which)?)?,
            ModelStep::CancelTask(by, which) => {
                (member(by)?, Operation::CancelTask(choose(&self.tasks, which)?))
            }
            ModelStep::Stop(by, of, kill) => {
                let ending = Operation::Stop {
                    agent: self.ledger.name_of(member(of)?)?.to_string(),
                    reason: None,
                    kill: *kill,
                };
                (member(by)?, ending)
            }
            _ => return None,
        })
    }

    /// Returns a session, and the one that may act for it: its bridge while that is live, else itself.
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "steps are looked at, and so are the indices in them"
    )]
    fn with_bridge(&self, which: &Index) -> Option<(SessionId, SessionId)> {
        let session = choose(&self.sessions, which)?;
        let state = &self.newest().state;
        let owner = state.session(session).and_then(|session| session.owner);
        let live = owner.filter(|owner| self.ledger.is_live(*owner));
        Some((session, live.unwrap_or(session)))
    }

    /// Returns the next operation of a bridge on a task: it begins the task when its agent is free, or ends it.
    fn run_task(&self, id: TaskId) -> Option<(SessionId, Operation)> {
        let state = &self.newest().state;
        let task = state.task(&id)?;
        let agent = state.session(task.session)?;
        let by = agent.owner?;
        match task.status {
            TaskStatus::Queued if agent.running.is_none() => Some((by, Operation::StartTask(id))),
            _ => Some((by, Operation::FinishTask(id, Box::new(ending())))),
        }
    }

    fn start(&mut self) -> Operation {
        let session = SessionId(self.fresh());
        self.sessions.push(session);
        starting(session)
    }

    fn join(&mut self, handle: usize, choice: NameChoice, dead: Vec<DeadSession>) {
        let session = SessionId(self.fresh());
        let kind = match choice {
            NameChoice::Chosen(_) | NameChoice::FromPool { .. } => MemberKind::Peer,
            NameChoice::Like(_) => MemberKind::Orchestrator,
        };
        let (roles, description) = says(self.ids, kind);
        let new =
            NewMember { roles, description, dead, ..NewMember::new(session, choice, kind, 1) };
        if self.ask(handle, None, Operation::Join(Box::new(new))).is_ok() {
            self.sessions.push(session);
        }
    }

    fn taking(&mut self, session: SessionId, method: DeliveryMethod, limit: usize) -> Operation {
        let pick = Pick::any(limit, usize::MAX, usize::MAX);
        Operation::Take { session, call: self.new_call(session), method, pick }
    }

    fn new_call(&mut self, of: SessionId) -> CallId {
        let call = CallId(self.fresh());
        self.calls.push((of, call));
        call
    }

    fn fresh(&mut self) -> Uuid {
        self.ids += 1;
        Uuid::from_u128(self.ids)
    }

    fn ask(
        &mut self,
        handle: usize,
        by: impl Into<Option<SessionId>>,
        operation: Operation,
    ) -> Result<Vec<Event>, Refusal> {
        let by = by.into();
        let command = Command {
            id: CommandId(self.fresh()),
            by,
            received: self.proven(by, &operation),
            operation,
        };
        let outcome = self.run(handle, &command);
        if matches!(&outcome, Ok(events) if !events.is_empty()) {
            self.last = Some(command);
        }
        outcome
    }

    /// Now and then a new call proves that the answer of an earlier call of its session was read.
    fn proven(&self, by: Option<SessionId>, operation: &Operation) -> Vec<CallId> {
        let new_call = matches!(
            operation,
            Operation::Take { .. } | Operation::Wait { .. } | Operation::Claim(..)
        );
        let earlier = self.calls.iter().rev().skip(1);
        let mine = earlier.filter(|(session, _)| new_call && Some(*session) == by);
        mine.map(|(_, call)| *call).take(usize::from(self.ids.is_multiple_of(2))).collect()
    }

    fn run(&mut self, handle: usize, command: &Command) -> Result<Vec<Event>, Refusal> {
        let appended = match self.handles[handle].append(command) {
            Err(BusError::Refused(refusal)) => return Err(refusal),
            appended => appended.unwrap(),
        };
        let Some(entry) = appended else { return Ok(Vec::new()) };
        assert!(!entry.events.is_empty());
        assert_eq!(entry.id, command.id, "a small team needs one append");
        self.ledger.enter(&entry);
        self.ledger.check(&self.handles[handle].replica().state);
        self.remember(&entry.events);
        Ok(entry.events)
    }

    fn remember(&mut self, events: &[Event]) {
        for event in events {
            match event {
                Event::MessageSent(sent) => self.messages.push(sent.id.clone()),
                Event::RequestOpened(opened) => {
                    self.requests.push(opened.id.clone());
                    self.messages.push(opened.message.clone());
                }
                Event::TaskAssigned(assigned) => self.tasks.push(assigned.id.clone()),
                _ => {}
            }
        }
    }

    fn newest(&self) -> &Replica {
        let replicas = self.handles.iter().map(|process| process.replica());
        replicas.max_by_key(|replica| replica.next_seq).expect("there are handles")
    }

    /// Checks that all processes agree with one that reads the whole log, and with one that loads a snapshot.
    pub(super) fn check_replicas(&mut self) {
        let newcomer = self.engine.open_anew();
        let fresh = newcomer.replica();
        for process in &mut self.handles {
            process.catch_up();
            assert_eq!(process.replica().state, fresh.state);
            assert_eq!(process.replica().next_seq, fresh.next_seq);
        }
        let snapshot = serde_json::to_vec(&fresh.state).unwrap();
        let mut loaded: State = serde_json::from_slice(&snapshot).unwrap();
        loaded.rebuild();
        assert_eq!(loaded, fresh.state);
    }

    fn reaping(&self) -> Operation {
        Operation::Reap(self.dead.iter().copied().map(Into::into).collect())
    }

    /// Lets time pass until there are no more deadlines: then no member waits, holds anything or is waited for.
    pub(super) fn let_all_time_pass(&mut self) {
        let _ = self.ask(0, None, self.reaping());
        for _ in 0..ENDLESS {
            if !self.engine.let_pass_until_due(&mut *self.handles[0]) {
                let state = &self.handles[0].replica().state;
                assert!(state.awaited.is_empty(), "an answer is awaited for ever");
                assert!(state.outbox().is_empty(), "a message is on its way for ever");
                return;
            }
            let events = self.ask(0, None, Operation::Due).unwrap();
            assert!(!events.is_empty(), "something stays due");
        }
        panic!("overdue work never comes to an end");
    }
}
