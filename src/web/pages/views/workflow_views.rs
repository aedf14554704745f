//! The workflows, and one workflow as a drawing and as a table of its steps.

use maud::{Markup, html};

use crate::domain::text::visible_letters::{beginning, quoted};
use crate::domain::workflow::StepStatus;
use crate::view::{Board, Moment, NeedKind, StatusLook, WorkflowTree, tree_places};
use crate::web::pages::drawings::workflow_drawing;
use crate::web::pages::page_body::{Body, Part};
use crate::web::pages::parts::{
    MOST_ROWS, ago, cancel_form, mark, member_link, need_card, task_link, workflow_link,
};
use crate::web::pages::{PageContext, PageInput};

/// The deepest step that is set in further.
const DEEPEST: usize = 8;

pub(in crate::web::pages) fn workflows(input: &PageInput<'_>) -> Body {
    let Some(board) = input.snapshot.board.as_deref() else {
        return Body::new("Workflows", Vec::new());
    };
    let html = html! {
        section.sheet id="workflows" aria-labelledby="workflows-heading" {
            h2.unseen id="workflows-heading" { "Workflows" }
            @if board.workflows.is_empty() { p.empty { "No workflows yet." } }
            @else { table.rows {
                thead { tr { th scope="col" { "workflow" } th scope="col" { "status" } th scope="col" { "steps" } th scope="col" { "led by" } th.number scope="col" { "age" } } }
                tbody { @for tree in &board.workflows { (row(tree, board)) } }
            } }
        }
    };
    Body::new("Workflows", vec![Part::live("workflows", html)])
}

fn row(tree: &WorkflowTree, board: &Board) -> Markup {
    let since = tree.ended_at.unwrap_or(tree.created_at);
    html! {
        tr {
            td.who { (workflow_link(&tree.workflow_id, &named(tree))) @if tree.is_trial { " " span.tag { "trial" } } }
            td { (mark(StatusLook::of(tree.state()), tree.state())) }
            td.words { (tree.progress()) }
            td.nowrap data-label="led by" { (member_link(&tree.by)) }
            td.number data-label="age" { (ago(since, board.at)) }
        }
    }
}

fn named(tree: &WorkflowTree) -> String {
    if tree.name.is_empty() { tree.workflow_id.clone() } else { quoted(&tree.name, 200) }
}

pub(in crate::web::pages) fn workflow(
    id: &str,
    input: &PageInput<'_>,
    context: &PageContext<'_>,
) -> Body {
    let mut body = Body::new(format!("Workflow {}", beginning(id, 80)), Vec::new());
    let Some(board) = input.snapshot.board.as_deref() else { return body };
    let Some(tree) = board.workflows.iter().find(|tree| tree.workflow_id == id) else {
        body.parts.push(Part::live("workflow", html! {
            p id="workflow" { "There is no workflow of this id, or it ended too long ago. The search finds older ones." }
        }));
        return body;
    };
    let is_over = tree.ended_at.is_some();
    body.heading = format!("Workflow {}", named(tree));
    body.parts = vec![
        Part::live("workflow", head(tree, board.at)),
        Part::live("needs", needs(tree, board, input, context)),
        Part::live(
            "graph",
            html! {
                section.sheet id="graph" aria-labelledby="graph-heading" {
                    h2 id="graph-heading" { "Its steps, each after those that it waits for" }
                    (workflow_drawing(tree, board.at))
                }
            },
        ),
        Part::live("steps", steps(tree, board.at)),
        Part::live(
            "ends",
            html! { div id="ends" { @if !is_over { (cancel_form(id, "workflow", context)) } } },
        ),
    ];
    body
}

fn head(tree: &WorkflowTree, now: Moment) -> Markup {
    html! {
        p.title id="workflow" {
            span { b { (named(tree)) } @if tree.is_trial { " " span.tag { "trial" } } " · " (mark(StatusLook::of(tree.state()), tree.state())) " · " (tree.progress()) " · led by " (member_link(&tree.by)) " · created " (ago(tree.created_at, now)) " ago" }
            span.id { (tree.workflow_id) }
            @if let Some((words, command)) = tree.way_on() {
                " " span { (words) @if let Some(command) = &command { " " code { (command) } } }
            }
        }
    }
}

fn needs(
    tree: &WorkflowTree,
    board: &Board,
    input: &PageInput<'_>,
    context: &PageContext<'_>,
) -> Markup {
    let own: Vec<_> = board
        .needs_you
        .iter()
        .filter(|need| {
            need.kind == NeedKind::Approval && need.id.as_deref() == Some(&tree.workflow_id)
        })
        .collect();
    html! {
        div id="needs" aria-live="polite" { @if !own.is_empty() {
            section.sheet.needs aria-labelledby="needs-heading" {
                h2 id="needs-heading" { "It needs you" }
                @for need in own.into_iter().take(MOST_ROWS) { (need_card(need, input, context)) }
            }
        } }
    }
}

fn steps(tree: &WorkflowTree, now: Moment) -> Markup {
    html! {
        section.sheet id="steps" aria-labelledby="steps-heading" {
            h2 id="steps-heading" { "The same as a table" }
            table.rows {
                thead { tr { th scope="col" { "step" } th scope="col" { "status" } th scope="col" { "after" } th scope="col" { "remarks" } th scope="col" { "agent" } th scope="col" { "task" } th.number scope="col" { "time" } } }
                tbody { @for place in tree_places(&tree.steps) {
                    @let step = &tree.steps[place.step];
                    tr {
                        td.who { @let dots = "·\u{a0}".repeat(place.depth().min(DEEPEST).saturating_sub(1)); @if !dots.is_empty() { span.depth aria-hidden="true" { (dots) } } (step.name) }
                        td { (mark(step.look(), step.state())) }
                        td.soft data-label="after" { (step.depends_on.join(", ")) }
                        td.words { (step.remarks()) @if let Some(why) = step.reason.as_ref().filter(|_| step.status == StepStatus::Failed && step.note.is_none()) { " " (why) } }
                        td.nowrap data-label="agent" { (step.agent_in_words()) }
                        td.nowrap { @if let Some(id) = &step.task_id { (task_link(id)) } }
                        td.number data-label="time" { (step.time(now)) }
                    }
                } }
            }
        }
    }
}
