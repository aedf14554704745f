//! Tasks, and the permissions that agents ask for, in words.

use super::Topic;
use super::said::Said;
use super::speaker::{Speaker, after_colon, asker, quote};
use crate::bus::event::{Event, Finished, PermissionAnswered, Question};
use crate::domain::ids::TaskId;
use crate::domain::messaging::Author;
use crate::domain::name::Name;
use crate::domain::permission::{Decider, Decision};
use crate::domain::task::TaskStatus;
use crate::domain::text::listed::listed;
use crate::view::{Spent, USER, by_whom, human_in, no_text, task_error};

/// Returns what an event says about tasks and permissions.
pub(super) fn said(event: &Event, speaker: &mut Speaker<'_>) -> Option<Said> {
    match event {
        Event::HostOffered { session, offer, .. } => {
            let host = speaker.state.session(*session).map(|host| host.name.to_string());
            let profiles: Vec<_> = offer.profiles.iter().map(Name::as_str).collect();
            let who = host.as_deref().unwrap_or("a host");
            let words = format!("{who} starts {} for others", listed(&profiles, "and"));
            Some(Said::new(Topic::Member, words).about(host))
        }
        Event::TaskPlaced(placed) => {
            let host = speaker.state.session(placed.with).map(|host| host.name.to_string());
            let prompt = speaker.quote_prompt(&placed.prompt);
            let (by, id, profile) = (&placed.by, &placed.id, &placed.profile);
            let whom = host.as_deref().unwrap_or("a host");
            let words = format!("{by} asks {whom} to start {profile} for {id}: {prompt}");
            let said = Said::new(Topic::Task, words).with_ids([id.to_string()]);
            Some(said.about([by.to_string()].into_iter().chain(host)))
        }
        Event::PlacementEnded { id, why, .. } => {
            let words = format!("{id} is not begun: {}", quote(why));
            Some(Said::new(Topic::Task, words).with_ids([id.to_string()]))
        }
        Event::TaskAssigned(task) => {
            let prompt = speaker.quote_prompt(&task.prompt);
            let words = format!("{} assigns {} to {}: {prompt}", task.by, task.id, task.agent);
            let said = Said::new(Topic::Task, words);
            let ids = [task.id.to_string()].into_iter();
            let ids = ids.chain(task.workflow.as_ref().map(ToString::to_string));
            Some(said.about([task.by.to_string(), task.agent.to_string()]).with_ids(ids))
        }
        Event::TaskStarted { id } => Some(of_agent(id, "begins", speaker)),
        Event::TaskResumed { id } => Some(of_agent(id, "goes on with", speaker)),
        Event::TaskCancelAsked { id, by, human } => {
            let by = asker(by, *human);
            let words = format!("{} cancels {id}", by_whom(&by));
            let members = [by].into_iter().chain(speaker.agent_of(id));
            Some(Said::new(Topic::Task, words).about(members).with_ids([id.to_string()]))
        }
        Event::TaskFinished(end) => Some(finished(end, speaker)),
        Event::PermissionAsked(asked) => {
            let words = format!(
                "{} asks for permission: {}",
                asked.question.agent,
                asked.question.in_full()
            );
            Some(of_question(words, &asked.question).with_ids([asked.id.to_string()]))
        }
        Event::PermissionAnswered(answered) => Some(answer(answered, speaker)),
        _ => None,
    }
}

fn of_agent(id: &TaskId, does: &str, speaker: &Speaker<'_>) -> Said {
    let agent = speaker.agent_of(id);
    let words = format!("{} {does} {id}", agent.as_deref().unwrap_or("an agent"));
    Said::new(Topic::Task, words).about(agent).with_ids([id.to_string()])
}

fn finished(end: &Finished, speaker: &mut Speaker<'_>) -> Said {
    let agent = speaker.agent_of(&end.id);
    let of = agent.as_ref().map(|agent| format!(" of {agent}")).unwrap_or_default();
    let said = if let Some(error) = &end.error {
        // A class that only repeats how it ended says nothing.
        let class = Some(error.class.as_str()).filter(|class| *class != end.status.as_str());
        let class = class.map(|class| format!("{class}: ")).unwrap_or_default();
        format!(": {class}{}", quote(task_error(&error.message)))
    } else {
        let (output, lost) = speaker.texts.text_or_loss(&end.output);
        let lost = lost.map(|why| format!(": {}", no_text(Some(&why))));
        let said = lost.unwrap_or_else(|| after_colon(output.as_deref()));
        // Of one that is not done, this is not why.
        if end.status == TaskStatus::Done || said.is_empty() {
            said
        } else {
            format!("; it had said{}", said.trim_start_matches(':'))
        }
    };
    let used = end.report.usage.as_ref().map(|usage| Spent::of(usage).in_words());
    let used = used.filter(|used| !used.is_empty());
    let used = used.map(|used| format!(" ({used})")).unwrap_or_default();
    let words = format!("{}{of} {}{used}{said}", end.id, end.status.phrase());
    Said::new(Topic::Task, words).about(agent).with_ids([end.id.to_string()])
}

fn of_question(words: String, question: &Question) -> Said {
    let said = Said::new(Topic::Permission, words).about([question.agent.to_string()]);
    said.with_ids(question.task.as_ref().map(ToString::to_string))
}

fn answer(answered: &PermissionAnswered, speaker: &Speaker<'_>) -> Said {
    let known = speaker.state.permission(&answered.id).map(|permission| &permission.question);
    let question = answered.question.as_ref().or(known);
    let more = answered.times.unwrap_or(1).saturating_sub(1);
    let more = if more > 0 { format!(", and {more} before it") } else { String::new() };
    let id = &answered.id;
    match question {
        Some(question) => {
            let words = decided(answered, &question.agent.to_string());
            let words = format!("{words}: {}{more}", question.in_full());
            let human = (answered.by == Decider::Human).then(|| Author::Human.to_string());
            let who = answered.name.iter().map(ToString::to_string).chain(human);
            let members = [question.agent.to_string()].into_iter().chain(who);
            of_question(words, question).about(members).with_ids([id.to_string()])
        }
        None => Said::new(Topic::Permission, decided(answered, &id.to_string()))
            .with_ids([id.to_string()]),
    }
}

/// Says who has decided what about an agent, or about a question that is no longer known.
fn decided(answered: &PermissionAnswered, whose: &str) -> String {
    let who = match (answered.by, &answered.name) {
        (Decider::Deadline, _) => return format!("{whose} got no answer in time, which is a no"),
        (Decider::Ended, _) => return format!("{whose} needs no answer any more"),
        (Decider::Policy, _) => "a standing rule".to_owned(),
        (Decider::Human, Some(name)) => human_in(name.as_str()),
        (Decider::Human, None) => USER.to_owned(),
        (Decider::Orchestrator, Some(name)) => name.to_string(),
        (Decider::Orchestrator, None) => "an orchestrator".to_owned(),
    };
    match answered.given() {
        Decision::AllowOnce => format!("{who} allows {whose} this once"),
        Decision::AllowAlways => format!("{who} allows {whose} from now on"),
        Decision::Reject => format!("{who} denies {whose}"),
        Decision::RejectAlways => format!("{who} denies {whose} from now on"),
        Decision::Cancelled => format!("{who} gives {whose} no answer"),
    }
}
