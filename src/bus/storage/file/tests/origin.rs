//! A bus belongs to the directory where it was created, and is trusted only there.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use crate::bus::storage::contract::{append, joined};
use crate::bus::storage::file::presence_files;
use crate::bus::storage::file::{
    FileLog, Follower, Foreign, Options, Origin, Proof, examine, read_state,
};
use crate::bus::storage::{Log, LogError, Replica};
use crate::domain::ids::SessionId;
use crate::domain::time::{Now, Tick};
use crate::sys::fs::disk::{Disk, RealDisk};
use crate::sys::fs::user_state_dir::StateDirectory;

const BOOT: u32 = 7;

/// A user with a state directory and a project.
struct User {
    base: PathBuf,
    _guard: tempfile::TempDir,
}

impl User {
    fn new() -> Self {
        let guard = tempfile::tempdir().unwrap();
        let base = guard.path().canonicalize().unwrap();
        fs::create_dir(base.join("project")).unwrap();
        Self { base, _guard: guard }
    }

    fn state(&self) -> Option<StateDirectory> {
        self.state_in("state")
    }

    /// Returns the state directory of another home.
    fn state_in(&self, name: &str) -> Option<StateDirectory> {
        let state = self.base.join(name);
        StateDirectory::find(|name| {
            (name == "XDG_STATE_HOME").then(|| state.clone().into_os_string())
        })
    }

    fn bus(&self, project: &str) -> PathBuf {
        self.base.join(project).join(".claude/bridge")
    }

    fn open_with(
        &self,
        project: &str,
        state: Option<StateDirectory>,
        foreign: Foreign,
        boot: u32,
    ) -> Result<FileLog, LogError> {
        let clock = move || Now { wall_ms: 1_770_000_000_000, tick: Tick { boot, ms: 1 } };
        let options = Options {
            clock: Arc::new(clock),
            origin: Origin::Proven(Proof { state, foreign }),
            ..Options::default()
        };
        FileLog::open(&self.bus(project), Arc::new(RealDisk), options)
    }

    fn open(&self, project: &str) -> FileLog {
        self.open_with(project, self.state(), Foreign::PutAside, BOOT).unwrap()
    }

    fn adopt(&self, project: &str) -> FileLog {
        self.open_with(project, self.state(), Foreign::TakenOver, BOOT).unwrap()
    }

    /// Opens the bus of a project and appends an event.
    fn append_in(&self, project: &str) {
        let mut log = self.open(project);
        let mut replica = Log::open(&mut log).unwrap();
        append_one(&mut log, &mut replica);
    }

    /// Returns the number of events on a bus.
    fn events(log: &mut FileLog) -> u64 {
        Log::open(log).unwrap().next_seq.saturating_sub(1)
    }

    /// Returns the names in `.claude` of the buses that were put aside.
    fn aside(&self, project: &str) -> Vec<String> {
        let names = fs::read_dir(self.base.join(project).join(".claude")).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| name != "bridge").collect();
        names.sort();
        names
    }

    /// Copies a project, as `cp -r` does.
    fn copy(&self, from: &str, to: &str) {
        let mut command = std::process::Command::new("cp");
        command.arg("-r").arg(self.base.join(from)).arg(self.base.join(to));
        assert!(command.status().unwrap().success());
    }

    /// Changes the only counterpart.
    fn change_counterpart(&self, change: impl FnOnce(&mut Value)) {
        let folder = self.base.join("state/cli-team-bridge/buses");
        let [path] = &files(&folder)[..] else {
            panic!("there is one counterpart");
        };
        let mut counterpart: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        change(&mut counterpart);
        fs::write(path, counterpart.to_string()).unwrap();
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn append_one(log: &mut FileLog, replica: &mut Replica) {
    append(log, replica, vec![joined(1)]).unwrap();
}

fn refusal_of(opened: Result<FileLog, LogError>) -> String {
    match opened {
        Err(LogError::Refused { reason, .. }) => reason,
        Err(other) => panic!("expected a refusal: {other}"),
        Ok(_) => panic!("expected a refusal"),
    }
}

#[test]
fn a_bus_is_trusted_where_it_was_created_even_if_its_project_is_moved() {
    let user = User::new();
    user.append_in("project");
    assert_eq!(User::events(&mut user.open("project")), 1);
    fs::rename(user.base.join("project"), user.base.join("moved")).unwrap();
    assert_eq!(User::events(&mut user.open("moved")), 1);
    assert_eq!(user.aside("moved"), [""; 0]);
    let state = user.base.join("state/cli-team-bridge");
    for (path, mode) in [
        (state.clone(), 0o700),
        (state.join("buses"), 0o700),
        (files(&state.join("buses"))[0].clone(), 0o600),
    ] {
        let found = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(found, mode, "{}", path.display());
    }
}

#[test]
fn a_copy_is_put_aside_and_the_original_stays_in_use() {
    let user = User::new();
    user.append_in("project");
    user.copy("project", "copy");
    assert_eq!(User::events(&mut user.open("copy")), 0);
    assert_eq!(user.aside("copy"), ["bridge.foreign-2026-02-02"]);
    assert_eq!(User::events(&mut user.open("copy")), 0);
    assert_eq!(User::events(&mut user.open("project")), 1);
    // A second foreign bus on the same day.
    fs::remove_dir_all(user.bus("copy")).unwrap();
    let copied = user.base.join("copied");
    user.copy("project", "copied");
    fs::rename(copied.join(".claude/bridge"), user.bus("copy")).unwrap();
    user.open("copy");
    assert_eq!(user.aside("copy"), ["bridge.foreign-2026-02-02", "bridge.foreign-2026-02-02-2"]);
}

#[test]
fn an_adopted_copy_is_trusted_from_then_on_and_so_is_the_original() {
    let user = User::new();
    user.append_in("project");
    user.copy("project", "copy");
    assert_eq!(User::events(&mut user.adopt("copy")), 1);
    assert_eq!(User::events(&mut user.open("copy")), 1);
    assert_eq!(User::events(&mut user.open("project")), 1);
    // Its former identity no longer counts.
    fs::copy(user.bus("project").join("bus.json"), user.bus("copy").join("bus.json")).unwrap();
    assert_eq!(User::events(&mut user.open("copy")), 0);
}

#[test]
fn a_second_home_adopts_a_bus_in_place_and_the_first_one_keeps_its_proof() {
    let user = User::new();
    user.append_in("project");
    let second = |foreign| {
        let state = user.state_in("second");
        user.open_with("project", state, foreign, BOOT + 1).unwrap()
    };
    assert_eq!(User::events(&mut second(Foreign::TakenOver)), 1);
    assert_eq!(User::events(&mut second(Foreign::PutAside)), 1);
    assert_eq!(User::events(&mut user.open("project")), 1);
    // Nor does a temporary home, as in containers, invalidate the proof.
    for state in [None, user.state_in("third")] {
        user.open_with("project", state, Foreign::TakenOver, BOOT).unwrap();
    }
    assert_eq!(User::events(&mut user.open("project")), 1);
    // For a copy, the second home writes a new secret, as the first one does.
    user.copy("project", "copy");
    let state = user.state_in("second");
    user.open_with("copy", state, Foreign::TakenOver, BOOT).unwrap();
    let identity = |project| fs::read_to_string(user.bus(project).join("bus.json")).unwrap();
    let secret = |project| {
        let text: Value = serde_json::from_str(&identity(project)).unwrap();
        text["secret"].as_str().unwrap().to_owned()
    };
    assert_ne!(secret("copy"), secret("project"));
    assert_eq!(User::events(&mut user.open("project")), 1);
    assert_eq!(user.aside("project"), [""; 0]);
}

#[test]
fn another_bus_in_the_same_directory_is_foreign() {
    let user = User::new();
    user.append_in("project");
    let identity = user.bus("project").join("bus.json");
    let mut text: Value = serde_json::from_slice(&fs::read(&identity).unwrap()).unwrap();
    text["secret"] = "guessed".into();
    fs::write(&identity, text.to_string()).unwrap();
    assert_eq!(User::events(&mut user.open("project")), 0);
    assert_eq!(user.aside("project").len(), 1);
}

#[test]
fn the_bus_of_an_older_version_is_put_aside_and_can_be_adopted() {
    let user = User::new();
    let older = |project: &str| {
        fs::create_dir_all(user.base.join(project)).unwrap();
        let log = FileLog::open(&user.bus(project), Arc::new(RealDisk), Options::default());
        let mut log = log.unwrap();
        let mut replica = Log::open(&mut log).unwrap();
        append_one(&mut log, &mut replica);
    };
    older("project");
    assert_eq!(User::events(&mut user.open("project")), 0);
    assert_eq!(user.aside("project").len(), 1);
    older("other");
    assert_eq!(User::events(&mut user.adopt("other")), 1);
    assert_eq!(User::events(&mut user.open("other")), 1);
    assert_eq!(user.aside("other"), [""; 0]);
}

#[test]
fn an_adopted_bus_that_has_lost_its_identity_keeps_its_snapshots() {
    for (number, lost) in ["", "{", "\0\0\0\0", r#"{"format":-1}"#].into_iter().enumerate() {
        let user = User::new();
        let mut log = user.open("project");
        let mut replica = Log::open(&mut log).unwrap();
        append_one(&mut log, &mut replica);
        let syncer = Arc::clone(&log.syncer);
        log.snapshots.write(&replica, &syncer, |_| ());
        log.snapshots.finish();
        drop(log);
        let identity = user.bus("project").join("bus.json");
        let known = fs::read_to_string(&identity).unwrap();
        // The last one can still be trusted, but not be used.
        let half = known.replacen("\"format\":1", "\"format\":-1", 1);
        for lost in [lost, &half] {
            fs::write(&identity, lost).unwrap();
            let adopted = user.adopt("project");
            assert!(adopted.snapshots.newest().replica.is_some(), "{number}: {lost}");
            drop(adopted);
            assert_eq!(User::events(&mut user.open("project")), 1, "{number}: {lost}");
        }
    }
}

#[test]
fn a_log_without_an_identity_is_foreign_and_an_empty_directory_is_an_unfinished_bus() {
    let user = User::new();
    user.append_in("project");
    let identity = user.bus("project").join("bus.json");
    fs::remove_file(&identity).unwrap();
    assert_eq!(User::events(&mut user.open("project")), 0);
    assert_eq!(user.aside("project").len(), 1);
    // The state after a crash, before and after the counterpart is written.
    fs::remove_file(&identity).unwrap();
    drop(user.open("project"));
    fs::remove_file(&identity).unwrap();
    fs::write(user.bus("project").join(".bus.json.tmp"), "{").unwrap();
    drop(user.open("project"));
    assert!(identity.exists());
    assert_eq!(user.aside("project").len(), 1);
}

#[test]
fn a_bus_with_an_invalid_identity_is_foreign() {
    let texts =
        ["", "{}", "damaged", r#"{"format":99}"#, r#"{"format":1,"id":"../../x","secret":"y"}"#];
    for text in texts {
        let user = User::new();
        user.append_in("project");
        fs::write(user.bus("project").join("bus.json"), text).unwrap();
        assert_eq!(User::events(&mut user.open("project")), 0, "{text}");
        assert_eq!(user.aside("project").len(), 1, "{text}");
    }
    let user = User::new();
    user.append_in("project");
    let identity = user.bus("project").join("bus.json");
    fs::write(&identity, r#"{"format":99}"#).unwrap();
    let adopted = user.open_with("project", user.state(), Foreign::TakenOver, BOOT);
    assert!(matches!(adopted.map(drop), Err(LogError::Newer)));
}

#[test]
fn a_bus_whose_identity_others_may_change_is_refused_until_the_mode_is_mended() {
    let user = User::new();
    user.append_in("project");
    let identity = user.bus("project").join("bus.json");
    let mode = |mode| fs::set_permissions(&identity, fs::Permissions::from_mode(mode)).unwrap();
    for open in [0o620, 0o602] {
        mode(open);
        let refused = refusal_of(user.open_with("project", user.state(), Foreign::PutAside, BOOT));
        assert!(
            refused.starts_with("others may write to it") && refused.contains("chmod go-w"),
            "{refused}"
        );
        assert_eq!(user.aside("project"), [""; 0], "its log stays where it is");
    }
    mode(0o600);
    assert_eq!(User::events(&mut user.open("project")), 1);
    mode(0o620);
    assert_eq!(User::events(&mut user.adopt("project")), 1, "who adopts it needs no `chmod`");
    assert_eq!(User::events(&mut user.open("project")), 1);
}

#[test]
fn a_foreign_bus_in_use_stays_where_it_is() {
    let user = User::new();
    user.append_in("project");
    user.copy("project", "copy");
    let id = SessionId(uuid::Uuid::from_u128(1));
    let path = user.bus("copy").join("presence").join(id.to_string());
    let held = presence_files::Held::take(path, user.bus("copy").join("bell/x")).unwrap();
    let opened = user.open_with("copy", user.state(), Foreign::PutAside, BOOT);
    let refused = refusal_of(opened);
    assert!(refused.contains("live sessions use it") && refused.contains("--adopt"), "{refused}");
    assert_eq!(User::events(&mut user.adopt("copy")), 1);
    assert_eq!(user.aside("copy"), [""; 0]);
    drop(held);
}

#[test]
fn of_many_processes_at_once_one_creates_the_bus_and_one_puts_the_foreign_one_aside() {
    let user = User::new();
    user.append_in("project");
    user.copy("project", "copy");
    for project in ["new", "copy"] {
        fs::create_dir_all(user.base.join(project)).unwrap();
        let ids: BTreeSet<String> = std::thread::scope(|scope| {
            let openers: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        let mut log = user.open(project);
                        assert_eq!(User::events(&mut log), 0);
                        assert!(log.lock.is_in_place());
                        fs::read_to_string(user.bus(project).join("bus.json")).unwrap()
                    })
                })
                .collect();
            openers.into_iter().map(|opener| opener.join().unwrap()).collect()
        });
        assert_eq!(ids.len(), 1, "{ids:?}");
    }
    assert_eq!(user.aside("copy").len(), 1);
}

#[test]
fn without_a_state_directory_a_bus_is_created_only_by_adoption() {
    let user = User::new();
    let nowhere = user.open_with("project", None, Foreign::PutAside, BOOT);
    let refused = refusal_of(nowhere);
    assert!(refused.contains("HOME") && refused.contains("--adopt"), "{refused}");
    // A file blocks the state directory.
    fs::write(user.base.join("state"), "").unwrap();
    let blocked = user.open_with("project", user.state(), Foreign::PutAside, BOOT);
    let refused = refusal_of(blocked);
    assert!(refused.contains("cannot be written"), "{refused}");
    // Nothing is foreign here: another directory is the remedy.
    assert!(refused.contains("XDG_STATE_HOME") && !refused.contains("adopt"), "{refused}");
    assert!(!refused.contains('/'), "models read it: {refused}");
    for state in [None, user.state()] {
        let mut log = user.open_with("project", state, Foreign::TakenOver, BOOT).unwrap();
        let mut replica = Log::open(&mut log).unwrap();
        append_one(&mut log, &mut replica);
    }
    let mut log = user.adopt("project");
    assert_eq!(User::events(&mut log), 2);
    assert_eq!(user.aside("project"), [""; 0]);
}

#[test]
fn the_number_of_the_device_may_change_only_with_a_boot() {
    let user = User::new();
    user.append_in("project");
    let elsewhere = |counterpart: &mut Value| {
        counterpart["device"] = 1.into();
        counterpart["file_system"] = 1.into();
    };
    user.change_counterpart(elsewhere);
    let next_boot = || user.open_with("project", user.state(), Foreign::PutAside, BOOT + 1);
    assert_eq!(User::events(&mut next_boot().unwrap()), 1);
    // The counterpart is renewed for this boot.
    assert_eq!(User::events(&mut next_boot().unwrap()), 1);
    user.change_counterpart(elsewhere);
    assert_eq!(User::events(&mut next_boot().unwrap()), 0);
    assert_eq!(user.aside("project").len(), 1);
}

#[test]
fn a_recreated_directory_with_the_same_inode_is_another_one() {
    let user = User::new();
    user.append_in("project");
    user.change_counterpart(|counterpart| {
        // Without a birth time, another inode has to do.
        if let Some(born) = counterpart["born_ns"].as_u64() {
            counterpart["born_ns"] = (born + 1).into();
        } else {
            counterpart["inode"] = 1.into();
        }
    });
    assert_eq!(User::events(&mut user.open("project")), 0);
}

#[test]
fn a_reader_sees_no_foreign_bus_and_changes_nothing() {
    let user = User::new();
    user.append_in("project");
    user.copy("project", "copy");
    let look = |project: &str| {
        let options = Options {
            origin: Origin::Proven(Proof { state: user.state(), foreign: Foreign::PutAside }),
            ..Options::default()
        };
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        FileLog::open_present(&user.bus(project), &disk, options).unwrap()
    };
    assert!(look("project").is_some());
    assert!(look("copy").is_none());
    assert_eq!(user.aside("copy"), [""; 0]);
}

#[test]
fn a_link_that_leads_out_of_the_project_is_refused() {
    let user = User::new();
    fs::create_dir(user.base.join("outside")).unwrap();
    symlink(user.base.join("outside"), user.base.join("project/.claude")).unwrap();
    let refused = refusal_of(user.open_with("project", user.state(), Foreign::PutAside, BOOT));
    assert!(refused.contains("leads out of the project"), "{refused}");
    assert_eq!(files(&user.base.join("outside")).len(), 0);
    let proof = || Proof { state: user.state(), foreign: Foreign::PutAside };
    let look = || {
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let options = Options { origin: Origin::Proven(proof()), ..Options::default() };
        let bus = user.bus("project");
        [
            FileLog::open_present(&bus, &disk, options).map(drop),
            Follower::look_at(&bus, &proof(), None).map(drop),
            examine(&bus, &proof()).map(drop),
            read_state(&bus, &proof()).map(drop),
        ]
    };
    // Whoever only looks would look at the bus of another project.
    user.open("outside");
    fs::remove_file(user.base.join("project/.claude")).unwrap();
    for target in ["outside", "outside/.claude", "nowhere"] {
        symlink(user.base.join(target), user.base.join("project/.claude")).unwrap();
        for looked in look() {
            let refused = looked.unwrap_err().to_string();
            let says = if target == "nowhere" { "find" } else { "leads out of the project" };
            assert!(refused.contains(says), "{target}: {refused}");
        }
        fs::remove_file(user.base.join("project/.claude")).unwrap();
    }
    assert!(look().into_iter().all(|looked| looked.is_ok()), "a project without a bus is fine");
    symlink("nowhere", user.base.join("project/.claude")).unwrap();
    // A link that stays inside the project is fine.
    fs::remove_file(user.base.join("project/.claude")).unwrap();
    fs::create_dir(user.base.join("project/settings")).unwrap();
    symlink("settings", user.base.join("project/.claude")).unwrap();
    user.open("project");
    assert!(user.base.join("project/settings/bridge/bus.json").exists());
}
