//! The rules, sentence by sentence, in a small world of pure state.

mod envelope;
mod health;
mod human;
mod kept;
mod members;
mod messages;
mod ownership;
mod permissions;
mod placed_tasks;
mod requests;
mod room;
mod tasks;
mod time;
mod waits;
mod workflows;
mod world;

use uuid::Uuid;

use self::world::{
    CALL, World, all, all_sent, assigned, name, notices, said, sending, sent, task, text,
};
use super::{NameChoice, NewTask, Operation, Pick, Refusal};
use crate::bus::event::{Body, Entry, Event};
use crate::bus::state::{Delivery, State};
use crate::bus::storage::file::line_format;
use crate::domain::ids::{CallId, CommandId, MessageId, RequestId, SessionId, TaskId};
use crate::domain::member::{Departure, MemberKind};
use crate::domain::messaging::{DeliveryMethod, MessageKind, Priority};
use crate::domain::name::Name;
