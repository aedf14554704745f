//! The texts of events: one list for all code that reads, keeps or removes them.

use super::{Body, Event};

impl Event {
    /// Returns every text of the event that may be in a blob, the main text first.
    ///
    /// Names every kind of event, so that none with a text can be forgotten: a text that is missing here is never removed.
    pub(in crate::bus) fn bodies(&self) -> Vec<&Body> {
        match self {
            Self::MessageSent(sent) => vec![&sent.body],
            Self::RequestOpened(opened) => {
                let context = opened.context.as_ref();
                [&opened.description].into_iter().chain(context).collect()
            }
            Self::TaskAssigned(assigned) => vec![&assigned.prompt],
            Self::TaskPlaced(placed) => vec![&placed.prompt],
            Self::TaskFinished(finished) => {
                let details = finished.report.details.as_ref();
                [&finished.output].into_iter().chain(details).collect()
            }
            Self::WorkflowCreated(created) => vec![&created.prompts],
            Self::StepExpanded(expanded) => vec![&expanded.items],
            Self::MemberStarting(_)
            | Self::MemberJoined(_)
            | Self::MemberDescribed(_)
            | Self::TopicFollowed(_)
            | Self::TopicLeft(_)
            | Self::LaneClaimed(_)
            | Self::LaneReleased(_)
            | Self::LeadTaken(_)
            | Self::MemberActivity { .. }
            | Self::MemberTools { .. }
            | Self::MemberModel { .. }
            | Self::MemberMethods { .. }
            | Self::MemberLeft { .. }
            | Self::MemberForgotten { .. }
            | Self::AgentRuns(_)
            | Self::AgentSwept { .. }
            | Self::AgentStirred { .. }
            | Self::AgentStalled { .. }
            | Self::AgentStuck { .. }
            | Self::AgentFree { .. }
            | Self::TurnUsed { .. }
            | Self::AgentCrashed { .. }
            | Self::MemberHung { .. }
            | Self::MemberBack { .. }
            | Self::LimitsSet(_)
            | Self::ArbiterSet { .. }
            | Self::MessageAddressed { .. }
            | Self::MessageHanded { .. }
            | Self::MessageReturned { .. }
            | Self::MessageSeen { .. }
            | Self::MessageAcknowledged(_)
            | Self::ThreadResolved(_)
            | Self::AnswerWritten(_)
            | Self::MessageSuperseded { .. }
            | Self::MessageExpired { .. }
            | Self::MessageUnclaimed { .. }
            | Self::MessageReminded { .. }
            | Self::MessageUnanswered { .. }
            | Self::ConflictOpened(_)
            | Self::ConflictMoved(_)
            | Self::ConflictResolved(_)
            | Self::ConflictOverruled(_)
            | Self::WaitStarted { .. }
            | Self::WaitEnded { .. }
            | Self::RequestNudged { .. }
            | Self::RequestClaimed { .. }
            | Self::ClaimUnheard(_)
            | Self::ClaimKnown(_)
            | Self::RequestReopened { .. }
            | Self::RequestCompleted { .. }
            | Self::RequestExpired { .. }
            | Self::RequestRenewed { .. }
            | Self::RequestReminded { .. }
            | Self::RequestHandedOver { .. }
            | Self::RequestFailed { .. }
            | Self::HostOffered { .. }
            | Self::PlacementEnded { .. }
            | Self::TaskStarted { .. }
            | Self::TaskResumed { .. }
            | Self::TaskCancelAsked { .. }
            | Self::StopAsked { .. }
            | Self::PermissionAsked(_)
            | Self::PermissionNotified { .. }
            | Self::PermissionAnswered(_)
            | Self::WorkflowResumed(_)
            | Self::WorkflowCancelAsked { .. }
            | Self::WorkflowEnded { .. }
            | Self::StepAsked(_)
            | Self::StepApproved(_)
            | Self::StepStarted(_)
            | Self::StepReturned(_)
            | Self::StepEnded(_)
            | Self::KeyMade { .. }
            | Self::KeyRevoked { .. }
            | Self::WebhookSent { .. }
            | Self::ProjectsListed(_)
            | Self::MessageRelayed(_)
            | Self::MessageHeld(_)
            | Self::ReceiptsTold(_)
            | Self::SegmentFailed { .. } => Vec::new(),
        }
    }
}
