//! The approval that Qwen Code wants for what a project brings: its `settings.json`, and a `.mcp.json`, which other clients share. Both
//! take the place of the user's entry.
//!
//! As Qwen Code 0.24 decides it: an approval holds for one directory, and for the entry as it was then. Of `settings.json` the values of
//! variables count, of `.mcp.json`, which it does not expand, the text.

use std::path::Path;

use serde_json::Value;

use super::find_switches::setting_in;
use super::javascript_json::stringified;
use crate::domain::text::shown_path::ShownPath as _;
use crate::setup::config_file::ConfigFile;
use crate::setup::edits::config_edit::names_bridge;
use crate::setup::edits::edit_json;
use crate::setup::known_client::{EntryInUse, EntryScope, SERVER, Switch, SwitchEffect};
use crate::setup::setup_record::sha256;

/// Where Qwen Code keeps the approvals, in its directory.
const APPROVALS: &str = "mcpApprovals.json";

/// What the user has decided about an entry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Approval {
    Approved,
    Rejected,
    Pending,
}

/// Judges what the project brings. `own` is the directory of Qwen Code.
pub(super) fn by_approval(used: &EntryInUse<'_>, own: &Path) -> Option<Switch> {
    let project = used.project?;
    let root = used.root.or(Some(project));
    let key = format!("mcpServers.{SERVER}");
    let (entry, file) = if used.scope == EntryScope::Project {
        (used.entry.clone(), used.file.clone())
    } else {
        let file = project.join(".mcp.json");
        let text = ConfigFile::look(&file, root).ok()?.text?;
        let path = ["mcpServers", SERVER].map(str::to_owned);
        let entry = edit_json::value_at(&text, &path).ok()?.filter(Value::is_object)?;
        if !names_bridge(&entry) {
            let setting = setting_in(&key, &file);
            let remedy = format!("if the bridge should run, remove or rename {setting}");
            let what = format!("{setting}, which takes the place of yours and does not start it");
            return Some(used.off(&what, remedy));
        }
        (entry, file)
    };
    match approval(used, own, &entry) {
        Approval::Approved => None,
        Approval::Rejected => {
            let setting = setting_in(SERVER, &own.join(APPROVALS));
            let remedy = format!(
                "if the bridge should run, run `qwen mcp approve {SERVER}` in {}",
                project.shown()
            );
            Some(used.off(
                &format!("{setting}, where you have rejected that of {}", file.shown()),
                remedy,
            ))
        }
        Approval::Pending => Some(Switch {
            unused_file: None,
            effect: SwitchEffect::Partly,
            says: format!(
                "{} asks you before it starts the bridge from {}, which you have not approved",
                used.client.title,
                file.shown()
            ),
            remedy: format!(
                "approve it when it asks, or run `qwen mcp approve {SERVER}` in {}",
                project.shown()
            ),
        }),
    }
}

fn approval(used: &EntryInUse<'_>, own: &Path, entry: &Value) -> Approval {
    let all = used.read(&own.join(APPROVALS)).unwrap_or_default();
    let directory = used.project.unwrap_or(Path::new("/")).to_string_lossy();
    let record = &all[&*directory][SERVER];
    let is_the_same = record["hash"] == hash(entry, used.scope != EntryScope::Project);
    match record["status"].as_str() {
        Some("approved") if is_the_same => Approval::Approved,
        Some("rejected") if is_the_same => Approval::Rejected,
        _ => Approval::Pending,
    }
}

/// Returns the hash of what an entry does. Of one that other clients share, the `type` is left out.
fn hash(entry: &Value, is_shared: bool) -> String {
    let mut behavioral = entry.clone();
    if let Some(fields) = behavioral.as_object_mut() {
        let labels = ["scope", "extensionName", "description"];
        fields.retain(|key, _| !(labels.contains(&key.as_str()) || is_shared && key == "type"));
    }
    sha256(stringified(&behavioral).as_bytes())
}
