//! A team of five with something of everything: one asks, two work, one waits, one has failed.

use std::sync::Arc;

use crate::bus::state::State;
use crate::domain::task::result::{LostTexts, Money, Usage};
use crate::domain::text::exactly::exactly;
use crate::domain::time::{Now, Tick};
use crate::domain::workflow::StepStatus;
use crate::reader::WholeTask;
use crate::search::{HitKind, SearchHit};
use crate::team::FileDiff;
use crate::view::tests::row;
use crate::view::{
    Board, Group, Happening, Letter, LiveKind, LiveLine, Looked, MemberRow, Moment, Need, NeedKind,
    NoTexts, OwedAnswer, PermissionRow, Problem, ProblemKind, Receipt, ReceiptStatus, RequestRow,
    Spent, StepNode, Stretch, StretchKind, TaskRow, ThreadEnd, Topic, UsageRow, WorkflowTree,
};
use crate::web::pages::{Extra, PageContext, SearchResult, StepPrompt};
use crate::web::{BusState, Snapshot};

/// When the team is looked at: 2026-02-02T02:40:00Z.
pub(super) const NOW: i64 = 1_770_000_000_000;

pub(super) fn ago(seconds: i64) -> Moment {
    Moment(NOW - seconds * 1_000)
}

pub(super) fn context() -> PageContext<'static> {
    PageContext {
        project: "book",
        can_write: true,
        can_answer: true,
        now: Moment(NOW),
        form_token: "form-token",
        back: "/",
        notice: None,
    }
}

fn spent(tokens: u64, dollars: f64) -> Spent {
    Spent::of(&Usage {
        input_tokens: Some(tokens * 4 / 5),
        output_tokens: Some(tokens / 5),
        total_tokens: Some(tokens),
        cost: Money::of(dollars, "USD"),
        ..Usage::default()
    })
}

pub(super) fn member(name: &str, group: Group, state: &str, doing: &str) -> MemberRow {
    MemberRow {
        group,
        doing: doing.to_owned(),
        last_active: ago(20),
        last_written: ago(20),
        live_seconds: 3_000,
        is_trial: false,
        profile: Some(name.to_owned()),
        roles: vec!["writes Rust".to_owned()],
        model: Some("gpt-5".to_owned()),
        cwd: Some("/home/me/book".to_owned()),
        tools: Some("ready".to_owned()),
        delivery: vec!["steer".to_owned(), "piggyback".to_owned(), "pull".to_owned()],
        usage: Some(spent(48_200, 0.61)),
        ..row(name, state)
    }
}

pub(super) fn task(id: &str, agent: &str, status: &str, prompt: &str) -> TaskRow {
    TaskRow {
        host: None,
        task_id: id.to_owned(),
        agent: agent.to_owned(),
        agent_left: None,
        profile: Some(agent.to_owned()),
        assigned_by: "lead".to_owned(),
        status: status.to_owned(),
        // Ann asks for a permission.
        agent_state: (agent == "ann").then(|| "waiting_permission".to_owned()),
        cancel_asked: false,
        cancelled_by: None,
        prompt: Some(prompt.to_owned()),
        workflow_id: None,
        is_trial: false,
        queued_at: ago(700),
        started_at: Some(ago(640)),
        ended_at: (status != "running").then(|| ago(300)),
        error: None,
        usage: Some(spent(48_200, 0.61)),
    }
}

pub(super) fn letter(seq: u64, from: &str, to: &str, text: &str) -> Letter {
    let sent = Moment(NOW - 600_000 + i64::try_from(seq).unwrap() * 1_000);
    Letter {
        message_id: format!("msg-{seq}"),
        seq,
        at: sent,
        from: from.to_owned(),
        for_member: None,
        resolved: None,
        to: to.to_owned(),
        kind: "message".to_owned(),
        text: Some(text.to_owned()),
        lost: None,
        bytes: text.len() as u64,
        thread_id: "msg-1".to_owned(),
        reply_to: (seq > 1).then(|| "msg-1".to_owned()),
        asks_you: None,
        answered_in: None,
        request_id: None,
        task_id: None,
        signal: None,
        decides: false,
        priority: None,
        reference: None,
        payload: None,
        payload_bytes: None,
        attachments: Vec::new(),
        urgent: seq == 4,
        taken_back: false,
        receipts: vec![Receipt {
            status: [ReceiptStatus::Seen, ReceiptStatus::Delivered, ReceiptStatus::Unread]
                [usize::try_from(seq).unwrap() % 3],
            method: (!seq.is_multiple_of(3)).then(|| "steer".to_owned()),
            delivered_at: (seq % 3 != 2).then(|| Moment(sent.0 + 120)),
            seen_at: seq.is_multiple_of(3).then(|| Moment(sent.0 + 2_300)),
            ..Receipt::unread(to.to_owned())
        }],
    }
}

fn step(name: &str, agent: &str, status: StepStatus, after: &[&str]) -> StepNode {
    StepNode {
        name: name.to_owned(),
        item_of: None,
        agent: agent.to_owned(),
        host: None,
        status,
        is_gone: false,
        depends_on: after.iter().map(|name| (*name).to_owned()).collect(),
        attempts: 1,
        task_id: (status == StepStatus::Done).then(|| "task-ben".to_owned()),
        started_at: Some(ago(600)),
        ended_at: None,
        running_since: (status == StepStatus::Running).then(|| ago(100)),
        took_ms: (status == StepStatus::Done).then_some(73_000),
        reason: None,
        note: (status == StepStatus::Waiting).then(|| "for review".to_owned()),
    }
}

const COMMAND: &str = "git push --force origin main && rm -rf target";

/// Returns the team.
pub(super) fn snapshot() -> Snapshot {
    let now = Now { wall_ms: NOW, tick: Tick { boot: 1, ms: 1 } };
    let state = State::default();
    let is_held = |_| true;
    let looked =
        Looked { state: &state, seq: 412, now, is_held: &is_held, damaged_lines: 0, most_ended: 5 };
    let mut board = Board::of(&looked, &mut NoTexts);
    board.members = members();
    (board.totals.members, board.totals.working, board.totals.idle, board.totals.need_you) =
        (4, 2, 1, 1);
    (board.totals.unread, board.totals.tasks_open, board.totals.tasks_done) = (2, 2, 1);
    board.totals.usage = spent(144_600, 1.83);
    board.tasks = tasks();
    put_questions(&mut board);
    let stretches = stretches();
    Snapshot {
        bus: BusState::Open,
        project: "book".to_owned(),
        board: Some(Arc::new(board.with_last_stretches(&stretches))),
        letters: Arc::new(letters()),
        decided: Arc::new(super::decided_of_five::decided()),
        happenings: Arc::new(happenings()),
        stretches: Arc::new(stretches),
    }
}

fn members() -> Vec<MemberRow> {
    let lead = MemberRow {
        kind: "orchestrator".to_owned(),
        profile: None,
        usage: None,
        delivery: vec!["hook".to_owned()],
        ..member("lead", Group::Idle, "idle", "last active 4 s ago")
    };
    let ann = MemberRow {
        task_id: Some("task-ann".to_owned()),
        task_since: Some(ago(640)),
        unread: 2,
        ..member("ann", Group::NeedsYou, "waiting_permission", "waiting for a permission")
    };
    let ben = MemberRow {
        task_id: Some("task-ben2".to_owned()),
        task_since: Some(ago(95)),
        queued: 1,
        ..member("ben", Group::Working, "running", "running task-ben2 for 95 s")
    };
    let cay = MemberRow {
        waits_for: Some("ben".to_owned()),
        wait_words: Some("waits for ben".to_owned()),
        holds: vec!["req-9".to_owned()],
        owes: vec![OwedAnswer {
            message_id: "msg-3".to_owned(),
            to: "ben".to_owned(),
            others: 0,
            text: Some("Whose clock ends a lease?".to_owned()),
            due_at: Some(ago(-240)),
            reminders: 0,
        }],
        ..member("cay", Group::Working, "waiting", "waiting for a message from ben")
    };
    let dan = MemberRow {
        state: "left".to_owned(),
        usage: None,
        ..member("dan", Group::Ended, "left", "failed: its stderr ends: 401 Unauthorized")
    };
    vec![lead, ann, ben, cay, dan]
}

fn tasks() -> Vec<TaskRow> {
    vec![
        task(
            "task-ben2",
            "ben",
            "running",
            "Write the chapter about leases, and let cay review it before you end.",
        ),
        task("task-ann", "ann", "running", "Clean up the history of the branch, then push it."),
        TaskRow {
            host: None,
            workflow_id: Some("wf-1".to_owned()),
            ..task("task-ben", "ben", "done", "Draft the outline of the book")
        },
        TaskRow {
            host: None,
            error: Some("auth: 401 Unauthorized".to_owned()),
            ..task("task-dan", "dan", "failed", "Translate the first chapter")
        },
    ]
}

/// Puts what is asked, wrong and planned onto a board.
fn put_questions(board: &mut Board) {
    board.requests = vec![RequestRow {
        request_id: "req-9".to_owned(),
        from: "ben".to_owned(),
        to: None,
        status: "claimed".to_owned(),
        description: Some("Who can read a chapter?".to_owned()),
        opened_at: ago(90),
        owner: Some("cay".to_owned()),
        lease_ends_at: Some(ago(-200)),
        answer: None,
        answered_at: None,
    }];
    board.ended_requests = vec![
        RequestRow {
            request_id: "req-8".to_owned(),
            from: "cay".to_owned(),
            to: Some("@review".to_owned()),
            status: "completed".to_owned(),
            description: Some("Whose clock ends a lease?".to_owned()),
            opened_at: ago(300),
            owner: Some("ben".to_owned()),
            lease_ends_at: None,
            answer: Some("The clock of whoever gave it.".to_owned()),
            answered_at: Some(ago(200)),
        },
        RequestRow {
            request_id: "req-7".to_owned(),
            from: "ben".to_owned(),
            to: None,
            status: "expired".to_owned(),
            description: Some("Can somebody draw?".to_owned()),
            opened_at: ago(2_000),
            owner: None,
            lease_ends_at: None,
            answer: None,
            answered_at: None,
        },
    ];
    board.permissions = vec![PermissionRow {
        permission_id: "perm-1".to_owned(),
        agent: "ann".to_owned(),
        task_id: Some("task-ann".to_owned()),
        kind: "execute".to_owned(),
        title: COMMAND.to_owned(),
        exact_title: exactly(COMMAND),
        paths: vec!["target".to_owned()],
        exact_paths: vec![exactly("target")],
        exact_words: format!("{}, at [{}]", exactly(COMMAND), exactly("target")),
        offers: ["allow_once", "allow_always", "reject"].map(str::to_owned).to_vec(),
        asked_at: ago(42),
        expires_at: Moment(NOW + 258_000),
    }];
    let need = |kind, who: &str, id: &str, words: &str| Need {
        kind,
        state: None,
        trouble: None,
        who: who.to_owned(),
        id: Some(id.to_owned()),
        words: words.to_owned(),
        since: Some(ago(42)),
        until: None,
        behind: 0,
    };
    board.needs_you = vec![
        Need { behind: 2, ..need(NeedKind::Permission, "ann", "perm-1", "execute: …") },
        need(NeedKind::Approval, "publish", "wf-1", "a step of the workflow \"book\""),
    ];
    let why = "failed: its stderr ends: 401 Unauthorized".to_owned();
    board.problems = vec![Problem::of(ProblemKind::Crashed, Some("dan"), why)];
    board.workflows = vec![WorkflowTree {
        workflow_id: "wf-1".to_owned(),
        name: "book".to_owned(),
        status: "running".to_owned(),
        is_gone: false,
        by: "lead".to_owned(),
        is_trial: false,
        created_at: ago(900),
        ended_at: None,
        steps_done: 1,
        steps_total: 5,
        steps: vec![
            step("outline", "ben", StepStatus::Done, &[]),
            step("draft", "ben", StepStatus::Running, &["outline"]),
            step("pictures", "ann", StepStatus::Failed, &["outline"]),
            step("review", "cay", StepStatus::Waiting, &["draft", "pictures"]),
            step("publish", "ann", StepStatus::Asking, &["review"]),
        ],
    }];
}

fn letters() -> Vec<Letter> {
    let asked = "The draft stands in chapters/leases.md. Is the part about clocks right?";
    vec![
        Letter {
            resolved: Some(ThreadEnd {
                by: "ben".to_owned(),
                at: ago(30),
                summary: "The giver's clock counts.".to_owned(),
            }),
            ..letter(1, "lead", "ben", "Please write the chapter about leases. Cay reviews it.")
        },
        letter(2, "ben", "cay", asked),
        letter(
            3,
            "cay",
            "ben",
            "Nearly: a lease ends by the clock of whoever gave it, not by yours.",
        ),
        letter(
            4,
            "ben",
            "lead",
            "Agreed with cay: leases end by the giver's clock. I change two paragraphs.",
        ),
        Letter {
            receipts: ["ann", "ben", "cay"]
                .map(|member| Receipt::unread(member.to_owned()))
                .to_vec(),
            kind: "broadcast".to_owned(),
            ..letter(5, "human", "all", "Lunch until two.")
        },
    ]
}

fn happenings() -> Vec<Happening> {
    let happening = |seq, topic, members: &[&str], words: &str| Happening {
        seq,
        at: ago(500 - i64::try_from(seq).unwrap()),
        topic,
        members: members.iter().map(|name| (*name).to_owned()).collect(),
        ids: Vec::new(),
        words: words.to_owned(),
    };
    vec![
        happening(
            401,
            Topic::Task,
            &["lead", "ben"],
            "lead assigns task-ben2 to ben: \"Write the chapter\"",
        ),
        happening(404, Topic::Request, &["cay"], "cay claims req-9"),
        happening(
            410,
            Topic::Permission,
            &["ann"],
            "ann asks for permission: execute \"git push --force origin main\"",
        ),
    ]
}

fn stretches() -> Vec<Stretch> {
    let stretch = |member: &str, kind, from: i64, until: Option<i64>, ended| Stretch {
        member: member.to_owned(),
        kind,
        from: ago(from),
        until: until.map(ago),
        ended,
    };
    let words = |id: &str| tasks().into_iter().find(|task| task.task_id == id)?.prompt;
    let work = |id: &str| StretchKind::Work { task: id.to_owned(), words: words(id) };
    let reading = StretchKind::Reading { transcript: "task-cay".to_owned() };
    let wait = |whom: &str| StretchKind::Wait { whom: Some(whom.to_owned()), for_user: false };
    vec![
        stretch("ben", work("task-ben"), 640, Some(300), Some("done")),
        stretch("dan", work("task-dan"), 620, Some(560), Some("failed")),
        stretch("cay", wait("ben"), 600, Some(480), None),
        stretch("ann", work("task-ann"), 500, None, None),
        stretch("cay", reading, 110, Some(95), None),
        stretch("ben", work("task-ben2"), 95, None, None),
        stretch("cay", wait("ben"), 90, None, None),
        stretch("ann", StretchKind::Asking, 42, None, None),
    ]
}

/// Returns what the views need besides.
pub(super) fn extra() -> Extra {
    let line = |kind, text: &str| LiveLine { kind, text: text.to_owned() };
    let prompt = "Draft the outline of the book.\n\nThree parts, each with a summary.";
    let output = "The outline has three parts:\n\n1. Logs\n2. Leases\n3. Locks\n";
    let diff = "diff --git a/chapters/leases.md b/chapters/leases.md\n--- a/chapters/leases.md\n+++ b/chapters/leases.md\n@@ -1,3 +1,4 @@\n # Leases\n-A lease ends by your clock.\n+A lease ends by the clock of whoever gave it.\n+So keep a margin.\n";
    Extra {
        turn: None,
        task: Some(WholeTask {
            row: task("task-ben", "ben", "done", "Draft the outline of the book"),
            whole_prompt: Some(prompt.to_owned()),
            whole_error: None,
            output: Some(output.to_owned()),
            details: None,
            lost: LostTexts::default(),
        }),
        live: Arc::new(vec![
            line(LiveKind::Thought, "The part about clocks needs a second look."),
            line(LiveKind::Call, "Read chapters/leases.md — completed"),
            line(LiveKind::Words, "I change two paragraphs, then ask cay again."),
            line(LiveKind::Told, "Nearly: a lease ends by the clock of whoever gave it."),
        ]),
        diffs: vec![FileDiff {
            path: "chapters/leases.md".to_owned(),
            diff: Ok(diff.to_owned()),
            is_cut: false,
        }],
        elsewhere: None,
        prompts: vec![StepPrompt {
            workflow: "wf-1".to_owned(),
            step: "publish".to_owned(),
            lines: vec!["Publish the book:".to_owned(), "  make publish".to_owned()],
        }],
        calls: vec![(
            "perm-1".to_owned(),
            vec!["input:".to_owned(), format!("  command: {COMMAND}")],
        )],
        thread: vec![
            letter(1, "lead", "ben", "Please write it."),
            letter(2, "ben", "lead", "It is written."),
        ],
        older: None,
        usage: vec![
            UsageRow {
                name: "ann".to_owned(),
                tasks: 4,
                done: 3,
                unreported: 0,
                beside_tasks: Spent::default(),
                spent: spent(96_400, 1.22),
            },
            UsageRow {
                name: "ben".to_owned(),
                tasks: 2,
                done: 2,
                unreported: 1,
                beside_tasks: spent(4_100, 0.04),
                spent: spent(48_200, 0.61),
            },
        ],
        found: Some(SearchResult {
            hits: vec![SearchHit {
                at: ago(300),
                kind: HitKind::Prompt,
                seq: Some(1),
                from: Some("lead".to_owned()),
                to: Some("ben".to_owned()),
                id: "task-ben".to_owned(),
                text: "Write the chapter about leases".to_owned(),
                open: "cli-team-bridge task task-ben".to_owned(),
            }],
            has_more: true,
            trouble: None,
        }),
    }
}
