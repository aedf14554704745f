//! Every cap on a size or a count, with its reason. Bytes unless the name says otherwise.
//!
//! Times stand in `wait_times`, the steps of endings in `grace_periods`, and the values of settings in `config::defaults`.

use serde::{Deserialize, Serialize};

/// The limits that a configuration can change and that all processes of a team have to agree on: they stand on the bus. Their
/// defaults stand in `config::defaults`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TeamLimits {
    /// Agents that live at the same time.
    pub agents: usize,
    /// Tasks that wait for one agent; at most [`MAX_QUEUED`].
    pub queued_tasks: usize,
    /// Unread messages of one member.
    pub unread: usize,
    /// Days after which old segments of the log may go.
    pub retention_days: u32,
}

/// Requests of one member that nobody has answered: more than anybody can follow, and a bound for the state.
pub const MAX_OWN_REQUESTS: usize = 1_000;

/// What the bus itself says is put into an inbox up to so many times the limits of unread messages.
pub const NOTICE_ROOM: usize = 2;

/// Agents of dead bridges that are remembered until nothing is left of them.
pub const KEPT_UNSWEPT: usize = 256;

/// The longest content of one message, request or prompt: larger things belong in a file of the project.
pub const MAX_CONTENT_BYTES: usize = 1024 * 1024;

/// A text above this goes into a blob, so that lines of the log stay cheap to read for those it does not concern.
pub const INLINE_BYTES: usize = 64 * 1024;

/// Bytes of the unread messages of a member: 128 of the longest, or as many as there may be of thirteen kilobytes each. The log keeps
/// them all until they are read, and that is more than anybody reads.
pub const MAX_UNREAD_BYTES: u64 = 128 * MAX_CONTENT_BYTES as u64;

/// Tasks that wait for one agent: all of them end in one append when the agent ends, and that has to fit into a line.
pub const MAX_QUEUED: usize = 100;

/// Questions for permission that one agent may have open at once: agents ask for one call at a time or for a handful in
/// parallel. More are answered with no, at once.
pub const MAX_QUESTIONS: usize = 32;

/// Answered questions for permission that stay in the state, so that who answers too late is told what became of it.
pub const KEPT_PERMISSIONS: usize = 256;

/// Characters of a question's title, and of each of its paths, that go on the bus.
pub const QUESTION_CHARS: usize = 300;

/// Paths of a question that are looked at on the disk; one with more is asked.
pub const LOOKED_PATHS: usize = 64;

/// Paths of a question that go on the bus.
pub const QUESTION_PATHS: usize = 10;

/// The longest configuration file of another program that `setup` edits: Claude Code's grows with the user's projects, to some hundred
/// kilobytes in years.
pub const MAX_CLIENT_FILE_BYTES: u64 = 8 * 1024 * 1024;

/// The longest file that an agent reads or writes through the bridge: half of the longest line that is read of an agent, as
/// JSON may need two bytes for one.
pub const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024;

/// Characters of what a failed call of a tool answered that go into a task's result: enough for the end of a compiler's words.
pub const FAILED_CALL_CHARS: usize = 2_000;

/// Bytes of files, and of failed calls, that one answer lists; the rest is read with `list_offset`.
pub const LIST_BYTES: usize = 8 * 1024;

/// The longest transcript of a task: more than anybody reads, and a bound for what a flood of words takes of the disk.
pub const TRANSCRIPT_BYTES: u64 = 64 * 1024 * 1024;

/// Characters of what an agent's end, or the error of a task, says on the bus and in answers: the state keeps thousands of them, and
/// all that one append tells has to fit into a line. The transcript has the error whole.
pub const ERROR_CHARS: usize = 2_000;

/// Bytes of a word that is no sentence: the reason why a turn ended, a currency.
pub const WORD_BYTES: usize = 64;

/// Of those, what an error lists as the valid names.
pub const KNOWN_NAMES: usize = 64;

/// Files that one agent reads and writes through the bridge at once: each may take a thread and its length in memory.
pub const FILES_AT_ONCE: usize = 8;

/// Ended messages, requests and tasks that stay in the state as headers, of each kind; older ones are looked up in the log.
pub const KEPT_ENDED: usize = 4_096;

/// Commands whose ids are remembered, so that a repeated one is known: far more than can be in flight.
pub const KEPT_COMMANDS: usize = 4_096;

/// Names that wait for whoever takes them up again; of more, the one that has waited longest is forgotten. Each takes half a
/// kilobyte of the state, beside its mail.
pub const WAITING_NAMES: usize = 1_000;

/// The default and the largest `limit` of `check_messages`.
pub const CHECK_LIMIT: usize = 20;
/// The largest `limit` of `check_messages`.
pub const MAX_CHECK_LIMIT: usize = 500;

/// Text in one answer of a tool, as JSON writes it, where nothing else is known of the reader: the least that a known client shows
/// whole is 40,000 characters, of JSON with a line a field. What is longer clients cut silently.
pub const ANSWER_BYTES: usize = 36 * 1024;

/// What an answer has around its messages.
pub const ENVELOPE_BYTES: usize = 512;

/// What a message in an answer has around its text, with a line a field and the longest names.
pub const HEADER_BYTES: usize = 640;

/// Messages put into a prompt in front of a task.
pub const INJECT_BYTES: usize = 16 * 1024;

/// Messages that ride along on a tool's result: enough to be noticed, too few to drown the result.
pub const PIGGYBACK_MESSAGES: usize = 5;
/// Bytes of messages that ride along on a tool's result.
pub const PIGGYBACK_BYTES: usize = 8 * 1024;

/// Messages that a hook puts into a session at once: enough for what gathers between two steps.
pub const HOOK_MESSAGES: usize = 10;
/// Bytes of messages that a hook puts into a session at once: with their frame still below the 10,000 characters above which Claude
/// Code shows only the beginning.
pub const HOOK_BYTES: usize = 6 * 1024;

/// Characters of a line that tells of a message: enough to see what it is about, while each costs a model a turn.
pub const DOORBELL_CHARS: usize = 300;

/// Messages that arrive together and have a line each; of more, one line tells how many: who gets too many lines at once stops
/// to listen.
pub const DOORBELL_LINES: usize = 10;

/// Characters of a wrong name or a wrong text that an error repeats.
pub const SHOWN_NAME_CHARS: usize = 80;

/// Characters of a task's output that the notice of its end shows.
pub const NOTICE_HEAD_CHARS: usize = 200;

/// Ids that one notice lists before it only counts the rest.
pub const NOTICE_IDS: usize = 10;

/// Things that are due which one append writes at the most, so that its line stays short; the next append goes on.
pub const DUE_AT_ONCE: usize = 64;

/// Events after which an append that only cleans up stops, and leaves the rest to the next: an event with the longest names is
/// below 300 bytes, so that the line stays well below its limit.
pub const EVENTS_AT_ONCE: usize = 1_000;

/// Bytes of events after which an append that brings what is due, or cleans up, leaves the rest to the next. One thing may go
/// over it by what it takes itself, and a command with long texts has to fit behind it: a line holds four times as much.
pub const DUE_BYTES: usize = 256 * 1024;

/// Calls that one append answers at the most; the others find the message when their own processes look.
pub const DELIVERED_AT_ONCE: usize = 256;

/// Members that an event names one by one. More are named as all but some, which versions before this do not understand: teams
/// that small may have both.
pub const NAMED_AT_ONCE: usize = 64;

/// Members with a full inbox that a message to all leaves out.
pub const LEFT_OUT_AT_ONCE: usize = 500;

/// Orchestrators that have a notice each; more are told by one message for all of them.
pub const NOTICES_AT_ONCE: usize = 8;

/// Senders that one append tells of their unread mail; the next one tells others.
pub const SENDERS_AT_ONCE: usize = 64;

/// Bytes of one message that are shown with others; the rest is read with `id` and `offset`.
pub const HEAD_BYTES: usize = 32 * 1024;

/// Steps of a workflow: the plan is one event, which has to fit into a line of the log together with its dependencies.
pub const MAX_STEPS: usize = 200;

/// Items of a list that a step is done for: each may be an agent's turn, and a bill.
pub const MAX_ITEMS: usize = 50;

/// Steps of a workflow together with all items that they are done for: bounds the state.
pub const MAX_PLAYED: usize = 400;

/// Bytes of a list that a step is done for, as JSON: as much as all outputs in one prompt.
pub const ITEMS_BYTES: usize = FLOW_TOTAL_BYTES;

/// Characters of a condition.
pub const WHEN_CHARS: usize = 500;

/// Dependencies of all steps of a workflow together, for the same reason.
pub const MAX_DEPENDENCIES: usize = 1_000;

/// Bytes of all prompts of a workflow together: half of what one prompt may have, so that a prompt with outputs in it still fits.
pub const MAX_PLAN_BYTES: usize = 512 * 1024;

/// Placeholders in the prompt of a step: each brings at least a frame with it.
pub const MAX_PLACEHOLDERS: usize = 100;

/// Characters of a workflow's name, which is shown in sentences.
pub const WORKFLOW_NAME_CHARS: usize = 100;

/// Bytes of the name of a model.
pub const MODEL_BYTES: usize = 200;

/// How often a step may be tried again: what fails six times fails for a reason.
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

/// How often a step may be interrupted before it counts as failed: perhaps it is what ends whoever leads the workflow.
pub const MAX_INTERRUPTIONS: u32 = 5;

/// Characters of what is said about a step on the bus: the end of a gate's output has to fit.
pub const WHY_CHARS: usize = 2_000;

/// Moves of steps in one append: each may say so much, and all have to fit into a line.
pub const MOVES_AT_ONCE: usize = 64;

/// The program and arguments of a gate together, in bytes: the plan is one event.
pub const GATE_BYTES: usize = 2_000;

/// How often a step and those it names may be repeated.
pub const MAX_ROUNDS: u64 = 20;

/// Other agents that may be named for a step.
pub const MAX_FALLBACKS: usize = 4;

/// Bytes of an agent's id for one of its sessions, and of its words for other things that are sent back to it: the agents that are
/// known use a UUID. It stands in the log, and what is longer is no id.
pub const AGENT_ID_BYTES: usize = 1_024;

/// Models of an agent that are known, and as many of its modes, its settings, each setting's values, its commands, and its ways to log
/// in: more than anybody chooses from, as the longest list seen has some four hundred.
pub const AGENT_CHOICES: usize = 1_000;

/// Characters of a word of an agent that stands in the log, such as why a turn ended: those of the protocol have seventeen at the most.
pub const AGENT_WORD_CHARS: usize = 200;

/// Characters of an agent's error, and as many of what it adds: enough for the end of a program's words, and together with all else
/// that is told of a task's end far below a line of the log.
pub const AGENT_ERROR_CHARS: usize = 8_000;

/// Letters of a currency: ISO 4217 has three, and some agents count in `credits`. A value that is hidden as secret is longer.
pub const CURRENCY_LETTERS: usize = 7;

/// Roles of a profile: each stands in the log with every start of an agent, and in every list of the team.
pub const PROFILE_ROLES: usize = 32;

/// Characters of a role, which is a word or two for people and models.
pub const ROLE_CHARS: usize = 100;

/// Elements of a list in a profile, such as the arguments of its program.
pub const PROFILE_LIST: usize = 1_000;

/// Bytes of one text in a profile, such as an argument of its program: Linux gives a program no longer one.
pub const PROFILE_TEXT_BYTES: usize = 128 * 1024;

/// Characters of what errors repeat of a profile: how to install it, and how to log in.
pub const PROFILE_WORDS_CHARS: usize = 1_000;
