//! The recipients of one message: each step of its way to them.

use super::trace_receipt::{Progress, TraceProgress, TraceReceipt};
use crate::bus::event::Addressees;
use crate::domain::ids::{CallId, SessionId};
use crate::domain::limits;
use crate::domain::messaging::{Acknowledgement, DeliveryMethod, StateElsewhere};
use crate::domain::name::Name;
use crate::view::Moment;
use crate::view::events::shown_note;

/// A call of a session, which carries messages.
pub(super) type Carrier = (SessionId, CallId);

/// The recipients of a message.
#[derive(Clone, Debug, Default)]
pub(super) struct Recipients {
    all: Vec<Recipient>,
}

#[derive(Clone, Debug)]
struct Recipient {
    member: String,
    steps: Vec<TraceProgress>,
    /// The call that carried it last.
    carrier: Option<Carrier>,
}

impl Recipients {
    /// Notes that it is in the inbox of a member that the event names, also again: a later session of the member is shown a request afresh.
    pub(super) fn begins(&mut self, member: &str, at: Moment) {
        let recipient = self.of(member);
        if recipient.status().is_none_or(|status| status.is_seen() || status.is_lost()) {
            recipient.step(Progress::Stored, at);
        }
    }

    /// Notes that it is in an inbox, maybe again after it was withdrawn, unless the member has seen it.
    pub(super) fn stored(&mut self, member: &str, at: Moment) {
        let recipient = self.of(member);
        if recipient.status().is_none_or(Progress::is_lost) {
            recipient.step(Progress::Stored, at);
        }
    }

    pub(super) fn handed(
        &mut self,
        member: &str,
        (carrier, method): (Carrier, DeliveryMethod),
        at: Moment,
    ) {
        let recipient = self.of(member);
        recipient.carrier = Some(carrier);
        recipient.step(Progress::Handed, at).method = Some(method.as_str().to_owned());
    }

    /// Notes that a call has proven what it carried, even if that was unread again.
    pub(super) fn seen_with(&mut self, carrier: Carrier, at: Moment) {
        for recipient in self.carried_by(carrier) {
            let is_open =
                recipient.status().is_none_or(|status| !status.is_seen() && !status.is_lost());
            if is_open {
                recipient.step(Progress::Seen, at);
            }
        }
    }

    pub(super) fn returned_by(&mut self, carrier: Carrier, at: Moment) {
        for recipient in self.carried_by(carrier) {
            recipient.returns(at);
        }
    }

    /// Notes that a session has left: what it did not prove is unread again.
    pub(super) fn left(&mut self, session: SessionId, at: Moment) {
        let is_of = |one: &&mut Recipient| one.carrier.is_some_and(|(of, _)| of == session);
        self.all.iter_mut().filter(is_of).for_each(|recipient| recipient.returns(at));
    }

    /// Notes what a recipient says of it, which proves that it has seen it.
    pub(super) fn acknowledged(
        &mut self,
        member: &str,
        (said, note): (Acknowledgement, Option<&str>),
        at: Moment,
    ) {
        let recipient = self.of(member);
        if !recipient.status().is_some_and(Progress::is_seen) {
            recipient.step(Progress::Seen, at);
        }
        let status = match said {
            Acknowledgement::Acked => Progress::Acked,
            Acknowledgement::Resolved => Progress::Resolved,
            Acknowledgement::Superseded => Progress::Superseded,
        };
        recipient.step(status, at).note = note.map(|note| shown_note(note, limits::PROMPT_CHARS));
    }

    /// Notes that a recipient has resolved the thread. Its acknowledgement said so already, unless its summary is a better one.
    pub(super) fn resolved(&mut self, member: &str, summary: &str, at: Moment) {
        let summary = Some(shown_note(summary, limits::PROMPT_CHARS));
        let recipient = self.all.iter_mut().find(|recipient| recipient.member == member);
        if let Some(recipient) = recipient.filter(|one| one.says(Progress::Resolved, None))
            && !recipient.says(Progress::Resolved, summary.as_deref())
        {
            recipient.step(Progress::Resolved, at).note = summary;
        }
    }

    pub(super) fn withdrawn(&mut self, from: &Addressees, why: Option<&String>, at: Moment) {
        for recipient in &mut self.all {
            let is_named =
                |names: &[Name]| names.iter().any(|name| name.as_str() == recipient.member);
            let is_meant = match from {
                Addressees::Named(names) => is_named(names),
                Addressees::AllBut(names) => {
                    let is_unread =
                        matches!(recipient.status(), Some(Progress::Stored | Progress::Returned));
                    is_unread && !is_named(names)
                }
            };
            if is_meant {
                recipient.ends(Progress::Withdrawn, why.cloned(), at);
            }
        }
    }

    /// Notes how far it has come with a recipient in another project: what was between is known there alone.
    pub(super) fn has_come(
        &mut self,
        member: &str,
        (state, note): (StateElsewhere, Option<&str>),
        at: Moment,
    ) {
        let recipient = self.of(member);
        let status = match state {
            StateElsewhere::Unread => Progress::Stored,
            StateElsewhere::Seen => Progress::Seen,
            StateElsewhere::Acked => Progress::Acked,
            StateElsewhere::Resolved => Progress::Resolved,
            StateElsewhere::Superseded => Progress::Superseded,
            StateElsewhere::Withdrawn => Progress::Withdrawn,
            StateElsewhere::Expired => Progress::Expired,
        };
        let note = note.map(|note| shown_note(note, limits::PROMPT_CHARS));
        if !recipient.says(status, note.as_deref()) {
            recipient.step(status, at).note = note;
        }
    }

    pub(super) fn expired(&mut self, member: &str, why: Option<String>, at: Moment) {
        self.of(member).ends(Progress::Expired, why, at);
    }

    /// Returns the calls that may still prove it, and the sessions whose end would return it.
    pub(super) fn open_carriers(&self) -> impl Iterator<Item = (CallId, Option<SessionId>)> {
        self.all.iter().filter_map(|recipient| {
            let (session, call) = recipient.carrier?;
            match recipient.status()? {
                Progress::Handed => Some((call, Some(session))),
                Progress::Returned => Some((call, None)),
                _ => None,
            }
        })
    }

    pub(super) fn receipts(self) -> Vec<TraceReceipt> {
        let receipt = |recipient: Recipient| {
            let status = recipient.status()?;
            Some(TraceReceipt { member: recipient.member, status, steps: recipient.steps })
        };
        self.all.into_iter().filter_map(receipt).collect()
    }

    fn carried_by(&mut self, carrier: Carrier) -> impl Iterator<Item = &mut Recipient> {
        self.all.iter_mut().filter(move |one| one.carrier == Some(carrier))
    }

    fn of(&mut self, member: &str) -> &mut Recipient {
        let known = self.all.iter().position(|recipient| recipient.member == member);
        let index = known.unwrap_or_else(|| {
            let member = member.to_owned();
            self.all.push(Recipient { member, steps: Vec::new(), carrier: None });
            self.all.len() - 1
        });
        &mut self.all[index]
    }
}

impl Recipient {
    fn status(&self) -> Option<Progress> {
        self.steps.last().map(|step| step.status)
    }

    /// Says whether it is that far, and its last note is this one, if there is one.
    fn says(&self, status: Progress, note: Option<&str>) -> bool {
        let last = self.steps.last().filter(|step| step.status == status);
        last.is_some_and(|step| note.is_none_or(|note| step.note.as_deref() == Some(note)))
    }

    fn step(&mut self, status: Progress, at: Moment) -> &mut TraceProgress {
        self.steps.push(TraceProgress { status, at, method: None, note: None, why: None });
        let last = self.steps.len() - 1;
        &mut self.steps[last]
    }

    fn returns(&mut self, at: Moment) {
        if self.status() == Some(Progress::Handed) {
            self.step(Progress::Returned, at);
        }
    }

    /// Notes an end without a reader, unless there was another end before.
    fn ends(&mut self, status: Progress, why: Option<String>, at: Moment) {
        let is_over = self.status().is_some_and(|status| status.is_seen() || status.is_lost());
        if !is_over {
            self.step(status, at).why = why;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_a_later_session_is_shown_afresh_is_not_seen_any_more() {
        use Progress::{Handed, Seen, Stored, Withdrawn};
        let call = (SessionId(uuid::Uuid::nil()), CallId(uuid::Uuid::nil()));
        let mut recipients = Recipients::default();
        for at in [1, 4] {
            recipients.begins("ben", Moment(at));
            recipients.begins("ben", Moment(at));
            recipients.handed("ben", (call, DeliveryMethod::Pull), Moment(at + 1));
            recipients.seen_with(call, Moment(at + 2));
        }
        recipients.begins("ben", Moment(7));
        let ben = [Name::parse("ben").unwrap()];
        recipients.withdrawn(&Addressees::Named(ben.to_vec()), None, Moment(8));
        let receipt = &recipients.receipts()[0];
        assert_eq!(receipt.status, Progress::Withdrawn);
        let steps: Vec<_> = receipt.steps.iter().map(|step| step.status).collect();
        assert_eq!(steps, [Stored, Handed, Seen, Stored, Handed, Seen, Stored, Withdrawn]);
    }

    #[test]
    fn a_receipt_has_the_last_summary_of_its_thread_here_and_from_another_project() {
        let notes = |recipients: Recipients| {
            let receipts = recipients.receipts();
            let steps = receipts[0].steps.iter().map(|step| step.note.clone().unwrap_or_default());
            steps.collect::<Vec<_>>()
        };
        let at = Moment(1);
        let mut here = Recipients::default();
        here.resolved("ben", "of nobody", at);
        here.acknowledged("ben", (Acknowledgement::Resolved, Some("one")), at);
        here.resolved("ben", "one", at);
        here.resolved("ben", "two", at);
        here.resolved("cay", "of another", at);
        assert_eq!(notes(here), ["", "one", "two"], "seen, and resolved twice");

        let mut there = Recipients::default();
        for note in [Some("one"), Some("one"), None, Some("two")] {
            there.has_come("web:ben", (StateElsewhere::Resolved, note), at);
        }
        assert_eq!(notes(there), ["one", "two"]);
    }
}
