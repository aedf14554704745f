//! How long the bridge waits, and how often it looks: for each time, which wait it bounds, and why so long.
//!
//! Three other files hold numbers. `grace_periods` has the steps of shutdowns, which have to add up. `limits` has sizes and counts.
//! `config::defaults` has the settings of users. A pause of some milliseconds between two looks of one loop stands beside that loop.
//!
//! The rules of the bus count in milliseconds, and the tools in seconds, as their names say; the rest are `Duration`s.

use std::ops::RangeInclusive;
use std::time::Duration;

// Calls of tools.

/// A tool that does not wait answers within this.
pub const TOOL: Duration = Duration::from_secs(5);

/// A call waits for its server to join the bus: at most [`NAME`] until the holder of its name has left, and then for the bus.
pub const JOIN: Duration = TOOL.saturating_mul(2);

/// The default of `wait_for_message`'s `timeout_seconds`, in the specification.
pub const WAIT_SECONDS: u64 = 30;

/// The longest `wait_for_message`: all five agents hold a call of that length.
pub const MAX_WAIT_SECONDS: u64 = 120;

/// The default of `assign_task`'s `timeout_seconds`: below the 60 s at which many clients cut a call.
pub const ASSIGN_WAIT_SECONDS: u64 = 50;

/// The longest wait of `assign_task`, like that of `wait_for_message`.
pub const MAX_ASSIGN_WAIT_SECONDS: u64 = MAX_WAIT_SECONDS;

/// A client that waits in `assign_task` or `wait_for_message` and asked for progress hears of it this often.
pub const PROGRESS: Duration = Duration::from_secs(2);

/// A call waits for the user's consent. Clients abandon a call sooner or later; the answer counts for the next one all the same.
pub const CONSENT: Duration = Duration::from_secs(MAX_ASSIGN_WAIT_SECONDS);

/// `cancel_task` and `cancel_workflow` wait for the agent's own confirmation: real agents take a tenth of a second.
pub const CANCEL_ANSWER: Duration = Duration::from_secs(3);

/// `assign_task` waits for a host to start an agent: it announces it on the bus, which takes a second where that is busy, before any
/// process exists.
pub const HOST_STARTS: Duration = Duration::from_secs(15);

/// A host looks this often whether the workflows are over whose steps its agents have done, if nothing else happens.
pub const LOOK_FOR_OLD_STEPS: Duration = Duration::from_secs(30);

/// A host that could not write what becomes of a task tries again after this, as long as somebody waits for it.
pub const TAKE_UP_AGAIN: Duration = Duration::from_secs(1);

/// The promise of `kill_agent`: SIGTERM, 5 s, SIGKILL, and the time to see that the agent is gone.
pub const KILL_AGENT: Duration = Duration::from_secs(10);

/// A server that could not record on the bus that its client has our tools tries again after this.
pub const ANNOUNCE_TOOLS_AGAIN: Duration = Duration::from_millis(500);

/// A server that does not read because it has to answer its calls first looks this often whether its client is gone.
pub const LOOK_FOR_CLOSED_INPUT: Duration = Duration::from_secs(1);

/// A server that asks its user looks this often whether the bus of the question is still its bus: a removed bus is rare, and a question
/// waits for minutes.
pub const LOOK_FOR_REMOVED_BUS: Duration = Duration::from_secs(5);

/// A client of ours waits for its server to introduce itself: more than twice the slowest start on a busy machine, which took 12 s.
pub const GREETING: Duration = Duration::from_secs(30);

/// How long each step of a hook may take: to read Claude Code's input, to requeue the messages that an earlier hook left, to receive, and
/// to record which messages it has printed. Longer than [`BUS_BUSY`], whose own error says more. All four fit into the 15 s that the
/// documented settings give a hook; the next hook does the rest.
pub const HOOK: Duration = Duration::from_millis(3_500);

/// How long `watch` leaves a new message to a hook or a call that is about to take it, so that a session is told once. A hook takes it
/// within a tenth of a second; whoever is idle does not notice.
pub const ANNOUNCE: Duration = Duration::from_millis(200);

/// A search waits for another one that uses the same index: longer than the first search of a very large bus takes.
pub const OTHER_SEARCH: Duration = Duration::from_mins(10);

// Requests, steps and gates.

/// The default of `request_task`'s `timeout_seconds`, after which members are reminded, in the specification.
pub const REQUEST_NUDGE_SECONDS: u64 = 30;

/// The default of `request_task`'s `ttl_seconds`: turns last minutes, so an offer must outlive one.
pub const REQUEST_TTL_SECONDS: u64 = 900;

/// The default of `request_task`'s `lease_seconds`: a member that works calls a tool more often, or is in a turn.
pub const LEASE_SECONDS: u64 = 300;

/// The shortest and the longest `lease_seconds`: a model needs seconds to react to the reminder; a day.
pub const LEASE_BOUNDS_SECONDS: (u64, u64) = (10, 24 * 60 * 60);

/// How long a message may stay unseen before it expires, if its sender says so: deadlines of the machine's own time are of a day at
/// most.
pub const TTL_SECONDS: RangeInclusive<u64> = 1..=86_400;

/// How long a sender may wait for an answer before who owes it is reminded.
pub const RESPONSE_SECONDS: RangeInclusive<u64> = 1..=86_400;

/// That time where the sender does not say: a turn of an agent, and some.
pub const DEFAULT_RESPONSE_SECONDS: u64 = 300;

/// The silence in a disagreement after which somebody else decides: turns of agents take minutes.
pub const CONFLICT_MS: u64 = 10 * 60 * 1000;

/// How long a disagreement waits for the user: as long as mail.
pub const HUMAN_DECISION_MS: u64 = ABSENT_MAIL_MS;

/// The longest `ttl_seconds` and `timeout_seconds` of a request: a day.
pub const MAX_REQUEST_SECONDS: u64 = 24 * 60 * 60;

/// The longest `timeout_seconds` of a step: a day.
pub const MAX_STEP_SECONDS: u64 = 24 * 60 * 60;

/// The default time of a gate: a test suite takes minutes.
pub const GATE_SECONDS: u64 = 600;

/// An interrupted workflow that could not be resumed is tried again after this: each attempt reads its plan file, and the bus may change
/// at every moment.
pub const RESUME_WORKFLOW_AGAIN: Duration = Duration::from_secs(1);

/// A step with a temporary blocker, such as a busy bus, fails after this.
pub const STEP_BLOCKED: Duration = Duration::from_mins(1);

// The person at the command line.

/// A command of the person at the terminal waits this long until a message is read, or until a step begins: an idle agent is woken within
/// two seconds, and a person does not wait longer for a mere receipt.
pub const WISH_TAKEN: Duration = Duration::from_secs(5);

// The bus.

/// A command waits for the lock of the bus. Then it is withdrawn with the error that the bus is busy.
pub const BUS_BUSY: Duration = Duration::from_secs(2);

/// The server of a bus that several machines share answers. It ends before the deadline of a tool, whose error would say less.
pub const SERVER: Duration = Duration::from_secs(3);

/// A call whose outcome is unknown is the same call within this time, so that it takes effect once: later, the same words mean something
/// new. The error of the server names this time, too.
pub const REPEATED_WITHIN: Duration = Duration::from_mins(10);

/// The name of that server is found, so that an error can say that it was not.
pub const SERVER_NAME: Duration = Duration::from_secs(2);

/// The same server takes or gives a bite of a history that is copied: a slow one, for a megabyte.
pub const COPY_BITE: Duration = Duration::from_mins(1);

/// A machine asks the server of its team for what is new, also where no notification comes.
pub const POLL_SERVER: Duration = Duration::from_secs(1);

/// The lease of a machine beats.
pub const HOST_BEAT: Duration = Duration::from_secs(2);

/// The server answers a beat. It is shorter than other deadlines: who fails to beat has to know in time.
pub const HOST_ANSWER: Duration = Duration::from_secs(2);

/// Another process renews the lease of a machine in the place of one that has not done so for this time.
pub const HOST_STANDS_STILL: Duration = Duration::from_secs(3);

/// A machine holds its agents once no beat was answered for this time, because the others may find it dead soon after.
pub const HOST_CUT_OFF: Duration = Duration::from_secs(6);

/// The same where the server says that it starts or stops, so that the others cannot find it dead either: but another server may say so
/// in its place.
pub const HOST_CUT_OFF_AT_LAST: Duration = Duration::from_secs(25);

/// A session looks this often whether the other machines have found its own dead, so that it has to join again.
pub const LOOK_FOR_BURIAL: Duration = Duration::from_secs(2);

/// A bridge looks this often whether its machine is cut off.
pub const LOOK_FOR_CUT_OFF: Duration = Duration::from_millis(250);

/// A machine buries another only after it has itself seen that it is silent for this time.
pub const HOST_WATCHED: Duration = Duration::from_secs(4);

/// A machine whose lease has not beaten for this time is dead.
pub const HOST_SILENT: Duration = Duration::from_secs(30);

/// A machine whose connection has been closed for this time is dead: one that lives opens another within a few beats.
pub const HOST_APART: Duration = Duration::from_secs(8);

/// A joining session waits for its name while the holder is live: a client that restarts its server closes the old one first.
pub const NAME: Duration = Duration::from_secs(5);

/// A joining session looks this often whether the holder has left its name, as no process sends a wakeup for that.
pub const LOOK_AT_NAME: Duration = Duration::from_millis(100);

/// The first pause before another attempt, where the bus, the disk or an agent may recover. Where attempts are counted, each pause is
/// twice as long as the one before.
pub const RETRY: Duration = Duration::from_millis(200);

/// The longest pause between two such attempts: a person has to make space on a full disk.
pub const LONGEST_RETRY: Duration = Duration::from_secs(5);

/// The first pause between two looks at a bus whose changes the system does not report. While nothing happens, each is twice as long as
/// the one before.
pub const POLL: Duration = Duration::from_millis(50);

/// The longest pause between two such looks, and so the longest delay of a message.
pub const LONGEST_POLL: Duration = Duration::from_millis(500);

/// A process looks this often for lost wakeups, for dead sessions, and for due entries; `watch` looks as often for a bus, and for the end
/// of its reader.
pub const LOOK_AROUND: Duration = Duration::from_secs(1);

/// The presences of a process show a sign of life this often.
pub const HEARTBEAT: Duration = Duration::from_secs(10);

/// A session counts as hung once a process has watched its heartbeat stand still for this long: three beats.
pub const HUNG: Duration = Duration::from_secs(30);

/// `orchestrator --adopt` opens the bus, although its input has ended: as long as reading a very large log takes on a busy machine.
pub const ADOPTION: Duration = Duration::from_mins(1);

/// An orchestrator looks this often whether its server has joined a bus, or another one. Nothing urgent depends on it.
pub const LOOK_FOR_MEMBERSHIP: Duration = Duration::from_secs(10);

/// A running bridge looks this often for agents of dead bridges.
pub const LOOK_FOR_DEAD_BRIDGES: Duration = Duration::from_mins(1);

/// How long `get_agent_status` shows a departed session.
pub const DEPARTED_SHOWN_MS: u64 = 10 * 60 * 1000;

/// Windows show for so long that an answer was given up: whoever has not looked meanwhile learns of it.
pub const UNANSWERED_SHOWN_MS: u64 = 60 * 60 * 1000;

/// Windows show a crashed agent for longer, until another takes its name: whoever comes back in the morning learns of it.
pub const CRASH_SHOWN_MS: u64 = 16 * 60 * 60 * 1000;

/// A member whose wait has ended without a message is shown as waiting for this much longer: a model takes some seconds to ask anew.
pub const WAIT_ASKED_AGAIN_MS: u64 = 15_000;

// The window `top`.

/// The shortest pause between two pictures of a team that is at work: a person reads no faster, and 50 busy agents cost little.
pub const WINDOW_PICTURE: Duration = Duration::from_millis(250);

/// A window looks this often for processes that died without a word, and for a lost report, while nothing happens.
pub const WINDOW_AGES: Duration = Duration::from_secs(5);

/// The live words of an agent are read this often while they are shown: nothing reports that a transcript grows.
pub const WINDOW_LIVE: Duration = Duration::from_millis(300);

/// What came of an act stands in a window's last rows for so long, or until the next key: long enough to be read after a look aside.
pub const NOTICE_SHOWN: Duration = Duration::from_secs(10);

/// The rest of a key that begins with an escape character arrives within this; otherwise the character was the key Esc.
pub const REST_OF_KEY: Duration = Duration::from_millis(50);

// Messages.

/// After a delivery to a model, the bridge gathers the messages that follow: the first message goes at once, and the later ones go
/// together.
pub const GATHER_MESSAGES: Duration = Duration::from_millis(200);

/// The first pause before messages are offered again to an agent that reports no turn: its turn is between two steps, or has not begun.
/// Each pause is twice as long as the one before.
pub const STEER_AGAIN: Duration = Duration::from_secs(1);

/// The longest pause between two such offers: half a minute is often enough, as each offer is recorded.
pub const LONGEST_STEER_AGAIN: Duration = Duration::from_secs(32);

/// The bridge waits for an agent to accept or refuse messages for its running turn. Real agents answer within milliseconds, but for a
/// busy machine.
pub const STEER_ANSWER: Duration = Duration::from_secs(10);

/// How long an accepted text may take from an agent's adapter to the agent: milliseconds, but for a busy machine.
pub const STEER_LAG: Duration = Duration::from_secs(2);

/// An agent that asks for messages gets an empty answer after this at the latest: it waits 2 s.
pub const DRAIN_ANSWER: Duration = Duration::from_millis(1_500);

/// The end of a turn waits for the record that an answer was written. The agent has had that answer, and may be faster than the record on
/// the bus.
pub const ANSWER_RECORDED: Duration = Duration::from_secs(1);

/// A message that was delivered to a call counts as lost when the session shows no sign of life for this long: longer than most turns.
pub const HANDED_MS: u64 = 10 * 60 * 1000;

/// A pushed message that the model has not named counts as lost after this time: a client that shows no pushes drops them without a word.
pub const PUSHED_MS: u64 = 60 * 1000;

/// How much later than a wait's own deadline another process may end it, in case its own process did not.
pub const WAIT_SLACK_MS: u64 = 10_000;

/// How long messages for an absent name wait until a session takes that name again.
pub const ABSENT_MAIL_MS: u64 = 30 * 24 * 60 * 60 * 1000;

/// For how many seconds the news that a session has joined or left waits to be read. Unread, it would keep the history before it for ever.
pub const PRESENCE_SECONDS: u64 = 24 * 60 * 60;

// Agents.

/// The bridge waits for the shim to report that the agent runs. It takes milliseconds; but the slowest start of a program on a busy
/// machine took 12 s, and an agent that is given up fails its task.
pub const SHIM_START: Duration = Duration::from_secs(30);

/// The pipe to an agent may stall for this long: the slowest start on a busy machine took 12 s.
pub const AGENT_STDIN: Duration = Duration::from_secs(30);

/// An agent answers `initialize` within this, where its profile gives no `start_seconds`: five times the slowest start on a busy machine.
pub const INITIALIZE: Duration = Duration::from_mins(1);

/// An agent answers `session/new`, `session/load` and `session/resume` within this, where its profile gives no `start_seconds`: 4 s are
/// usual, and gemini waits without end for an MCP server that hangs.
pub const OPEN_SESSION: Duration = Duration::from_mins(1);

/// An agent answers settings and `session/close` within this: from memory, but claude's adapter passes them on.
pub const SETTING: Duration = Duration::from_secs(15);

/// An agent that shows signs of life may take this multiple of its `start_seconds` to start.
pub const START_EXTENSION: u32 = 5;

/// The first prompt waits until the agent has asked our endpoint for its tools. Then the bridge delivers messages by prompt only.
pub const TOOLS_LISTED: Duration = Duration::from_secs(15);

/// A bridge looks at least this often for signs of life of an agent in a turn.
pub const LOOK_FOR_SIGN_OF_LIFE: Duration = Duration::from_secs(15);

/// A bridge that waits for the shim of a dead bridge to end looks at it this often.
pub const LOOK_AT_LEFT_SHIM: Duration = Duration::from_secs(1);

/// A bridge looks this often at the orphans of dead shims while it kills them, and at most this often for new ones: many may die at once.
pub const LOOK_FOR_ORPHANS: Duration = Duration::from_millis(100);

/// The same message to the same address within this time is one message, in milliseconds: a client repeats a call that it thinks lost.
pub const DOUBLE_MS: u64 = 2_000;

/// A bridge records the signs of life of an agent on the bus this often, and a session the calls that write nothing else.
pub const RECORD_SIGN_OF_LIFE: Duration = Duration::from_secs(30);

/// Two restarts of an agent are at least this far apart: an agent that ends at once would be restarted for ever.
pub const BETWEEN_RESTARTS: Duration = Duration::from_secs(5);

/// The time in which the restarts of an agent are counted.
pub const COUNT_RESTARTS: Duration = Duration::from_mins(1);

/// How much longer than the bus a bridge waits for the bus's own denial of a question for permission, before it denies the question
/// itself.
pub const PERMISSION_SLACK: Duration = Duration::from_secs(10);

/// A question for permission waits for its paths to be resolved, which takes milliseconds.
pub const LOOK_AT_PATHS: Duration = Duration::from_secs(2);

/// The first prompt of a task waits for git to list the files before it, as an agent may change files at once and report none. That takes
/// some ten milliseconds, and an agent takes seconds. Where git takes longer, the result says that a change may be missing.
pub const GIT_BEFORE_PROMPT: Duration = Duration::from_millis(500);

/// The end of a task waits for git to list the changed files.
pub const GIT: Duration = Duration::from_secs(2);

/// A bridge tries to store the output of a task for this long before the task fails for that reason. A short output needs no storing, so
/// such a failure can always be reported.
pub const STORE_OUTPUT: Duration = Duration::from_mins(1);

// Notifications.

/// A bridge looks this long after a change whether it is worth a notification, which takes in further changes.
pub const LOOK_FOR_ALERTS: Duration = Duration::from_millis(250);

/// A first notification waits this long for others of the same burst: steps and tasks end together.
pub const GATHER_ALERTS: Duration = Duration::from_secs(1);

/// In quiet hours, a bridge looks this often whether they are over.
pub const QUIET_LOOK: Duration = Duration::from_secs(30);

/// The program or the server of a target may take this long.
pub const ALERT_TARGET: Duration = Duration::from_secs(10);

/// The pauses between the tries of a webhook: the first, and the longest.
pub const WEBHOOK_AGAIN: Duration = Duration::from_millis(500);
pub const LONGEST_WEBHOOK_AGAIN: Duration = Duration::from_secs(8);

/// After its last try, a webhook that fails is left alone for this long.
pub const WEBHOOK_REST: Duration = Duration::from_mins(1);

// Other projects.

/// A courier waits for each step of the bus of another project, which takes milliseconds: then that disk hangs.
pub const OTHER_BUS: Duration = Duration::from_secs(10);

/// A look at the directories of other projects takes microseconds, on a slow network a moment. One that has not answered after this hangs:
/// nobody waits for it, and its project stays what it was.
pub const DIRECTORY_LOOK: Duration = Duration::from_secs(1);

/// A message to another project that has been on its way for this long is shown as a problem: mostly it takes less than a second.
pub const KEPT_SHOWN_MS: i64 = 60_000;

/// An errand to another project takes a second at most. After this, its bus counts as one that cannot be used: who writes to it is told.
pub const ERRAND: Duration = Duration::from_mins(1);

/// A message to another project that nobody has taken after this is one that nobody here can take: its sender is told.
pub const LEFT_IN_OUTBOX_MS: i64 = 60_000;

/// A project that could not be reached is left alone for this long: its team may begin at any moment, and looking costs little.
pub const COURIER_REST: Duration = Duration::from_secs(5);

/// A courier looks at its own bus this often for what nobody rang for: receipts, which another process of its team has written.
pub const COURIER_LOOK: Duration = Duration::from_secs(1);

/// A courier lets this pass between two looks: a busy team changes its bus many times a second.
pub const COURIER_PAUSE: Duration = Duration::from_millis(20);

// The doctor.

/// `doctor` waits for an agent to start and to list our tools: more than twice the slowest start on a busy machine, which took 12 s.
pub const DOCTOR_START: Duration = Duration::from_secs(30);

/// `doctor` waits for each of its other looks, which need milliseconds: then the disk hangs.
pub const DOCTOR_LOOK: Duration = Duration::from_secs(10);

/// `setup` and `doctor` ask npm where its programs are, which takes half a second; without an answer they go on.
pub const NPM_ANSWER: Duration = Duration::from_secs(5);

/// A client that the doctor asks about its settings answers within a second, and within 3 s if it asks a server.
pub const DOCTOR_QUESTION: Duration = Duration::from_secs(10);

// The demo and the scripted agent.

/// The demo waits for each step of its story: longer than any of them takes, as a waiting tool has a limit of its own.
pub const DEMO_STEP: Duration = Duration::from_secs(30);

/// The scripted agent waits for its MCP servers to start and list their tools. Then its session continues without them, as with real
/// agents.
pub const SCRIPTED_SERVERS: Duration = Duration::from_secs(10);

/// The scripted agent waits for the answer to a call: longer than any tool waits.
pub const SCRIPTED_CALL: Duration = Duration::from_mins(3);

/// The scripted agent waits for the answer to a question for permission: a person may be asked, but not for ever.
pub const SCRIPTED_PERMISSION: Duration = Duration::from_mins(10);

// The web server.

/// The headers of a request arrive within this time, and an idle connection is kept as long.
pub const WEB_HEADERS: Duration = Duration::from_secs(15);

/// A client that has read nothing of its answer for this long is gone, or wants to keep others out.
pub const WEB_READER: Duration = Duration::from_secs(30);

/// The body of a request arrives within this time.
pub const WEB_BODY: Duration = Duration::from_secs(10);

/// Reading the bus for a page takes no longer, or the page says so.
pub const WEB_ANSWER: Duration = Duration::from_secs(20);

/// A page waits this long for git to compare files, and then says which it has not compared.
pub const WEB_DIFFS: Duration = Duration::from_secs(4);

/// A page that is loaded again within this time shows the differences that git found before.
pub const WEB_DIFFS_KEPT: Duration = Duration::from_secs(3);

/// So long nobody signs in after too many wrong tokens.
pub const WEB_LOCK_OUT: Duration = Duration::from_mins(5);

/// A silent event stream sends a comment this often, so that a broken connection is noticed.
pub const WEB_COMMENT: Duration = Duration::from_secs(30);

/// A program that has no more connections asks again after this time.
pub const WEB_BUSY: Duration = Duration::from_secs(5);

/// A program that is a member through the API leaves the team after so long without a request: what it has claimed is open again. A
/// person at an editor may think for some minutes.
pub const PROGRAM_AWAY: Duration = Duration::from_mins(15);

/// So long a request is answered again that is repeated with its `Idempotency-Key`: longer than a program tries.
pub const IDEMPOTENT_KEPT: Duration = Duration::from_hours(1);

/// The server looks this often which of these programs have gone, and whose key was revoked.
pub const PROGRAM_LOOK: Duration = Duration::from_secs(5);

/// How long a form waits for the words of a user; the question itself stays open for longer, in all windows.
pub const USER_ANSWERS: Duration = Duration::from_hours(24);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_longer_than_the_wait_inside_it() {
        assert!(BUS_BUSY < TOOL && BUS_BUSY < HOOK);
        assert!(NAME + BUS_BUSY < JOIN);
        // A machine holds its agents before the others may find it dead, whatever became of its connection.
        assert!(HOST_CUT_OFF + LOOK_FOR_CUT_OFF < HOST_APART);
        assert!(HOST_CUT_OFF_AT_LAST + LOOK_FOR_CUT_OFF < HOST_SILENT);
        assert!(HEARTBEAT * 3 <= HUNG);
        assert!(STEER_LAG < STEER_ANSWER);
        assert!(GIT_BEFORE_PROMPT < GIT);
        assert!(Duration::from_secs(MAX_WAIT_SECONDS) < SCRIPTED_CALL);
    }
}
