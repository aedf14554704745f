//! `trust`: shows what a project's own `bridge.toml` would run or widen, or what the gates of a plan file would run, and records
//! the user's approval, which they can revoke.

use std::collections::BTreeSet;
use std::io::{IsTerminal as _, stdin};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::commands::run::read_plan;
use crate::cli::{
    Failure, below_agent, find_project, hidden_agents, load_config, open_bus, output, with_hint,
};
use crate::config::{Brought, quoted};
use crate::sys::terminal;
use crate::team::Trust;

/// What to approve.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge trust                      review this project's bridge.toml
  cli-team-bridge trust plan.toml            review the gates of a plan
  cli-team-bridge trust --list               list your approvals
  cli-team-bridge trust plan.toml --revoke   revoke one")]
pub(crate) struct TrustArguments {
    /// A project (for its `.claude/bridge.toml`) or a plan file with gates [default: the current project].
    #[arg(value_name = "DIR|PLAN")]
    path: Option<PathBuf>,
    /// Approve without a prompt, provided that the file has this SHA-256.
    #[arg(long, value_name = "SHA256")]
    yes: Option<String>,
    /// Revoke every approval of that file, for all versions of it.
    #[arg(long, conflicts_with = "yes")]
    revoke: bool,
    /// List all files that you approved.
    #[arg(long, conflicts_with_all = ["path", "yes", "revoke"])]
    list: bool,
}

pub(crate) fn run(arguments: &TrustArguments) -> Result<(), Failure> {
    below_agent::refuse_to("give its user's approval")?;
    let trust = load_config::trust_store();
    if arguments.list {
        return list(&trust);
    }
    if arguments.revoke {
        return revoke(&trust, arguments.path.as_deref());
    }
    let UntrustedFile { file, lines } = match asking(arguments.path.as_deref())? {
        Needed::Approval(untrusted) => untrusted,
        Needed::Nothing(why) => {
            output::tell(&format!("Nothing to approve: {why}."));
            return Ok(());
        }
    };
    output::say(&format!(
        "{}\nSHA-256 {}\nwould set:\n\n{}\n",
        file.quoted(),
        file.sha256,
        lines.join("\n")
    ));
    if trust.has(&file)? {
        output::tell("You already approved this file.");
        return Ok(());
    }
    let agreed = match &arguments.yes {
        Some(hash) if *hash == file.sha256 => true,
        Some(_) => {
            return Err(with_hint("--yes names another SHA-256", "review the file shown above"));
        }
        None if stdin().is_terminal() => asked()?,
        None => {
            let how = format!("run this in a terminal, or approve with --yes {}", file.sha256);
            return Err(with_hint("there is no terminal to ask at", how));
        }
    };
    if !agreed {
        return Err("not approved: the settings shown above stay ignored".into());
    }
    refuse_an_agents_approval()?;
    trust.add(&file)?;
    output::tell(
        "Approved in its current version; any change to the file needs a new approval. Limits \
            apply from the orchestrator's next start.",
    );
    Ok(())
}

fn list(trust: &Trust) -> Result<(), Failure> {
    let all = trust.all()?;
    if all.is_empty() {
        output::tell("You have approved no files.");
    }
    for (sha256, place) in all {
        output::say(&format!("{sha256} {}", word(&place)));
    }
    Ok(())
}

fn revoke(trust: &Trust, path: Option<&Path>) -> Result<(), Failure> {
    let mut revoked = 0;
    for place in places(path)? {
        revoked += trust.revoke(&place)?;
    }
    if let Some(listed) = path.and_then(Path::to_str) {
        revoked += trust.revoke_quoted(&format!("\"{listed}\""))?;
    }
    if revoked == 0 {
        let how = "`cli-team-bridge trust --list` lists the approved files";
        return Err(with_hint("there is no approval to revoke", how));
    }
    output::tell(
        "Revoked. The bridge no longer starts agents, agent processes or gates from that file. \
         Running ones continue until they end, with the permissions the file gave them; raised \
         limits apply until the orchestrator ends.",
    );
    Ok(())
}

/// Writes a quoted path as a shell word by which `--revoke` finds it.
fn word(quoted: &str) -> String {
    let text = quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    match text {
        Some(text) if text.contains(['$', '`', '\\', '!']) => {
            format!("'{}'", text.replace('\'', "'\\''"))
        }
        _ => quoted.to_owned(),
    }
}

/// Returns the paths that an argument may stand for, those of a file or a project. They need not exist: the file may be gone, or
/// another than the approved one.
fn places(path: Option<&Path>) -> Result<BTreeSet<PathBuf>, Failure> {
    let of_project = |root: &Path| root.join(".claude").join("bridge.toml");
    let Some(path) = path else {
        let root = find_project::find(None)?.root;
        return Ok(BTreeSet::from([of_project(&root)]));
    };
    let absolute = std::path::absolute(path)?;
    let found = [resolved_around(&absolute), path.canonicalize().ok()];
    let mut places = BTreeSet::new();
    for place in found.into_iter().flatten().chain([absolute]) {
        places.insert(of_project(&place));
        places.insert(place);
    }
    Ok(places)
}

/// Resolves the links in the parents of a path, as far as they exist, and keeps its own name.
fn resolved_around(path: &Path) -> Option<PathBuf> {
    path.ancestors().skip(1).find_map(|around| {
        let resolved = around.canonicalize().ok()?;
        Some(resolved.join(path.strip_prefix(around).ok()?))
    })
}

/// A file that needs approval, and what it would set or run.
struct UntrustedFile {
    file: Brought,
    lines: Vec<String>,
}

/// What a file needs from its user.
enum Needed {
    Approval(UntrustedFile),
    /// Nothing, for this reason.
    Nothing(String),
}

/// Reads the file to approve: a plan if a file is named, else the `bridge.toml` of a project.
fn asking(path: Option<&Path>) -> Result<Needed, Failure> {
    if let Some(plan) = path.filter(|path| path.is_file()) {
        let written = read_plan(plan)?;
        let (file, lines) = (written.brought(plan), written.gates());
        if lines.is_empty() {
            let why = format!("the plan {} has no gates, so it runs no programs", quoted(plan));
            return Ok(Needed::Nothing(why));
        }
        return Ok(Needed::Approval(UntrustedFile { file, lines }));
    }
    if let Some(missing) = path.filter(|path| !path.exists()) {
        return Err(with_hint(
            format!("there is no file or directory {}", quoted(missing)),
            "name a plan file, or the directory of a project; `cli-team-bridge trust --list` \
             lists the files that you approved",
        ));
    }
    let root = find_project::find(path)?.root;
    let config = load_config::load(&root, None)?;
    Ok(match config.project_file() {
        Some(file) if file.needs_yes() => {
            Needed::Approval(UntrustedFile { file: file.file.clone(), lines: file.lines() })
        }
        Some(file) => {
            let file = file.file.quoted();
            Needed::Nothing(format!("{file} runs no programs and raises no limits"))
        }
        None => {
            let root = quoted(&root);
            Needed::Nothing(format!("the project {root} has no `.claude/bridge.toml`"))
        }
    })
}

/// Refuses an approval that a live agent may be giving: below the agent, where this process cannot see the agent, or without a
/// terminal, as processes that left their agent's tree (`at`, `systemd-run`) have none. While no agent is live, containers and CI
/// need no terminal.
fn refuse_an_agents_approval() -> Result<(), Failure> {
    if let Some(agent) = open_bus::agent_out_of_sight()? {
        return Err(hidden_agents::hides(&agent, "give its user's approval").into());
    }
    if !stdin().is_terminal()
        && !terminal::is_there()
        && let Some(agent) = open_bus::agent_at_work(hidden_agents::any_agent)?
    {
        return Err(with_hint(
            format!(
                "this process has no terminal, and `{agent}` is a live agent, which cannot give \
                 its user's approval"
            ),
            format!("run this in a terminal, or stop `{agent}` first"),
        ));
    }
    Ok(())
}

/// Asks at the terminal. Anything but a clear yes is no. Input typed before the question is dropped.
fn asked() -> Result<bool, Failure> {
    terminal::drop_typed(stdin());
    output::tell("The author of that file can run these programs as you. Approve it? [y/N]");
    let mut typed = String::new();
    stdin().read_line(&mut typed)?;
    Ok(matches!(typed.trim().to_lowercase().as_str(), "y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listed_place_is_one_word_of_a_shell() {
        let check = |place: &str, expected: &str| {
            let word = word(&crate::config::quoted(Path::new(place)));
            assert_eq!(word, expected, "{place:?}");
        };
        check("/a/it's one.toml", "\"/a/it's one.toml\"");
        check("/a/$HOME's.toml", "'/a/$HOME'\\''s.toml'");
        check("/a/`id`!.toml", "'/a/`id`!.toml'");
        check("/a/\u{1b}.toml", "'/a/\\u{1b}.toml'");
        check("/a/\"b\".toml", "'/a/\\\"b\\\".toml'");
    }
}
