//! Agents as their orchestrator sees them: tasks, messages, permissions, results, crashes.

pub(crate) mod failing_bus;
pub(crate) mod files_through_the_bridge;
pub(crate) mod messaging;
pub(crate) mod mid_turn_delivery;
pub(crate) mod permission_rules;
pub(crate) mod permissions;
pub(crate) mod proof_of_reading;
pub(crate) mod results;
pub(crate) mod resumed_agents;
pub(crate) mod secrets;
pub(crate) mod stalls_and_crashes;
pub(crate) mod start_to_end;
pub(crate) mod stuck_turns;
pub(crate) mod tasks;
