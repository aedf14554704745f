//! `top`: a window on the team. It shows the read model, and what a person wants there becomes an act.
//!
//! Its core is pure: a key and a screen give the next screen and perhaps an act (`screen`), and a screen gives a picture (`paint`).
//! The bus (`feed`), the keyboard and the terminal are at its edge, each on a thread of its own; `run_top` connects them.

mod feed;
mod keyboard;
mod news;
mod paint;
mod run_top;
mod screen;

pub(crate) use self::run_top::{TopArguments, run};
