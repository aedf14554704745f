//! One file or folder per command.

pub(crate) mod act;
pub(crate) mod agent;
pub(crate) mod bus;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod hook;
pub(crate) mod host;
pub(crate) mod keep_courier;
pub(crate) mod key;
pub(crate) mod look;
pub(crate) mod man;
pub(crate) mod notify;
pub(crate) mod orchestrator;
pub(crate) mod overview;
pub(crate) mod own_labels;
pub(crate) mod own_surface;
pub(crate) mod peer;
pub(crate) mod run;
pub(crate) mod scripted_agent;
pub(crate) mod setup;
pub(crate) mod top;
pub(crate) mod trust;
pub(crate) mod watch;
pub(crate) mod web;
