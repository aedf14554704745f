//! Something that waits for a person, with the whole question and, where that is allowed, its answers.

use maud::{Markup, html};

use super::act_forms::{answer_forms, approval_forms, reply_form, way_out_form};
use super::small_parts::{ago, clean_text, member_link, task_link, workflow_link};
use crate::view::{Board, Need, NeedKind, PermissionRow, span_left};
use crate::web::pages::{PageContext, PageInput, StepPrompt, View};

/// Returns a need as a card.
pub(in crate::web::pages) fn need_card(
    need: &Need,
    input: &PageInput<'_>,
    context: &PageContext<'_>,
) -> Markup {
    let Some(board) = input.snapshot.board.as_deref() else { return html! {} };
    let id = need.id.as_deref().unwrap_or_default();
    let key = format!("need-{}-{}-{id}", need.kind.as_str(), need.who);
    html! {
        div.need id=(key) {
            @match need.kind {
                NeedKind::Permission => @if let Some(row) = board.permissions.iter().find(|row| row.permission_id == id) {
                    (permission(need, row, board, (input, context)))
                },
                NeedKind::Approval => (approval(need, id, input, context)),
                NeedKind::Question => (question(need, board, context)),
                NeedKind::Decision => (decision(need, board, context)),
                NeedKind::Stuck => (stuck(need, board, context)),
            }
        }
    }
}

fn permission(
    need: &Need,
    row: &PermissionRow,
    board: &Board,
    (input, context): (&PageInput<'_>, &PageContext<'_>),
) -> Markup {
    let call = input.extra.calls.iter().find(|(id, _)| *id == row.permission_id);
    let call = call
        .map(|(_, lines)| lines.strip_prefix(std::slice::from_ref(&row.title)).unwrap_or(lines));
    html! {
        h3 { span.mark.urgent aria-hidden="true" { "!" } " May " (member_link(&row.agent)) " do this? " span.tag { (row.kind) } }
        pre.question tabindex="0" role="group" aria-label={ "What " (row.agent) " wants to do" } { (row.exact_title) }
        @if !row.paths.is_empty() {
            p.small { "Paths: " @for (at, path) in row.exact_paths.iter().enumerate() { @if at > 0 { ", " } code { (path) } } }
        }
        @if let Some(lines) = call.filter(|lines| !lines.is_empty()) {
            details id={ "call-" (row.permission_id) } {
                summary { "The whole call, as the agent has announced it" }
                pre.question tabindex="0" role="group" aria-label="The whole call" { (clean_text(&lines.join("\n")).0) }
            }
        }
        p.small.soft {
            "asked " (ago(row.asked_at, board.at)) " ago · if nobody answers, denied in " (span_left(row.expires_at, board.at))
            @if let Some(behind) = need.behind_in_words() { " · " b { (behind) } }
            @if let Some(task) = &row.task_id { " · " (task_link(task)) }
            " · " span.id { (row.permission_id) }
        }
        (answer_forms(row, context))
    }
}

fn decision(need: &Need, board: &Board, context: &PageContext<'_>) -> Markup {
    html! {
        h3 { span.mark.urgent aria-hidden="true" { "!" } " " (need.who) " disagree" }
        @if let Some(row) = board.conflicts.iter().find(|row| need.id.as_ref() == Some(&row.thread)) {
            @for about in row.topic() { p dir="auto" { "About: " (about) } }
            ul {
                @for party in &row.parties {
                    li dir="auto" { b { (member_link(&party.name)) } ": " @if let Some(words) = &party.words { (words) } @else { span.soft { "(its text cannot be read)" } } }
                }
            }
        } @else { p { (need.words) } }
        p.small.soft {
            @if let Some(since) = need.since { "for " (ago(since, board.at)) " · " }
            @if let Some(id) = &need.id { a href=(View::Thread(id.clone()).path()) { "all that they wrote" } }
        }
        p.small.soft { "What you write to one of them binds both." }
        (reply_form(need, context))
    }
}

fn question(need: &Need, board: &Board, context: &PageContext<'_>) -> Markup {
    html! {
        h3 { span.mark.urgent aria-hidden="true" { "!" } " " (member_link(&need.who)) " asks you" }
        p {
            (need.words)
            @if let Some(since) = need.since { " · " (ago(since, board.at)) " ago" }
            @if let Some(id) = &need.id { " · " a href=(View::Thread(id.clone()).path()) { @if need.is_cut() { "all of it" } @else { "its thread" } } }
        }
        (reply_form(need, context))
    }
}

fn stuck(need: &Need, board: &Board, context: &PageContext<'_>) -> Markup {
    let row = board.members.iter().find(|row| row.name == need.who && row.state != "left");
    html! {
        h3 { span.mark.urgent aria-hidden="true" { "!" } " " (member_link(&need.who)) " is " (need.word()) }
        p { (need.words) @if let Some(since) = need.since { " · last active " (ago(since, board.at)) " ago" } }
        p.small.soft { @if let Some(way_out) = need.way_out() { (way_out.advice()) } @if let Some(task) = &need.id { " " (task_link(task)) } }
        @if let Some(row) = row { (way_out_form(need, row, context)) }
    }
}

fn approval(
    need: &Need,
    workflow: &str,
    input: &PageInput<'_>,
    context: &PageContext<'_>,
) -> Markup {
    let is_own = |prompt: &&StepPrompt| {
        prompt.workflow == workflow && prompt.step == need.who && !prompt.lines.is_empty()
    };
    let prompt = input.extra.prompts.iter().find(is_own);
    html! {
        h3 { span.mark.urgent aria-hidden="true" { "!" } " May the step " (need.who) " begin?" }
        p { (workflow_link(workflow, &need.words)) }
        @if let Some(prompt) = prompt {
            pre.question tabindex="0" role="group" aria-label="The task that the step would get" { (clean_text(&prompt.lines.join("\n")).0) }
        } @else { p.small { "The task that the step would get cannot be read, so it cannot be approved here." } }
        (approval_forms(workflow, &need.who, prompt.is_some(), context))
    }
}
