//! The command itself: finds clients and agents, shows the changes, and makes them.

use std::path::{Path, PathBuf};

use super::client_changes::{self, PlannedClient};
use super::questions::Asking;
use super::remove_changes::Removed;
use super::setup_arguments::SetupArguments;
use super::{found_report, install_adapters, remove_changes};
use crate::cli::commands::overview::{FirstRequest, first_request};
use crate::cli::{Failure, below_agent, find_project, load_config, output, with_hint};
use crate::config::quoted;
use crate::domain::limits::NAMED_IN_CLIENT_FILE;
use crate::domain::text::shown_path::ShownPath as _;
use crate::domain::wait_times;
use crate::setup::clients::CLIENTS;
use crate::setup::edits::config_edit::PROGRAM;
use crate::setup::edits::entry_arguments::JudgeArguments;
use crate::setup::edits::entry_variables::Values;
use crate::setup::installed_agents::{self, InstalledAgent, how_to_add_to_path};
use crate::setup::known_client::{Client, ClientFile, Places, Server, SwitchEffect};
use crate::setup::local_entry::{self, LocalEntry};
use crate::setup::setup_record::{Owner, ProgramCopy, Records};
use crate::setup::stable_program::{self, StablePath};
use crate::setup::switches;
use crate::supervisor::npm_folder;
use crate::sys::fs::temporary_file;
use crate::sys::fs::user_state_dir::{StateDirectory, StateLock};
use crate::sys::process;

/// The lock file of a run, in the state directory.
const LOCK: &str = "setup.lock";

/// Sets up or undoes it, and returns how that ended.
pub(in crate::cli) fn run(
    arguments: &SetupArguments,
    judge_arguments: JudgeArguments,
) -> Result<SetupEnd, Failure> {
    below_agent::refuse_to("change its user's settings")?;
    let variable = |name: &str| std::env::var_os(name);
    let no_home = || with_hint("there is no home directory", "set HOME to an absolute path");
    let places = Places::read(variable, cfg!(target_os = "macos")).ok_or_else(no_home)?;
    if !places.home.exists() {
        let what = format!("the home directory {} does not exist", quoted(&places.home));
        return Err(with_hint(what, "set HOME to your home directory"));
    }
    let state = StateDirectory::of_process().ok_or_else(no_home)?;
    // Locked until the end of this run: each run reads files and records before it writes them. A trial writes nothing.
    let locked = if arguments.dry_run { None } else { Some(LockedRecords::take(&state, &places)?) };
    let records = match &locked {
        Some(locked) => locked.records.clone(),
        None => Records::kept_in(&state),
    };
    let search_path = std::env::var_os("PATH");
    let own = std::env::current_exe()?;
    let called = stable_program::called_path(&own, search_path.as_deref());
    let stable = StablePath::of(&own, &called, &places.home);
    let later_call = || stable_program::later_call(stable.path(), search_path.as_deref());
    if arguments.remove {
        let project = match &arguments.project {
            Some(named) => Some(remove_changes::project_of(named.as_deref(), &records)?),
            None => None,
        };
        let what = Removed { arguments, project: project.as_deref(), places: &places };
        let next = remove_changes::run(what, &records, later_call)?;
        return Ok(SetupEnd { next: Some(next), failure: None });
    }
    let project = match &arguments.project {
        // In a linked worktree, clients read the files there.
        Some(named) => Some(find_project::find(named.as_deref())?.ground),
        None => None,
    };
    let program = |name: &str| process::find_program(Path::new(name), search_path.as_deref());
    // A project's own file must not say what is installed, nor how to log in.
    let config = load_config::load_without_project()?;

    let agents = installed_agents::look(&config, &places, &own, program, variable);
    let found: Vec<_> =
        CLIENTS.iter().map(|client| (client, client.find(&places, program))).collect();
    let shown = found.iter().map(|(client, place)| (*client, place.as_deref()));
    let npm = program("npm");
    let npm_folder =
        npm.filter(|_| installed_agents::lack_an_adapter_of_npm(&agents)).and_then(|npm| {
            npm_folder::global_programs(&npm, std::env::vars_os(), wait_times::NPM_ANSWER)
        });
    let npm_folder = npm_folder.as_deref();
    let report = [found_report::agents(&agents, npm_folder), found_report::clients(shown)];
    output::say(&report.map(|lines| lines.join("\n")).join("\n\n"));

    let is_chosen = |client: &Client, place: Option<&PathBuf>| {
        let is_named = arguments.clients.iter().any(|name| name == client.name);
        is_named || (arguments.clients.is_empty() && place.is_some())
    };
    let chosen = found.iter().filter(|(client, place)| is_chosen(client, place.as_ref()));
    let chosen: Vec<&Client> = chosen.map(|(client, _)| *client).collect();
    for client in &chosen {
        if let Some((variable, path)) = places.relative_place(client.name) {
            output::tell(&format!(
                "{variable} is a relative path ({}), so {} reads other files than those that setup writes. Set it to an absolute path, and \
                 run setup again.",
                path.shown(),
                client.title
            ));
        }
    }
    let program_path = stable.path().to_str().ok_or("the path of this program is not UTF-8")?;
    check_program_path(program_path)?;
    let server = Server { program: program_path.to_owned() };
    let mut session = Session {
        asking: Asking::of(arguments),
        judge_arguments,
        records,
        directory: project.clone().or_else(|| find_project::current_directory().ok()),
        project,
        refused: Vec::new(),
        ready: None,
    };
    session.write_clients(&chosen, &places, &server, &stable, &own)?;
    if session.asking != Asking::DryRun {
        session.refused.extend(install_adapters::offer(&agents, arguments, program, npm_folder)?);
    }
    // An adapter may have been installed just now.
    let agents = installed_agents::look(&config, &places, &own, program, variable);
    let mut end = session.end(chosen.is_empty(), (&agents, npm_folder), &later_call());
    // The step after a client was set up is no use while its own settings switch the entry off.
    if let Some(turn_on) = session.turn_on(&places)
        && let Some(next) = &mut end.next
    {
        *next = next.replacen("next: ", &format!("next: {turn_on}. Then "), 1);
    }
    Ok(end)
}

/// Refuses a path of this program by which not all clients would start it.
fn check_program_path(path: &str) -> Result<(), Failure> {
    let has = if path.contains(char::is_control) {
        // Neither a hook's shell nor a rule of Claude Code's would find it.
        "a line break or another control character"
    } else if path.contains('$') {
        "a `$`, at which some clients begin a variable"
    } else {
        return Ok(());
    };
    Err(with_hint(
        format!("the path of this program has {has}: {}", quoted(Path::new(path))),
        "move the program to a directory without one, and run its setup there",
    ))
}

/// The records, and the lock with which one run at a time writes them.
struct LockedRecords {
    records: Records,
    _lock: StateLock,
}

impl LockedRecords {
    /// Takes the lock, and removes what killed runs have left.
    fn take(state: &StateDirectory, places: &Places) -> Result<Self, Failure> {
        let lock = state.lock(LOCK).map_err(|error| no_state(&error))?;
        let Some(mut lock) = lock else {
            return Err(with_hint("another setup is running", "run this again when it has ended"));
        };
        let records = Records::kept_in(state);
        // The directories around the records go with the last record, and this run may be killed.
        lock.take_over(records.made());
        let records = records.with_made(lock.made());
        // The doctor's, which ends each setup, and that of the program's copy.
        temporary_file::sweep(&state.path().join(PROGRAM));
        temporary_file::sweep(&stable_program::place_of_copy(&places.home));
        if let Err(error) = records.sweep() {
            tracing::warn!(%error, "the leftovers of a killed setup stay");
        }
        // What a full disk lets it make, and no more, goes with the lock.
        let locked = Self { records, _lock: lock };
        locked.records.keep_made().map_err(|error| no_state(&error))?;
        Ok(locked)
    }
}

impl Drop for LockedRecords {
    fn drop(&mut self) {
        // Before the lock, with which the directories around it go.
        self.records.remove_unused();
    }
}

/// Says that setup cannot keep what it needs to undo its changes.
fn no_state(error: &std::io::Error) -> Failure {
    with_hint(
        format!("the directory for setup's records and copies cannot be used: {error}"),
        "make it usable for this user, or set XDG_STATE_HOME to another directory of yours that lasts",
    )
}

/// How a run of setup ended.
pub(in crate::cli) struct SetupEnd {
    /// The next step.
    pub(in crate::cli) next: Option<String>,
    /// The changes that could not be made.
    pub(in crate::cli) failure: Option<Failure>,
}

/// One run of setup.
struct Session {
    asking: Asking,
    judge_arguments: JudgeArguments,
    records: Records,
    project: Option<PathBuf>,
    /// The project, or the current directory, if it can be read.
    directory: Option<PathBuf>,
    /// The changes that could not be made, each with its reason.
    refused: Vec<String>,
    /// The title of the first client that is set up.
    ready: Option<&'static str>,
}

impl Session {
    /// Shows the changes of each client, asks, and writes them.
    fn write_clients(
        &mut self,
        chosen: &[&Client],
        places: &Places,
        server: &Server,
        stable: &StablePath,
        own: &Path,
    ) -> Result<(), Failure> {
        let mut has_changes = false;
        let mut is_copied = false;
        for client in chosen {
            if client.has_plugin(places) {
                output::say(&format!(
                    "\n{} has the bridge as a plugin, so setup adds nothing: with an entry beside it, each \
                     session would lead two teams.",
                    client.title
                ));
                self.ready.get_or_insert(client.title);
                continue;
            }
            let Some(files) = self.files_of(client, places, server) else {
                continue;
            };
            let owner = Owner { client: client.name, project: self.project.as_deref() };
            let planned = client_changes::plan(&files, owner, &self.records, self.judge_arguments);
            say_up_to_date(client, &planned);
            // A permission for an entry of another author would let that one run.
            if !planned.refused.is_empty() {
                output::tell(&format!("\nNothing of {} is changed: see the end.", client.title));
                self.refused.extend(planned.refused);
                continue;
            }
            if planned.changes.is_empty() {
                self.ready.get_or_insert(client.title);
                continue;
            }
            has_changes = true;
            planned.changes.iter().for_each(client_changes::PlannedFile::show);
            if !self.asking.agrees(&format!("Set up {} this way?", client.title))? {
                continue;
            }
            if !is_copied {
                self.copy_program(stable, own)?;
                is_copied = true;
            }
            let owner = Owner { client: client.name, project: self.project.as_deref() };
            // The entry comes first: where it cannot be written, there is nothing to permit.
            let mut files = planned.changes.iter();
            match files.try_for_each(|file| file.write(owner, &self.records)) {
                Ok(()) => drop(self.ready.get_or_insert(client.title)),
                Err(error) => self.refused.push(error.to_string()),
            }
        }
        if let (StablePath::Copy(place), Some(_), false) = (stable, self.ready, is_copied) {
            has_changes |= self.renew_copy(place, stable, own)?;
        }
        if has_changes { self.asking.refuse_without_terminal() } else { Ok(()) }
    }

    /// Returns the files to write for a client; none if there are none, or if they must not be changed.
    fn files_of(
        &mut self,
        client: &Client,
        places: &Places,
        server: &Server,
    ) -> Option<Vec<ClientFile>> {
        let local = self.directory.as_ref().map(|here| local_entry::find(client, places, here));
        // The permissions in the user's own settings are for all projects.
        let others = match &self.project {
            Some(_) => Ok(Vec::new()),
            None => local_entry::find_all(client, places),
        };
        let refusal = match (&local, &others) {
            (Some(Err(error)), _) | (_, Err(error)) => {
                let any = Path::new("/");
                let file = client.local.map(|scope| (scope.file)(places, any, server).path);
                let place = file.map_or_else(|| client.title.to_owned(), |path| quoted(&path));
                vec![format!("{place}: {error}")]
            }
            (Some(Ok(Some(local))), _) if !local.runs_bridge() => refusals([local]),
            (_, Ok(others)) => refusals(others),
        };
        if !refusal.is_empty() {
            output::tell(&format!("\nNothing of {} is changed: see the end.", client.title));
            self.refused.extend(refusal);
            return None;
        }
        let found = local.and_then(Result::ok).flatten();
        let files = match (&self.project, client.local.filter(|_| found.is_some())) {
            (Some(project), Some(scope)) => (scope.beside)(project, server),
            (Some(project), None) => (client.for_project)(project, server),
            (None, _) => (client.for_user)(places, server),
        };
        if files.is_empty() {
            output::tell(&format!("{} has no project files.", client.title));
            return None;
        }
        if let Some(found) = found {
            let (title, file) = (client.title, quoted(&found.file));
            output::say(&if self.project.is_some() {
                format!(
                    "\n{title} has an entry for this project in {file} already (scope \"local\"), so setup adds no second one."
                )
            } else {
                format!(
                    "\n{title} has an entry for the project of this directory in {file} (scope \"local\"). There it takes \
                     precedence over the entry for all projects."
                )
            });
        }
        Some(files)
    }

    /// Renews the copy of a program that clients start already, or makes it anew. Says whether there was something to do.
    fn renew_copy(&self, place: &Path, stable: &StablePath, own: &Path) -> Result<bool, Failure> {
        if stable_program::is_same(place, own) {
            return Ok(false);
        }
        let what = if place.exists() { "is another version" } else { "is gone" };
        output::say(&format!("\nThe program that your clients start, {}, {what}.", quoted(place)));
        if self.asking.agrees("Put this version there?")? {
            self.copy_program(stable, own)?;
        }
        Ok(true)
    }

    /// Copies this program out of its package cache, if it is in one.
    fn copy_program(&self, stable: &StablePath, own: &Path) -> Result<(), Failure> {
        if let StablePath::Copy(place) = stable {
            let keep = |copy: &ProgramCopy| self.records.keep_program(copy);
            stable_program::copy_to(own, place, self.records.program()?, keep)?;
            output::tell(&format!(
                "This program runs from a package cache; the clients will start its copy at {}.",
                quoted(place)
            ));
        }
        Ok(())
    }

    /// Returns what turns the entry of the first client on that is set up, if something switches it off.
    fn turn_on(&self, places: &Places) -> Option<String> {
        let ready = CLIENTS.iter().find(|client| Some(client.title) == self.ready)?;
        let directories: Vec<_> = self.directory.iter().cloned().collect();
        let value = |name: &str| std::env::var(name).ok();
        let values = Values { variable: &value, workspace: self.project.as_deref() };
        let switches = switches::find(ready, places, self.project.as_deref(), &directories, values);
        let off = switches.into_iter().find(|switch| switch.effect == SwitchEffect::Off)?;
        Some(off.remedy)
    }

    /// Returns how it has ended. `call` is how the user calls this program later.
    fn end(
        &self,
        has_no_client: bool,
        agents: (&[InstalledAgent], Option<&Path>),
        call: &str,
    ) -> SetupEnd {
        let all = self.refused.join("\n  ");
        let failure = (!self.refused.is_empty())
            .then(|| Failure::from(format!("not everything could be set up:\n  {all}")));
        let next = match (self.asking, self.ready) {
            (Asking::DryRun, _) => {
                output::tell("\nNothing was changed (--dry-run).");
                None
            }
            (_, Some(client)) => Some(match &self.project {
                None => format!(
                    "{} `{call} setup --remove` undoes all of this.",
                    next_step(client, "a project", agents)
                ),
                Some(_) => format!(
                    "{} Keep the files that setup has written out of version control: they name a \
                     path of this machine. `{call} setup --remove --project .` undoes all \
                     of this.",
                    next_step(client, "this project", agents)
                ),
            }),
            (_, None) if has_no_client => Some(format!(
                "No client was found.\nnext: install one, or name one with --client; `{call} setup --help` lists them."
            )),
            (_, None) if failure.is_some() => None,
            (_, None) => {
                Some(format!("No client was set up.\nnext: run `{call} setup` again at any time."))
            }
        };
        SetupEnd { next, failure }
    }
}

/// Returns why setup does nothing beside these entries for one project each, as far as they start other programs.
fn refusals<'a>(entries: impl IntoIterator<Item = &'a LocalEntry>) -> Vec<String> {
    let named = |local: &LocalEntry| {
        local.refusal().map(|error| format!("{}: {error}", quoted(&local.file)))
    };
    let mut refusals: Vec<_> = entries.into_iter().filter_map(named).collect();
    let more = refusals.len().saturating_sub(NAMED_IN_CLIENT_FILE);
    refusals.truncate(NAMED_IN_CLIENT_FILE);
    if more > 0 {
        refusals.push(format!("{more} more such entries for one project each"));
    }
    refusals
}

/// Returns the step after a client was set up.
fn next_step(
    client: &str,
    place: &str,
    (agents, npm_folder): (&[InstalledAgent], Option<&Path>),
) -> String {
    let mut off_path = agents.iter().filter_map(|agent| agent.off_path(npm_folder));
    match first_request(agents) {
        FirstRequest::Say(say) => format!("next: start {client} in {place}, and say: {say}"),
        FirstRequest::LogIn(how) => format!("next: {how}. Then start {client} in {place}."),
        FirstRequest::Install => {
            let step = off_path.next().map(|program| how_to_add_to_path(&program));
            let step = step.as_deref().unwrap_or("install one of the agents above, and log in");
            format!("next: {step}. Then start {client} in {place}.")
        }
    }
}

fn say_up_to_date(client: &Client, planned: &PlannedClient) {
    if !planned.up_to_date.is_empty() {
        let files = planned.up_to_date.join(" and ");
        output::say(&format!("\n{} is already set up in {files}.", client.title));
    }
}
