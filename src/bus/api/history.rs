//! History: messages as the log records them, read or unread, including those that the state has forgotten.

use std::collections::{BTreeMap, BTreeSet};

use super::bus::Bus;
use crate::bus::error::BusError;
use crate::bus::event::{Addressees, Entry, Event, ThreadResolved};
use crate::bus::state::{Delivery, Message, Origin, Request, State, Task, Workflow};
use crate::bus::storage::{LogError, LogPosition};
use crate::domain::ids::{MessageId, RequestId, TaskId, WorkflowId};
use crate::domain::messaging::MessageKind;
use crate::domain::name::Name;
use crate::domain::workflow::Again;

/// Lines read at a time: few enough to keep memory flat, enough to read fast.
const LINES: usize = 256;

/// An attempt of a workflow's step after which the step waited for another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastAttempt {
    pub step: Name,
    /// The number of attempts that had begun by then.
    pub number: u32,
    /// Whether it was one of them; else it could not begin.
    pub has_begun: bool,
    /// Its agent and its task; none for a step that runs for each item of a list.
    pub given: Option<(Name, TaskId)>,
    pub again: Again,
    pub why: String,
}

/// How a thread was resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadEnd {
    pub by: Name,
    pub summary: String,
}

/// The delivery status of a past message: its real one is not looked up in the log.
const PAST: Delivery = Delivery::Seen;

impl Bus {
    /// Returns at most `max` messages that `reader` sent or received and that match, oldest first, from a position on (none: from
    /// the oldest). Also returns the position of the next line, unless the log ended. A line is never divided: the first may bring
    /// more than `max`.
    pub fn history(
        &self,
        from: Option<LogPosition>,
        matches: impl Fn(&Message) -> bool,
        reader: &Name,
        max: usize,
    ) -> Result<(Vec<Message>, Option<LogPosition>), BusError> {
        let (found, next) = self.look_back(from, None, matches, reader, max)?;
        Ok((self.without_withdrawn(found, reader)?, next))
    }

    /// Returns the messages of a thread that `reader` sent or received, as [`Bus::history`] does. It reads only those parts of the log
    /// that name the thread.
    pub fn thread_history(
        &self,
        from: Option<LogPosition>,
        thread: &MessageId,
        reader: &Name,
        max: usize,
    ) -> Result<(Vec<Message>, Option<LogPosition>), BusError> {
        let parts = self.parts_with(&thread.to_string())?;
        let parts = parts.into_iter().map(|part| (part.segment, part)).collect();
        let is_in_thread = |message: &Message| message.thread == *thread;
        let (found, next) = self.look_back(from, Some(&parts), is_in_thread, reader, max)?;
        Ok((self.without_withdrawn(found, reader)?, next))
    }

    /// Leaves out the messages of others that were taken from the reader before it was shown them.
    fn without_withdrawn(
        &self,
        mut found: Vec<Message>,
        reader: &Name,
    ) -> Result<Vec<Message>, BusError> {
        let mut forgotten = BTreeSet::new();
        self.look(|state| {
            found.retain(|message| match state.message(&message.id) {
                Some(known) => known.is_readable_by(reader),
                None => {
                    if message.from.member() != Some(reader) && message.kind != MessageKind::Request
                    {
                        forgotten.insert(message.id.clone());
                    }
                    true
                }
            });
        });
        if forgotten.is_empty() {
            return Ok(found);
        }
        let texts: Vec<_> = forgotten.iter().map(ToString::to_string).collect();
        let texts: Vec<_> = texts.iter().map(String::as_str).collect();
        let mut withdrawn = BTreeSet::new();
        self.entries_with_any(&texts, |_, entry| {
            for event in &entry.events {
                match moved(event, reader) {
                    Some((id, true)) => withdrawn.insert(id.clone()),
                    Some((id, false)) => withdrawn.remove(id),
                    None => false,
                };
            }
        })?;
        found.retain(|message| {
            !(forgotten.contains(&message.id) && withdrawn.contains(&message.id))
        });
        Ok(found)
    }

    /// Looks back in the whole log, or in these parts of it by their segments.
    fn look_back(
        &self,
        from: Option<LogPosition>,
        parts: Option<&BTreeMap<u64, LogPosition>>,
        matches: impl Fn(&Message) -> bool,
        reader: &Name,
        max: usize,
    ) -> Result<(Vec<Message>, Option<LogPosition>), BusError> {
        let mut position = match from {
            Some(position) => position,
            None => self.oldest()?,
        };
        let mut found = Vec::new();
        loop {
            if let Some(parts) = parts {
                match parts.range(position.segment..).next() {
                    None => return Ok((found, None)),
                    Some((segment, _)) if *segment == position.segment => {}
                    Some((_, part)) => position = *part,
                }
            }
            let (lines, next) = self.read_after(position, LINES)?;
            if lines.is_empty() {
                return Ok((found, None));
            }
            let mut rest = lines.into_iter().peekable();
            while let Some((at, entry)) = rest.next() {
                let is_found =
                    |message: &Message| message.is_visible_to(reader) && matches(message);
                let mut messages = self.look(|state| messages_of(state, &entry, at, reader));
                messages.extend(self.addressed_later(&entry, reader));
                messages.retain(is_found);
                if !found.is_empty() && found.len() + messages.len() > max {
                    return Ok((found, Some(at)));
                }
                found.extend(messages);
                if found.len() >= max {
                    let after = rest.peek().map_or(next, |(position, _)| *position);
                    return Ok((found, Some(after)));
                }
            }
            position = next;
        }
    }

    /// Returns how a thread was resolved, unless it is open.
    pub fn thread_end(&self, thread: &MessageId) -> Result<Option<ThreadEnd>, BusError> {
        let is_open = self.look(|state| state.message(thread).is_some_and(|first| !first.resolved));
        let mut end = None;
        if is_open {
            return Ok(end);
        }
        self.entries_with(&thread.to_string(), |_, entry| {
            for event in entry.events {
                match event {
                    Event::ThreadResolved(resolved) if resolved.threads.contains(thread) => {
                        let ThreadResolved { by, summary, .. } = resolved;
                        end = Some(ThreadEnd { by, summary });
                    }
                    Event::MessageSent(sent) if sent.reopens() == Some(thread) => end = None,
                    _ => {}
                }
            }
        })?;
        Ok(end)
    }

    /// Returns the first message of the thread of a message. One that is not on record any more may have begun a thread.
    pub fn thread_of(&self, id: &MessageId, reader: &Name) -> Result<MessageId, BusError> {
        let known = self.look(|state| state.message(id).map(|message| message.thread.clone()));
        if let Some(thread) = known {
            return Ok(thread);
        }
        let past = self.past_message(id, reader)?;
        Ok(past.map_or_else(|| id.clone(), |message| message.thread))
    }
}

impl Bus {
    /// Finds a task, even one that the state has forgotten since its end.
    pub fn find_task(&self, id: &TaskId) -> Result<Option<Task>, BusError> {
        match self.look(|state| state.task(id).cloned()) {
            Some(task) => Ok(Some(task)),
            None => self.past_task(id),
        }
    }

    pub(crate) fn past_task(&self, id: &TaskId) -> Result<Option<Task>, BusError> {
        let past = self.state_of(&id.to_string(), |event| match event {
            Event::TaskAssigned(assigned) => assigned.id == *id,
            Event::TaskFinished(finished) => finished.id == *id,
            Event::TaskStarted { id: other } => other == id,
            _ => false,
        })?;
        Ok(past.task(id).cloned())
    }

    /// Finds a workflow, even one that the state has forgotten since its end.
    pub fn find_workflow(&self, id: &WorkflowId) -> Result<Option<Workflow>, BusError> {
        match self.look(|state| state.workflow(id).cloned()) {
            Some(workflow) => Ok(Some(workflow)),
            None => self.past_workflow(id),
        }
    }

    fn past_workflow(&self, id: &WorkflowId) -> Result<Option<Workflow>, BusError> {
        let past = self.state_of(&id.to_string(), |event| match event {
            Event::WorkflowCreated(created) => created.id == *id,
            Event::WorkflowResumed(resumed) => resumed.id == *id,
            Event::WorkflowCancelAsked { id: other, .. }
            | Event::WorkflowEnded { id: other, .. } => other == id,
            event => event.step_of().is_some_and(|(other, _)| other == id),
        })?;
        Ok(past.workflow(id).cloned())
    }

    /// Returns the attempts of a workflow's steps after which they waited for another one, oldest first, as far back as the log goes.
    /// The state has only the last reason of each step.
    pub fn past_attempts(&self, id: &WorkflowId) -> Result<Vec<PastAttempt>, BusError> {
        let mut numbers: BTreeMap<Name, u32> = BTreeMap::new();
        let mut open = BTreeMap::new();
        let mut past = Vec::new();
        self.entries_with(&id.to_string(), |_, entry| {
            for event in entry.events {
                match event {
                    Event::StepStarted(started) if started.workflow == *id => {
                        *numbers.entry(started.step.clone()).or_default() += 1;
                        open.insert(started.step, Some((started.agent, started.task)));
                    }
                    Event::StepExpanded(expanded) if expanded.workflow == *id => {
                        *numbers.entry(expanded.step.clone()).or_default() += 1;
                        open.insert(expanded.step, None);
                    }
                    Event::StepReturned(returned) if returned.workflow == *id => {
                        let begun = open.remove(&returned.step);
                        past.push(PastAttempt {
                            number: numbers.get(&returned.step).copied().unwrap_or_default(),
                            has_begun: begun.is_some(),
                            given: begun.flatten(),
                            step: returned.step,
                            again: returned.again,
                            why: returned.why,
                        });
                    }
                    _ => {}
                }
            }
        })?;
        Ok(past)
    }

    /// Finds a request, even one that the state has forgotten since its end.
    pub fn find_request(&self, id: &RequestId) -> Result<Option<Request>, BusError> {
        match self.look(|state| state.request(id).cloned()) {
            Some(request) => Ok(Some(request)),
            None => self.past_request(id),
        }
    }

    fn past_request(&self, id: &RequestId) -> Result<Option<Request>, BusError> {
        let past = self.state_of(&id.to_string(), |event| match event {
            Event::RequestOpened(opened) => opened.id == *id,
            Event::RequestClaimed { id: other, .. }
            | Event::RequestReopened { id: other, .. }
            | Event::RequestHandedOver { id: other, .. }
            | Event::RequestFailed { id: other }
            | Event::RequestCompleted { id: other, .. }
            | Event::RequestExpired { id: other } => other == id,
            _ => false,
        })?;
        Ok(past.request(id).cloned())
    }

    /// Finds a message that the state has forgotten. Its addressees show only whether it reached this reader.
    pub(crate) fn past_message(
        &self,
        id: &MessageId,
        reader: &Name,
    ) -> Result<Option<Message>, BusError> {
        let (mut found, mut withdrawn) = (None, false);
        self.entries_with(&id.to_string(), |at, entry| {
            let messages = self.look(|state| messages_of(state, &entry, at, reader));
            let mut messages = messages.into_iter();
            found = found.take().or_else(|| messages.find(|message| message.id == *id));
            for (_, how) in entry
                .events
                .iter()
                .filter_map(|event| moved(event, reader))
                .filter(|(other, _)| *other == id)
            {
                withdrawn = how;
            }
        })?;
        let is_kept = |message: &Message| {
            message.from.member() == Some(reader) || message.kind == MessageKind::Request
        };
        Ok(found.filter(|message| !withdrawn || is_kept(message)))
    }

    /// Returns the state that follows from only the log's events about an id.
    fn state_of(&self, id: &str, is_about_id: impl Fn(&Event) -> bool) -> Result<State, BusError> {
        let mut state = State::default();
        self.entries_with(id, |at, mut entry| {
            let events = std::mem::take(&mut entry.events);
            let kept = events.into_iter().zip(0u16..).filter(|(event, _)| is_about_id(event));
            let (events, indices): (Vec<_>, Vec<_>) = kept.unzip();
            entry.events = events;
            state.apply(&entry, &indices, at);
        })?;
        Ok(state)
    }

    /// Visits the entries of those parts of the log that contain a text, oldest first.
    fn entries_with(
        &self,
        text: &str,
        on_entry: impl FnMut(LogPosition, Entry),
    ) -> Result<(), BusError> {
        self.entries_with_any(&[text], on_entry)
    }

    /// Visits the entries of those parts of the log that contain one of these texts, oldest first.
    pub(crate) fn entries_with_any(
        &self,
        texts: &[&str],
        mut on_entry: impl FnMut(LogPosition, Entry),
    ) -> Result<(), BusError> {
        let mut parts = BTreeSet::new();
        for text in texts {
            parts.extend(self.parts_with(text)?);
        }
        for part in parts {
            let mut position = part;
            while position.segment == part.segment {
                let (lines, next) = match self.read_after(position, LINES) {
                    // Retention has removed it meanwhile.
                    Err(BusError::Log(LogError::Gone)) => break,
                    outcome => outcome?,
                };
                if lines.is_empty() {
                    break;
                }
                for (at, entry) in lines {
                    if at.segment == part.segment {
                        on_entry(at, entry);
                    }
                }
                position = next;
            }
        }
        Ok(())
    }

    /// Returns the earlier messages that an entry puts into this reader's inbox.
    fn addressed_later(&self, entry: &Entry, reader: &Name) -> Vec<Message> {
        let addressed = entry.events.iter().filter_map(|event| match event {
            Event::MessageAddressed { id, to } => Some((id, to)),
            _ => None,
        });
        self.look(|state| {
            let is_addressed = |message: &Message, to: &Addressees| match to {
                Addressees::Named(names) => names.contains(reader),
                // Members that were there before it was sent have had it since then.
                Addressees::AllBut(_) => {
                    message.delivery(reader).is_some() && !was_live(state, reader, message.seq)
                }
            };
            let found = addressed.filter_map(|(id, to)| Some((state.message(id)?, to)));
            let found = found.filter(|(message, to)| is_addressed(message, to));
            found.map(|(message, _)| message.clone()).collect()
        })
    }
}

/// Returns the message that an event takes from a reader who was not shown it (`true`), or gives it anew.
fn moved<'a>(event: &'a Event, reader: &Name) -> Option<(&'a MessageId, bool)> {
    match event {
        Event::MessageSuperseded { id, members } if members.named().contains(reader) => {
            Some((id, true))
        }
        Event::MessageExpired { id, member } if member == reader => Some((id, true)),
        Event::MessageAddressed { id, to } if to.named().contains(reader) => Some((id, false)),
        _ => None,
    }
}

/// Says whether the current session of a name had already begun at some seq.
fn was_live(state: &State, name: &Name, seq: u64) -> bool {
    state.live(name).is_some_and(|live| live.since_seq < seq)
}

/// Returns the messages that an entry puts on the bus. Their addressees show only whether they reached this reader.
fn messages_of(state: &State, entry: &Entry, at: LogPosition, reader: &Name) -> Vec<Message> {
    let mut messages = Vec::new();
    for (event, index) in entry.events.iter().zip(0u16..) {
        let seq = entry.seq + u64::from(index);
        let origin = Origin { seq, wall_ms: entry.ts, place: at, index };
        let (message, to) = match event {
            Event::MessageSent(sent) => (Message::sent(sent, origin), &sent.to),
            Event::RequestOpened(opened) => (Message::opened(opened, origin), &opened.to),
            _ => continue,
        };
        let names = match to {
            Addressees::Named(names) => names.clone(),
            Addressees::AllBut(but) => {
                let reaches_reader = !but.contains(reader) && was_live(state, reader, message.seq);
                reaches_reader.then(|| reader.clone()).into_iter().collect()
            }
        };
        let deliveries = names.into_iter().map(|name| (name, PAST)).collect();
        messages.push(Message { deliveries, ..message });
    }
    messages
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use crate::bus::event::Body;
    use crate::bus::rules::{Description, NameChoice, NewWorkflow, Operation};
    use crate::bus::storage::in_memory::Store;
    use crate::bus::{Bus, Joining, Membership};
    use crate::domain::ids::{RequestId, WorkflowId};
    use crate::domain::member::MemberKind;
    use crate::domain::messaging::RequestStatus;
    use crate::domain::name::Name;
    use crate::domain::workflow::{Again, Step, StepMove};
    use crate::sys::clock;

    async fn peer(bus: &Bus, name: &str) -> Membership {
        let choice = NameChoice::Chosen(Name::parse(name).unwrap());
        let (kind, roles) = (MemberKind::Peer, Vec::new());
        Membership::join(bus, Joining { choice, kind, roles, description: Description::default() })
            .await
            .unwrap()
    }

    /// Its step goes back to wait twice; the state has only the last reason.
    #[tokio::test]
    async fn the_log_has_every_attempt_of_a_step_with_its_reason() {
        let store = Store::new(Arc::new(clock::now));
        let bus = Bus::open(Box::new(store.log())).unwrap();
        let choice = NameChoice::Like(Name::parse("run").unwrap());
        let (kind, roles) = (MemberKind::Orchestrator, Vec::new());
        let lead = Membership::join(
            &bus,
            Joining { choice, kind, roles, description: Description::default() },
        )
        .await
        .unwrap();
        let step = Name::parse("a").unwrap();
        let new = NewWorkflow {
            name: "w".into(),
            steps: vec![Step::new(step.clone(), "codex", &[])],
            prompts: Body::Text("[\"look\"]".into()),
            plan_file: None,
            is_trial: false,
        };
        lead.ask(Operation::CreateWorkflow(Box::new(new))).await.unwrap();
        let id = bus.look(|state| state.workflows()[0].id.clone());
        for (again, why) in [(Again::Fallback, "gone"), (Again::Retry, "full")] {
            let again = StepMove::Again(again, why.into());
            lead.ask(Operation::MoveSteps(id.clone(), vec![(step.clone(), again)])).await.unwrap();
        }
        let past = bus.past_attempts(&id).unwrap();
        let seen: Vec<_> = past.iter().map(|past| (past.again, past.why.as_str())).collect();
        assert_eq!(seen, [(Again::Fallback, "gone"), (Again::Retry, "full")]);
        assert!(past.iter().all(|past| !past.has_begun && past.number == 0), "{past:?}");
        assert_eq!(bus.past_attempts(&WorkflowId::from_bits(7)).unwrap(), []);
    }

    #[tokio::test]
    async fn the_log_alone_gives_the_same_request_as_the_state() {
        let store = Store::new(Arc::new(clock::now));
        let bus = Bus::open(Box::new(store.log())).unwrap();
        let (asker, worker) = (peer(&bus, "asker").await, peer(&bus, "worker").await);
        let hour = Duration::from_hours(1);
        let mut call = asker.call();
        let opened = call.open_request("look".into(), None, hour, hour).await;
        let id = opened.unwrap();
        let mut call = worker.call();
        call.claim(id.clone()).await.unwrap();
        call.send("asker".into(), "done".into(), Some(id.to_string())).await.unwrap();
        let past = bus.past_request(&id).unwrap().unwrap();
        assert_eq!(past.status, RequestStatus::Completed);
        assert_eq!(Some(past), bus.look(|state| state.request(&id).cloned()));
        let unknown = RequestId::from_bits(7);
        assert_eq!(bus.find_request(&unknown).unwrap(), None);
    }
}
