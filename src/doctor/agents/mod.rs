//! The agents: whether each is installed, logged in and approved, and whether it starts and loads our tools.

mod agent_kinds;
pub(super) mod examine_agents;
mod installed_version;
mod judge_program;
mod judge_trial;
mod trial;
mod trial_place;
mod trial_room;
mod vendor_folders;
