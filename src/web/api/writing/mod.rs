//! What programs do through the API, each as the member of its key's name: messages, requests and claims, tasks, and answers to agents.

mod claim_refusals;
mod why_refused;
mod as_member;
mod attached_files;
mod exact_urgency;
mod unread_message;
mod wait_routes;
mod message_routes;
mod inbox_routes;
mod request_routes;
mod claim_routes;
mod task_routes;
mod permission_routes;

pub(super) use self::as_member::{as_member, end_membership};
pub(super) use self::attached_files::NewAttachment;
pub(super) use self::claim_routes::{
    FollowedTopic, LaneOwner, NewClaimUpdate, UpdatedClaim, claim_lane, follow_topic, leave_topic,
    release_lane, update_claim,
};
pub(super) use self::inbox_routes::{
    Acknowledged, Inbox, NewAcknowledgement, WhichUnread, acknowledge, acknowledged, checked_limit,
    inbox, inbox_of, page_of,
};
pub(super) use self::message_routes::{
    HowUrgent, NewBroadcast, NewMessage, SentBroadcast, SentMessage, broadcast, broadcast_as, send,
    send_as, send_to_all_as,
};
pub(super) use self::permission_routes::{AnsweredPermission, PermissionAnswer, answer_permission};
pub(super) use self::request_routes::{
    ClaimedRequest, NewRequest, OpenedRequest, claim, claimed_by, open_request, opened_by,
};
pub(super) use self::task_routes::{AssignedTask, NewAssignment, assign};
pub(super) use self::unread_message::UnreadMessage;
pub(super) use self::wait_routes::{EndedWait, NewWait, wait};
pub(super) use self::why_refused::why_not;
