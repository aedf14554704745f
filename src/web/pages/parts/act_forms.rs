//! The forms with which a person acts. A form is only there where it is allowed, and works without the script.

use maud::{Markup, html};

use crate::domain::permission::Decision;
use crate::view::{MemberRow, Need, NeedKind, PermissionRow, WayOut};
use crate::web::pages::PageContext;

/// The hidden fields of every form.
fn hidden(context: &PageContext<'_>, fields: &[(&str, &str)]) -> Markup {
    html! {
        input type="hidden" name="form_token" value=(context.form_token);
        input type="hidden" name="back" value=(context.back);
        @for (name, value) in fields { input type="hidden" name=(name) value=(value); }
    }
}

fn button(
    context: &PageContext<'_>,
    path: &str,
    fields: &[(&str, &str)],
    class: &str,
    words: &str,
) -> Markup {
    html! {
        form method="post" action={ "act/" (path) } {
            (hidden(context, fields))
            button type="submit" class=(class) { (words) }
        }
    }
}

/// Returns the answers to a question for permission as buttons. A no comes first.
pub(in crate::web::pages) fn answer_forms(
    row: &PermissionRow,
    context: &PageContext<'_>,
) -> Markup {
    if !context.can_answer {
        return html! {
            p.small { "Answer with " code { "cli-team-bridge allow " (row.permission_id) } " or " code { "deny" } ", in the client that leads, or here if " code { "web" } " is started with " code.flag { "--answer" } "." }
        };
    }
    html! {
        div.answers role="group" aria-label={ "Answers to " (row.agent) } {
            @for answer in row.answers() {
                // No yes stands out: a click is a decision.
                @let class = match answer.decision {
                    Decision::AllowOnce | Decision::AllowAlways => "",
                    _ => "harm",
                };
                (button(context, "answer", &[("id", &row.permission_id), ("decision", answer.decision.as_str())], class, answer.words))
            }
        }
    }
}

/// Returns the answers to a step that waits for approval. A yes is there only if the page shows what it is about.
pub(in crate::web::pages) fn approval_forms(
    workflow: &str,
    step: &str,
    shows_prompt: bool,
    context: &PageContext<'_>,
) -> Markup {
    if !context.can_answer {
        return html! {
            p.small { "Answer with " code { "cli-team-bridge allow " (workflow) } " or " code { "deny" } ", or here if " code { "web" } " is started with " code.flag { "--answer" } "." }
        };
    }
    let fields = [("workflow", workflow), ("step", step)];
    html! {
        div.answers role="group" aria-label={ "Answers about the step " (step) } {
            form method="post" action="act/approve" {
                (hidden(context, &fields))
                input type="hidden" name="given" value="no";
                label { span.unseen { "Why the step " (step) " is refused" } input type="text" name="reason" maxlength="1000" placeholder="why not (optional)"; }
                button.harm type="submit" { "Refuse" }
            }
            @if shows_prompt {
                // No yes stands out, as above.
                (button(context, "approve", &[fields[0], fields[1], ("given", "yes")], "", "Approve"))
            }
        }
    }
}

/// Returns the form that sends a message to a member, or to all.
pub(in crate::web::pages) fn send_form(to: &str, context: &PageContext<'_>) -> Markup {
    let whom = if to == "all" { "everybody" } else { to };
    html! {
        @if context.can_write {
            section.sheet aria-labelledby="send-heading" {
                h2 id="send-heading" { "Write to " (whom) }
                form.body method="post" action="act/send" {
                    (hidden(context, &[("to", to)]))
                    label { span.unseen { "The message to " (whom) } textarea name="text" required maxlength="40000" {} }
                    div.answers {
                        button.go type="submit" { "Send" }
                        label { input type="checkbox" name="urgent" value="yes"; " urgent: interrupts its turn" }
                    }
                }
            }
        }
    }
}

/// Returns the form that answers a need by a message, or the command that does.
pub(in crate::web::pages) fn reply_form(need: &Need, context: &PageContext<'_>) -> Markup {
    let Some((to, reply_to)) = need.answered_by_message() else { return html! {} };
    if !context.can_write {
        return html! {
            p.small { "Answer with " code { (need.command().unwrap_or_default()) } ", or here if " code { "web" } " is started with " code.flag { "--write" } "." }
        };
    }
    html! {
        form.body method="post" action="act/send" {
            (hidden(context, &[("to", to), ("reply_to", reply_to)]))
            label { span.unseen { "Your answer to " (need.who) } textarea name="text" required maxlength="40000" {} }
            div.answers { button.go type="submit" { (if need.kind == NeedKind::Decision { "Decide" } else { "Answer" }) } }
        }
    }
}

/// Returns the buttons that end an agent.
pub(in crate::web::pages) fn end_forms(row: &MemberRow, context: &PageContext<'_>) -> Markup {
    let session = row.session.to_string();
    let fields = [("member", row.name.as_str()), ("session", session.as_str())];
    html! {
        @if context.can_write && row.kind == "agent" && row.state != "left" && row.state != "gone" {
            details.sheet id="end" {
                summary { "End " (row.name) " …" }
                div.body {
                    div.answers {
                        (button(context, "stop", &fields, "", "Stop it when its turn is over"))
                        (button(context, "kill", &fields, "harm", "Kill it now"))
                    }
                }
            }
        }
    }
}

/// Returns the button that helps a member that is stuck, or the command that does.
pub(in crate::web::pages) fn way_out_form(
    need: &Need,
    row: &MemberRow,
    context: &PageContext<'_>,
) -> Markup {
    let Some(command) = need.command() else { return html! {} };
    if !context.can_write {
        return html! {
            p.small { "End it with " code { (command) } ", or here if " code { "web" } " is started with " code.flag { "--write" } "." }
        };
    }
    let session = row.session.to_string();
    let member = [("member", row.name.as_str()), ("session", session.as_str())];
    html! {
        div.answers role="group" aria-label={ "What helps " (row.name) } {
            @match (need.way_out(), &need.id) {
                (Some(WayOut::Cancel), Some(id)) => (button(context, "cancel", &[("id", id)], "harm", "Cancel its task")),
                (Some(WayOut::Stop), _) => (button(context, "stop", &member, "harm", "Stop it")),
                // The first click only opens, as in the part with which an agent is ended on its own page.
                (Some(WayOut::Kill), _) => details id={ "kill-" (session) } {
                    summary { "Kill " (row.name) " …" }
                    p.small { "All its processes end at once, whatever they are doing." }
                    (button(context, "kill", &member, "harm", "Kill it now"))
                },
                _ => {},
            }
        }
    }
}

/// Returns the button that cancels a task or a workflow.
pub(in crate::web::pages) fn cancel_form(
    id: &str,
    what: &str,
    context: &PageContext<'_>,
) -> Markup {
    html! {
        @if context.can_write {
            details.sheet id="cancel" {
                summary { "Cancel this " (what) " …" }
                div.body { (button(context, "cancel", &[("id", id)], "harm", &format!("Cancel the {what}"))) }
            }
        }
    }
}
