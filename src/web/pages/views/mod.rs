//! The views, each as the body of its page.

mod conversation_view;
mod member_view;
mod requests_view;
mod search_view;
mod task_views;
mod team_view;
mod timeline_view;
mod usage_view;
mod workflow_views;

pub(super) use self::conversation_view::{conversation, sequence, thread};
pub(super) use self::member_view::member;
pub(super) use self::requests_view::requests;
pub(super) use self::search_view::search;
pub(super) use self::task_views::{task, tasks};
pub(super) use self::team_view::team;
pub(super) use self::timeline_view::timeline;
pub(super) use self::usage_view::usage;
pub(super) use self::workflow_views::{workflow, workflows};
