//! Limits of the agents that hosts start for others.

/// Tasks that wait until another host starts an agent for them: a second or two each, so more only wait if a host hangs.
pub const MAX_PLACED: usize = 16;

/// Refusals of such tasks that stay in the state until whoever asked has read them, which takes as long.
pub const KEPT_REFUSALS: usize = 32;

/// The profiles that a host offers, and the machines that it offers them to: both are written by hand.
pub const MAX_OFFERED: usize = 64;

/// The agents of a host that the refusal of a message to its bridge names.
pub const SHOWN_AGENTS_OF_HOST: usize = 3;
