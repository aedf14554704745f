//! The scripts that this repository shows: each of their turns can be played.

use std::fs;
use std::path::{Path, PathBuf};

use crate::delivery::introduction::introduce;
use crate::domain::name::Name;
use crate::scripted::script::script_format::Script;

/// The beginning of a task in a prompt.
const TASK: &str = "Your task: ";

/// Returns the paths of the shipped scripts.
fn shipped() -> Vec<PathBuf> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let folders = [examples.clone(), examples.join("workflows")];
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let files = files.map(|file| file.unwrap().path());
    let is_script = |path: &PathBuf| {
        let is_toml = path.extension().is_some_and(|extension| extension == "toml");
        is_toml && fs::read_to_string(path).unwrap().contains("[[agents.")
    };
    files.filter(is_script).collect()
}

/// The first prompt of an agent introduces it, with its own name and those of its team-mates: `when = "write"` fits every first
/// prompt of `writer`.
#[test]
fn every_turn_of_a_shipped_script_can_be_played() {
    let scripts = shipped();
    assert_eq!(scripts.len(), 6, "{scripts:?}");
    let mut wrong = Vec::new();
    for path in scripts {
        let script = Script::load(&path).unwrap();
        let names: Vec<_> = script.names().map(|name| Name::parse(name).unwrap()).collect();
        for name in &names {
            let part = script.named(name.as_str()).unwrap();
            let mates: Vec<_> = names.iter().filter(|mate| *mate != name).cloned().collect();
            let introduction = introduce(name, &mates, true);
            for (index, turn) in part.turns.iter().enumerate() {
                let when = turn.when.as_deref().unwrap_or("something else");
                let said = when.strip_prefix(TASK).unwrap_or(when);
                let mut before = part.turns[..index].iter();
                let takes_all_tasks = before.any(|turn| turn.when.as_deref() == Some(TASK));
                // After a turn for every task, the others are for the prompts with which a message wakes the agent.
                let prompt = if takes_all_tasks {
                    said.to_owned()
                } else {
                    format!("{introduction}\n\n{TASK}{said}")
                };
                // The turns before it that are played only some times are used up.
                let before = part.turns[..index].iter().map(|turn| turn.times.unwrap_or(0));
                let rest = part.turns[index..].iter().map(|_| 0);
                let played: Vec<_> = before.chain(rest).collect();
                if part.next_turn(&prompt, &played) != Some(index) {
                    let file = path.file_name().unwrap().display();
                    wrong.push(format!("{file}: turn {} of `{name}`: {when:?}", index + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "turns before these fit the same prompts:\n{}", wrong.join("\n"));
}
