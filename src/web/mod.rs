//! The local web server: the pages of a team, their changes as they happen, what a person does there, and the API.
//!
//! It reads the bus through a reader. What a person does goes through `Surroundings`, the one port to the program around it, which knows
//! the command line and how a project is found; a program with a key joins the team as a member of its own. It listens on loopback addresses alone, and nothing of the team is shown to a
//! program that has not signed in.

mod acts;
mod api;
mod assets;
mod bus_reader;
mod connection_places;
mod gate;
mod live;
mod page_diffs;
mod pages;
mod problem;
mod programs;
mod routes;
mod serve;
mod serve_connection;
mod server_state;
mod team_snapshot;

pub use self::acts::{ActEnd, ActError, ActOutcome, OpenError, ProjectPlace, Surroundings};
pub use self::assets::{Asset, find_asset};
pub use self::gate::BasePath;
pub use self::pages::{
    Extra, FilesElsewhere, Fragment, OlderLetters, PageContext, PageInput, SearchResult,
    StepPrompt, View, fragments, message_page, page, rows_of_letters, signed_in_page,
};
pub use self::problem::Problem;
pub use self::serve::WebServer;
pub use self::server_state::WebSettings;
pub use self::team_snapshot::{BusState, Snapshot};
