//! The processes of agents and their signs of life.

mod agent_run;
mod last_deed;
mod signs_of_life;

pub use self::agent_run::Run;
