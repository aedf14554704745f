//! `top` at a terminal: what a person sees of a team, does there, and gets back when it ends.

mod acting;
mod end_of_window;
mod failed_wakes;
mod team_of_five;
mod who_waits;
