//! Judges a directory in which a client starts no MCP servers, because it does not trust it.

use std::path::Path;

use super::CHECK_AGAIN;
use crate::doctor::finding::{Finding, Subject};
use crate::domain::text::shown_path::ShownPath as _;
use crate::setup::known_client::FolderTrust;

/// Judges a directory that the client does not trust.
pub(super) fn judge_trust(
    (title, program): (&str, &str),
    subject: &Subject,
    directory: &Path,
    trust: &FolderTrust,
) -> Finding {
    let directory = directory.shown();
    let yet = match trust {
        FolderTrust::Unknown(why) => {
            let says = format!("cannot tell whether {title} trusts {directory}: {why}");
            let remedy = format!("correct that file, then {CHECK_AGAIN}");
            return Finding::unknown(subject, "trust", says).with_remedy(remedy);
        }
        FolderTrust::Broken(why) => {
            let says = format!(
                "{title} does not start in any folder, because of its rules about folders: {why}"
            );
            let remedy = format!("correct that file or move it away, then {CHECK_AGAIN}");
            return Finding::problem(subject, "trust", says, remedy);
        }
        FolderTrust::RefusedBy(variable) => {
            let says = format!(
                "{title} starts no MCP servers in {directory}, because of {variable} in the environment"
            );
            let remedy =
                format!("if the bridge should run, unset that variable where {title} is started");
            return Finding::note(subject, "trust", says).with_remedy(remedy);
        }
        FolderTrust::Refused => "",
        FolderTrust::Undecided | FolderTrust::Trusted => " yet",
    };
    let says = format!("{title} does not trust {directory}{yet}, and starts no MCP servers there");
    let command = if program == "qwen" { "/trust" } else { "/permissions" };
    Finding::note(subject, "trust", says).with_remedy(format!(
        "start `{program}` in {directory} and trust the folder when it asks; if it does not ask, type {command} there"
    ))
}
