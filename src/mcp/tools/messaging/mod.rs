//! The tools of every member: messages, requests, and the list of members.

pub(crate) mod acknowledge;
mod attachments;
pub(crate) mod broadcast;
pub(crate) mod check_messages;
pub(crate) mod claim_request;
pub(crate) mod update_claim;
pub(crate) mod history_cursor;
pub(crate) mod list_agents;
mod more_fields;
mod receipts;
pub(crate) mod request_task;
pub(crate) mod send_message;
pub(crate) mod sender_filter;
pub(crate) mod wait_for_message;
