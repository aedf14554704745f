//! Assigns work: to a live agent's queue, or to a new agent of a profile.

use std::path::Path;

use super::launch_source::{LaunchSource, kept_name_note, namesake_note, resume_note};
use super::on_host::find_host::Where;
use super::role_word::role_of;
use super::start_new_agent::{Ground, Newcomer, Started};
use super::unknown_agent::unknown_agent;
use crate::bus::event::{Body, Event};
use crate::bus::rules::{NameChoice, NewTask, Operation, known_member};
use crate::bus::{Bus, BusError, Receipt};
use crate::config::{Profile, ProjectFile, quoted};
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::member::SessionNumber;
use crate::domain::messaging::Priority;
use crate::domain::name::Name;
use crate::domain::permission::Policy;
use crate::domain::text::listed::listed as in_a_sentence;
use crate::domain::workflow::StepOf;
use crate::team::agent::model_and_mode::{What, check};
use crate::team::error::TeamError;
use crate::team::team_handle::Team;

/// Work for an agent.
#[derive(Clone, Debug, Default)]
pub struct Assignment {
    /// The name of a live agent or of a profile; or a role, as `@role`.
    pub agent: String,
    pub prompt: String,
    /// The name of a new agent of the profile.
    pub name: Option<String>,
    pub model: Option<String>,
    /// Where a new agent works: inside the project or in a worktree of its repository, relative to the orchestrator's own place.
    pub cwd: Option<String>,
    /// Whether the agent begins a new session.
    pub fresh: bool,
    /// Whether `agent` names an ended agent, even if a profile has the same name.
    pub resume: bool,
    /// The permissions of the agent in this task, instead of those of its profile.
    pub permissions: Option<Policy>,
    /// Its place in the queue of the agent.
    pub priority: Priority,
    /// The workflow step that the task carries out.
    pub step: Option<StepOf>,
    /// The machine on which a new agent is to be started, or the name of the bridge there; none means here.
    pub host: Option<String>,
}

/// Work that is on the bus.
#[derive(Clone, Debug)]
pub struct Assigned {
    pub task: TaskId,
    pub agent: Name,
    /// A note for the user.
    pub note: Option<String>,
    /// Whether the agent is new and is to go on with an earlier conversation.
    pub is_resumed: bool,
}

impl Team {
    /// Assigns work. A live member's name wins, unless it only plays a script in a trial; else a profile of that name starts a new agent.
    pub async fn assign(&self, assignment: Assignment) -> Result<Assigned, TeamError> {
        self.bus().refresh()?;
        if let Some(host) = &assignment.host
            && let Where::There(bridge) = self.hosts().find(host, &assignment.agent)?
        {
            return self.assign_on_host(bridge, assignment).await;
        }
        if let Some(role) = role_of(&assignment.agent).filter(|_| !assignment.resume) {
            return self.assign_to_role(&role, assignment).await;
        }
        let me = self.inner.membership.session();
        let is_profile = self.config().profile(&assignment.agent).is_ok();
        if SessionNumber::parse(&assignment.agent).is_some() && !assignment.resume {
            // No profile can have such a name.
            self.bus().look(|state| known_member(state, &assignment.agent).map(drop))?;
        }
        let live = match &assignment.name {
            None => self.bus().look(|state| {
                let live = state.live_as(&assignment.agent);
                let live =
                    live.filter(|live| !is_profile || !state.plays_a_trial_of_another(live, me));
                live.map(|live| (live.id, live.name.clone(), live.cwd.clone()))
            }),
            Some(_) => None,
        };
        let prompt = Bus::body(assignment.prompt.clone());
        if let Some((session, name, cwd)) = live {
            return self.queue(assignment, prompt, session, name, cwd.as_deref()).await;
        }
        let ended = self.ended_agent(&assignment)?;
        let source = ended.unwrap_or_else(|| LaunchSource::of_profile(&assignment.agent));
        self.begin(assignment, prompt, source).await
    }

    /// Starts a new agent of the profile, even if a live agent has that name, and assigns it the work.
    pub async fn assign_to_new(&self, assignment: Assignment) -> Result<Assigned, TeamError> {
        self.bus().refresh()?;
        let prompt = Bus::body(assignment.prompt.clone());
        let source = LaunchSource::of_profile(&assignment.agent);
        self.begin(assignment, prompt, source).await
    }

    pub(super) async fn queue(
        &self,
        assignment: Assignment,
        prompt: Body,
        session: SessionId,
        agent: Name,
        cwd: Option<&str>,
    ) -> Result<Assigned, TeamError> {
        if let Some(given) = &assignment.cwd {
            let requested = self.cwd(Some(given))?.cwd;
            if cwd.is_some_and(|cwd| Path::new(cwd) != requested) {
                return Err(TeamError::OtherCwd { agent });
            }
        }
        if let Some(model) = &assignment.model {
            // The models of another bridge's agent are not known here: then the task itself fails.
            let known = self.inner.offers.models(session);
            check(What::Model, model, &known).map_err(|error| TeamError::Model {
                agent: agent.clone(),
                problem: error.message,
            })?;
        }
        let task = NewTask {
            prompt,
            model: assignment.model,
            fresh: assignment.fresh,
            permissions: assignment.permissions,
            priority: assignment.priority,
            step: assignment.step,
            placed: None,
        };
        let receipt = self.inner.membership.ask(Operation::Assign { session, task }).await?;
        Ok(Assigned { task: assigned_in(&receipt)?, agent, note: None, is_resumed: false })
    }

    pub(crate) async fn begin(
        &self,
        assignment: Assignment,
        prompt: Body,
        source: LaunchSource,
    ) -> Result<Assigned, TeamError> {
        let profile = self.profile(&source.profile, &assignment)?;
        self.agreed([profile.name.as_str()])?;
        let program = self.inner.launch.program(&profile)?;
        let ground = self.cwd_of(&assignment, &source)?;
        let choice = match (&source.name, &assignment.name) {
            (Some(name), _) if source.is_generated => NameChoice::Like(name.clone()),
            (Some(name), _) => NameChoice::Chosen(name.clone()),
            (None, Some(name)) => NameChoice::Chosen(Name::parse(name)?),
            (None, None) => NameChoice::Like(profile.name.clone()),
        };
        let is_named = assignment.name.is_some();
        let is_of_workflow = assignment.step.is_some();
        let earlier = source.earlier.clone();
        // A new agent's session is fresh anyway.
        let task = NewTask {
            prompt,
            model: assignment.model.clone(),
            fresh: false,
            permissions: assignment.permissions,
            priority: assignment.priority,
            step: assignment.step,
            placed: None,
        };
        let new = Newcomer {
            profile: profile.clone(),
            program: program.clone(),
            choice,
            model: assignment.model.or(source.model),
            ground,
            earlier: source.earlier,
            is_on_trial: false,
        };
        let Started { session, name: agent } = self.start_new(new, Some(task)).await?;
        let task = self.bus().look(|state| Some(state.tasks_of(session).next()?.id.clone()));
        let task = task.ok_or(BusError::Closed)?;
        let of_name = match source.name {
            Some(before) => Some(resume_note(&agent, &before, earlier.as_ref())),
            // Its name counts for nothing in a workflow.
            None if is_of_workflow => None,
            None => self.note_of_name(&profile.name, &agent, is_named),
        };
        let notes: Vec<_> = self.note(&profile, &program).into_iter().chain(of_name).collect();
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        Ok(Assigned { task, agent, note, is_resumed: earlier.is_some() })
    }

    /// Returns a note on the name of a new agent, if it may surprise: an earlier agent had it, or it is not the expected one.
    fn note_of_name(&self, profile: &Name, agent: &Name, is_named: bool) -> Option<String> {
        if let Some(earlier) = self.namesake(agent) {
            return Some(namesake_note(agent, earlier));
        }
        let is_kept = || self.bus().look(|state| state.live(profile).is_none());
        (!is_named && agent != profile && is_kept()).then(|| kept_name_note(profile, agent))
    }

    fn profile(&self, name: &str, assignment: &Assignment) -> Result<Profile, TeamError> {
        let config = &self.inner.config;
        match config.profile(name) {
            Ok(profile) => Ok(profile.clone()),
            Err(error) if assignment.name.is_some() || name != assignment.agent => {
                Err(error.into())
            }
            Err(_) => {
                let profiles: Vec<_> =
                    config.profiles().map(|profile| profile.name.to_string()).collect();
                let members: Vec<_> =
                    self.bus().look(|state| state.names().map(ToString::to_string).collect());
                Err(unknown_agent(&assignment.agent, members.into_iter(), profiles))
            }
        }
    }

    /// Resolves where a new agent works. A resumed conversation stays in its directory, unless that is gone.
    fn cwd_of(&self, assignment: &Assignment, source: &LaunchSource) -> Result<Ground, TeamError> {
        let given = assignment.cwd.as_deref();
        let Some(before) = source.cwd.as_deref().map(|before| self.earlier_cwd(before)) else {
            return self.cwd(given);
        };
        if given.is_none() {
            return before;
        }
        let ground = self.cwd(given)?;
        match (&source.name, before) {
            (Some(agent), Ok(before)) if source.earlier.is_some() && before.cwd != ground.cwd => {
                Err(TeamError::OtherCwd { agent: agent.clone() })
            }
            _ => Ok(ground),
        }
    }

    /// Resolves where an ended agent worked. In a project that was moved since, that is the same place in the project.
    fn earlier_cwd(&self, before: &str) -> Result<Ground, TeamError> {
        self.cwd(Some(before)).or_else(|gone| {
            let launch = &self.inner.launch;
            let mut inside = launch.former.iter().filter_map(|former| {
                let inside = Path::new(before).strip_prefix(former).ok()?;
                self.cwd(Some(launch.project.join(inside).to_str()?)).ok()
            });
            inside.next().ok_or(gone)
        })
    }

    /// Resolves where an agent works: the orchestrator's place by default, else a directory inside the project or in any worktree
    /// of its repository.
    pub(super) fn cwd(&self, given: Option<&str>) -> Result<Ground, TeamError> {
        let launch = &self.inner.launch;
        let Some(given) = given else {
            return Ok(Ground { cwd: launch.ground.clone(), root: launch.ground.clone() });
        };
        let refused = |problem| TeamError::Cwd { given: given.to_owned(), problem };
        let resolved =
            launch.ground.join(given).canonicalize().map_err(|_| refused("does not exist"))?;
        let root = launch.root_of(&resolved);
        let root = root.ok_or_else(|| refused("is outside the project"))?;
        if resolved.is_dir() {
            Ok(Ground { cwd: resolved, root })
        } else {
            Err(refused("is not a directory"))
        }
    }

    /// Returns a note on the command that a project's own file brings, at its first start: the project's author chose it, not the
    /// user.
    fn note(&self, profile: &Profile, program: &Path) -> Option<String> {
        if !profile.comes_from_project_file() || !self.is_first_note(&profile.name) {
            return None;
        }
        let fields = listed(&profile.fields_from_project_file());
        let mut files = self.config().project_files().iter();
        let file = files.find(|file| file.demanded_of(&profile.name).is_some());
        let file = file.map_or_else(|| "a file of the project".to_owned(), ProjectFile::title);
        let note = format!(
            "the profile `{}` runs {} {:?}; {file} sets its {fields}",
            profile.name,
            quoted(program),
            profile.args.value,
        );
        tracing::warn!("{note}");
        Some(note)
    }
}

/// Joins the names of fields for a sentence.
fn listed(names: &[&str]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    in_a_sentence(&quoted, "and")
}

fn assigned_in(receipt: &Receipt) -> Result<TaskId, BusError> {
    let id = receipt.events.iter().find_map(|event| match event {
        Event::TaskAssigned(assigned) => Some(assigned.id.clone()),
        _ => None,
    });
    id.ok_or(BusError::Closed)
}
