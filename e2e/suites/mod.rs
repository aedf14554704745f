//! The tests with real programs, by what they prove.

pub(crate) mod asked_in_thread;
pub(crate) mod claude;
pub(crate) mod connected_client;
pub(crate) mod doctor_examines;
pub(crate) mod doctor_reads_clients;
pub(crate) mod every_agent;
pub(crate) mod first_minutes;
pub(crate) mod killed_orchestrator;
pub(crate) mod other_clients_announce;
pub(crate) mod permission_policies;
pub(crate) mod shown_before_seen;
pub(crate) mod three_vendor_workflow;
