//! Rules of membership: joining, starting agents, and leaving with all that hangs on it.

use std::collections::BTreeMap;

use super::command::{NameChoice, NewAgent, NewMember, NewTask};
use super::decision::Decision;
use super::event_writer::{Post, Writer};
use super::messages::known_member;
use super::notice::{notice, quoted};
use super::permissions;
use super::refusal::Refusal;
use super::requests;
use super::session_summary;
use super::tasks;
use super::workflows;
use crate::bus::event::{Body, Event, Joined};
use crate::bus::state::{Message, Request, Session, State, StopMode};
use crate::domain::ids::{MessageId, SessionId};
use crate::domain::limits;
use crate::domain::member::{Activity, Departure, MemberKind, Tools};
use crate::domain::messaging::{DeliveryMethod, MessageKind};
use crate::domain::name::Name;

pub(super) fn join(writer: &mut Writer<'_>, new: &NewMember) -> Result<(), Refusal> {
    let name = free_name(writer.state, &new.wish)?;
    writer.push(Event::MemberJoined(Joined {
        session: new.session,
        name: name.clone(),
        chosen: matches!(new.wish, NameChoice::Chosen(_)),
        kind: new.kind,
        model: new.model.clone(),
        roles: new.roles.clone(),
        pid: new.pid,
        client: new.client,
    }));
    write_shown(writer, &name, &all_open(writer.state, &name));
    Ok(())
}

/// Tells a newcomer that a bus was put aside: in the append of its joining, so that it is not lost where that one fails.
pub(super) fn tell_put_aside(
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

pub(super) fn start(
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
    starting.name = free_name(writer.state, &new.wish)?;
    starting.chosen = matches!(new.wish, NameChoice::Chosen(_));
    starting.owner = me;
    let (session, name) = (starting.session, starting.name.clone());
    writer.push(Event::MemberStarting(starting));
    write_shown(writer, &name, &all_open(writer.state, &name));
    if let Some(task) = task {
        tasks::write_assigned(writer, &by.name, (session, &name), task)?;
    }
    Ok(())
}

/// Returns the requests that a newcomer may claim, oldest first.
fn all_open<'a>(state: &'a State, name: &Name) -> Vec<&'a Request> {
    let open = state.open_requests();
    open.filter(|request| request.from != *name).collect()
}

/// Shows a newcomer more of the requests that were open when it came.
pub(super) fn show_open_requests(writer: &mut Writer<'_>, newcomer: SessionId) {
    let state = writer.state;
    if let Some(session) = state.session(newcomer) {
        let rest: Vec<_> = state.not_shown_to(session).collect();
        write_shown(writer, &session.name, &rest);
    }
}

/// Puts requests into a newcomer's inbox, as many as fit: the rest is due at once.
fn write_shown(writer: &mut Writer<'_>, name: &Name, requests: &[&Request]) {
    for request in requests {
        if writer.is_full() {
            return;
        }
        writer.push(Event::MessageAddressed {
            id: request.message.clone(),
            to: vec![name.clone()].into(),
        });
        let shown = writer.state.message(&request.message);
        if let Some(shown) = shown {
            writer.hand_to_waits(shown, std::slice::from_ref(name));
        }
    }
}

/// Puts the dead holder of the name that a newcomer wants before the others: with very many dead not all are buried at once.
pub(super) fn holders_first(state: &State, new: &NewMember) -> Vec<SessionId> {
    let (NameChoice::Chosen(wished) | NameChoice::Like(wished)) = &new.wish;
    let holds = |id: &SessionId| state.session(*id).is_some_and(|live| live.name == *wished);
    let mut dead = new.dead.clone();
    dead.sort_by_key(|id| !holds(id));
    dead
}

/// Finds the name that a wish gets. A made-up name never takes one that mail is waiting for.
fn free_name(state: &State, wish: &NameChoice) -> Result<Name, Refusal> {
    match wish {
        NameChoice::Chosen(name) => match state.live(name) {
            None => Ok(name.clone()),
            Some(holder) => Err(Refusal::NameTaken {
                name: name.clone(),
                kind: holder.kind.as_str(),
                session: holder.id,
            }),
        },
        NameChoice::Like(base) => {
            let numbered = (2..).map(|number| base.numbered(number));
            let mut candidates = std::iter::once(base.clone()).chain(numbered);
            let free = |name: &Name| {
                state.member(name).is_none_or(|member| !member.chosen && member.session.is_none())
            };
            Ok(candidates.find(free).expect("there are more numbers than members"))
        }
    }
}

pub(super) fn ready(
    writer: &mut Writer<'_>,
    me: SessionId,
    session: SessionId,
    model: Option<&str>,
    pid: u32,
) -> Result<(), Refusal> {
    let agent = writer.acts_for(me, session)?;
    writer.push(Event::MemberJoined(Joined {
        session,
        name: agent.name.clone(),
        chosen: writer.state.member(&agent.name).is_some_and(|member| member.chosen),
        kind: agent.kind,
        model: model.map(str::to_owned),
        roles: agent.roles.clone(),
        pid,
        client: None,
    }));
    Ok(())
}

pub(super) fn ways(
    writer: &mut Writer<'_>,
    me: SessionId,
    session: SessionId,
    ways: &[DeliveryMethod],
) -> Result<(), Refusal> {
    let agent = writer.acts_for(me, session)?;
    if agent.ways != ways {
        writer.push(Event::MemberWays { session, ways: ways.to_vec() });
    }
    Ok(())
}

pub(super) fn activity(
    writer: &mut Writer<'_>,
    me: SessionId,
    session: SessionId,
    activity: Activity,
) -> Result<(), Refusal> {
    let agent = writer.acts_for(me, session)?;
    if agent.activity != activity {
        writer.push(Event::MemberActivity { session, activity });
    }
    Ok(())
}

pub(super) fn model(
    writer: &mut Writer<'_>,
    me: SessionId,
    session: SessionId,
    model: &str,
) -> Result<(), Refusal> {
    let agent = writer.acts_for(me, session)?;
    if agent.model.as_deref() != Some(model) {
        writer.push(Event::MemberModel { session, model: model.to_owned() });
    }
    Ok(())
}

pub(super) fn tools(
    writer: &mut Writer<'_>,
    me: SessionId,
    session: SessionId,
    tools: Tools,
) -> Result<(), Refusal> {
    let agent = writer.acts_for(me, session)?;
    if agent.tools != tools {
        writer.push(Event::MemberTools { session, tools });
    }
    Ok(())
}

pub(super) fn stop(
    writer: &mut Writer<'_>,
    me: SessionId,
    agent: &str,
    reason: Option<&str>,
    kill: bool,
) -> Result<(), Refusal> {
    let by = writer.session(me)?;
    let name = known_member(writer.state, agent)?;
    let target = writer.state.live(name).ok_or_else(|| Refusal::Gone { name: name.clone() })?;
    if target.kind != MemberKind::Agent {
        let hint = "only its own user can stop it; send_message can ask it to";
        return Err(Refusal::NotAnAgent { name: name.clone(), kind: target.kind.as_str(), hint });
    }
    let wanted = if kill { StopMode::AtOnce } else { StopMode::Gracefully };
    if target.stop == Some(wanted) || target.stop == Some(StopMode::AtOnce) {
        return Ok(());
    }
    if !kill {
        let text = reason.unwrap_or("finish your current work and stop").to_owned();
        writer.post(Post::new(
            MessageKind::Shutdown,
            by.name.clone(),
            name.clone(),
            Body::Text(text),
        ));
    }
    writer.push(Event::StopAsked { session: target.id, by: by.name.clone(), kill });
    Ok(())
}

pub(super) fn leave(
    writer: &mut Writer<'_>,
    me: SessionId,
    session: SessionId,
    departure: Departure,
    detail: Option<&str>,
) -> Result<(), Refusal> {
    let leaving = writer.acts_for(me, session)?;
    write_left(writer, leaving, (departure, detail), Told::Alone);
    Ok(())
}

/// Writes that sessions whose presence nobody holds have left. Those that left already are passed over; very many take several
/// appends, as whoever finds the dead looks again.
pub(super) fn bury(decision: &mut Decision<'_>, sessions: &[SessionId]) -> Result<(), Refusal> {
    let mut gone = Vec::new();
    for id in sessions {
        if decision.is_full() {
            break;
        }
        decision.step(|writer| {
            if let Some(session) = writer.state.session(*id) {
                let ends_too = session.owner.is_some_and(|owner| sessions.contains(&owner));
                let is_orphan = ends_too || is_without_bridge(writer.state, session);
                if is_orphan {
                    gone.push(session.name.clone());
                }
                let told = if is_orphan { Told::Together } else { Told::Alone };
                write_left(writer, session, (Departure::Dead, None), told);
            }
            Ok(())
        })?;
    }
    if !gone.is_empty() {
        decision.step(|writer| {
            session_summary::tell_all(writer, &gone);
            Ok(())
        })?;
    }
    Ok(())
}

/// Whether an agent's end has a notice of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Alone,
    Together,
}

fn is_without_bridge(state: &State, agent: &Session) -> bool {
    let owner = agent.owner;
    owner.is_some_and(|owner| state.session(owner).is_none())
}

fn write_left(
    writer: &mut Writer<'_>,
    session: &Session,
    (departure, detail): (Departure, Option<&str>),
    told: Told,
) {
    permissions::end_all(writer, session.id);
    writer.push(Event::MemberLeft {
        session: session.id,
        departure,
        detail: detail.map(str::to_owned),
    });
    requests::reopen_claims(writer, session);
    let stopped = departure == Departure::Stopped || departure == Departure::Closed;
    tasks::end_work(writer, session, (departed(departure), detail), stopped);
    let member = writer.state.member(&session.name);
    let is_chosen = member.is_some_and(|member| member.chosen);
    if !is_chosen {
        requests::withdraw_own(writer, &session.name);
    }
    if is_chosen || departure.leaves_mail_waiting(session.kind) {
        drop_what_never_waits(writer, session, is_chosen);
    } else {
        give_up_mail(writer, &session.name, "has left");
    }
    requests::end_with_team(writer, session);
    if session.kind == MemberKind::Agent && !stopped && told == Told::Alone {
        let what = notice![session.name, " ", departed(departure)];
        let told = match detail {
            Some(detail) => what.and(&": ").and(&quoted(detail, usize::MAX)),
            None if departure == Departure::Dead => {
                what.and(&". assign_task with its name starts it again")
            }
            None => what,
        };
        writer.notice_to_each(&leaders_of(writer.state, session), &told);
    }
    workflows::tell_left(writer, session);
}

/// Ends what is of no use to a later life of the same name: shutdowns, nudges, and requests that somebody else has. A name that
/// the bridge made up waits for nothing but mail: open requests are shown to whoever takes it up, as to any newcomer.
fn drop_what_never_waits(writer: &mut Writer<'_>, session: &Session, is_chosen: bool) {
    let state = writer.state;
    let is_useless = |message: &&&Message| match message.kind {
        MessageKind::Shutdown | MessageKind::Nudge => true,
        MessageKind::Request => message
            .request
            .as_ref()
            .and_then(|id| state.request(id))
            .is_none_or(|request| !is_chosen || !request.is_offered_after(session.id)),
        _ => false,
    };
    let mail = unsettled(state, &session.name);
    // What is left of very many of them does no harm but to be shown once.
    for message in mail.iter().filter(is_useless) {
        if writer.is_full() {
            break;
        }
        writer.push(Event::MessageExpired { id: message.id.clone(), member: session.name.clone() });
    }
}

fn departed(departure: Departure) -> &'static str {
    match departure {
        Departure::Closed => "has left",
        Departure::Stopped => "was stopped",
        Departure::Failed => "has failed",
        Departure::Dead => "ended: its bridge was killed",
    }
}

/// Names who has to know of an agent's end: the bridge that held it, else every orchestrator.
pub(super) fn leaders_of(state: &State, agent: &Session) -> Vec<Name> {
    if let Some(owner) = agent.owner.and_then(|owner| state.session(owner)) {
        return vec![owner.name.clone()];
    }
    let orchestrators = state
        .live_sessions()
        .into_iter()
        .filter(|session| session.kind == MemberKind::Orchestrator);
    orchestrators.map(|session| session.name.clone()).collect()
}

/// Ends the mail of an absent name whose time is over, and forgets the name with the last of it.
pub(super) fn end_mail(writer: &mut Writer<'_>, name: &Name) {
    let what = if writer.state.has_waited(name) { "did not come back" } else { "has left" };
    if give_up_mail(writer, name, what) == MailEnd::Ended {
        writer.push(Event::MemberForgotten { name: name.clone() });
    }
}

/// Whether all mail of a name has come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MailEnd {
    Ended,
    /// There is more than fits into one append; its timer brings the rest.
    More,
}

/// Ends the mail of a name that will not read it, and tells the senders.
fn give_up_mail(writer: &mut Writer<'_>, name: &Name, what: &'static str) -> MailEnd {
    let mut undelivered: BTreeMap<Name, Vec<MessageId>> = BTreeMap::new();
    let mut outcome = MailEnd::Ended;
    for (number, message) in unsettled(writer.state, name).into_iter().enumerate() {
        if number > 0 && (writer.is_full() || undelivered.len() >= limits::SENDERS_AT_ONCE) {
            outcome = MailEnd::More;
            break;
        }
        writer.push(Event::MessageExpired { id: message.id.clone(), member: name.clone() });
        let personal = matches!(message.kind, MessageKind::Message | MessageKind::Response);
        if let Some(sender) =
            message.from.member().filter(|_| personal && message.claimed_by.is_none())
        {
            undelivered.entry(sender.clone()).or_default().push(message.id.clone());
        }
    }
    for (sender, ids) in undelivered {
        let mut text =
            notice![*name, " ", what, " without reading ", ids.len(), " of your messages: "];
        for (at, id) in ids.iter().take(limits::NOTICE_IDS).enumerate() {
            text = text.and(if at == 0 { &"" } else { &", " }).and(id);
        }
        if ids.len() > limits::NOTICE_IDS {
            text = text.and(&" …");
        }
        if sender != *name {
            writer.notice(&sender, text);
        }
    }
    outcome
}

/// Returns the messages that a name has neither seen nor will see otherwise: unread ones, and those in the hands of its session.
fn unsettled<'a>(state: &'a State, name: &Name) -> Vec<&'a Message> {
    let handed = state.live(name).into_iter().flat_map(|session| session.handed.values().flatten());
    let mut all: Vec<_> =
        state.unread(name).chain(handed.filter_map(|id| state.message(id))).collect();
    all.sort_by_key(|message| message.seq);
    all
}
