//! A model test of a bridge whose log fails at random reads and writes. With tasks, mail, a permission request and a workflow at
//! once, nothing is lost, repeated or left stuck, and no message is seen before it was shown.
//!
//! A printed seed decides what fails, and when; `BRIDGE_FAULTS_SEED` replays it.

use cli_team_bridge::bus::event::Event;
use cli_team_bridge::bus::rules::{Operation, PermissionReply};
use cli_team_bridge::bus::state::{Delivery, State, Workflow};
use cli_team_bridge::bus::storage::faulty_log::{Fault, FaultPoint};
use cli_team_bridge::domain::ids::{SessionId, TaskId};
use cli_team_bridge::domain::member::MemberKind;
use cli_team_bridge::domain::permission::Decision;
use cli_team_bridge::domain::workflow::WorkflowStatus;
use cli_team_bridge::sys::random_ids;
use cli_team_bridge::workflow::Workflows;
use cli_team_bridge::workflow::plan::{Draft, StepDraft};

use super::each_write::{FaultyBridge, at_rest, was_prompted};
use crate::bus::every_engine::name;
use crate::support::{DEADLINE, PAUSE, Stage};

/// An agent that repeats its prompt, or asks for permission if its task is `ask`.
const SCRIPT: &str = "
    [agents.scripted.start]
    load = true
    [[agents.scripted.turns]]
    when = 'Your task: ask'
    steps = [{ ask_permission = 'run it', kind = 'execute', on_reject = 'go_on', save = 'it' }, { say = '{{it.option}}' }]
    [[agents.scripted.turns]]
    steps = [{ say = '{{prompt}}' }]
";

const PROFILE: &str = "[agents.scripted]\npermissions = \"rules\"\n";

const ROUNDS: u64 = 12;

/// A failure comes within this many uses of its fault point.
const FAULT_WITHIN: u64 = 12;

/// A seeded random number generator: `SplitMix64`.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (value ^ (value >> 31)) % limit
    }
}

fn seed() -> u64 {
    let given = std::env::var("BRIDGE_FAULTS_SEED").ok();
    given.map_or_else(|| random_ids::session().0.as_u64_pair().1, |seed| seed.parse().unwrap())
}

/// Schedules faults at some of the fault points.
fn arm(bridge: &FaultyBridge, random: &mut Random) {
    for point in [FaultPoint::Append, FaultPoint::Sync, FaultPoint::Read, FaultPoint::CatchUp] {
        if random.below(2) == 0 {
            continue;
        }
        let fault = match point {
            FaultPoint::Append => [Fault::Busy, Fault::Io, Fault::OutcomeUnknown]
                [usize::try_from(random.below(3)).unwrap()],
            FaultPoint::Sync => Fault::OutcomeUnknown,
            _ => Fault::Io,
        };
        let (nth, times) = (1 + random.below(FAULT_WITHIN), 1 + random.below(3));
        println!("  {point:?} fails {times} times, from use {nth} on: {fault:?}");
        bridge.faults.fail(point, nth, times, fault);
    }
}

fn chain() -> Draft {
    let step = |name: &str, prompt: &str, depends_on: &[&str]| StepDraft {
        name: Some(name.to_owned()),
        agent: "scripted".to_owned(),
        prompt: prompt.to_owned(),
        depends_on: depends_on.iter().map(ToString::to_string).collect(),
        ..StepDraft::default()
    };
    Draft {
        name: "chain".to_owned(),
        steps: vec![
            step("a", "first words", &[]),
            step("b", "then {{steps.a.output}}", &["a"]),
            step("c", "last {{steps.b.output}}", &["b"]),
        ],
    }
}

fn agents(state: &State) -> Vec<SessionId> {
    let is_agent = |id: &SessionId| {
        let session = state.session(*id);
        session.is_some_and(|session| session.kind == MemberKind::Agent)
    };
    state.session_ids().filter(is_agent).collect()
}

/// Waits as the orchestrator until a condition holds, and meanwhile allows every permission request.
async fn until(bridge: &FaultyBridge, what: &str, holds: impl Fn(&State) -> bool) {
    let mut changes = bridge.bus.changes();
    let waiting = async {
        loop {
            bridge.bus.refresh().unwrap();
            let asked: Vec<_> = bridge.bus.look(|state| {
                let open = state.open_permissions().into_iter();
                open.map(|question| question.id.clone()).collect()
            });
            for question in asked {
                let yes = PermissionReply::Itself(Decision::AllowOnce);
                bridge.lead.ask(Operation::AnswerPermission(question, yes)).await.unwrap();
            }
            if bridge.bus.look(&holds) {
                return;
            }
            // The last write may come without a wakeup for this bus.
            let _ = tokio::time::timeout(PAUSE, changes.changed()).await;
        }
    };
    let waited = tokio::time::timeout(DEADLINE, waiting).await;
    let agents = bridge.bus.look(|state| {
        let agents = agents(state).into_iter();
        let sessions = agents.filter_map(|id| state.session(id).cloned());
        sessions.collect::<Vec<_>>()
    });
    let flows: Vec<_> = bridge.bus.look(|state| state.workflows().into_iter().cloned().collect());
    assert!(waited.is_ok(), "it never came true that {what}: {agents:?} {flows:?}");
}

fn check_plain(bridge: &FaultyBridge, task: &TaskId, words: &str) {
    let said = bridge.output(task);
    assert!(said.ends_with(words), "{said}");
    check_once(bridge, task);
}

/// Checks that a task was started once and finished once.
fn check_once(bridge: &FaultyBridge, id: &TaskId) {
    let begins = |event: &Event| matches!(event, Event::TaskStarted { id: begun } if begun == id);
    let ends = |event: &Event| matches!(event, Event::TaskFinished(end) if end.id == *id);
    let (begun, ended) = (bridge.count(begins), bridge.count(ends));
    let task = bridge.bus.look(|state| state.task(id).cloned());
    assert_eq!((begun, ended), (1, 1), "{task:?}");
}

/// Checks that each step ran once, with the output of the step before it.
fn check_flow(bridge: &FaultyBridge, flow: &Workflow) {
    for step in &flow.steps {
        assert_eq!(step.attempts, 1, "{step:?}");
        let task = step.task.as_ref().unwrap();
        check_once(bridge, task);
        let said = bridge.output(task);
        assert!(said.contains("first words"), "{said}");
    }
    assert_eq!(flow.status, WorkflowStatus::Done, "{flow:?}");
}

#[tokio::test]
async fn random_log_faults_lose_nothing_repeat_nothing_and_leave_nothing_stuck() {
    let mut random = Random(seed());
    println!("BRIDGE_FAULTS_SEED={}", random.0);
    let stage = Stage::new(SCRIPT).with_profiles(PROFILE);
    let bridge = FaultyBridge::new(&stage).await;
    let workflows = Workflows::new(bridge.team.clone());
    for round in 0..ROUNDS {
        println!("round {round}");
        let flow = workflows.plan(chain()).unwrap();
        let flow = workflows.create(flow).await.unwrap().id;
        arm(&bridge, &mut random);
        let words = format!("words number {round}");
        let message = bridge.send(&words).await;
        let asking = bridge.assign(&format!("ask {round}")).await;
        let plain = bridge.assign(&format!("the plain {round}")).await;
        let over = |state: &State, task: &TaskId| state.task(task).unwrap().status.is_final();
        until(&bridge, "everything ends", |state| {
            let flow = state.workflow(&flow).unwrap();
            flow.status != WorkflowStatus::Running
                && over(state, &asking)
                && over(state, &plain)
                && state.open_permissions().is_empty()
                && agents(state).iter().all(|agent| at_rest(state, *agent))
        })
        .await;
        bridge.faults.mend();

        assert_eq!(bridge.output(&asking), "allow_once");
        check_plain(&bridge, &plain, &format!("the plain {round}"));
        let flow = bridge.bus.look(|state| state.workflow(&flow).cloned());
        check_flow(&bridge, &flow.unwrap());
        check_once(&bridge, &asking);
        let asks = |event: &Event| matches!(event, Event::PermissionAsked(asked) if asked.question.task.as_ref() == Some(&asking));
        assert!(bridge.count(asks) <= 1, "it asks once");
        let delivered = bridge.bus.look(|state| {
            let message = state.message(&message).unwrap();
            message.delivery(&name("scripted"))
        });
        assert_eq!(delivered, Some(Delivery::Seen));
        assert!(was_prompted(&stage, &words), "{words} was never shown");
    }
    workflows.stop().await;
    bridge.end().await;
}

#[tokio::test]
async fn a_permission_request_waits_for_the_bus_and_is_asked_once() {
    let stage = Stage::new(SCRIPT).with_profiles(PROFILE);
    let bridge = FaultyBridge::new(&stage).await;
    for fault in [Fault::Busy, Fault::Io, Fault::OutcomeUnknown] {
        let asks = |event: &Event| matches!(event, Event::PermissionAsked(_));
        let before = bridge.count(asks);
        bridge.faults.fail_at(2, fault, asks);
        let task = bridge.assign("ask").await;
        until(&bridge, "the task is over", |state| state.task(&task).unwrap().status.is_final())
            .await;
        assert_eq!(bridge.output(&task), "allow_once", "{fault:?}");
        assert_eq!(bridge.count(asks), before + 1, "{fault:?}");
        bridge.faults.mend();
    }
    bridge.end().await;
}
