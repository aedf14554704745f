//! `bus` and `team` of a configuration: the server that keeps the order of the bus of a project that has none yet. Only the user's own
//! files have them.

use toml::Spanned;
use toml::de::DeValue;

use crate::config::toml_reader::Reader;

/// The longest address of a server.
const ADDRESS_CHARS: usize = 2_000;

/// The longest name of a team.
const TEAM_CHARS: usize = 128;

/// The two keys.
const BUS: &str = "bus";
const TEAM: &str = "team";

/// The server that a new bus gets, as the user's files say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BusOfNew {
    /// The address of the server; none if a new bus is in files.
    pub server: Option<String>,
    /// The name of the team; none for the name of the project's directory.
    pub team: Option<String>,
}

/// Returns what is only the user's as it stands in a file: one of these keys, or a section.
pub(in crate::config) fn named(key: &str) -> String {
    if [BUS, TEAM].contains(&key) { key.to_owned() } else { format!("[{key}]") }
}

/// Reads one of the two keys over what the files before it said.
pub(in crate::config) fn read(
    reader: &mut Reader<'_>,
    (key, value): (&str, &Spanned<DeValue<'_>>),
    bus: &mut BusOfNew,
) {
    let what = format!("`{key}`");
    if key == TEAM {
        bus.team = reader.line(value, &what, TEAM_CHARS).or(bus.team.take());
        return;
    }
    let Some(server) = reader.line(value, &what, ADDRESS_CHARS) else { return };
    // In files: an address in a file before this one no longer counts.
    bus.server = (server != "files").then_some(server);
}
