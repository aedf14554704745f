//! The commands by which a person acts on a team from the command line: arguments and printing. What they do is in `cli::steer`.

mod answer;
mod cancel;
mod given_text;
mod send_arguments;
mod stop_arguments;
mod team_place;

pub(crate) use self::answer::{
    AllowArguments, DenyArguments, run_allow as allow, run_deny as deny,
};
pub(crate) use self::cancel::{CancelArguments, run as cancel};
pub(crate) use self::send_arguments::{SendArguments, run as send};
pub(crate) use self::stop_arguments::{
    KillArguments, StopArguments, run_kill as kill, run_stop as stop,
};
