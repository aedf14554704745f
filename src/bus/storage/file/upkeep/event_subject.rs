//! Names what a text of an event belongs to, in words for people.

use crate::bus::event::Event;

/// Says whose text an event has. The texts of an event have an order: `index` is the place in it.
pub(super) fn text_of(event: &Event, index: usize) -> String {
    match event {
        Event::MessageSent(sent) => format!("the text of {} from {}", sent.id, sent.from),
        Event::RequestOpened(opened) if index == 0 => {
            format!("the description of {} from {}", opened.id, opened.from)
        }
        Event::RequestOpened(opened) => format!("the context of {}", opened.id),
        Event::TaskAssigned(assigned) => format!("the prompt of {}", assigned.id),
        Event::TaskFinished(finished) if index == 0 => format!("the result of {}", finished.id),
        Event::TaskFinished(finished) => format!("the details of {}", finished.id),
        Event::WorkflowCreated(created) => format!("the prompts of {}", created.id),
        Event::StepExpanded(expanded) => {
            format!("the items of step {} of {}", expanded.step, expanded.workflow)
        }
        _ => "a text".to_owned(),
    }
}
