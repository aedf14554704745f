//! Tasks, workflows and requests that the state has forgotten since their end, from the log.

use std::collections::BTreeMap;

use crate::bus::api::bus::Bus;
use crate::bus::error::BusError;
use crate::bus::event::Event;
use crate::bus::state::{Request, Task, Workflow};
use crate::domain::ids::{RequestId, TaskId, WorkflowId};
use crate::domain::name::Name;
use crate::domain::workflow::Again;

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
