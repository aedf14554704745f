//! What messages have beside their texts: signals, urgency, and deadlines.

mod answers;
mod crossing_order;
mod crossings;
mod deciders;
mod disagreements;
mod expiry;
mod groups;
mod queued;
mod sending;
mod signals;
mod urgency;
mod user_questions;
mod waits_for_answers;

pub(super) use self::sending::{sending_with, signal};
