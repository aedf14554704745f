//! Every log engine that a bus can use, and helpers that the tests of a bus share.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cli_team_bridge::bus::rules::{Description, NameChoice, Pick};
use cli_team_bridge::bus::state::State;
use cli_team_bridge::bus::storage::OrderedBy;
use cli_team_bridge::bus::storage::file::{FileLog, NewOrder, Options};
use cli_team_bridge::bus::storage::in_memory::Store;
use cli_team_bridge::bus::storage::postgres::make_team;
use cli_team_bridge::bus::{Bus, Call, Joining, LoadedMessage, Membership};
use cli_team_bridge::domain::ids::MessageId;
use cli_team_bridge::domain::member::MemberKind;
use cli_team_bridge::domain::messaging::DeliveryMethod;
use cli_team_bridge::domain::name::Name;
use cli_team_bridge::sys::clock;
use cli_team_bridge::sys::fs::disk::RealDisk;

use crate::support::postgres_server;

/// Longer than anything takes here, even on a busy machine: a test that reaches it has failed.
const DEADLINE: Duration = Duration::from_secs(30);

/// One project's log, which a test opens several times as several processes would.
pub(crate) trait Logs: Sized {
    /// Makes an empty log; none where what it needs is missing.
    fn new() -> Option<Self>;

    /// Opens the bus once more.
    fn bus(&self) -> Bus;

    /// Returns the view of members.
    fn view(&self) -> String;
}

pub(crate) struct InMemory(Store);

impl Logs for InMemory {
    fn new() -> Option<Self> {
        Some(Self(Store::new(Arc::new(clock::now))))
    }

    fn bus(&self) -> Bus {
        Bus::open(Box::new(self.0.log())).unwrap()
    }

    fn view(&self) -> String {
        self.0.view()
    }
}

pub(crate) struct InFiles(tempfile::TempDir);

impl Logs for InFiles {
    fn new() -> Option<Self> {
        Some(Self(tempfile::tempdir().unwrap()))
    }

    fn bus(&self) -> Bus {
        open_files(&self.0.path().join("bridge"))
    }

    fn view(&self) -> String {
        std::fs::read_to_string(self.0.path().join("bridge/agents.json")).unwrap_or_default()
    }
}

/// A log on a server. Each bus is on a host of its own, with its own mirror.
pub(crate) struct OnPostgres {
    order: OrderedBy,
    mirrors: tempfile::TempDir,
    opened: AtomicUsize,
}

impl Logs for OnPostgres {
    fn new() -> Option<Self> {
        static TEAMS: AtomicUsize = AtomicUsize::new(0);
        let server = tokio::task::block_in_place(postgres_server::shared)?;
        let team = format!("team-{}", TEAMS.fetch_add(1, Ordering::Relaxed));
        let until = Instant::now() + DEADLINE;
        let order = tokio::task::block_in_place(|| make_team(&server, &team, until)).unwrap();
        Some(Self { order, mirrors: tempfile::tempdir().unwrap(), opened: AtomicUsize::new(0) })
    }

    fn bus(&self) -> Bus {
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        let options = Options { order: NewOrder::Server(self.order.clone()), ..Options::default() };
        let mirror = self.mirrors.path().join(number.to_string());
        let log = FileLog::open(&mirror, Arc::new(RealDisk), options).unwrap();
        let bus = Bus::open(Box::new(log)).unwrap();
        tokio::task::block_in_place(|| bus.fetch()).unwrap();
        bus
    }

    fn view(&self) -> String {
        let views = std::fs::read_dir(self.mirrors.path()).unwrap().flatten();
        let views = views
            .filter_map(|mirror| std::fs::read_to_string(mirror.path().join("agents.json")).ok());
        views.max().unwrap_or_default()
    }
}

/// Opens the bus in a directory.
pub(crate) fn open_files(directory: &Path) -> Bus {
    let log = FileLog::open(directory, Arc::new(RealDisk), Options::default()).unwrap();
    Bus::open(Box::new(log)).unwrap()
}

/// Makes a test of each function, on each log; of those after `;` on the logs whose members see at once that another is dead.
macro_rules! on_every_log {
    ($($name:ident),* $(,)? $(; $($local:ident),* $(,)?)?) => {
        crate::bus::every_engine::on_every_log!(@ memory, InMemory, $($name,)* $($($local),*)?);
        crate::bus::every_engine::on_every_log!(@ file, InFiles, $($name,)* $($($local),*)?);
        crate::bus::every_engine::on_every_log!(@ postgres, OnPostgres, $($name),*);
    };
    (@ $module:ident, $logs:ident, $($name:ident),* $(,)?) => {
        mod $module {
            use crate::bus::every_engine::Logs as _;
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    match crate::bus::every_engine::$logs::new() {
                        Some(logs) => super::$name(logs).await,
                        None => println!("skipped: what this engine needs is not installed"),
                    }
                }
            )*
        }
    };
}

pub(crate) use on_every_log;

pub(crate) fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

/// A peer of a chosen name.
pub(crate) async fn peer(bus: &Bus, called: &str) -> Membership {
    let choice = NameChoice::Chosen(name(called));
    join(bus, choice, MemberKind::Peer).await
}

pub(crate) async fn join(bus: &Bus, choice: NameChoice, kind: MemberKind) -> Membership {
    let joining = Joining { choice, kind, roles: Vec::new(), description: Description::default() };
    within(Membership::join(bus, joining)).await.unwrap()
}

/// Waits for a future that must complete.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    let outcome = tokio::time::timeout(DEADLINE, future).await;
    outcome.expect("it takes far less time")
}

/// Waits until the state of a bus satisfies a condition.
pub(crate) async fn until(bus: &Bus, mut shows: impl FnMut(&State) -> bool) {
    let mut changes = bus.changes();
    within(async {
        while !bus.look(&mut shows) {
            changes.changed().await.unwrap();
        }
    })
    .await;
}

/// Takes all unread messages for a call.
pub(crate) async fn take(call: &mut Call) -> Vec<LoadedMessage> {
    take_some(call, 500).await
}

pub(crate) async fn take_some(call: &mut Call, limit: usize) -> Vec<LoadedMessage> {
    // What another host has written arrives by itself, but not at once.
    tokio::task::block_in_place(|| call.membership().bus().fetch()).unwrap();
    let pick = Pick::any(limit, usize::MAX, usize::MAX);
    within(call.receive(DeliveryMethod::Pull, pick)).await.unwrap()
}

pub(crate) async fn send(from: &Membership, to: &str, content: &str) -> MessageId {
    let mut call = from.call();
    let sent = call.send(to.into(), content.into(), None).await.unwrap();
    call.answered().await;
    sent.id
}

/// Returns the ids of messages, without the news of who has come and left.
pub(crate) fn ids(letters: &[LoadedMessage]) -> Vec<MessageId> {
    let told = letters.iter().filter(|letter| !letter.header.is_presence());
    told.map(|letter| letter.header.id.clone()).collect()
}

/// A random number generator whose seed a failing test shows.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new() -> Self {
        let (_, seed) = cli_team_bridge::sys::random_ids::blob().as_u64_pair();
        println!("seed {seed}");
        Self(seed)
    }

    /// Returns a number below `below`.
    pub(crate) fn below(&mut self, below: u64) -> u64 {
        // Knuth's MMIX generator; its upper bits are the more random ones.
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}
