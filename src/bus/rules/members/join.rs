//! Joining, starting an agent, and choosing their names.

use super::lanes::check_word;
use super::peer_signals::{Subject, tell_joined};
use crate::bus::event::{Described, Event, Joined};
use crate::bus::rules::command::{
    DeadSession, Description, NameChoice, NewAgent, NewMember, NewTask,
};
use crate::bus::rules::event_writer::{Post, Writer};
use crate::bus::rules::notice::{Notice, notice, quoted};
use crate::bus::rules::refusal::Refusal;
use crate::bus::rules::requests::{claimable_by, show_requests};
use crate::bus::rules::tasks::{placed_here, write_assigned};
use crate::bus::state::{Member, State};
use crate::domain::ids::SessionId;
use crate::domain::member::{Host, Label, MemberKind, SessionNumber, Traits};
use crate::domain::messaging::Group;
use crate::domain::name::Name;

pub(in crate::bus::rules) fn join(writer: &mut Writer<'_>, new: &NewMember) -> Result<(), Refusal> {
    let name = free_name(writer.state, &new.choice, new.kind)?;
    writer.push(Event::MemberJoined(Joined {
        session: new.session,
        name: name.clone(),
        chosen: new.choice.is_chosen(),
        kind: new.kind,
        model: new.model.clone(),
        roles: new.roles.clone(),
        pid: new.pid,
        client: new.client,
    }));
    let Description { traits, cwd, .. } = &new.description;
    let whence = (cwd.clone(), new.host.clone());
    let number = describe(writer, (new.session, &name), traits, whence);
    let surface = traits.surface.as_ref();
    let newcomer = Subject::new(new.session, (&name, new.kind), Some(number), surface);
    tell_joined(writer, &newcomer);
    show_requests(writer, &name, &claimable_by(writer.state, &name));
    Ok(())
}

/// Gives a new session its number, and writes what it says of itself. It is told if another session owns the lane that it says it does.
fn describe(
    writer: &mut Writer<'_>,
    (session, name): (SessionId, &Name),
    traits: &Traits,
    (cwd, host): (Option<String>, Option<Host>),
) -> SessionNumber {
    let last = writer.state.last_number();
    let number = last.map_or(SessionNumber::FIRST, SessionNumber::next);
    let (traits, refused) = without_lane_of_others(writer, session, traits);
    let lane = traits.lane.clone();
    writer.push(Event::MemberDescribed(Described { session, number, traits, cwd, host }));
    if let Some(text) = refused {
        writer.post(Post::notice(name.clone(), text));
    }
    let owner = lane.and_then(|lane| {
        let owner = writer.state.lane_owner(lane.as_str())?;
        Some((Group::Word(lane.clone()), owner.name.clone()))
    });
    if let Some((lane, owner)) = owner {
        let text = notice![
            "the lane ",
            lane,
            " has an owner, ",
            owner,
            ": messages to it reach ",
            owner,
            " and, once ",
            owner,
            " has released it or left, you"
        ];
        writer.post(Post::notice(name.clone(), text));
    }
    number
}

/// Leaves out a lane whose word means others: what is written to them would reach the newcomer, who is told so.
fn without_lane_of_others(
    writer: &Writer<'_>,
    session: SessionId,
    traits: &Traits,
) -> (Traits, Option<Notice>) {
    let mut traits = traits.clone();
    let is_free = |lane: &&Label| writer.state.lane_owner(lane.as_str()).is_none();
    let lane = traits.lane.as_ref().filter(is_free);
    let Some(refusal) = lane.and_then(|lane| check_word(writer.state, session, lane).err()) else {
        return (traits, None);
    };
    let why = match refusal {
        Refusal::LaneMeansOthers { of, .. } => {
            notice!["means ", of, " by its name, a role or a capability"]
        }
        _ => notice!["has a meaning of its own"],
    };
    let told = traits.lane.take().map(|lane| {
        let address = Group::Word(lane);
        notice![
            "the lane ",
            address,
            " is not yours, as that ",
            why,
            ": give your lane another word"
        ]
    });
    (traits, told)
}

/// Notifies a newcomer that an existing bus was set aside. The notice is in the append with which it joins, so it cannot get lost.
pub(in crate::bus::rules) fn notify_put_aside(
    writer: &mut Writer<'_>,
    newcomer: SessionId,
    aside: &str,
) -> Result<(), Refusal> {
    let name = writer.session(newcomer)?.name.clone();
    let text = notice![
        "the existing bus was not created here (it came with a copy or a clone, or an older \
         version made it), so its contents are not trusted. It was set aside in `.claude` as ",
        quoted(aside, usize::MAX),
        ", and a new bus was started. Tell your user. If it is theirs, they can move it back while \
         no session is running, and start once with --adopt",
    ];
    writer.notice(&name, text);
    Ok(())
}

pub(in crate::bus::rules) fn start(
    writer: &mut Writer<'_>,
    me: SessionId,
    new: &NewAgent,
    task: Option<&NewTask>,
) -> Result<(), Refusal> {
    let by = writer.session(me)?;
    let limit = writer.state.limits().agents;
    if writer.state.live_agents() >= limit {
        return Err(Refusal::TooManyAgents { limit });
    }
    let mut starting = new.starting.clone();
    starting.name = free_name(writer.state, &new.choice, MemberKind::Agent)?;
    starting.chosen = new.choice.is_chosen();
    starting.owner = me;
    let (session, name) = (starting.session, starting.name.clone());
    writer.push(Event::MemberStarting(starting));
    describe(writer, (session, &name), &new.traits, (None, new.host.clone()));
    show_requests(writer, &name, &claimable_by(writer.state, &name));
    if let Some(task) = task {
        // A task that was placed here is that of whoever has asked for it, and so is the step that it carries out.
        let asked = match &task.placed {
            Some(id) => {
                let placed = placed_here(writer, me, id)?;
                (&placed.by, placed.step.as_ref())
            }
            None => (&by.name, task.step.as_ref()),
        };
        write_assigned(writer, asked, (session, &name), task)?;
    }
    Ok(())
}

/// Sorts the dead holder of the requested name to the front: one append may not have room to reap all dead sessions.
pub(in crate::bus::rules) fn name_holder_first(state: &State, new: &NewMember) -> Vec<DeadSession> {
    let wanted = new.choice.wanted();
    let holds = |id: &SessionId| state.session(*id).is_some_and(|live| wanted.contains(&live.name));
    let mut dead = new.dead.clone();
    dead.sort_by_key(|dead| !holds(&dead.session));
    dead
}

/// Finds a free name of a pool: the one last used in this directory, else the first.
fn free_name_of_pool(
    state: &State,
    (pool, cwd): (&[Name], &str),
    is_of_lead: impl Fn(&Name) -> bool,
) -> Result<Name, Refusal> {
    let free =
        |name: &Name| state.live(name).is_none() && !is_of_lead(name) && !name.means_others();
    let mut departed = state.departed().rev();
    let used_here = departed.find(|left| {
        left.cwd.as_deref() == Some(cwd) && pool.contains(&left.name) && free(&left.name)
    });
    let first = || pool.iter().find(|name| free(name)).cloned();
    let found = used_here.map(|left| left.name.clone()).or_else(first);
    found.ok_or(Refusal::PoolTaken { names: pool.len() })
}

/// Finds a free name. A generated name is never a chosen one whose mail waits, and what a lead has left is for orchestrators alone. A word
/// that means others is nobody's, unless a member of an earlier version has it.
fn free_name(state: &State, choice: &NameChoice, kind: MemberKind) -> Result<Name, Refusal> {
    let is_of_lead =
        |name: &Name| kind != MemberKind::Orchestrator && state.has_mail_for_lead(name);
    match choice {
        NameChoice::Chosen(name) => match state.live(name) {
            None if name.means_others() && state.member(name).is_none() => {
                Err(Refusal::NameMeansOthers { name: name.clone() })
            }
            None if is_of_lead(name) => Err(Refusal::NameOfLead { name: name.clone() }),
            None => Ok(name.clone()),
            Some(holder) => Err(Refusal::NameTaken {
                name: name.clone(),
                kind: holder.kind.as_str(),
                session: holder.id,
            }),
        },
        NameChoice::FromPool { pool, cwd } => free_name_of_pool(state, (pool, cwd), is_of_lead),
        NameChoice::Like(base) => {
            let numbered = (2..).map(|number| base.numbered(number));
            let mut candidates = std::iter::once(base.clone()).chain(numbered);
            let free = |name: &Name| {
                let is_free = |member: &Member| !member.chosen && member.session.is_none();
                state.member(name).is_none_or(is_free) && !is_of_lead(name) && !name.means_others()
            };
            Ok(candidates.find(free).expect("there are more numbers than members"))
        }
    }
}
