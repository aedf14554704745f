//! `trust`: shows what a configuration file of a project would run or widen, or what the gates of a plan file would run, and records
//! the user's approval, which they can revoke.

use std::collections::BTreeSet;
use std::io::{IsTerminal as _, stdin};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::commands::run::{PROJECT_FILE, missing_file, read_plan};
use crate::cli::{
    Failure, below_agent, find_project, hidden_agents, load_config, open_bus, output, with_hint,
};
use crate::config::{Brought, ProjectFile, quoted};
use crate::sys::terminal;
use crate::team::{Trust, UnreadableApproval};

/// What to approve.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge trust                      review this project's bridge.toml
  cli-team-bridge trust plan.toml            review the gates of a plan
  cli-team-bridge trust --list               list your approvals
  cli-team-bridge trust plan.toml --revoke   revoke one")]
pub(crate) struct TrustArguments {
    /// A project (for its `.claude/bridge.toml`), a plan file with gates, or a configuration file of the project for --config [default: the current project].
    #[arg(value_name = "DIR|FILE")]
    path: Option<PathBuf>,
    /// Approve without a prompt, provided that the file has this SHA-256.
    #[arg(long, value_name = "SHA256", num_args = 0..=1, default_missing_value = "")]
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
    let UntrustedFile { file, lines, kind } = match asking(arguments.path.as_deref())? {
        Needed::Approval(untrusted) => untrusted,
        Needed::Nothing(why) => {
            output::tell(&format!("Nothing to approve: {why}."));
            return Ok(());
        }
    };
    let unreadable = |why: UnreadableApproval| {
        with_hint(
            why.message_for_user(),
            "`cli-team-bridge doctor` says what to do about that directory",
        )
    };
    let is_approved = trust.has(&file).map_err(unreadable)?;
    output::say(&format!(
        "{}\nSHA-256 {}\n\n{}\n\n{}\n",
        file.quoted(),
        file.sha256,
        if is_approved { kind.approved() } else { kind.heading() },
        lines.join("\n")
    ));
    if is_approved {
        output::tell("Nothing to approve: you approved this file in its current version.");
        return Ok(());
    }
    let agreed = match &arguments.yes {
        Some(hash) if *hash == file.sha256 => true,
        Some(hash) if hash.is_empty() => {
            let how =
                format!("once you have read what stands above, add it: --yes {}", file.sha256);
            return Err(with_hint("--yes needs the SHA-256 of the file", how));
        }
        Some(_) => {
            return Err(with_hint("--yes names another SHA-256", "review the file shown above"));
        }
        None if stdin().is_terminal() => asked(kind.question(&lines))?,
        None => {
            let how = format!("run this in a terminal, or approve with --yes {}", file.sha256);
            return Err(with_hint("there is no terminal to ask at", how));
        }
    };
    if !agreed {
        return Err(kind.refused());
    }
    refuse_an_agents_approval()?;
    trust.add(&file)?;
    let approved = "Approved in its current version; any change to the file needs a new approval.";
    output::tell(&format!("{approved}{}", kind.effect(&lines)));
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
    let mut revoked = BTreeSet::new();
    for place in places(path)? {
        if trust.revoke(&place)? > 0 {
            revoked.insert(Kind::of(&place));
        }
    }
    if let Some(listed) = path.and_then(Path::to_str)
        && trust.revoke_quoted(&format!("\"{listed}\""))? > 0
    {
        revoked.insert(Kind::of(Path::new(listed)));
    }
    if revoked.is_empty() {
        let how = "`cli-team-bridge trust --list` lists the approved files";
        return Err(with_hint("there is no approval to revoke", how));
    }
    for kind in revoked {
        output::tell(kind.revoked());
    }
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
    kind: Kind,
}

/// What kind of file needs approval, which decides the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// The project's own `bridge.toml`, or a configuration file of the project that `--config` names.
    Settings,
    /// A plan with gates.
    Plan,
}

impl Kind {
    /// Returns the kind of an approved file by its path, or by its content if it is still there.
    fn of(path: &Path) -> Self {
        let is_settings = || matches!(asking_named(path), Some(Ok(Needed::Approval(_))));
        let is_settings = path.ends_with(PROJECT_FILE) || (path.is_file() && is_settings());
        if is_settings { Self::Settings } else { Self::Plan }
    }

    /// Introduces the list of all that needs the approval.
    fn heading(self) -> &'static str {
        match self {
            Self::Settings => {
                "These settings of the project's own file need your approval. Without it they have no \
                 effect, and agents with some of them are not started:"
            }
            Self::Plan => {
                "An orchestrator starts this plan only with your approval, because its gates run \
                 commands as you:"
            }
        }
    }

    /// Introduces the same list, if the user has approved it.
    fn approved(self) -> &'static str {
        match self {
            Self::Settings => {
                "You approved these settings of the project's own file, so they have effect:"
            }
            Self::Plan => {
                "You approved this plan, so an orchestrator may start it. Its gates run commands as you:"
            }
        }
    }

    fn question(self, lines: &[String]) -> &'static str {
        let runs = lines.iter().any(|line| line.starts_with("[agents."));
        match self {
            Self::Settings if runs => {
                "The author of that file can run these programs as you. Approve it? [y/N]"
            }
            Self::Settings => "The author of that file chose these values. Approve it? [y/N]",
            Self::Plan => {
                "The author of that plan can run these commands as you. Approve it? [y/N]"
            }
        }
    }

    fn refused(self) -> Failure {
        match self {
            Self::Settings => "not approved: the settings shown above have no effect".into(),
            Self::Plan => with_hint(
                "not approved: an orchestrator does not start this plan",
                "`cli-team-bridge run` with the plan needs no approval: there you start it yourself",
            ),
        }
    }

    /// Says what follows from an approval, beginning with a space.
    fn effect(self, lines: &[String]) -> &'static str {
        let limits = lines.iter().any(|line| line.starts_with("[limits]"));
        match self {
            Self::Settings if limits => " Limits apply from the orchestrator's next start.",
            Self::Settings => "",
            Self::Plan => " An orchestrator can start the plan now.",
        }
    }

    fn revoked(self) -> &'static str {
        match self {
            Self::Settings => {
                "Revoked. The bridge starts no more agents of that file, and no more processes of \
                 running ones. Agents that are running continue until they end, with the \
                 permissions that the file gave them; raised limits apply until the orchestrator \
                 ends."
            }
            Self::Plan => {
                "Revoked. No gate of that plan starts any more; one that is running continues \
                 until it ends."
            }
        }
    }
}

/// What a file needs from its user.
enum Needed {
    Approval(UntrustedFile),
    /// Nothing, for this reason.
    Nothing(String),
}

/// Reads the file to approve: a plan or configuration file if a file is named, else the `bridge.toml` of a project.
fn asking(path: Option<&Path>) -> Result<Needed, Failure> {
    if let Some(plan) = path.filter(|path| path.is_file()) {
        let written = match read_plan(plan) {
            Ok(written) => written,
            Err(error) => return asking_named(plan).unwrap_or(Err(error)),
        };
        let (file, lines) = (written.brought(plan), written.gates());
        if lines.is_empty() {
            let why = format!("the plan {} has no gates, so it runs no programs", quoted(plan));
            return Ok(Needed::Nothing(why));
        }
        return Ok(Needed::Approval(UntrustedFile { file, lines, kind: Kind::Plan }));
    }
    if let Some(missing) = path.filter(|path| !path.exists()) {
        let (what, how) = (
            "file or directory",
            "name a plan file, or the directory of a project; `cli-team-bridge trust --list` \
             lists the files that you approved",
        );
        let failure = missing_file(what, missing, how);
        return Err(failure
            .unwrap_or_else(|| with_hint(format!("there is no {what} {}", quoted(missing)), how)));
    }
    let root = find_project::find(path)?.root;
    let config = load_config::load(&root, None)?;
    let none = || {
        let root = quoted(&root);
        Needed::Nothing(format!("the project {root} has no `.claude/bridge.toml`"))
    };
    Ok(config.project_files().first().map_or_else(none, needed_by))
}

/// Reads a configuration file of a project, which `--config` may name; none if the file is something else.
fn asking_named(path: &Path) -> Option<Result<Needed, Failure>> {
    if path.ends_with(PROJECT_FILE) {
        return None;
    }
    let folder = path.canonicalize().ok()?;
    let project = match find_project::find_from(folder.parent()?) {
        Ok(project) => project,
        Err(error) => return Some(Err(error.into())),
    };
    let config = load_config::load(&project.root, Some(path)).ok()?;
    // The project's own file comes first.
    let named = config.project_files().iter().find(|file| file.trust_argument().is_some());
    named.map(|file| Ok(needed_by(file)))
}

fn needed_by(file: &ProjectFile) -> Needed {
    if !file.needs_yes() {
        let file = file.file.quoted();
        return Needed::Nothing(format!("{file} runs no programs and raises no limits"));
    }
    let (file, lines) = (file.file.clone(), file.lines());
    Needed::Approval(UntrustedFile { file, lines, kind: Kind::Settings })
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
fn asked(question: &str) -> Result<bool, Failure> {
    terminal::drop_typed(stdin());
    output::tell(question);
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
