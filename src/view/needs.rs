//! What waits for a person: permissions, approvals, and agents that go on only if somebody decides.

use schemars::JsonSchema;
use serde::Serialize;

use crate::bus::state::{Conflict, State, StepRun, Workflow};
use crate::domain::ids::TaskId;
use crate::domain::is_zero::is_zero;
use crate::domain::limits;
use crate::domain::messaging::ConflictStep;
use crate::domain::text::counted::{counted, counted_as};
use crate::domain::text::visible_letters::{beginning, quoted};
use crate::domain::time::Now;
use crate::domain::workflow::StepStatus;
use crate::view::rows::commitments::SHORT_WORDS;
use crate::view::waits::Waits;
use crate::view::{
    ConflictRow, Group, MemberRow, Moment, PermissionRow, Texts, Trouble, WayOut, span_left,
};

/// What a person has to decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NeedKind {
    /// An agent asks whether it may do something.
    Permission,
    /// A step of a workflow waits for approval.
    Approval,
    /// A member has asked the user something.
    Question,
    /// Two members disagree, and nobody in the team decides it.
    Decision,
    /// An agent does not end a cancelled turn, shows no sign of life, or its process does not respond.
    Stuck,
}

impl NeedKind {
    /// Returns its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Permission => "permission",
            Self::Approval => "approval",
            Self::Question => "question",
            Self::Decision => "decision",
            Self::Stuck => "stuck",
        }
    }

    /// Says whether it is a question that is allowed or denied.
    pub fn is_allowed_or_denied(self) -> bool {
        matches!(self, Self::Permission | Self::Approval)
    }

    /// Says whether it is a question.
    pub fn is_answered(self) -> bool {
        self.is_allowed_or_denied() || self.is_answered_in_words()
    }

    /// Says whether it is answered by a message.
    pub fn is_answered_in_words(self) -> bool {
        matches!(self, Self::Question | Self::Decision)
    }

    /// Says whether a member waits, and not a step or a thread.
    pub fn is_of_member(self) -> bool {
        matches!(self, Self::Permission | Self::Question | Self::Stuck)
    }
}

/// Something that waits for a person.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Need {
    pub kind: NeedKind,
    /// How it is stuck, if it is: stalled, stuck or hung.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    #[serde(skip)]
    pub trouble: Option<Trouble>,
    /// The member that waits, or the step, or the members that disagree.
    pub who: String,
    /// What to answer, to approve, or to end: the id of a permission question, of a workflow, of a message, of a thread, or of a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What it is about. Words of agents and of plans are quoted.
    pub words: String,
    /// How many members wait for the agent that asks for permission, or that asks the user and does nothing else, directly or through
    /// others, and how many tasks are queued behind its own.
    #[serde(skip_serializing_if = "is_zero")]
    pub behind: usize,
    /// Since when it has been waiting, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Moment>,
    /// Until when an answer counts, if it ends by itself: a question for permission is then denied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Moment>,
}

impl Need {
    /// Says how long there is for an answer, if it ends by itself.
    pub fn time_left(&self, now: Moment) -> Option<String> {
        self.until.map(|until| format!("{} left", span_left(until, now)))
    }

    /// Says how many wait behind it, if some do.
    pub fn behind_in_words(&self) -> Option<String> {
        (self.behind > 0).then(|| counted_as(self.behind, "waits behind it", "wait behind it"))
    }

    /// Returns its words, with how many wait behind it.
    pub fn full_words(&self) -> String {
        let behind = self.behind_in_words().map(|behind| format!("; {behind}"));
        format!("{}{}", self.words, behind.unwrap_or_default())
    }

    /// Returns the command that shows all of what members disagree about.
    pub fn command_to_read(&self) -> Option<String> {
        let thread = self.id.as_deref().filter(|_| self.kind == NeedKind::Decision)?;
        Some(format!("cli-team-bridge messages --thread {thread}"))
    }

    /// Says whether its words are the beginning of a longer text.
    pub fn is_cut(&self) -> bool {
        self.words.trim_end_matches('"').ends_with('…')
    }

    /// Returns the word for what is needed: of a member that is stuck, how it is.
    pub fn word(&self) -> &str {
        self.state.as_deref().unwrap_or(self.kind.as_str())
    }

    /// Returns what a person can do about a member that is stuck.
    pub fn way_out(&self) -> Option<WayOut> {
        self.trouble.map(|trouble| trouble.way_out(self.id.is_some()))
    }

    /// Returns to whom, and in reply to what, a message answers it.
    pub fn answered_by_message(&self) -> Option<(&str, &str)> {
        let id = self.id.as_deref().filter(|_| self.kind.is_answered_in_words())?;
        Some((self.who.split(' ').next().unwrap_or_default(), id))
    }

    /// Returns the workflow and the name of a step that asks to begin.
    pub fn asking_step(&self) -> Option<(&str, &str)> {
        let id = self.id.as_deref().filter(|_| self.kind == NeedKind::Approval)?;
        Some((id, &self.who))
    }

    /// Returns the command that helps a member that is stuck, answers its question, or decides what members disagree about.
    pub fn command(&self) -> Option<String> {
        if let Some((name, id)) = self.answered_by_message() {
            return Some(format!("cli-team-bridge send {name} TEXT --reply-to {id}"));
        }
        self.way_out()?.command(&self.who, self.id.as_deref())
    }
}

/// Returns since when a step asks: it does as soon as all that it waited for has ended.
fn asks_since(workflow: &Workflow, step: &StepRun) -> Moment {
    let before = step.plan.depends_on.iter().filter_map(|name| workflow.step(name)?.ended_ms);
    Moment(before.fold(workflow.created_ms, i64::max))
}

/// Collects what waits for a person, permissions first.
pub(super) fn of(
    state: &State,
    members: &[MemberRow],
    permissions: &[PermissionRow],
    now: Now,
    texts: &mut dyn Texts,
) -> Vec<Need> {
    let of_task = |permission: &PermissionRow, texts: &mut dyn Texts| {
        let task = state.task(&TaskId::parse(permission.task_id.as_ref()?).ok()?)?;
        let words = texts.first_of_prompt(task.prompt, SHORT_WORDS)?;
        Some(format!(", for its task {}", quoted(&words, SHORT_WORDS)))
    };
    let waits = Waits::of(members);
    let asked = permissions.iter().map(|permission| Need {
        behind: waits.behind(members, &permission.agent),
        kind: NeedKind::Permission,
        state: None,
        trouble: None,
        who: permission.agent.clone(),
        id: Some(permission.permission_id.clone()),
        words: format!(
            "{}: {}{}",
            permission.kind,
            permission.exact_words,
            of_task(permission, texts).unwrap_or_default()
        ),
        since: Some(permission.asked_at),
        until: Some(permission.expires_at),
    });
    let asked: Vec<_> = asked.collect();
    let running = state.workflows().into_iter().filter(|workflow| !workflow.status.is_final());
    let approvals = running.flat_map(|workflow| {
        let asking = workflow.steps.iter().filter(|step| step.status == StepStatus::Asking);
        asking.map(|step| Need {
            kind: NeedKind::Approval,
            state: None,
            trouble: None,
            who: step.plan.name.to_string(),
            id: Some(workflow.id.to_string()),
            words: format!(
                "step for {} of {}{}",
                step.planned_agent(),
                serde_json::Value::from(beginning(&workflow.name, limits::WORKFLOW_NAME_CHARS)),
                if workflow.is_trial { " (trial)" } else { "" }
            ),
            since: Some(asks_since(workflow, step)),
            until: None,
            behind: 0,
        })
    });
    // Of members whose process has ended, the team tells.
    let trouble_of = |member: &MemberRow| {
        Trouble::of(&member.state, &member.kind).filter(|it| *it != Trouble::Gone)
    };
    // The agents of a bridge that does not respond wait for it, and nothing else can be done about them.
    let bridge_of = |member: &MemberRow| {
        let owner = state.session(state.session(member.session)?.owner?)?;
        (member.state == "hung" && owner.hung).then_some(owner.id)
    };
    let stuck = members.iter().filter(|member| bridge_of(member).is_none());
    let stuck = stuck.filter_map(|member| {
        let trouble = trouble_of(member)?;
        let pid = state.session(member.session).and_then(|session| session.pid);
        let pid = pid.filter(|_| trouble == Trouble::SilentProcess);
        let pid = pid.map(|pid| format!(" (process {pid})")).unwrap_or_default();
        let held = members.iter().filter(|other| bridge_of(other) == Some(member.session)).count();
        let held = match held {
            0 => String::new(),
            agents => format!("; it holds {}", counted(agents, "agent")),
        };
        Some(Need {
            kind: NeedKind::Stuck,
            state: Some(trouble.word().to_owned()),
            trouble: Some(trouble),
            who: member.name.clone(),
            id: member.task_id.clone(),
            words: format!("{}{pid}{held}", trouble.meaning_for(member.silent_in.as_deref())),
            since: Some(member.last_written),
            until: None,
            behind: 0,
        })
    });
    let asks_user = |conflict: &&Conflict| conflict.step == ConflictStep::Human;
    let decisions = state.open_conflicts().filter(asks_user).map(|conflict| {
        let row = ConflictRow::of(state, conflict, texts);
        let asked_at = state.user_asked_to_decide_ms(&conflict.thread, now).map(Moment);
        Need {
            kind: NeedKind::Decision,
            state: None,
            trouble: None,
            who: row.names(),
            id: Some(row.thread.clone()),
            words: row.for_user(),
            since: Some(asked_at.unwrap_or(row.since)),
            until: None,
            behind: 0,
        }
    });
    let decisions: Vec<_> = decisions.collect();
    let questions = questions(state, (members, &waits), texts);
    asked.into_iter().chain(approvals).chain(questions).chain(decisions).chain(stuck).collect()
}

/// Returns what live members have asked the user.
fn questions(
    state: &State,
    (members, waits): (&[MemberRow], &Waits<'_>),
    texts: &mut dyn Texts,
) -> Vec<Need> {
    let open = state.questions_for_user().filter_map(|message| {
        // Nobody answers a member whose process has ended, and who so has left.
        let asker = message.from.member()?;
        let mut live = members.iter().filter(|row| row.group != Group::Ended);
        let row = live.find(|row| row.name == asker.as_str())?;
        let words = texts.first_words(message.body, limits::NEED_CHARS);
        Some(Need {
            kind: NeedKind::Question,
            state: None,
            trouble: None,
            who: asker.to_string(),
            id: Some(message.id.to_string()),
            words: words.map_or_else(
                || "asks you something that cannot be read".to_owned(),
                |words| quoted(&words, limits::NEED_CHARS),
            ),
            since: Some(Moment(message.sent_ms)),
            until: None,
            behind: if row.waits_for_user() { waits.behind(members, &row.name) } else { 0 },
        })
    });
    open.collect()
}
