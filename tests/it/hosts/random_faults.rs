//! Random faults on several machines: hosts are killed, links are cut, the server is killed, while members race for requests, write
//! messages and lead agents. Nothing acknowledged is lost, nothing is won twice, and nothing runs that others may do again.
//!
//! The run is small. `BRIDGE_CHAOS=large` has 10 hosts with 10 agents each, links that are cut for up to a minute and some 50 deaths of the
//! server, and takes an hour; `BRIDGE_CHAOS_HOSTS`, `_AGENTS`, `_ROUNDS` and `_FAULTS` set other numbers. `BRIDGE_CHAOS_SEED` repeats the
//! choices of a run, but not its timing. The clocks of the hosts are an hour apart, where the tests can set them so.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cli_team_bridge::mcp::client::{Client, ClientError};
use cli_team_bridge::supervisor::Supervised;
use cli_team_bridge::sys::{clock, random_ids};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::claim_history::{Claim, Moment, Outcome, Sent, disorder, violation};
use super::two_machines::command;
use crate::support::chance::Chance;
use crate::support::server_link::Link;
use crate::support::wrong_clock::WrongClock;
use crate::support::{DEADLINE, Stage, postgres_server, until};

/// A process that the agent has started writes the time, again and again, into a file that is named after the agent's session.
const SCRIPT: &str = r#"
[[agents.default.turns]]
steps = [
  { fork = "setsid sh -c 'while :; do date +%s%3N >> $HOME/ticks-${BRIDGE_RUN%%@*}; sleep 0.1; done'" },
  { hang = true },
]
"#;

/// Many requests are opened at once.
const NO_HASTE: &str = "[limits]\nmessages_per_minute = 0\n";

const PROFILE: &str = r#"
[agents.scripted]
command = "$self"
args = ["scripted-agent"]
env_pass = ["BRIDGE_SCRIPT", "LD_PRELOAD"]
"#;

/// By how many seconds the clocks of hosts are ahead, in turn.
const AHEAD_S: [i64; 3] = [0, 3_600, -3_600];

/// A call takes no longer, whatever the server does.
const CALL: Duration = Duration::from_secs(40);

/// The pause before the same act is tried again.
const AGAIN: Duration = Duration::from_millis(250);

/// The sizes of a run.
#[derive(Clone, Copy)]
struct Size {
    hosts: usize,
    /// The agents of each host.
    agents: usize,
    rounds: usize,
    faults: usize,
    /// The longest cut of a link.
    cut: Duration,
    /// The longest pause between two acts of a member.
    pause: Duration,
}

const SMALL: Size = Size {
    hosts: 3,
    agents: 1,
    rounds: 12,
    faults: 5,
    cut: Duration::from_secs(9),
    pause: Duration::from_millis(900),
};

const LARGE: Size = Size {
    hosts: 10,
    agents: 10,
    rounds: 300,
    faults: 200,
    cut: Duration::from_mins(1),
    pause: Duration::from_secs(10),
};

impl Size {
    fn of_run() -> Self {
        let setting = |name: &str| std::env::var(name).ok();
        let is_large = setting("BRIDGE_CHAOS").as_deref() == Some("large");
        let of_size = if is_large { LARGE } else { SMALL };
        let number = |name: &str, usual: usize| {
            setting(name).map_or(usual, |number| number.parse().unwrap())
        };
        Self {
            hosts: number("BRIDGE_CHAOS_HOSTS", of_size.hosts),
            agents: number("BRIDGE_CHAOS_AGENTS", of_size.agents),
            rounds: number("BRIDGE_CHAOS_ROUNDS", of_size.rounds),
            faults: number("BRIDGE_CHAOS_FAULTS", of_size.faults),
            ..of_size
        }
    }
}

/// Draws a time.
fn within(chance: &mut Chance, longest: Duration) -> Duration {
    let ms = usize::try_from(longest.as_millis()).unwrap();
    Duration::from_millis(u64::try_from(chance.below(ms)).unwrap())
}

/// What all hosts have witnessed.
#[derive(Default)]
struct Seen {
    claims: Mutex<Vec<(String, Claim)>>,
    sent: Mutex<Vec<Sent>>,
}

struct Host {
    number: usize,
    stage: Stage,
    link: Link,
    clock: Option<WrongClock>,
    lives: AtomicUsize,
}

/// A program of a host, and its client.
struct Program {
    client: Client,
    child: Supervised,
}

/// What became of an act in the end.
enum Done {
    Answer(Value),
    /// Nobody knows.
    Unknown,
    /// Its process was killed meanwhile.
    Died,
}

impl Program {
    async fn start(stage: &Stage, arguments: &[&str]) -> Option<Self> {
        let (child, pipes) = stage.start(arguments).await;
        match Client::connect(pipes.stdout, pipes.stdin).await {
            Ok(client) => Some(Self { client, child }),
            Err(_) => None,
        }
    }

    /// Calls a tool until it has an answer, as a patient model does.
    async fn insist(&self, tool: &str, arguments: Value) -> Done {
        let (begun, mut is_unknown) = (Instant::now(), false);
        loop {
            match self.client.call(tool, arguments.clone(), CALL).await {
                Ok(answer) => return Done::Answer(answer),
                Err(ClientError::Refused { problem, .. }) => {
                    // The new session does not know what the old one has tried.
                    if is_unknown && problem.contains("has found it dead") {
                        return Done::Unknown;
                    }
                    is_unknown |= problem.contains("it is unknown");
                    assert!(begun.elapsed() < DEADLINE, "{tool} {arguments}: {problem}");
                }
                Err(_) => return Done::Died,
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    async fn close(self) {
        self.client.close().await;
        let exited = tokio::time::timeout(DEADLINE, self.child.exited()).await;
        exited.expect("a program whose input is closed ends");
    }
}

impl Host {
    fn new(number: usize, server: &postgres_server::TestServer) -> Self {
        let ahead_s = AHEAD_S[number % AHEAD_S.len()];
        let clock = if ahead_s == 0 { None } else { WrongClock::set(ahead_s) };
        if clock.is_none() && ahead_s != 0 {
            println!("host {number} has the true time: no C compiler is installed");
        }
        let stage = Stage::new(SCRIPT).with_profiles(&format!("{NO_HASTE}{PROFILE}"));
        let stage = match &clock {
            Some(clock) => stage.with_variable(clock.variable().0, clock.variable().1),
            None => stage,
        };
        let link = Link::to(server.directory());
        command(&stage, &["bus", "init", &link.address(), "--team", "chaos"]);
        Self { number, stage, link, clock, lives: AtomicUsize::new(0) }
    }

    /// Returns the last times that the processes of its agents have written, by the agent's session and by the true clock.
    fn last_ticks(&self) -> Vec<(String, Moment)> {
        let ahead_ms = self.clock.as_ref().map_or(0, |clock| clock.ahead_s * 1_000);
        ticks(&self.stage).into_iter().map(|(agent, last)| (agent, last - ahead_ms)).collect()
    }

    /// Kills all processes that the machine's clients have started.
    fn kill(&self) {
        for word in ["orchestrator", "peer"] {
            for pid in self.stage.running(word) {
                // It may be gone by now.
                let _ = kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL);
            }
        }
    }

    /// Lives through all rounds, again and again killed and started anew.
    async fn live(&self, size: Size, requests: &[String], witnessed: &Seen, mut chance: Chance) {
        let mut round = 0;
        while round < size.rounds {
            let life = self.lives.fetch_add(1, Ordering::Relaxed);
            let [lead, peer, worker] =
                ["l", "p", "w"].map(|kind| format!("{kind}{}x{life}", self.number));
            let leading = Program::start(&self.stage, &["orchestrator", "--name", &lead]).await;
            let peering = Program::start(&self.stage, &["peer", "--name", &peer]).await;
            let (Some(leading), Some(peering)) = (leading, peering) else { continue };
            let (before, mut is_complete) = (ticks(&self.stage).len(), true);
            for agent in 0..size.agents {
                let name = format!("{worker}x{agent}");
                let task = json!({ "agent": "scripted", "name": name, "prompt": "tick" });
                is_complete &= !matches!(leading.insist("assign_task", task).await, Done::Died);
            }
            // A life counts once its agents work.
            let begun = Instant::now();
            while is_complete && ticks(&self.stage).len() < before + size.agents {
                is_complete = begun.elapsed() < CALL
                    && !matches!(leading.insist("list_agents", json!({})).await, Done::Died);
                tokio::time::sleep(AGAIN).await;
            }
            if is_complete {
                while round < size.rounds {
                    tokio::time::sleep(within(&mut chance, size.pause)).await;
                    let has_died = self.play(&peering, &peer, (round, requests), witnessed).await;
                    round += 1;
                    if has_died {
                        break;
                    }
                }
            }
            leading.close().await;
            peering.close().await;
        }
    }

    /// Claims a request, and sends a message. Says whether the process died.
    async fn play(
        &self,
        peering: &Program,
        name: &str,
        (round, requests): (usize, &[String]),
        witnessed: &Seen,
    ) -> bool {
        let begun = clock::now().wall_ms;
        let claimed =
            peering.insist("claim_request", json!({ "request_id": requests[round] })).await;
        let outcome = match &claimed {
            Done::Answer(answer) if answer["claimed"] == true => Outcome::Won,
            Done::Answer(_) => Outcome::Lost,
            Done::Unknown | Done::Died => Outcome::Unknown,
        };
        let ended = clock::now().wall_ms;
        let claim = Claim { request: round, begun, ended, outcome, freed: None };
        witnessed.claims.lock().unwrap().push((name.to_owned(), claim));
        if matches!(claimed, Done::Died) {
            return true;
        }
        let (text, begun) = (format!("{name} {round}"), clock::now().wall_ms);
        let message = json!({ "to": "reader", "content": text });
        let done = peering.insist("send_message", message).await;
        let (ended, is_certain) = (clock::now().wall_ms, matches!(done, Done::Answer(_)));
        witnessed.sent.lock().unwrap().push(Sent { text, begun, ended, is_certain });
        matches!(done, Done::Died)
    }
}

/// Plays faults until all hosts are done.
async fn break_things(
    hosts: &[Host],
    server: &mut postgres_server::TestServer,
    (size, seed): (Size, u64),
    is_over: &AtomicBool,
) -> BTreeMap<&'static str, usize> {
    let (mut chance, mut played) = (Chance(seed), BTreeMap::new());
    for _ in 0..size.faults {
        tokio::time::sleep(within(&mut chance, size.pause * 3)).await;
        let host = &hosts[chance.below(hosts.len())];
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        let kind = match chance.below(4) {
            0 => {
                host.kill();
                "a host is killed"
            }
            1 => {
                host.link.cut();
                tokio::time::sleep(within(&mut chance, size.cut)).await;
                host.link.heal();
                "a link is cut"
            }
            2 => {
                tokio::task::block_in_place(|| server.end_connections());
                "all connections are ended"
            }
            _ => {
                tokio::task::block_in_place(|| server.kill());
                tokio::time::sleep(within(&mut chance, size.pause * 2)).await;
                tokio::task::block_in_place(|| server.restart());
                "the server is killed"
            }
        };
        *played.entry(kind).or_default() += 1;
    }
    played
}

/// The sessions of the log: their names, and when they ended.
struct Sessions {
    ids: BTreeMap<String, usize>,
    ended: Vec<(String, Option<Moment>)>,
}

impl Sessions {
    fn of(stage: &Stage) -> Self {
        let mut ids = BTreeMap::new();
        let mut ended: Vec<(String, Option<Moment>)> = Vec::new();
        for line in stage.log_lines() {
            for event in line["events"].as_array().into_iter().flatten() {
                let (kind, fields) = event.as_object().unwrap().iter().next().unwrap();
                let session = fields["session"].as_str().unwrap_or_default().to_owned();
                match kind.as_str() {
                    "member_joined" | "member_starting" => {
                        ids.insert(session, ended.len());
                        ended.push((fields["name"].as_str().unwrap().to_owned(), None));
                    }
                    "member_left" => ended[ids[&session]].1 = line["ts"].as_i64(),
                    _ => {}
                }
            }
        }
        Self { ids, ended }
    }

    /// Returns when the session of a name ended that was there at a moment.
    fn end_after(&self, name: &str, moment: Moment) -> Option<Moment> {
        let of_name = self.ended.iter().filter(|(its, _)| its == name);
        of_name.filter_map(|(_, ended)| *ended).find(|ended| *ended >= moment)
    }

    /// Returns when a session ended.
    fn end_of(&self, id: &str) -> Option<Moment> {
        self.ids.get(id).and_then(|at| self.ended[*at].1)
    }
}

/// Returns the last times that the processes of agents have written, by the agent's session and by the clock of their machine.
fn ticks(stage: &Stage) -> BTreeMap<String, Moment> {
    let files = std::fs::read_dir(stage.home()).unwrap().flatten();
    let of_agent = |file: std::fs::DirEntry| {
        let agent = file.file_name().to_str()?.strip_prefix("ticks-")?.to_owned();
        let text = std::fs::read_to_string(file.path()).unwrap();
        let last = text.lines().filter_map(|line| line.parse::<Moment>().ok()).max()?;
        Some((agent, last))
    };
    files.filter_map(of_agent).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_done_twice_while_hosts_links_and_the_server_break() {
    let Some(mut server) = tokio::task::block_in_place(postgres_server::TestServer::start) else {
        println!("skipped: no PostgreSQL is installed");
        return;
    };
    let size = Size::of_run();
    let drawn = random_ids::session().0.as_u64_pair().1;
    let seed = std::env::var("BRIDGE_CHAOS_SEED").map_or(drawn, |seed| seed.parse().unwrap()) | 1;
    let begun_ms = clock::now().wall_ms;
    println!("BRIDGE_CHAOS_SEED={seed}");
    let home = Stage::new("").with_profiles(NO_HASTE);
    command(&home, &["bus", "init", &server.address(), "--team", "chaos"]);
    let hosts: Arc<Vec<Host>> =
        Arc::new((0..size.hosts).map(|number| Host::new(number, &server)).collect());
    let reader = home.peer("reader").await;
    let mut requests = Vec::new();
    for number in 0..size.rounds {
        let request = json!({ "description": format!("race {number}"), "ttl_seconds": 86_400,
                              "timeout_seconds": 86_400, "lease_seconds": 86_400 });
        let opened = reader.call("request_task", request).await;
        requests.push(opened["request_id"].as_str().unwrap().to_owned());
    }
    let (witnessed, is_over) = (Arc::new(Seen::default()), Arc::new(AtomicBool::new(false)));
    let requests = Arc::new(requests);
    let living: Vec<_> = (0..size.hosts)
        .map(|number| {
            let (hosts, requests, witnessed) = (hosts.clone(), requests.clone(), witnessed.clone());
            let chance = Chance(seed.wrapping_add(2 * u64::try_from(number).unwrap() + 2));
            tokio::spawn(async move {
                hosts[number].live(size, &requests, &witnessed, chance).await;
            })
        })
        .collect();
    let breaking = {
        let (hosts, is_over) = (hosts.clone(), is_over.clone());
        tokio::spawn(async move {
            let played = break_things(&hosts, &mut server, (size, seed), &is_over).await;
            (server, played)
        })
    };
    for host in living {
        host.await.unwrap();
    }
    is_over.store(true, Ordering::Relaxed);
    let (_server, played) = breaking.await.unwrap();

    let mut read = Vec::new();
    loop {
        let answer = reader.call("check_messages", json!({ "limit": 100 })).await;
        let messages = answer["messages"].as_array().unwrap().clone();
        if messages.is_empty() {
            break;
        }
        let texts = messages.iter().filter_map(|message| message["content"].as_str());
        read.extend(texts.map(ToOwned::to_owned));
    }
    let last_ticks: Vec<_> = hosts.iter().flat_map(Host::last_ticks).collect();
    until("all agents have ended, as this machine knows it", || {
        let sessions = Sessions::of(&home);
        last_ticks.iter().all(|(agent, _)| sessions.end_of(agent).is_some())
    })
    .await;
    let sessions = Sessions::of(&home);
    let claims: Vec<Claim> = std::mem::take(&mut *witnessed.claims.lock().unwrap())
        .into_iter()
        .map(|(name, claim)| Claim { freed: sessions.end_after(&name, claim.begun), ..claim })
        .collect();
    let sent = std::mem::take(&mut *witnessed.sent.lock().unwrap());
    let won = claims.iter().filter(|claim| claim.outcome == Outcome::Won).count();
    println!("{played:?}; {} claims, {won} won; {} messages", claims.len(), sent.len());
    assert_eq!(violation(&claims), None);
    assert_eq!(disorder(&sent, &read), None);
    for (agent, last_tick) in &last_ticks {
        let ended = sessions.end_of(agent);
        let is_in_time = ended.is_some_and(|ended| *last_tick <= ended);
        assert!(is_in_time, "{agent} worked until {last_tick}, and ended at {ended:?}");
        let is_by_true_clock = (begun_ms..=clock::now().wall_ms).contains(last_tick);
        assert!(is_by_true_clock, "{agent} wrote {last_tick} by the clock of its machine");
    }
    let agents = last_ticks.len();
    println!("{agents} agents, none of which worked after its end");
    assert!(agents >= size.hosts * size.agents, "each has written down when it worked");
    reader.close().await;
}
