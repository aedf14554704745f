//! Searching a bus: what is found and what is not, and that the index follows the bus whatever happens to either.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::{Found, HitKind, IndexPlace, Query, Search, search};
use crate::bus::event::{Body, Created, Event, Finished, StepEnded, TaskAssigned};
use crate::bus::storage::contract::{append, joined, name, sent, session};
use crate::bus::storage::file::upkeep::{History, HistoryReader, PruneOptions, prune};
use crate::bus::storage::file::{FileLog, Foreign, Networks, Options, Origin, Proof};
use crate::bus::storage::{Log, Replica};
use crate::domain::ids::{MessageId, TaskId, WorkflowId};
use crate::domain::messaging::Priority;
use crate::domain::task::TaskStatus;
use crate::domain::workflow::StepStatus;
use crate::sys::clock;
use crate::sys::fs::disk::RealDisk;
use crate::sys::fs::user_state_dir::StateDirectory;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// A project with a bus, and the directories of its user.
struct World {
    root: tempfile::TempDir,
    shift_ms: i64,
}

impl World {
    fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap(), shift_ms: 0 }
    }

    fn bus(&self) -> PathBuf {
        self.root.path().join("project").join(".claude").join("bridge")
    }

    fn directory(&self, name: &str) -> StateDirectory {
        let base = self.root.path().join(name);
        StateDirectory::find(|variable| {
            (variable == "XDG_STATE_HOME").then(|| base.clone().into_os_string())
        })
        .unwrap()
    }

    fn proof(&self) -> Proof {
        Proof { state: Some(self.directory("state")), foreign: Foreign::PutAside }
    }

    fn index_folder(&self) -> PathBuf {
        self.directory("cache").inner("search").path()
    }

    /// Returns the only file of the index with this ending.
    fn index_file(&self, ending: &str) -> PathBuf {
        let entries = fs::read_dir(self.index_folder()).unwrap();
        let mut found = entries.map(|entry| entry.unwrap().path());
        found.find(|path| path.extension().is_some_and(|found| found == ending)).unwrap()
    }

    fn open(&self) -> (FileLog, Replica) {
        fs::create_dir_all(self.root.path().join("project")).unwrap();
        let shift_ms = self.shift_ms;
        let options = Options {
            segment_bytes: 1_000,
            snapshot_events: 8,
            snapshot_percent: 0,
            networks: Networks::Allowed,
            origin: Origin::Proven(self.proof()),
            clock: Arc::new(move || {
                let mut now = clock::now();
                now.wall_ms += shift_ms;
                // The machine ran in the meantime, so the log believes the wall clock.
                now.tick.ms += (10 * DAY_MS + shift_ms).unsigned_abs();
                now
            }),
            ..Options::default()
        };
        let mut log = FileLog::open(&self.bus(), Arc::new(RealDisk), options).unwrap();
        let mut replica = Log::open(&mut log).unwrap();
        if replica.next_seq == 0 {
            append(&mut log, &mut replica, vec![joined(1), joined(2)]).unwrap();
        }
        (log, replica)
    }

    /// Appends messages, each of which nobody needs any more.
    fn say(&self, texts: &[(u64, &str)]) {
        for (number, text) in texts {
            // Closing the log waits for the snapshot that it may be writing.
            let (mut log, mut replica) = self.open();
            let gone = Event::MessageExpired {
                id: MessageId::from_bits(*number),
                member: name("member-2"),
            };
            append(&mut log, &mut replica, vec![sent(*number, text), gone]).unwrap();
            log.durability().sync().unwrap();
        }
    }

    fn history(&self) -> Box<HistoryReader> {
        match HistoryReader::open(&self.bus(), &self.proof()).unwrap() {
            History::Readable(history) => history,
            History::Absent => panic!("no bus"),
            History::Foreign => panic!("a foreign bus"),
        }
    }

    fn search_as(&self, asked: &Search) -> Found {
        let place = IndexPlace::Kept(self.directory("cache").inner("search"));
        search(&mut self.history(), &place, asked, &mut || {}, &mut |_| {}).unwrap()
    }

    fn search(&self, words: &[&str]) -> Found {
        let query = Query::parse(words.iter().copied()).unwrap();
        self.search_as(&Search { query, since_ms: None, limit: 20 })
    }

    /// Returns the texts that are found.
    fn texts(&self, words: &[&str]) -> Vec<String> {
        self.search(words).hits.into_iter().map(|hit| hit.text).collect()
    }
}

#[test]
fn words_are_found_newest_first_with_what_to_open_next() {
    let world = World::new();
    world.say(&[(1, "Fix the path"), (2, "the parser"), (3, "PATH and parser")]);
    assert_eq!(world.texts(&["path"]), ["PATH and parser", "Fix the path"]);
    assert_eq!(world.texts(&["parser", "path"]), ["PATH and parser"]);
    assert_eq!(world.texts(&["the path"]), ["Fix the path"]);
    assert_eq!(world.texts(&["pars*"]), ["PATH and parser", "the parser"]);
    assert_eq!(world.texts(&["absent"]), [""; 0]);
    let hit = &world.search(&["fix"]).hits[0];
    let id = MessageId::from_bits(1).to_string();
    assert_eq!((hit.kind, &hit.id), (HitKind::Message, &id));
    assert_eq!(hit.open, format!("cli-team-bridge messages --thread {id}"));
    assert_eq!((hit.from.as_deref(), hit.to.as_deref()), (Some("member-1"), Some("member-2")));

    let query = || Query::parse(["path"]).unwrap();
    let asked = |query, since_ms, limit| world.search_as(&Search { query, since_ms, limit });
    let one = asked(query(), None, 1);
    assert_eq!((one.hits.len(), one.has_more), (1, true));
    assert!(!asked(query(), None, 2).has_more);
    assert_eq!(asked(query().of_member(Some("MEMBER-2")), None, 9).hits.len(), 2);
    assert_eq!(asked(query().of_member(Some("member")), None, 9).hits.len(), 0);
    assert_eq!(asked(query(), Some(clock::now().wall_ms + DAY_MS), 9).hits.len(), 0);
    assert_eq!(asked(query(), Some(clock::now().wall_ms - DAY_MS), 9).hits.len(), 2);
}

#[test]
fn each_search_finds_what_has_come_since_the_last_one() {
    let world = World::new();
    for round in 1..6 {
        world.say(&[(round, &format!("common word{round}"))]);
        assert_eq!(world.search(&["common"]).hits.len() as u64, round);
        assert_eq!(world.texts(&[&format!("word{round}")]).len(), 1);
    }
    // Nothing is indexed twice.
    assert_eq!(world.search(&["common"]).hits.len(), 5);
}

#[test]
fn what_retention_has_removed_is_not_found_any_more() {
    let mut world = World::new();
    world.shift_ms = -10 * DAY_MS;
    let texts: Vec<_> = (1..40).map(|number| (number, format!("old number{number}"))).collect();
    let texts: Vec<_> = texts.iter().map(|(number, text)| (*number, text.as_str())).collect();
    world.say(&texts);
    world.shift_ms = 0;
    world.say(&[(50, "young"), (51, "young"), (52, "young"), (53, "young"), (54, "young")]);
    assert_eq!(world.texts(&["number1"]).len(), 1);
    let options = PruneOptions { older_than: Some(Duration::from_hours(24)), removes: true };
    prune(&world.bus(), &world.proof(), &options).unwrap();
    assert_eq!(world.texts(&["number1"]), [""; 0]);
    assert_eq!(world.texts(&["young"]).len(), 5);
    // The index has forgotten the words themselves, not only their places.
    world.say(&[(60, "more")]);
    assert_eq!(world.texts(&["number2"]), [""; 0]);
    assert_eq!(world.texts(&["more"]), ["more"]);
}

#[test]
fn the_index_may_be_deleted_or_damaged_at_any_time() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    world.say(&[(1, "needle")]);
    assert_eq!(world.texts(&["needle"]), ["needle"]);
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(world.index_folder()), 0o700);
    assert_eq!(mode(world.index_file("sqlite")), 0o600);
    fs::remove_dir_all(world.index_folder()).unwrap();
    assert_eq!(world.texts(&["needle"]), ["needle"]);
    let whole = fs::read(world.index_file("sqlite")).unwrap();
    for cut in [0, 1, 100, 5_000, whole.len() / 2, whole.len() - 1] {
        fs::write(world.index_file("sqlite"), &whole[..cut]).unwrap();
        assert_eq!(world.texts(&["needle"]), ["needle"], "cut at {cut}");
    }
    for at in (0..whole.len()).step_by(1_500) {
        let mut damaged = whole.clone();
        let end = (at + 900).min(whole.len());
        damaged[at..end].fill(0x5a);
        fs::write(world.index_file("sqlite"), &damaged).unwrap();
        // Words may be lost with a page whose damage SQLite cannot see, but nothing wrong is shown and nothing fails.
        for text in world.texts(&["needle"]) {
            assert_eq!(text, "needle", "damaged at {at}");
        }
    }
}

#[test]
fn another_bus_at_the_same_place_has_an_index_of_its_own() {
    let world = World::new();
    world.say(&[(1, "first")]);
    assert_eq!(world.texts(&["first"]).len(), 1);
    fs::remove_dir_all(world.bus()).unwrap();
    world.say(&[(1, "second")]);
    assert_eq!(world.texts(&["first"]), [""; 0]);
    assert_eq!(world.texts(&["second"]), ["second"]);
}

#[test]
fn a_log_that_was_put_back_is_indexed_anew() {
    let world = World::new();
    world.say(&[(1, "kept")]);
    let log = world.bus().join("log").join(format!("{:020}.jsonl", 1));
    let before = fs::read(&log).unwrap();
    world.say(&[(2, "lost")]);
    assert_eq!(world.texts(&["lost"]), ["lost"]);
    // Somebody restores an older copy, and the team goes on.
    fs::remove_dir_all(world.bus().join("snapshot")).unwrap();
    for part in fs::read_dir(world.bus().join("log")).unwrap() {
        fs::remove_file(part.unwrap().path()).unwrap();
    }
    fs::create_dir(world.bus().join("snapshot")).unwrap();
    fs::write(&log, before).unwrap();
    for path in [&log, &world.bus().join("snapshot")] {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = if path.is_dir() { 0o700 } else { 0o600 };
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    world.say(&[(3, "another")]);
    assert_eq!(world.texts(&["another"]), ["another"]);
    assert_eq!(world.texts(&["kept"]), ["kept"]);
    assert_eq!(world.texts(&["lost"]), [""; 0]);
}

#[test]
fn two_searches_at_once_find_the_same() {
    let world = World::new();
    let texts: Vec<_> = (1..60).map(|number| (number, "busy bee")).collect();
    world.say(&texts);
    std::thread::scope(|scope| {
        let searches: Vec<_> =
            (0..4).map(|_| scope.spawn(|| world.search(&["busy"]).hits.len())).collect();
        for one in searches {
            assert_eq!(one.join().unwrap(), 20);
        }
    });
    assert!(world.search(&["busy"]).has_more);
}

#[test]
fn prompts_results_and_transcripts_are_found_and_a_result_replaces_what_it_repeats() {
    let world = World::new();
    let task = TaskId::from_bits(7);
    let (mut log, mut replica) = world.open();
    let assigned = Event::TaskAssigned(TaskAssigned {
        id: task.clone(),
        session: session(2),
        agent: name("member-2"),
        by: name("member-1"),
        prompt: Body::Text("please count beans".to_owned()),
        model: None,
        fresh: false,
        permissions: None,
        workflow: None,
        priority: Priority::Normal,
    });
    append(&mut log, &mut replica, vec![assigned]).unwrap();
    let line = |kind: &str, text: &str| {
        let at = crate::domain::time::iso8601(clock::now().wall_ms);
        format!("{}\n", serde_json::json!({ "at": at, "kind": kind, "text": text }))
    };
    for text in [line("thought", "hm, bea"), line("thought", "ns?"), line("text", "7 beans")] {
        log.transcript(&task, &text).unwrap();
    }
    let kinds = |found: Found| found.hits.iter().map(|hit| hit.kind).collect::<Vec<_>>();
    let running = world.search(&["beans"]);
    let open = format!("cli-team-bridge task {task}");
    assert!(running.hits.iter().all(|hit| hit.open == open), "{running:?}");
    let member = running.hits.iter().map(|hit| hit.from.as_deref()).collect::<Vec<_>>();
    assert!(member.contains(&Some("member-2")), "{member:?}");
    assert_eq!(running.hits.len(), 2, "the transcript counts once: {running:?}");
    assert!(kinds(running).contains(&HitKind::Transcript));
    assert_eq!(world.search(&["7"]).hits[0].kind, HitKind::Transcript);

    let finished = Event::TaskFinished(Finished {
        id: task.clone(),
        status: TaskStatus::Done,
        output: Body::Text("7 beans".to_owned()),
        stop_reason: None,
        error: None,
        report: crate::bus::event::TaskReport::default(),
    });
    append(&mut log, &mut replica, vec![finished]).unwrap();
    let seven = world.search(&["7"]);
    assert_eq!(kinds(seven.clone()), [HitKind::Result]);
    assert_eq!(seven.hits[0].from.as_deref(), Some("member-2"));
    assert_eq!(world.search(&["hm"]).hits[0].kind, HitKind::Transcript);

    // A transcript that is gone is not shown.
    fs::remove_file(world.bus().join("tasks").join(format!("{task}.jsonl"))).unwrap();
    assert_eq!(world.texts(&["hm"]), [""; 0]);
}

#[test]
fn a_long_transcript_and_a_long_workflow_are_shown_around_the_words_that_were_found() {
    let world = World::new();
    let task = TaskId::from_bits(7);
    let (mut log, mut replica) = world.open();
    let far = "filler ".repeat(200);
    let created = Event::WorkflowCreated(Created {
        id: WorkflowId::from_bits(9),
        name: "Book".to_owned(),
        by: name("member-1"),
        owner: session(1),
        steps: Vec::new(),
        prompts: Body::Text(serde_json::json!(["short", format!("{far} zebra {far}")]).to_string()),
        plan_file: None,
        is_trial: false,
    });
    append(&mut log, &mut replica, vec![created]).unwrap();
    let line = |fields: serde_json::Value| format!("{fields}\n");
    let thought = |text: &str| line(serde_json::json!({ "kind": "thought", "text": text }));
    log.transcript(&task, &thought(&far)).unwrap();
    log.transcript(&task, &thought(&format!("a giraffe {far}"))).unwrap();
    let content = serde_json::json!([{ "text": format!("{far} okapi {far}") }]);
    let call =
        serde_json::json!({ "kind": "tool_call", "id": "1", "title": "Read", "content": content });
    log.transcript(&task, &line(call)).unwrap();
    for (word, kind) in [
        ("zebra", HitKind::Workflow),
        ("giraffe", HitKind::Transcript),
        ("okapi", HitKind::Transcript),
    ] {
        let hits = world.search(&[word]).hits;
        let [hit] = &hits[..] else { panic!("{word}: {hits:?}") };
        assert!(hit.kind == kind && hit.text.contains(word), "{word}: {hit:?}");
        assert!(hit.text.starts_with('…') && hit.text.ends_with('…'), "{word}: {hit:?}");
    }
}

#[test]
fn the_reason_for_which_the_user_refused_a_step_is_found() {
    let world = World::new();
    let (mut log, mut replica) = world.open();
    let ended = |number, status, why: &str| {
        Event::StepEnded(StepEnded {
            workflow: WorkflowId::from_bits(number),
            step: name("deploy"),
            status,
            why: Some(why.to_owned()),
        })
    };
    let refused = ended(9, StepStatus::Cancelled, "refused by the user: not on a Friday");
    let failed = ended(8, StepStatus::Failed, "its gate says Friday");
    append(&mut log, &mut replica, vec![refused, failed]).unwrap();
    let hits = world.search(&["friday"]).hits;
    let [hit] = &hits[..] else { panic!("{hits:?}") };
    assert_eq!((hit.kind, &*hit.text), (HitKind::Refusal, "deploy: not on a Friday"));
    assert_eq!(hit.from.as_deref(), Some("human"));
    assert_eq!(hit.open, format!("cli-team-bridge log --thread {}", WorkflowId::from_bits(9)));
}

#[test]
fn the_document_has_every_field_of_what_is_found() {
    use std::collections::BTreeSet;
    let text = include_str!("../../docs/view.md");
    let fields = |schema: schemars::Schema| -> BTreeSet<String> {
        let schema = schema.to_value();
        schema["properties"].as_object().unwrap().keys().cloned().collect()
    };
    let documented = |heading: &str| -> BTreeSet<String> {
        let (_, below) = text.split_once(&format!("\n## {heading}\n")).unwrap();
        let table = below.split("\n## ").next().unwrap();
        let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
        rows.map(|row| row.split('`').next().unwrap().to_owned()).collect()
    };
    assert_eq!(documented("Search"), fields(schemars::schema_for!(Found)));
    assert_eq!(documented("Hit"), fields(schemars::schema_for!(super::SearchHit)));
}
