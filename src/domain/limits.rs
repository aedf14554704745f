//! Every cap on a size or a count, with its reason. Bytes unless the name says otherwise.
//!
//! Those of attachments, of what leaves the bus and of the web server stand in files of their own. Times are in `wait_times`, the steps of shutdowns in
//! `grace_periods`, and the values of settings in `config::defaults`.

mod attachments;
mod hosts;
mod leaves_bus;
mod web;

pub use self::attachments::*;
pub use self::hosts::*;
pub use self::leaves_bus::*;
pub use self::web::*;
use crate::domain::is_zero::is_zero;
use serde::{Deserialize, Serialize};

/// The limits that a configuration can change. All processes of a team have to agree on them, so the bus stores them. Their defaults are
/// in `config::defaults`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TeamLimits {
    /// Agents that run at the same time.
    pub agents: usize,
    /// Tasks that wait for one agent; at most [`MAX_QUEUED`].
    pub queued_tasks: usize,
    /// Unread messages of one member.
    pub unread: usize,
    /// Days after which old segments of the log may be removed.
    pub retention_days: u32,
    /// Messages a minute of one session; 0 for any number. A bus on which no orchestrator of this version has set its limits has none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub messages_per_minute: u64,
    /// Messages of one session at once, before that rate counts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub message_burst: u64,
}

/// The messages of a session that are remembered while they may be sent a second time.
pub const KEPT_SENT_LATELY: usize = 64;

/// Open requests of one member: more than a team can follow, and a bound for the state.
pub const MAX_OWN_REQUESTS: usize = 1_000;

/// A request fails when it has lost so many owners: it may be what ends them.
pub const LOST_OWNERS: u32 = 3;

/// Notices of the bus may fill an inbox up to this multiple of the limits of unread messages.
pub const NOTICE_ROOM: usize = 2;

/// Keys for the HTTP API of one bus: more than one person's scripts and editors need, and a bound for the state.
pub const MAX_KEYS: usize = 64;

/// Agents of dead bridges that are remembered until their last process is gone.
pub const KEPT_UNSWEPT: usize = 256;

/// The longest content of one message, request or prompt: larger things belong in a file of the project.
pub const MAX_CONTENT_BYTES: usize = 1024 * 1024;

/// A longer text goes into a blob, so that lines of the log stay cheap for readers that do not need it.
pub const INLINE_BYTES: usize = 64 * 1024;

/// Bytes of the unread messages of a member: 128 messages of the largest size, or the full count of 13 KB messages. The log keeps them
/// until they are read, and no reader gets through more.
pub const MAX_UNREAD_BYTES: u64 = 128 * MAX_CONTENT_BYTES as u64;

/// Tasks that wait for one agent. All of them end in one append when the agent ends, and that has to fit into a line.
pub const MAX_QUEUED: usize = 100;

/// Questions for permission that one agent may have open at once: agents ask for a handful in parallel. Others are denied at once.
pub const MAX_QUESTIONS: usize = 32;

/// Answered questions for permission that stay in the state, so that a late answer gets to know the decision.
pub const KEPT_PERMISSIONS: usize = 256;

/// Questions that an agent's user has refused for good, which the bridge remembers. Beyond them it asks about the oldest again.
pub const LASTING_REFUSALS: usize = 256;

/// Characters of a question's title that go on the bus: more than most commands have, because their user decides about all that is there.
pub const QUESTION_TITLE_CHARS: usize = 2_000;

/// Characters of each path of a question, and of the title of a failed call, that go on the bus.
pub const QUESTION_CHARS: usize = 300;

/// Blank letters in a row that a person is shown before they agree to a command: more than any indentation, and less than a line of a terminal,
/// so that nothing is pushed out of sight.
pub const SHOWN_BLANKS: usize = 24;

/// Characters of a text above which its length is said, too: more than six lines of a terminal, so that a reader knows what is ahead.
pub const LONG_TEXT_CHARS: usize = 500;

/// Paths of a question that are resolved on the disk; a question with more of them goes to the user.
pub const LOOKED_PATHS: usize = 64;

/// Characters of an agent's directory that the form for a question shows: Claude Code shows about 300 characters of a form, and most of
/// them are for the question itself.
pub const FORM_DIRECTORY_CHARS: usize = 48;

/// Characters of a task's prompt in that form, for the same reason.
pub const FORM_TASK_CHARS: usize = 48;

/// Paths of a question that go on the bus.
pub const QUESTION_PATHS: usize = 10;

/// The most problems of one file that are listed; the others are counted. Each takes a walk through the file to its line, and a reader
/// corrects some at a time.
pub const LISTED_PROBLEMS: usize = 20;

/// The longest configuration file of another program that `setup` edits: Claude Code's grows with the user's projects, to some hundred
/// kilobytes in years.
pub const MAX_CLIENT_FILE_BYTES: u64 = 8 * 1024 * 1024;

/// The longest file of a client that a project may bring: a real one has some servers and permissions, a few kilobytes.
pub const MAX_PROJECT_CLIENT_FILE_BYTES: u64 = 1024 * 1024;

/// The most keys, values, brackets, commas, comments and line ends of a client's JSON file that is read. The tree for edits takes some
/// hundred bytes for each; real files of a thousand projects have fewer.
pub const MAX_CLIENT_JSON_PARTS: usize = 250_000;

/// The same for a client's TOML file, whose tree takes several times as much for each. A project takes Codex six of them.
pub const MAX_CLIENT_TOML_PARTS: usize = 50_000;

/// The longest command or place of a client's file in a sentence: enough for real paths, and a line or two of a terminal.
pub const CLIENT_WORD_CHARS: usize = 200;

/// The most fields of an entry, or entries of a file, that a sentence names: a real one has two or three.
pub const NAMED_IN_CLIENT_FILE: usize = 5;

/// The largest file that an agent reads or writes through the bridge: half of the longest line that is read from an agent, as JSON may
/// need two bytes for one.
pub const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024;

/// Characters of a failed tool call's output that go into a task's result: enough for the end of a compiler's message.
pub const FAILED_CALL_CHARS: usize = 2_000;

/// Bytes of files, and of failed calls, that one answer lists; `list_offset` reads the rest.
pub const LIST_BYTES: usize = 8 * 1024;

/// The largest transcript of a task: more than a person reads, and a bound for the disk space that a flood of output takes.
pub const TRANSCRIPT_BYTES: u64 = 64 * 1024 * 1024;

/// Characters of an agent's last report or a task's error, on the bus and in answers. The state keeps thousands of them, and all those of
/// one append have to fit into a line. The transcript has the whole error.
pub const ERROR_CHARS: usize = 2_000;

/// Bytes of a single word, such as the reason why a turn ended, or a currency.
pub const WORD_BYTES: usize = 64;

/// Valid names that an error lists.
pub const KNOWN_NAMES: usize = 64;

/// Files that one agent reads and writes through the bridge at once: each may take a thread, and memory of the file's size.
pub const FILES_AT_ONCE: usize = 8;

/// Headers of ended messages, requests and tasks that stay in the state, per kind; older ones are looked up in the log.
pub const KEPT_ENDED: usize = 4_096;

/// The longest payload of a message, as JSON: it stands in the line of the message, and programs read it whole.
pub const PAYLOAD_BYTES: u64 = 64 * 1024;

/// The longest payload that is shown with its message: about a screen of fields. A longer one is read by its own id.
pub const SHOWN_PAYLOAD_BYTES: usize = 2 * 1024;

/// Answers that one member awaits at once: more than it can follow, and a bound for the state.
pub const MAX_AWAITED_ANSWERS: usize = 100;

/// How often who owes an answer is reminded before it is awaited no longer.
pub const ANSWER_REMINDERS: u32 = 3;

/// Recipients for whom one append ends a message that was not seen in time.
pub const EXPIRED_AT_ONCE: usize = 100;

/// The longest reference of a message: a path, a commit, or a number in a tracker.
pub const REFERENCE_BYTES: usize = 200;

/// The most messages that one call acknowledges: more than an inbox of a day, and a short line.
pub const ACKNOWLEDGED_AT_ONCE: usize = 100;

/// The most bytes of the note of an acknowledgement: a paragraph. What needs more is a message.
pub const ACKNOWLEDGEMENT_NOTE_BYTES: usize = 2_000;

/// The most receipts of a message that a tool returns.
pub const SHOWN_RECEIPTS: usize = 100;

/// The most bytes of these receipts, with their notes: room for as many receipts of the longest names.
pub const RECEIPTS_BYTES: usize = 24 * 1024;

/// The most calls by which a message was delivered whose ends are searched for in the log.
pub const SEARCHED_CALLS: usize = 16;

/// Commands whose ids are remembered, so that a retry is recognised: far more than can be in flight.
pub const KEPT_COMMANDS: usize = 4_096;

/// Bytes of the messages that are pushed into a session and not proven yet, with their headers: the others wait, and come with the next
/// call if that is earlier.
pub const PUSHED_BYTES: usize = 48 * 1024;

/// Characters of an address in the configuration: the longest word and its sign.
pub const ADDRESS_CHARS: usize = 65;

/// Names whose mail waits until a session takes them again; of more, the one that has waited longest is forgotten. Each takes half a
/// kilobyte of the state, in addition to its mail.
pub const WAITING_NAMES: usize = 1_000;

/// The default and the largest `limit` of `check_messages`.
pub const CHECK_LIMIT: usize = 20;
/// The largest `limit` of `check_messages`.
pub const MAX_CHECK_LIMIT: usize = 500;

/// Text in one answer of a tool, as JSON writes it, for a client without a known limit. The smallest limit of a known client is 40,000
/// characters, of JSON with a line per field. Clients cut longer answers silently.
pub const ANSWER_BYTES: usize = 36 * 1024;

/// Bytes of an answer around its messages.
pub const ENVELOPE_BYTES: usize = 512;

/// Bytes of a message in an answer around its text, with a line per field and the longest names.
pub const HEADER_BYTES: usize = 640;

/// Messages put into a prompt in front of a task.
pub const INJECT_BYTES: usize = 16 * 1024;

/// Messages that ride along on a tool's result: enough to be noticed, too few to drown the result.
pub const PIGGYBACK_MESSAGES: usize = 5;
/// Bytes of messages that ride along on a tool's result.
pub const PIGGYBACK_BYTES: usize = 8 * 1024;

/// Messages that a hook puts into a session at once: enough for those that arrive between two steps.
pub const HOOK_MESSAGES: usize = 10;
/// Bytes of messages that a hook puts into a session at once: together with their frame below the 10,000 characters above which Claude
/// Code shows only the beginning.
pub const HOOK_BYTES: usize = 6 * 1024;

/// Characters of a line that announces a message: enough to see its subject, while each one costs a model a turn.
pub const DOORBELL_CHARS: usize = 300;

/// Messages that arrive together and get a line each; for more, one line gives the count. A reader that gets too many lines at once stops
/// listening.
pub const DOORBELL_LINES: usize = 10;

/// Tasks on one page of their list: with the longest prompts, a page still fits into an answer.
pub const TASKS_ON_A_PAGE: usize = 20;

/// Characters of a task's prompt beside its status: enough to recognise the task.
pub const PROMPT_CHARS: usize = 200;

/// Characters of a task's prompt, or of a tool call's title, in a sentence about what an agent is doing.
pub const DOING_CHARS: usize = 80;

/// Characters of an error, or of the reason why a member has left, in a list: five lines of a terminal. Both may have what a program has
/// printed, and end with what to do. The log has them whole.
pub const REASON_CHARS: usize = 400;

/// Profiles that the description of a tool names, installed ones and missing ones each: every session pays for them.
pub const DESCRIBED_PROFILES: usize = 16;

/// Topics that a session follows: more than anybody reads, and few enough for its line in a list of members.
pub const FOLLOWED_TOPICS: usize = 64;

/// Messages that wait for somebody who fits their address: of one sender, and of a team. Each is looked at when members come or go.
pub const QUEUED_OF_ONE: usize = 20;
pub const QUEUED: usize = 100;

/// Rounds in which two members try to agree before somebody else decides, as the specification says.
pub const CONFLICT_ROUNDS: u32 = 3;

/// Disagreements of a team that are not over, and the last ones that are: each has a timer, and stands in the windows.
pub const OPEN_CONFLICTS: usize = 100;
pub const OPEN_CONFLICTS_OF_ONE: usize = 10;
pub const KEPT_CONFLICTS: usize = 256;

/// Questions to the user that are shown as open: more than a person answers, and a bound for the state.
pub const USER_QUESTIONS: usize = 100;

/// Questions of one member to the user that are open at once: each may be a form before the user's eyes.
pub const USER_QUESTIONS_OF_ONE: usize = 5;

/// Characters of such a question in a list or a form; its thread has the rest.
pub const NEED_CHARS: usize = 400;

/// Messages of a thread in dispute that whoever decides is shown: those of the rounds, and some before.
pub const CONFLICT_MESSAGES: usize = 12;

/// The owed answers, and the requests and lanes, that the row of a member names: an opened row has all.
pub const COMMITMENTS_IN_ROW: usize = 3;

/// Words after `@` in one message that get copies: more is a group.
pub const MENTIONS: usize = 16;

/// Lanes that a session has claimed: a session that does more does not do each of them.
pub const LANES_OF_ONE: usize = 16;

/// Lanes, roles, capabilities and topics that an error about an address lists, each: it ends with the number of the others.
pub const SHOWN_GROUP_WORDS: usize = 12;

/// Characters of a wrong name or a wrong text that an error repeats.
pub const SHOWN_NAME_CHARS: usize = 80;

/// Characters of a task's output that the notice of its end shows.
pub const NOTICE_HEAD_CHARS: usize = 200;

/// Ids that one notice lists before it only counts the rest.
pub const NOTICE_IDS: usize = 10;

/// Due entries (expiries, reminders and the like) that one append writes at the most, so that its line stays short; the next append
/// continues.
pub const DUE_AT_ONCE: usize = 64;

/// Events after which an append that only cleans up stops, and leaves the rest to the next one. An event with the longest names is below
/// 300 bytes, so the line stays well below its limit.
pub const EVENTS_AT_ONCE: usize = 1_000;

/// Bytes of events after which an append of due entries or of a cleanup leaves the rest to the next one. The last entry may exceed it by
/// its own size, and a command with long texts has to fit behind it: a line holds four times as much.
pub const DUE_BYTES: usize = 256 * 1024;

/// Calls that one append answers at the most; the processes of the other calls find the message themselves.
pub const DELIVERED_AT_ONCE: usize = 256;

/// Members that an event names one by one. For more, it names the exceptions ("all but …"), which earlier versions do not understand:
/// teams up to this size may contain processes of both versions.
pub const NAMED_AT_ONCE: usize = 64;

/// Members with a full inbox that a message to all leaves out.
pub const LEFT_OUT_AT_ONCE: usize = 500;

/// Sessions that ended together of which an append tells the others one by one, unread news of who has come and left in an inbox, and
/// members that are told of one. Beyond that the list of members tells more.
pub const DEPARTURES_AT_ONCE: usize = 64;
pub const UNREAD_PRESENCE: usize = 16;
pub const TOLD_OF_PEERS: usize = 64;

/// Senders that one append notifies of their unread mail; the next append notifies others.
pub const SENDERS_AT_ONCE: usize = 64;

/// Bytes of one message that are shown with others; `id` and `offset` read the rest.
pub const HEAD_BYTES: usize = 32 * 1024;

/// Steps of a workflow: the plan is one event, which has to fit into a line of the log together with its dependencies.
pub const MAX_STEPS: usize = 200;

/// Items of a list for which a step is done: each may be an agent's turn, and a bill.
pub const MAX_ITEMS: usize = 50;

/// Steps of a workflow, with one for each item of their lists: bounds the state.
pub const MAX_PLAYED: usize = 400;

/// Bytes of a list for which a step is done, as JSON: as much as all outputs in one prompt.
pub const ITEMS_BYTES: usize = FLOW_TOTAL_BYTES;

/// Characters of a condition.
pub const WHEN_CHARS: usize = 500;

/// Dependencies of all steps of a workflow together, for the same reason.
pub const MAX_DEPENDENCIES: usize = 1_000;

/// Bytes of all prompts of a workflow together: half of the limit of one prompt, so that a prompt with outputs in it still fits.
pub const MAX_PLAN_BYTES: usize = 512 * 1024;

/// Placeholders in the prompt of a step: each adds at least a frame.
pub const MAX_PLACEHOLDERS: usize = 100;

/// Characters of a workflow's name, which is shown in sentences.
pub const WORKFLOW_NAME_CHARS: usize = 100;

/// Bytes of the name of a model.
pub const MODEL_BYTES: usize = 200;

/// How often a step may be retried: a step that fails six times fails for a reason.
pub const MAX_RETRIES: u32 = 5;

/// Workflows of a bus that have not ended: bounds the state.
pub const MAX_WORKFLOWS: usize = 32;

/// Ended workflows that stay in the state; older ones are looked up in the log.
pub const KEPT_WORKFLOWS: usize = 32;

/// Bytes of one step's output in the prompt of another.
pub const FLOW_BYTES: usize = 32 * 1024;

/// Bytes of all outputs in one prompt: a model reads that much with attention.
pub const FLOW_TOTAL_BYTES: usize = 64 * 1024;

/// Files of a step that the prompt of another names before it only counts the rest.
pub const FLOW_FILES: usize = 100;

/// How often a step may be interrupted before it counts as failed: perhaps the step itself ends the leader of the workflow.
pub const MAX_INTERRUPTIONS: u32 = 5;

/// Characters of the explanation of a step's status on the bus: the end of a gate's output has to fit.
pub const WHY_CHARS: usize = 2_000;

/// Characters of the note beside a step: more than a line of a wide terminal.
pub const STEP_NOTE_CHARS: usize = 300;

/// Moves of steps in one append: each may have an explanation of that length, and all have to fit into a line.
pub const MOVES_AT_ONCE: usize = 64;

/// The program and arguments of a gate together, in bytes: the plan is one event.
pub const GATE_BYTES: usize = 2_000;

/// How often a step and those it names may be repeated.
pub const MAX_ROUNDS: u64 = 20;

/// Fallback agents of a step.
pub const MAX_FALLBACKS: usize = 4;

/// Bytes of an agent's id for one of its sessions, and of its other words that are sent back to it: the known agents use a UUID. The log
/// stores it, and a longer text is no id.
pub const AGENT_ID_BYTES: usize = 1_024;

/// Models of an agent that are kept, and as many of its modes, settings, values of a setting, commands, and login methods: more than a
/// person chooses from; the longest list seen has some four hundred.
pub const AGENT_CHOICES: usize = 1_000;

/// Characters of an agent's word that stands in the log, such as why a turn ended: those of the protocol have at most seventeen.
pub const AGENT_WORD_CHARS: usize = 200;

/// Characters of an agent's error, and as many of its details: enough for the end of a program's output, and far below a line of the log
/// together with the rest of the entry of a task's end.
pub const AGENT_ERROR_CHARS: usize = 8_000;

/// Letters of a currency: ISO 4217 has three, and some agents count in `credits`. A longer word could be a secret.
pub const CURRENCY_LETTERS: usize = 7;

/// The most capabilities of a member, and the most topics. They stand in its beginning and in each list of members.
pub const MEMBER_LABELS: usize = 16;

/// The most words in a pool of names.
pub const POOL_WORDS: usize = 100;

/// The longest word in a pool of names, in letters: people say it aloud.
pub const POOL_WORD_LETTERS: usize = 12;

/// The most profiles of one configuration file: reading and describing them takes time at each start, and a repository may bring the
/// file.
pub const PROFILES: usize = 200;

/// Roles of a profile: each stands in the log with every start of an agent, and in every list of the team.
pub const PROFILE_ROLES: usize = 32;

/// Elements of a list in a profile, such as the arguments of its program.
pub const PROFILE_LIST: usize = 1_000;

/// Bytes of one text in a profile, such as an argument of its program: Linux passes no longer argument to a program.
pub const PROFILE_TEXT_BYTES: usize = 128 * 1024;

/// Characters of the URL of a webhook: what servers and proxies commonly take.
pub const URL_CHARS: usize = 2_000;

/// Characters of the name of an environment variable that a configuration names.
pub const VARIABLE_CHARS: usize = 200;

/// Notifications that wait to be sent as one. Later ones are only counted.
pub const WAITING_ALERTS: usize = 100;

/// Lines of one notification that stands for several.
pub const ALERT_LINES: usize = 10;

/// Characters of an agent's words in a notification.
pub const ALERT_TEXT_CHARS: usize = 200;

/// Characters of a profile's instructions that errors repeat: how to install the program, and how to log in.
pub const PROFILE_WORDS_CHARS: usize = 1_000;

/// What has been decided, in a window: the last ones. `messages --decided` shows older ones.
pub const WINDOW_DECIDED: usize = 50;

/// Messages, and happenings, that the window `top` holds: more than a person scrolls through.
pub const WINDOW_HISTORY: usize = 500;

/// Messages of an exchange that a trace shows: some megabytes, and more than a person reads.
pub const TRACED_MESSAGES: usize = 10_000;

/// Ids of an exchange that are searched for at once in each part of the log, one by one. With more, all parts are read that may have one.
pub const TRACED_IDS: usize = 64;

/// Characters of a message in the window, where one can be opened: most messages are whole.
pub const WINDOW_MESSAGE_CHARS: usize = 4_000;

/// Ended tasks, workflows and members that the window shows, of each.
pub const WINDOW_ENDED: usize = 20;

/// Bytes of a transcript that are read for the live words of an agent: some screens of them.
pub const LIVE_BYTES: u64 = 128 * 1024;

/// Bytes of a transcript in which the call behind a question for permission is searched: a call may bring a whole file.
pub const CALL_BYTES: u64 = 2 * 1024 * 1024;

/// Bytes of the log without the end of a line, above which it is refused: a crash may leave some megabytes that are no line, and each look
/// reads them again, in a tenth of a second.
pub const NO_LINE_BYTES: u64 = 256 * 1024 * 1024;

/// Characters of a step's prompt that the window shows to whoever approves it: more than a person reads there.
pub const WINDOW_PROMPT_CHARS: usize = 40_000;

/// Lines of live words.
pub const LIVE_LINES: usize = 500;

/// Bytes that may be typed or pasted into the line of a message: a long message comes from a file, with `send`.
pub const TYPED_BYTES: usize = 8 * 1024;
