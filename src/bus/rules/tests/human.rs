//! What the person at the command line asks for: it is done as an orchestrator's wish is, and says that the person asked.

use super::workflows::Led;
use super::*;
use crate::bus::event::{PermissionAsked, Question, StepApproved};
use crate::bus::rules::{
    Approval, AskedFirst, HumanWish, NewKey, NewQuestion, NewWorkflow, PermissionReply,
};
use crate::domain::access_key::{KeyHash, KeyScope, hash_of_secret, secret_of};
use crate::domain::ids::{KeyId, PermissionId, WorkflowId};
use crate::domain::limits;
use crate::domain::member::Label;
use crate::domain::messaging::{Audience, Author, Signal};
use crate::domain::permission::{Decider, Decision};
use crate::domain::task::TaskStatus;
use crate::domain::workflow::{Approver, Step, StepMove, StepOf, StepStatus, WorkflowStatus};

/// A team with an orchestrator and its agent, `codex`.
struct Team {
    world: World,
    lead: SessionId,
    agent: SessionId,
}

impl Team {
    fn new() -> Self {
        let mut world = World::new();
        let lead = world.lead();
        let agent = world.agent(lead, "codex");
        Self { world, lead, agent }
    }

    #[track_caller]
    fn wish(&mut self, wish: HumanWish) -> Vec<Event> {
        self.world.ask(None, Operation::ByHuman(wish))
    }

    #[track_caller]
    fn refuse(&mut self, wish: HumanWish) -> Refusal {
        let before = self.world.state.clone();
        let refusal = self.world.try_ask(None, Operation::ByHuman(wish)).unwrap_err();
        assert_eq!(self.world.state, before);
        refusal
    }

    fn question(&mut self) -> PermissionId {
        let question = Question {
            session: self.agent,
            agent: name("codex"),
            task: None,
            kind: "execute".into(),
            title: "make".into(),
            paths: Vec::new(),
        };
        let events = self.world.ask(
            self.lead,
            Operation::AskPermission(Box::new(NewQuestion {
                question,
                offers: vec![Decision::AllowOnce, Decision::Reject],
                timeout_ms: 120_000,
                to: AskedFirst::Orchestrator,
            })),
        );
        let id = events.iter().find_map(|event| match event {
            Event::PermissionAsked(PermissionAsked { id, .. }) => Some(id.clone()),
            _ => None,
        });
        id.unwrap()
    }

    /// A workflow whose first step waits for approval.
    fn asking_workflow(&mut self) -> WorkflowId {
        let mut gated = Step::new(name("a"), "codex", &[]);
        gated.approve = Some(Approver::Human);
        let new = NewWorkflow {
            name: "gated".into(),
            steps: vec![gated],
            prompts: text("[]"),
            plan_file: None,
            is_trial: false,
        };
        let events = self.world.ask(self.lead, Operation::CreateWorkflow(Box::new(new)));
        let id = events.iter().find_map(|event| match event {
            Event::WorkflowCreated(created) => Some(created.id.clone()),
            _ => None,
        });
        let id = id.unwrap();
        let asks = Operation::MoveSteps(id.clone(), vec![(name("a"), StepMove::Ask)]);
        self.world.ask(self.lead, asks);
        id
    }
}

fn sending(to: &str, content: &str) -> HumanWish {
    HumanWish::Send {
        to: to.into(),
        body: text(content),
        priority: None,
        signal: None,
        reply_to: None,
    }
}

fn stopping(agent: &str, reason: Option<&str>, kill: bool) -> HumanWish {
    HumanWish::Stop { agent: agent.into(), reason: reason.map(str::to_owned), kill }
}

#[test]
fn a_message_of_the_person_comes_from_no_member() {
    let mut team = Team::new();
    let wait = team.world.wait(team.agent);
    let events = team.wish(sending("CODEX", "use the new parser"));
    let message = sent(&events).clone();
    assert_eq!((message.from.clone(), message.kind), (Author::Human, MessageKind::Message));
    assert_eq!(message.to.named(), [name("codex")]);
    assert_eq!(team.world.held(team.agent, wait), std::slice::from_ref(&message.id));
    assert_eq!(message.more.unwrap().signal, Some(Signal::relay()));
    // Whoever got it answers others in its thread, and the person.
    let reply = super::sending("orchestrator", "they want it", Some(&message.id.to_string()));
    let events = team.world.ask(team.agent, reply);
    assert_eq!(sent(&events).thread.as_ref(), Some(&message.id));
    let reply = super::sending("human", "done", Some(&message.id.to_string()));
    let events = team.world.ask(team.agent, reply);
    assert_eq!(sent(&events).reply_to.as_ref(), Some(&message.id));
}

#[test]
fn the_person_writes_to_a_group_as_it_is_then_and_wakes_its_idle_agents() {
    let mut team = Team::new();
    let other = team.world.agent(team.lead, "other");
    let events = team.wish(sending("all", "lunch"));
    let message = sent(&events).clone();
    assert_eq!((message.audience.clone(), message.quiet), (Audience::All, false));
    let stored = team.world.state.message(&message.id).unwrap();
    let names: Vec<_> = stored.deliveries.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["codex", "orchestrator", "other"]);
    assert!(matches!(team.refuse(sending("@review", "x")), Refusal::NobodyFits(_)));
    let lane = Operation::ClaimLane(Label::parse("docs").unwrap());
    team.world.ask(other, lane);
    let events = team.wish(sending("@docs", "look"));
    assert_eq!(sent(&events).to.named(), [name("other")]);
}

#[test]
fn the_person_says_what_a_message_is_for_and_sends_no_signal_of_members() {
    let mut team = Team::new();
    let other = team.world.agent(team.lead, "other");
    let mut sends = |to: &str, word: &str| {
        let mut wish = sending(to, "look");
        if let HumanWish::Send { signal, .. } = &mut wish {
            *signal = Some(Signal::parse(word).unwrap());
        }
        team.world.try_ask(None, Operation::ByHuman(wish))
    };
    let alert = sends("codex", "alert").unwrap();
    assert_eq!(sent(&alert).priority, Priority::High);
    let ask = sends("all", "question").unwrap();
    assert!(sent(&ask).more.as_ref().unwrap().response_seconds.is_some());
    sends("codex", "task").unwrap();
    for (to, word) in
        [("all", "task"), ("codex", "handoff"), ("codex", "agree_with"), ("codex", "ack")]
    {
        let refused = sends(to, word).unwrap_err();
        let is_right =
            matches!(&refused, Refusal::SignalOfMembers { .. } | Refusal::NeedsReplyTo { .. });
        assert!(is_right, "{word} to {to}: {refused}");
    }
    assert!(team.world.state.live(&name("other")).is_some_and(|live| live.id == other));
}

#[test]
fn an_answer_of_the_person_stands_in_the_thread_of_what_its_recipient_knows() {
    let mut team = Team::new();
    let asked = team.world.send(team.agent, "orchestrator", "which parser?");
    let mut answer = |to: &str| {
        let HumanWish::Send { body, priority, .. } = sending(to, "the new one") else {
            panic!("it sends");
        };
        let reply_to = Some(asked.clone());
        let events =
            team.wish(HumanWish::Send { to: to.into(), body, priority, reply_to, signal: None });
        let message = sent(&events).clone();
        (message.reply_to, message.thread)
    };
    assert_eq!(answer("codex"), (Some(asked.clone()), Some(asked.clone())));
    assert_eq!(answer("orchestrator"), (Some(asked.clone()), Some(asked.clone())));
    let other = team.world.agent(team.lead, "other");
    let events = team.wish(HumanWish::Send {
        to: "other".into(),
        body: text("hi"),
        priority: None,
        signal: None,
        reply_to: Some(asked),
    });
    assert_eq!(sent(&events).reply_to, None, "{other} has not seen it");
}

#[test]
fn a_message_of_the_person_has_the_limits_of_all_messages() {
    let mut team = Team::new();
    assert!(matches!(team.refuse(sending("codex", " \n")), Refusal::Empty { .. }));
    let long = "x".repeat(crate::domain::limits::MAX_CONTENT_BYTES + 1);
    assert!(matches!(team.refuse(sending("codex", &long)), Refusal::TooLong { .. }));
    let unknown = team.refuse(sending("cdex", "x"));
    assert_eq!(unknown.to_string(), "no member is named `cdex`: did you mean `codex`?");
    for nobody in ["human", "bridge", "\u{1b}[2Jx", ""] {
        let refusal = team.refuse(sending(nobody, "x"));
        assert!(matches!(refusal, Refusal::UnknownMember { .. }), "{nobody}: {refusal:?}");
    }
    let limit = team.world.state.limits().unread;
    for _ in 0..limit {
        team.wish(sending("codex", "x"));
    }
    assert_eq!(
        team.refuse(sending("codex", "x")),
        Refusal::InboxFull { name: name("codex"), limit }
    );
}

#[test]
fn a_stop_names_the_bridge_that_acts_and_the_bridge_quotes_the_reason() {
    let mut team = Team::new();
    let events = team.wish(stopping("codex", Some("wrong\nbranch"), false));
    let shutdown = sent(&events);
    assert_eq!((shutdown.kind, &shutdown.from), (MessageKind::Shutdown, &Author::Bridge));
    assert_eq!(
        said(shutdown),
        r#"your user asks you at the command line to finish your current work and stop: "wrong\nbranch""#
    );
    let asked = |kill| Event::StopAsked {
        session: team.agent,
        by: name("orchestrator"),
        kill,
        human: true,
    };
    assert!(events.contains(&asked(false)), "{events:?}");
    let (again, killed) = (stopping("codex", None, false), stopping("codex", None, true));
    let asked_kill = asked(true);
    assert!(team.wish(again).is_empty());
    assert_eq!(team.wish(killed), [asked_kill]);
    let peer = team.world.peer("ann");
    assert!(matches!(team.refuse(stopping("ann", None, true)), Refusal::NotAnAgent { .. }));
    team.world.leave(peer);
    assert_eq!(team.refuse(stopping("ann", None, true)), Refusal::Gone { name: name("ann") });
}

#[test]
fn the_task_of_a_killed_agent_says_who_has_killed_it() {
    let mut team = Team::new();
    let done = team.world.assign(team.lead, team.agent);
    let open = team.world.assign(team.lead, team.agent);
    team.world.ask(team.lead, Operation::StartTask(done.clone()));
    team.wish(stopping("codex", None, true));
    let ending = Box::new(super::tasks::done());
    team.world.ask(team.lead, Operation::FinishTask(done.clone(), ending));
    team.world.leave(team.agent);
    let by = |id| {
        let task = team.world.state.task(id).unwrap();
        (task.status, task.cancelled_by.clone())
    };
    assert_eq!(by(&open), (TaskStatus::Cancelled, Some(Author::Human)));
    assert_eq!(by(&done), (TaskStatus::Done, None), "it ended before that");
}

#[test]
fn a_task_of_anybody_can_be_cancelled_once() {
    let mut team = Team::new();
    let (first, queued) =
        (team.world.assign(team.lead, team.agent), team.world.assign(team.lead, team.agent));
    team.world.ask(team.lead, Operation::StartTask(first.clone()));
    let asked = Event::TaskCancelAsked { id: first.clone(), by: name("orchestrator"), human: true };
    assert_eq!(team.wish(HumanWish::CancelTask(first.clone())), [asked]);
    assert!(team.wish(HumanWish::CancelTask(first)).is_empty());
    let events = team.wish(HumanWish::CancelTask(queued.clone()));
    let heard = notices(&events, "orchestrator");
    assert!(heard[0].contains("was cancelled: \"cancelled by the user\""), "{heard:?}");
    assert_eq!(
        team.refuse(HumanWish::CancelTask(queued.clone())),
        Refusal::TaskOver { id: queued, status: TaskStatus::Cancelled }
    );
}

#[test]
fn the_first_answer_counts_whoever_gives_it() {
    let mut team = Team::new();
    let (one, other) = (team.question(), team.question());
    assert_eq!(team.world.unread("orchestrator").len(), 2);
    let always = HumanWish::Answer(one.clone(), Decision::AllowAlways);
    assert!(matches!(team.refuse(always), Refusal::NotOffered { .. }));
    team.wish(HumanWish::Answer(one.clone(), Decision::AllowOnce));
    let answer = team.world.state.permission(&one).unwrap().answer.clone().unwrap();
    assert_eq!(
        (answer.decision, answer.by, answer.name),
        (Decision::AllowOnce, Decider::Human, None)
    );
    assert_eq!(team.world.unread("orchestrator").len(), 1, "the notice of it is withdrawn");
    let over =
        |id: &PermissionId, decision, by| Refusal::PermissionOver { id: id.clone(), decision, by };
    let late = HumanWish::Answer(one.clone(), Decision::Reject);
    assert_eq!(team.refuse(late), over(&one, Decision::AllowOnce, Decider::Human));
    let reply = PermissionReply::Itself(Decision::Reject);
    team.world.ask(team.lead, Operation::AnswerPermission(other.clone(), reply));
    let late = HumanWish::Answer(other.clone(), Decision::AllowOnce);
    assert_eq!(team.refuse(late), over(&other, Decision::Reject, Decider::Orchestrator));
}

#[test]
fn a_step_is_approved_or_refused_once() {
    let mut team = Team::new();
    let (one, other) = (team.asking_workflow(), team.asking_workflow());
    let step = |id: &WorkflowId| StepOf { workflow: id.clone(), step: name("a") };
    let events = team.wish(HumanWish::Approve(step(&one), Approval::Given));
    let approved = StepApproved {
        workflow: one.clone(),
        step: name("a"),
        by: name("orchestrator"),
        human: true,
    };
    assert_eq!(events, [Event::StepApproved(approved)]);
    let again = team.refuse(HumanWish::Approve(step(&one), Approval::Given));
    assert!(matches!(again, Refusal::StepElsewhere { .. }), "{again:?}");
    let refused = Approval::Refused(Some("not yet".into()));
    team.wish(HumanWish::Approve(step(&other), refused));
    let workflow = team.world.state.workflow(&other).unwrap();
    assert_eq!(workflow.steps[0].status, StepStatus::Cancelled);
    assert_eq!(workflow.steps[0].why.as_deref(), Some("refused by the user: not yet"));
}

#[test]
fn a_workflow_is_cancelled_with_or_without_a_leader() {
    let mut team = Team::new();
    let (led, left) = (team.asking_workflow(), team.asking_workflow());
    let asked =
        Event::WorkflowCancelAsked { id: led.clone(), by: name("orchestrator"), human: true };
    assert_eq!(team.wish(HumanWish::CancelWorkflow(led.clone()))[0], asked);
    let workflow = team.world.state.workflow(&led).unwrap();
    assert_eq!(workflow.status, WorkflowStatus::Cancelled, "no step of it has begun");
    assert_eq!(workflow.steps[0].why.as_deref(), Some("the workflow was cancelled by the user"));
    team.world.leave(team.lead);
    team.wish(HumanWish::CancelWorkflow(left.clone()));
    let workflow = team.world.state.workflow(&left).unwrap();
    assert_eq!(workflow.status, WorkflowStatus::Cancelled);
    assert_eq!(workflow.steps[0].why.as_deref(), Some("cancelled by the user"));
}

/// Lines as they are written for the person, and what an older version reads there, which knows no `human`.
#[test]
fn wishes_read_as_they_were_first_written_and_by_older_versions_as_those_of_the_bridge() {
    let session = "00000000-0000-0000-0000-000000000004";
    for line in [
        format!(r#"{{"stop_asked":{{"session":"{session}","by":"orchestrator","kill":true,"human":true}}}}"#),
        r#"{"task_cancel_asked":{"id":"task-aaaaaaab","by":"orchestrator","human":true}}"#.to_owned(),
        r#"{"workflow_cancel_asked":{"id":"wf-aaaaaaab","by":"orchestrator","human":true}}"#.to_owned(),
        r#"{"step_approved":{"workflow":"wf-aaaaaaab","step":"a","by":"orchestrator","human":true}}"#.to_owned(),
    ] {
        let read: Event = serde_json::from_str(&line).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), line);
        let older = line.replace(r#","human":true"#, "");
        let read: Event = serde_json::from_str(&older).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), older);
    }
    for line in [
        r#"{"message_sent":{"id":"msg-aaaaaaab","kind":"message","from":"human","audience":"bob","to":["bob"],"body":{"text":"x"}}}"#,
        r#"{"permission_answered":{"id":"perm-aaaaaaab","decision":"allow_once","by":"human"}}"#,
    ] {
        let read: Event = serde_json::from_str(line).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), line);
    }
    // An older version takes `human` for a name, which is reserved: it stops as with newer data.
    assert!(Name::parse("human").is_err());
}

fn hash(byte: u8) -> KeyHash {
    hash_of_secret(&secret_of([byte; 32])).unwrap()
}

fn new_key(byte: u8, scopes: &[KeyScope]) -> HumanWish {
    HumanWish::MakeKey(NewKey {
        name: name("ci"),
        scopes: scopes.to_vec(),
        hash: hash(byte),
        roles: Vec::new(),
        traits: crate::domain::member::Traits::default(),
    })
}

impl Team {
    fn make_key(&mut self, byte: u8, scopes: &[KeyScope]) -> KeyId {
        match self.wish(new_key(byte, scopes)).as_slice() {
            [Event::KeyMade { id, .. }] => id.clone(),
            events => panic!("{events:?}"),
        }
    }
}

#[test]
fn a_key_is_valid_until_it_is_revoked_and_is_found_by_the_hash_of_its_secret() {
    let mut team = Team::new();
    let id = team.make_key(1, &[KeyScope::Write, KeyScope::Read, KeyScope::Write]);
    let other = team.make_key(2, &[KeyScope::Read]);
    let state = &team.world.state;
    let (found, key) = state.key_of(&hash(1)).unwrap();
    assert_eq!((found, key.scopes.as_slice()), (&id, &[KeyScope::Read, KeyScope::Write][..]));
    assert_eq!((&key.name, key.made_ms), (&name("ci"), team.world.now.wall_ms));
    assert!(key.allows(KeyScope::Write) && !key.allows(KeyScope::Answer));
    assert_eq!(state.key_of(&hash(3)), None);
    assert_eq!(state.keys().len(), 2);

    team.wish(HumanWish::RevokeKey(id.clone()));
    assert_eq!(team.world.state.key_of(&hash(1)), None);
    assert!(team.world.state.key_of(&hash(2)).is_some());
    let refused = team.refuse(HumanWish::RevokeKey(id.clone()));
    assert_eq!(refused, Refusal::UnknownKey { id });
    team.wish(HumanWish::RevokeKey(other));
    assert_eq!(team.world.state.keys(), []);
}

#[test]
fn a_key_allows_something_and_a_bus_has_a_limited_number_of_them() {
    let mut team = Team::new();
    let refused = team.refuse(new_key(0, &[]));
    assert_eq!(refused, Refusal::Empty { what: "the list of scopes" });
    let keys: Vec<_> = (0..limits::MAX_KEYS)
        .map(|number| team.make_key(u8::try_from(number).unwrap(), &[KeyScope::Read]))
        .collect();
    assert_eq!(team.refuse(new_key(255, &[KeyScope::Read])), Refusal::TooManyKeys);
    team.wish(HumanWish::RevokeKey(keys[0].clone()));
    team.make_key(255, &[KeyScope::Read]);
}

#[test]
fn the_log_and_the_state_hold_no_secret() {
    let mut team = Team::new();
    let secret = secret_of([1; 32]);
    let events = team.wish(new_key(1, &[KeyScope::Read]));
    let line = serde_json::to_string(&events).unwrap();
    let state = serde_json::to_string(&team.world.state).unwrap();
    assert!(!line.contains(&secret) && !line.contains(&secret[4..]));
    assert!(!state.contains(&secret) && !state.contains(&secret[4..]));
}

#[test]
fn the_steps_of_a_cancelled_workflow_that_never_began_say_who_cancelled_it() {
    let mut led = Led::new();
    let begin = led.begin("a");
    led.world.ask(led.lead, begin);
    led.world.ask(led.lead, Operation::CancelWorkflow(led.id.clone()));
    let workflow = led.world.state.workflow(&led.id).unwrap();
    assert_eq!((workflow.status, led.step("a")), (WorkflowStatus::Running, StepStatus::Running));
    assert_eq!(led.step("b"), StepStatus::Cancelled);
    let why = workflow.steps[1].why.as_deref();
    assert_eq!(why, Some("the workflow was cancelled by orchestrator"));
}
