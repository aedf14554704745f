//! Tasks, and the permissions that agents ask for, in words.

use super::Topic;
use super::said::Said;
use super::speaker::{Speaker, after_colon, asker, quote};
use crate::bus::event::{Event, Finished, PermissionAnswered, Question};
use crate::domain::ids::TaskId;
use crate::view::Spent;

/// Returns what an event says about tasks and permissions.
pub(super) fn said(event: &Event, speaker: &mut Speaker<'_>) -> Option<Said> {
    match event {
        Event::TaskAssigned(task) => {
            let prompt = speaker.quote(&task.prompt);
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
            let words = format!("{by} cancels {id}");
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
        format!(": {}: {}", error.class, quote(&error.message))
    } else {
        let output = speaker.texts.text_of(&end.output);
        after_colon(output.as_deref())
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
    let (decision, by) = (answered.given().as_str(), answered.by.as_str());
    let by = answered.name.as_ref().map_or_else(|| by.to_owned(), |name| format!("{by}, {name}"));
    let more = answered.times.unwrap_or(1).saturating_sub(1);
    let more = if more > 0 { format!(", and {more} before it") } else { String::new() };
    let id = &answered.id;
    match question {
        Some(question) => {
            let words =
                format!("{}: {decision} ({by}): {}{more}", question.agent, question.in_full());
            of_question(words, question).with_ids([id.to_string()])
        }
        None => Said::new(Topic::Permission, format!("{id}: {decision} ({by})"))
            .with_ids([id.to_string()]),
    }
}
