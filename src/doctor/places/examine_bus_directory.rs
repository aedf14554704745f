//! Examines the bus of a project: its place, its rights, its health, and the processes of its agents. Changes nothing but the rights, and
//! these only if that is asked for.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::judge_bus_place::{self, Closed, ClosedPart, Hidden, NoBus};
use super::{examine_rights, judge_bus, judge_server, judge_sessions, judge_webhooks};
use crate::bus::state::State;
use crate::bus::storage::LogError;
use crate::bus::storage::file::{Examined, Proof, SeenPresence, examine as examine_bus};
use crate::bus::storage::postgres;
use crate::config::Webhook;
use crate::doctor::finding::{Finding, Fixing, Subject};
use crate::domain::env_vars;
use crate::domain::ids::SessionId;
use crate::domain::member::MemberKind;
use crate::domain::text::counted::counted_as;
use crate::domain::text::shown_path::ShownPath as _;
use crate::domain::wait_times;
use crate::sys::clock;
use crate::sys::fs::{disk, network_fs, rights_of_others};
use crate::sys::process::{self, descendants};
use crate::team::run_mark;

const SUBJECT: Subject = Subject::Bus;

/// Whether a bus may be on a network file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NetworkPlace {
    Refused,
    Allowed,
}

/// Examines the bus in a directory. Blocks while it reads its log.
pub(crate) fn examine(
    directory: &Path,
    proof: &Proof,
    place: NetworkPlace,
    fixing: Fixing,
    (webhooks, is_set): (&[Webhook], impl Fn(&str) -> bool),
) -> Vec<Finding> {
    let mut findings = vec![file_system(directory, place)];
    let mut examined = examine_bus(directory, proof);
    let before = not_writable(directory);
    if fixing == Fixing::Done && is_locked_out(&examined) {
        open_up(directory);
        examined = examine_bus(directory, proof);
    }
    // A bus that was made elsewhere is not ours to change: the next session puts it aside.
    if !matches!(examined, Ok(Examined::Absent | Examined::Foreign)) {
        let rights = examine_rights::of_bus(directory, fixing);
        if rights.iter().any(|finding| finding.is_fixed) && examined.is_err() {
            examined = examine_bus(directory, proof);
        }
        findings.extend(rights);
    }
    let examined = match examined {
        Ok(examined) => examined,
        Err(error) => {
            let finding = judge_bus::judge_unusable(&error);
            findings.push(match closed_part(&error, directory) {
                Some(closed) => judge_bus_place::with_closed_part(finding, &closed),
                None => finding,
            });
            return findings;
        }
    };
    let bus = match examined {
        Examined::Absent => {
            findings.push(judge_bus_place::judge_absent(why_no_bus(directory).as_ref()));
            return findings;
        }
        Examined::Foreign => {
            findings.push(judge_bus::judge_foreign(directory));
            return findings;
        }
        Examined::Bus(bus) => bus,
    };
    findings.push(Finding::ok(&SUBJECT, "place", directory.shown().to_string()));
    if fixing == Fixing::Done {
        open_up(directory);
    }
    findings.extend(judge_bus_place::judge_read_only(directory, &not_writable(directory), &before));
    let room = network_fs::room_left(directory).ok();
    findings.extend(room.and_then(|room| judge_bus_place::judge_room(directory, room)));
    findings.extend(judge_bus::judge(&bus));
    if let Some(order) = &bus.order {
        let report = postgres::inspect(order, Instant::now() + wait_times::SERVER);
        let until = Instant::now() + wait_times::SERVER;
        let is_pooled = report.is_ok().then(|| postgres::shares_connections(&order.server, until));
        let is_pooled = is_pooled.and_then(Result::ok);
        findings.push(judge_server::judge(order, report, is_pooled, bus.last_seq));
    }
    if let Ok(state) = &bus.state {
        let now_ns = i128::from(clock::now().wall_ms) * 1_000_000;
        let suspended = suspended(state, &bus.presences);
        findings.extend(judge_sessions::judge(state, &bus.presences, &suspended, now_ns));
        findings.push(judge_sessions::judge_leftovers(&leftovers(directory, state)));
        findings.extend(judge_webhooks::judge(state, webhooks, is_set));
    }
    findings.extend(judge_sessions::judge_presences(directory, &bus));
    findings.extend(put_aside(directory));
    findings
}

/// Returns what keeps a session from creating the bus, which has no file yet; none if nothing does.
fn why_no_bus(directory: &Path) -> Option<NoBus> {
    let project = directory.parent()?.parent()?;
    let present = directory.ancestors().take_while(|path| path.starts_with(project));
    let place = present.into_iter().find(|path| path.is_dir())?;
    let why = rights_of_others::why_not_create_in(place)?;
    Some(NoBus { place: place.to_owned(), why, is_ours: disk::belongs_to_us(place) })
}

/// Says whether the bus could not be looked at because the user has no right to it.
fn is_locked_out(examined: &Result<Examined, LogError>) -> bool {
    let Err(LogError::Io { source, .. }) = examined else {
        return false;
    };
    source.kind() == io::ErrorKind::PermissionDenied
}

/// Gives the user all rights to those directories of the bus that are theirs. What cannot be changed is found afterwards.
fn open_up(directory: &Path) {
    // The outer one first: without a right to it, nothing is known of the inner ones.
    for part in directories(directory).filter(|part| is_own_closed(part)) {
        if let Err(error) = rights_of_others::give_owner_all(&part) {
            tracing::debug!(%error, "failed to give the rights of an owner back");
        }
    }
}

/// Returns the directory of a bus, and then those in it.
fn directories(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let inner = ["log", "snapshot", "presence", "bell", "tasks", "blobs"];
    std::iter::once(directory.to_owned()).chain(inner.map(|part| directory.join(part)))
}

/// Says whether a directory belongs to this user, who may not read it or not write to it.
fn is_own_closed(part: &Path) -> bool {
    let is_closed =
        || rights_of_others::why_not_create_in(part).is_some() || !rights_of_others::may_read(part);
    part.is_dir() && is_closed() && disk::belongs_to_us(part)
}

/// Returns the parts of a bus that sessions write to and this user may not.
fn not_writable(directory: &Path) -> Closed {
    let itself = rights_of_others::why_not_create_in(directory).is_some();
    let itself = itself.then(|| "the directory itself".to_owned());
    let parts = ["bus.json", "lock", "log", "snapshot", "presence", "bell", "tasks", "blobs"];
    // Sessions make what is missing. What cannot even be seen is behind the directory itself.
    let is_closed = |part: &&str| {
        let path = directory.join(part);
        path.symlink_metadata().is_ok() && !rights_of_others::may_write(&path)
    };
    let closed = parts.into_iter().filter(is_closed).map(|part| format!("`{part}`"));
    let is_hidden = |part: &PathBuf| part.is_dir() && !rights_of_others::may_read(part);
    let mut hidden = directories(directory).filter(is_hidden);
    // Without these, the log is known all the same.
    let is_beside = |part: &PathBuf| part.ends_with("tasks") || part.ends_with("blobs");
    let hidden = hidden.next().map(|first| {
        let is_all_beside = is_beside(&first) && hidden.all(|part| is_beside(&part));
        if is_all_beside { Hidden::Texts } else { Hidden::Team }
    });
    let segment = newest_segment(directory)
        .filter(|name| !rights_of_others::may_write(&directory.join(name)))
        .map(|name| format!("`{name}`"));
    Closed {
        parts: itself.into_iter().chain(closed).chain(segment).collect(),
        has_own_directory: directories(directory).any(|part| is_own_closed(&part)),
        hidden,
    }
}

/// Returns the path in the bus of the file of its log to which sessions append.
fn newest_segment(directory: &Path) -> Option<String> {
    let entries = std::fs::read_dir(directory.join("log")).ok()?.flatten();
    let paths = entries.map(|entry| entry.path());
    let segments = paths.filter(|path| path.extension().is_some_and(|kind| kind == "jsonl"));
    let newest = segments.max()?;
    Some(format!("log/{}", newest.file_name()?.to_str()?))
}

/// Returns what keeps this user from reading the bus, if that is the reason of an error.
fn closed_part(error: &LogError, directory: &Path) -> Option<ClosedPart> {
    let LogError::Io { path, source, .. } = error else {
        return None;
    };
    if source.kind() != io::ErrorKind::PermissionDenied {
        return None;
    }
    let path = rights_of_others::closed_part(path)?;
    let is_ours = disk::belongs_to_us(&path);
    let is_directory = path.is_dir();
    let is_fixable = is_ours && is_directory && path.starts_with(directory);
    Some(ClosedPart { path, is_directory, is_ours, is_fixable })
}

fn file_system(directory: &Path, place: NetworkPlace) -> Finding {
    let present = directory.ancestors().find(|path| path.is_dir()).unwrap_or(directory);
    match network_fs::of(present) {
        Ok(None) => Finding::ok(&SUBJECT, "file system", "local"),
        Ok(Some(kind)) if place == NetworkPlace::Allowed => {
            let says = format!("a network file system ({kind}), which your configuration allows");
            Finding::note(&SUBJECT, "file system", says)
                .with_remedy("use the bus from one machine at a time")
        }
        Ok(Some(kind)) => Finding::problem(
            &SUBJECT,
            "file system",
            format!("a network file system ({kind}), where locks may not hold"),
            "use a project on a local disk, or set `allow_network_file_system = true` under [limits] of your own \
             `~/.config/cli-team-bridge/config.toml`",
        ),
        Err(error) => {
            Finding::unknown(&SUBJECT, "file system", format!("cannot determine its kind: {error}"))
        }
    }
}

/// Returns the live sessions whose process a signal has stopped, each with that process.
fn suspended(state: &State, presences: &[SeenPresence]) -> Vec<(SessionId, u32)> {
    let is_elsewhere =
        |id| presences.iter().any(|presence| presence.session == id && presence.is_elsewhere);
    // A pid of another host names another process here.
    let sessions = state.live_sessions().into_iter().filter(|live| !is_elsewhere(live.id));
    let suspended = sessions.filter_map(|live| {
        let own = live.run.as_ref().map(|run| (run.agent.pid, run.agent.started));
        // An agent's `pid` is the same process. For others it is the server's, whose start time is unknown.
        let (pid, started) =
            own.or_else(|| (live.kind != MemberKind::Agent).then_some((live.pid?, None)))?;
        process::is_suspended(pid, started).then_some((live.id, pid))
    });
    suspended.collect()
}

/// Returns the processes left behind by agents of this bus.
fn leftovers(directory: &Path, state: &State) -> Vec<u32> {
    let live: BTreeSet<_> = state.live_sessions().iter().map(|live| live.id).collect();
    let marks: BTreeSet<_> = live.iter().map(|session| run_mark(directory, *session)).collect();
    // All marks of one bus have the same ending: its place.
    let any = run_mark(directory, SessionId(uuid::Uuid::nil()));
    let Some((_, place)) = any.split_once('@') else {
        return Vec::new();
    };
    let ending = format!("@{place}");
    let left = |mark: &str| mark.ends_with(&ending) && !marks.contains(mark);
    let found = descendants::marked(env_vars::RUN, left);
    found.into_iter().map(|(process, _)| process.pid).collect()
}

/// Makes a note of the foreign buses that were put aside here.
fn put_aside(directory: &Path) -> Option<Finding> {
    let around = directory.parent()?;
    let entries = std::fs::read_dir(around).ok()?.flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut aside: Vec<_> = names.filter(|name| name.starts_with("bridge.foreign-")).collect();
    aside.sort();
    let newest = aside.last()?;
    let finding = Finding::note(
        &SUBJECT,
        "put aside",
        format!(
            "{} beside it, the newest {newest:?}",
            counted_as(aside.len(), "foreign bus is", "foreign buses are")
        ),
    );
    Some(finding.with_remedy(format!("remove what you do not need from {}", around.shown())))
}
