//! The command itself: offers what this machine has, and starts agents for others until a signal comes.
//!
//! Nobody's agents are started here unless this machine's own user has said so, by `--for`. The agents are this bridge's: they end with it.

use std::path::PathBuf;

use clap::Args;

use crate::bus::rules::{Description, NameChoice};
use crate::bus::storage::LogError;
use crate::bus::{BusError, Joining, Membership};
use crate::cli::open_bus::Outside;
use crate::cli::output::QueuedLines;
use crate::cli::signal_policy::StopRequests;
use crate::cli::{
    Failure, below_agent, find_project, lead_team, load_config, open_bus, output, serve_mcp,
    signal_policy, with_hint,
};
use crate::config::Config;
use crate::domain::member::{ALL_MACHINES, HOST_NAME_BYTES, HostOffer, MemberKind};
use crate::domain::name::Name;
use crate::domain::text::listed::listed;
use crate::domain::text::shown_path::ShownPath as _;
use crate::domain::text::visible_letters::{beginning, both_ends, quoted};
use crate::domain::wait_times;
use crate::domain::{grace_periods, limits};
use crate::team::{InstalledProfiles, Launch, TakenUp, Team, UserReachable};

/// The name of this session in the team.
const NAME: &str = "host";

/// For whom to start agents, and which.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge host --for all                     for every member of the team
  cli-team-bridge host --for laptop --agents codex   Codex alone, for the members on one machine

A lead on another machine then starts an agent here: assign_task with `host` and the name of this machine.
Ctrl-C ends this command, and the agents that it has started.")]
pub(crate) struct HostArguments {
    /// The machines whose members may start agents here, as `bus status` names them; `all` for every member.
    #[arg(long = "for", value_name = "MACHINE", value_delimiter = ',')]
    whom: Vec<String>,
    /// The profiles to offer [default: those whose program is installed].
    #[arg(long, value_name = "PROFILE", value_delimiter = ',')]
    agents: Vec<Name>,
    /// The name of this session in the team [default: host, then host-2 …].
    #[arg(long)]
    name: Option<Name>,
    /// The project directory [default: found from the current directory].
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// An extra configuration file that overrides all others.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Use a bus that was not created here, instead of setting it aside and starting a new one (also: `BRIDGE_ADOPT=1`).
    #[arg(long)]
    adopt: bool,
}

pub(crate) fn run(arguments: HostArguments) -> Result<(), Failure> {
    below_agent::refuse_to("start agents for others")?;
    if arguments.whom.is_empty() {
        let hint = "name their machines with --for, as `cli-team-bridge bus status` shows them; `--for all` means every member of the team";
        return Err(with_hint("nobody is named whose agents may be started here".to_owned(), hint));
    }
    let project = find_project::find(arguments.project.as_deref())?;
    let config = load_config::load(&project.root, arguments.config.as_deref())?;
    load_config::warn_of_what_does_not_count(&config);
    let outside = Outside::new(
        project.bus_directory(),
        open_bus::networks(&config),
        open_bus::foreign(arguments.adopt),
    )
    .with_bus_of_new(config.bus_of_new(), false);
    let launch = lead_team::launch_in(project)?;
    let offer = offer(&arguments, &config, &launch)?;
    let choice = match arguments.name {
        Some(name) => NameChoice::Chosen(name),
        None => NameChoice::Like(Name::parse(NAME)?),
    };
    let description =
        Description { limits: Some(config.limits().team()), ..Description::default() };
    let joining = Joining { choice, kind: MemberKind::Peer, roles: Vec::new(), description };
    lead_team::adopt_orphans();
    serve_mcp::run_team(async move || {
        // Its own runtime must not wait for whoever reads its output: its agents would stand still.
        let lines = QueuedLines::to_stdout()?;
        let host = Serving { offer: &offer, config: &config, launch: &launch, lines: &lines };
        let (host, outside, joining) = (&host, &outside, &joining);
        let served = signal_policy::obey(async move |mut stop| {
            host.serve_again_and_again(outside, joining, &mut stop).await
        })
        .await;
        lines.end(grace_periods::LAST_SCREEN);
        served
    })
}

/// Returns what this machine offers. Everything that is named must be here.
fn offer(
    arguments: &HostArguments,
    config: &Config,
    launch: &Launch,
) -> Result<HostOffer, Failure> {
    let profiles = if arguments.agents.is_empty() {
        InstalledProfiles::look(config, launch).installed().to_vec()
    } else {
        for agent in &arguments.agents {
            config.profile(agent.as_str())?;
        }
        arguments.agents.clone()
    };
    if profiles.is_empty() {
        let hint = "`cli-team-bridge setup` shows which agents it can install";
        return Err(with_hint("no agent is installed here".to_owned(), hint));
    }
    let whom = arguments.whom.clone();
    for (what, count) in [("profiles", profiles.len()), ("machines", whom.len())] {
        if count > limits::MAX_OFFERED {
            let most = limits::MAX_OFFERED;
            return Err(format!("{count} {what} are named; the most is {most}").into());
        }
    }
    Ok(HostOffer { profiles, whom })
}

/// What this machine does for others, as long as the command runs.
struct Serving<'a> {
    offer: &'a HostOffer,
    config: &'a Config,
    launch: &'a Launch,
    lines: &'a QueuedLines,
}

impl Serving<'_> {
    /// Serves others until a signal comes: in one membership of the team after another, as others may find this machine dead.
    async fn serve_again_and_again(
        &self,
        outside: &Outside,
        joining: &Joining,
        stop: &mut StopRequests,
    ) -> Result<(), Failure> {
        let mut was_member = false;
        let mut trouble = String::new();
        loop {
            let served = match join(outside, joining).await {
                Ok(membership) => {
                    was_member = true;
                    trouble.clear();
                    self.serve(membership, stop).await
                }
                Err(error) => Err(error),
            };
            match served {
                Ok(true) => return Ok(()),
                Ok(false) => {
                    output::tell(
                        "This machine was found dead by others, and joins the team again.",
                    );
                }
                Err(error) if was_member && may_pass(&error) => {
                    let said = error.to_string();
                    if said != trouble {
                        let what = beginning(&said, limits::ERROR_CHARS);
                        output::tell(&format!("Not in the team, and tries again: {what}"));
                    }
                    trouble = said;
                    let pause = tokio::time::timeout(wait_times::LONGEST_RETRY, stop.next());
                    if pause.await.is_ok() {
                        return Ok(());
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Starts agents for others until a signal comes, or until this session is found dead. Says whether a signal has come.
    async fn serve(
        &self,
        membership: Membership,
        stop: &mut StopRequests,
    ) -> Result<bool, BusError> {
        let Self { offer, config, launch, lines } = *self;
        let greeting = greeting(&membership, offer, launch);
        let (config, launch) = (config.clone(), launch.clone());
        let team = Team::new(membership.clone(), config, launch, UserReachable::default());
        let serving = async {
            team.offer(offer.clone()).await?;
            lines.say(greeting);
            team.serve_others(offer, |done| lines.say(told(&done))).await
        };
        let served = tokio::select! {
            biased;
            _ = stop.next() => None,
            served = serving => Some(served),
            () = team.keep_swept() => None,
        };
        team.shutdown(stop.force_stop(output::tell)).await;
        serve_mcp::leave_team(membership).await;
        match served {
            None => Ok(true),
            Some(served) => served.map(|()| false),
        }
    }
}

async fn join(outside: &Outside, joining: &Joining) -> Result<Membership, BusError> {
    let bus = open_bus::open_bus_aside(outside.clone()).await?;
    bus.join(joining.clone()).await
}

/// Says whether another attempt may go better: the server is away, or whatever holds the bus lets it go.
fn may_pass(error: &BusError) -> bool {
    use LogError::{Away, Busy, OutcomeUnknown};
    matches!(error, BusError::Log(Away { .. } | Busy { .. } | OutcomeUnknown { .. }))
}

fn greeting(membership: &Membership, offer: &HostOffer, launch: &Launch) -> String {
    let profiles: Vec<_> = offer.profiles.iter().map(Name::as_str).collect();
    let whom = if offer.whom.iter().any(|word| word == ALL_MACHINES) {
        "every member of the team".to_owned()
    } else {
        format!("members on {}", listed(&offer.whom, "and"))
    };
    let machine = membership.bus().host();
    let machine = machine.map(|machine| format!(" on {}", machine.name)).unwrap_or_default();
    format!(
        "`{}`{machine} starts {} in {} for {whom}. Ctrl-C ends this and its agents.",
        membership.name(),
        listed(&profiles, "and"),
        launch.project.shown(),
    )
}

fn told(done: &TakenUp) -> String {
    let TakenUp { task, by, machine, profile, agent } = done;
    let machine = machine.as_ref().map(|name| format!(" on {}", quoted(name, HOST_NAME_BYTES)));
    let machine = machine.unwrap_or_default();
    match agent {
        Ok(agent) => format!("Started `{agent}` ({profile}) for `{by}`{machine}: {task}"),
        Err(error) => {
            // The words of whoever asked may stand in it.
            let why = both_ends(&error.message_for_model(), limits::ERROR_CHARS);
            format!("Did not start {profile} for `{by}`{machine}: {why}")
        }
    }
}
