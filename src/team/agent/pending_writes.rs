//! The events that an agent's actor has yet to write on the bus: above all the ends of turns.
//!
//! Facts are written in order. Each is retried, with growing pauses, until the bus accepts or refuses it. All tries carry the same
//! command id, so it happens once even if the outcome of a try is unknown. Until then the actor begins nothing new
//! ([`step::next`](super::next_step::next)), and an agent that ends leaves the bus only after its last fact.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::bus::event::{Body, TaskReport};
use crate::bus::rules::{Ending, Operation};
use crate::bus::storage::LogError;
use crate::bus::{Bus, BusError, Membership};
use crate::domain::ids::{CommandId, TaskId};
use crate::domain::limits;
use crate::domain::task::error_class;
use crate::domain::task::{TaskError, TaskStatus};
use crate::domain::text::counted::counted_as;
use crate::domain::text::redact::Secrets;
use crate::domain::wait_times;
use crate::sys::backoff::Backoff;
use crate::sys::random_ids;

/// Facts in the order in which they happened.
#[derive(Default)]
pub(crate) struct Unwritten {
    facts: VecDeque<Fact>,
    /// How many tries of the first fact have failed.
    tries: u32,
    /// When it may be tried again.
    again: Option<Instant>,
}

struct Fact {
    id: CommandId,
    what: What,
}

enum What {
    Operation(Operation),
    End(Box<End>),
}

/// The end of a task. Its long texts must be stored before it is written.
pub(crate) struct End {
    pub(crate) task: TaskId,
    pub(crate) ending: Ending,
    pub(crate) output: String,
    /// Files and failed calls, as JSON.
    pub(crate) details: Option<String>,
    /// Since when its texts cannot be stored.
    pub(crate) since: Option<Instant>,
}

impl End {
    /// Makes an end whose texts are not stored yet.
    pub(crate) fn new(task: TaskId, ending: Ending, output: String) -> Self {
        Self { task, ending, output, details: None, since: None }
    }

    /// Stores the texts that are not stored yet.
    async fn store(&mut self, bus: &Bus) -> Result<(), BusError> {
        if !self.output.is_empty() {
            self.ending.output = bus.long_body(self.output.clone()).await?;
            self.output.clear();
        }
        if let Some(details) = &self.details {
            self.ending.report.details = Some(bus.long_body(details.clone()).await?);
            self.details = None;
        }
        Ok(())
    }

    /// Stores the texts, or after some time reports them as lost.
    async fn stored(&mut self, bus: &Bus) -> Result<(), BusError> {
        let Err(error) = self.store(bus).await else {
            return Ok(());
        };
        let since = *self.since.get_or_insert_with(Instant::now);
        if since.elapsed() < wait_times::STORE_OUTPUT {
            return Err(error);
        }
        let bytes = self.output.len();
        let message = if bytes == 0 {
            format!(
                "failed to store the lists of its files and calls: {}",
                error.message_for_model()
            )
        } else {
            format!("failed to store its output of {bytes} bytes: {}", error.message_for_model())
        };
        self.fail(message);
        Ok(())
    }

    /// Turns it into a failure whose message says why the rest is missing.
    fn fail(&mut self, message: String) {
        self.output.clear();
        self.details = None;
        self.ending = Ending {
            status: TaskStatus::Failed,
            output: Body::Text(String::new()),
            stop_reason: self.ending.stop_reason.take(),
            error: Some(TaskError::new(error_class::BUS, message)),
            report: TaskReport::default(),
        };
    }
}

impl Unwritten {
    pub(crate) fn is_empty(&self) -> bool {
        self.facts.is_empty()
    }

    /// Returns when the next try is due, which may be in the past; `None` if nothing is pending.
    pub(crate) fn due(&self, now: Instant) -> Option<Instant> {
        (!self.is_empty()).then(|| self.again.unwrap_or(now))
    }

    pub(crate) fn push(&mut self, operation: Operation) {
        self.add(What::Operation(operation));
    }

    pub(crate) fn push_end(&mut self, end: End) {
        self.add(What::End(Box::new(end)));
    }

    /// Adds a fact, and writes it at once if no other waits before it.
    pub(crate) async fn record(&mut self, membership: &Membership, operation: Operation) {
        let is_first = self.is_empty();
        self.push(operation);
        if is_first {
            self.write(membership).await;
        }
    }

    /// Does the same with the end of a task.
    pub(crate) async fn record_end(&mut self, membership: &Membership, end: End) {
        let is_first = self.is_empty();
        self.push_end(end);
        if is_first {
            self.write(membership).await;
        }
    }

    fn add(&mut self, what: What) {
        let id = random_ids::command();
        self.facts.push_back(Fact { id, what });
    }

    /// Writes the facts that the bus accepts. Cancel-safe: if dropped, it keeps those that may not be written yet.
    pub(crate) async fn write(&mut self, membership: &Membership) {
        while let Some(fact) = self.facts.front_mut() {
            match fact.write(membership).await {
                Ok(()) => {
                    self.facts.pop_front();
                    self.tries = 0;
                    self.again = None;
                }
                Err(error) => {
                    if self.tries == 0 {
                        tracing::warn!("failed to record an event, will retry: {error}");
                    }
                    self.tries = self.tries.saturating_add(1);
                    self.again = Some(Instant::now() + pause(self.tries));
                    return;
                }
            }
        }
    }

    /// Writes everything, however long that takes. Once `force_stop` is cancelled, it tries each fact only once more.
    pub(crate) async fn write_all(
        &mut self,
        membership: &Membership,
        force_stop: &CancellationToken,
    ) {
        loop {
            let is_last = force_stop.is_cancelled();
            self.write(membership).await;
            let Some(due) = self.due(Instant::now()) else {
                return;
            };
            if is_last {
                let left = self.facts.len();
                let events = counted_as(left, "event of an agent was", "events of an agent were");
                tracing::warn!("{events} not recorded before the end");
                return;
            }
            tokio::select! {
                () = tokio::time::sleep_until(due) => {}
                () = force_stop.cancelled() => {}
            }
        }
    }
}

impl Fact {
    /// Writes it, unless it no longer applies. An error means that it must be retried.
    async fn write(&mut self, membership: &Membership) -> Result<(), BusError> {
        if let What::End(end) = &mut self.what {
            end.stored(membership.bus()).await?;
        }
        let ask = match &self.what {
            What::Operation(ask) => ask.clone(),
            What::End(end) => Operation::FinishTask(end.task.clone(), Box::new(end.ending.clone())),
        };
        let error = match membership.ask_again(self.id, ask).await {
            Ok(_) => return Ok(()),
            Err(BusError::Refused(refusal)) => {
                tracing::debug!("dropped an event that no longer applies: {refusal}");
                return Ok(());
            }
            Err(error) => error,
        };
        match (&error, &mut self.what) {
            // This process has no bus to write on any more.
            (BusError::Closed, _) => Ok(()),
            (BusError::Log(LogError::TooLong { .. }), What::End(end)) if !end.is_failed() => {
                end.fail(format!("failed to record how it ended: {error}"));
                Err(error)
            }
            (BusError::Log(LogError::TooLong { .. }), what) => {
                if let What::Operation(ask) = what
                    && cut(ask)
                {
                    return Err(error);
                }
                tracing::warn!("failed to record an event: {error}");
                Ok(())
            }
            _ => Err(error),
        }
    }
}

impl End {
    fn is_failed(&self) -> bool {
        let error = self.ending.error.as_ref();
        error.is_some_and(|error| error.class == error_class::BUS)
    }
}

/// Halves the optional text of a fact; returns whether any text remains.
fn cut(ask: &mut Operation) -> bool {
    let (Operation::Leave { detail: Some(detail), .. }
    | Operation::Fail { detail: Some(detail), .. }
    | Operation::Crash { detail, .. }) = ask
    else {
        return false;
    };
    let most = detail.chars().count().min(limits::ERROR_CHARS) / 2;
    *detail = Secrets::default().hidden(&**detail).clipped(most);
    most > 0
}

/// Returns the pause after this many failed tries.
pub(crate) fn pause(tries: u32) -> Duration {
    Backoff::new(wait_times::RETRY, wait_times::LONGEST_RETRY).pause_after(tries)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::bus::Joining;
    use crate::bus::rules::{Description, NameChoice};
    use crate::bus::storage::LogPosition;
    use crate::bus::storage::faulty_log::{Fault, FaultPoint, Faults};
    use crate::bus::storage::in_memory::Store;
    use crate::domain::member::{Activity, Departure, MemberKind};
    use crate::domain::name::Name;
    use crate::sys::clock;

    async fn membership(faults: &Faults) -> Membership {
        let store = Store::new(Arc::new(clock::now));
        let bus = Bus::open(Box::new(faults.before(store.log()))).unwrap();
        let joining = Joining {
            choice: NameChoice::Chosen(Name::parse("boss").unwrap()),
            kind: MemberKind::Orchestrator,
            roles: Vec::new(),
            description: Description::default(),
        };
        Membership::join(&bus, joining).await.unwrap()
    }

    fn events(membership: &Membership) -> usize {
        let (entries, _) = membership.bus().read_after(LogPosition::default(), usize::MAX).unwrap();
        entries.iter().map(|(_, entry)| entry.events.len()).sum()
    }

    fn activity(membership: &Membership, activity: Activity) -> Operation {
        Operation::Activity { session: membership.session(), activity }
    }

    fn end(output: &str) -> End {
        let ending = Ending {
            status: TaskStatus::Done,
            output: Body::Text(String::new()),
            stop_reason: None,
            error: None,
            report: TaskReport::default(),
        };
        End::new(TaskId::from_bits(1), ending, output.to_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn facts_are_written_in_order_once_and_until_the_bus_takes_them() {
        for fault in [Fault::Busy, Fault::Io, Fault::OutcomeUnknown] {
            let faults = Faults::default();
            let membership = membership(&faults).await;
            let before = events(&membership);
            let mut unwritten = Unwritten::default();
            faults.fail(FaultPoint::Append, 1, 3, fault);
            unwritten.push(activity(&membership, Activity::Running));
            unwritten.push(activity(&membership, Activity::Idle));
            unwritten.write(&membership).await;
            let now = Instant::now();
            assert_eq!(unwritten.due(now), Some(now + wait_times::RETRY), "{fault:?}");
            unwritten.write_all(&membership, &CancellationToken::new()).await;
            assert!(unwritten.is_empty());
            assert_eq!(events(&membership), before + 2, "{fault:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_too_long_for_a_line_is_written_without_its_words() {
        let membership = membership(&Faults::default()).await;
        let mut unwritten = Unwritten::default();
        unwritten.push(Operation::Leave {
            session: membership.session(),
            departure: Departure::Failed,
            detail: Some("exit code 3; ".repeat(200_000)),
        });
        unwritten.write_all(&membership, &CancellationToken::new()).await;
        membership.bus().look(|state| {
            let left = state.departed().last().expect("it has left");
            assert!(left.detail.as_ref().unwrap().starts_with("exit code 3; "));
        });
    }

    #[tokio::test(start_paused = true)]
    async fn an_output_that_cannot_be_stored_for_a_minute_fails_its_task() {
        let faults = Faults::default();
        let membership = membership(&faults).await;
        let mut end = end(&"x".repeat(limits::INLINE_BYTES + 1));
        faults.fail(FaultPoint::Blob, 1, u64::MAX, Fault::Io);
        assert!(end.stored(membership.bus()).await.is_err());
        tokio::time::advance(wait_times::STORE_OUTPUT).await;
        end.stored(membership.bus()).await.unwrap();
        let error = end.ending.error.unwrap();
        assert_eq!(error.class, error_class::BUS);
        assert!(error.message.starts_with("failed to store its output of 65537 bytes:"));
        assert_eq!(end.ending.status, TaskStatus::Failed);
    }

    #[tokio::test(start_paused = true)]
    async fn at_a_forced_stop_it_is_tried_once_more() {
        let faults = Faults::default();
        let membership = membership(&faults).await;
        let mut unwritten = Unwritten::default();
        faults.fail(FaultPoint::Append, 1, u64::MAX - 1, Fault::Busy);
        unwritten.push(activity(&membership, Activity::Running));
        let force_stop = CancellationToken::new();
        force_stop.cancel();
        unwritten.write_all(&membership, &force_stop).await;
        assert_eq!(faults.failed(), 1);
    }

    #[test]
    fn pauses_grow_to_a_limit() {
        assert_eq!([pause(1), pause(2)], [wait_times::RETRY, 2 * wait_times::RETRY]);
        assert_eq!([pause(9), pause(u32::MAX)], [wait_times::LONGEST_RETRY; 2]);
    }
}
