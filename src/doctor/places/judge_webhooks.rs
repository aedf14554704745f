//! Judges the webhooks of the user: whether anything waits for them. Pure.

use crate::alerts::messages_waiting;
use crate::bus::state::State;
use crate::config::Webhook;
use crate::doctor::finding::{Finding, Subject};
use crate::domain::text::counted::counted_as;

/// Judges each webhook. `is_set` says whether a variable of the environment has a value here.
pub(super) fn judge(
    state: &State,
    webhooks: &[Webhook],
    is_set: impl Fn(&str) -> bool,
) -> Vec<Finding> {
    webhooks.iter().map(|webhook| judge_webhook(state, webhook, &is_set)).collect()
}

fn judge_webhook(state: &State, webhook: &Webhook, is_set: &impl Fn(&str) -> bool) -> Finding {
    const CHECK: &str = "webhooks";
    let (name, waiting) = (&webhook.name, messages_waiting(state, webhook));
    let what = format!("`{name}`: what is for {} goes to {}", webhook.to, host(&webhook.url));
    let unset = webhook.secret_env.as_ref().filter(|variable| !is_set(variable));
    let finding = if let Some(variable) = unset {
        Finding::note(&Subject::Bus, CHECK, format!("{what}; {variable} is not set here"))
            .with_remedy(format!(
                "set {variable} where your client starts the orchestrator: without it nothing is sent"
            ))
    } else if waiting == 0 {
        Finding::ok(&Subject::Bus, CHECK, what)
    } else {
        let wait = counted_as(waiting, "message waits", "messages wait");
        let remedy = if state.lead().is_some() {
            "if this stays so, look at the URL: the log of the orchestrator that leads says what it answers"
        } else {
            "nothing: the next orchestrator here sends them"
        };
        Finding::note(&Subject::Bus, CHECK, format!("{what}; {wait} for it")).with_remedy(remedy)
    };
    finding.with_fact("name", name.as_str()).with_fact("waiting", waiting)
}

/// Returns the host of a URL: the rest may hold a secret.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    authority.rsplit('@').next().unwrap_or(authority)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Webhook;
    use crate::domain::member::Label;
    use crate::domain::messaging::Audience;

    #[test]
    fn a_webhook_is_shown_without_the_secrets_of_its_url_and_with_what_it_lacks() {
        let webhook = |secret_env| Webhook {
            name: Label::parse("builds").unwrap(),
            url: "https://me:word@hooks.example:8443/T0/secret?key=1".to_owned(),
            to: Audience::All,
            secret_env,
        };
        let says = |webhook, is_set| {
            let findings = judge(&State::default(), &[webhook], |_| is_set);
            let [finding] = &*findings else { panic!("{findings:?}") };
            finding.says.clone()
        };
        assert_eq!(
            says(webhook(None), false),
            "`builds`: what is for all goes to hooks.example:8443"
        );
        let signed = webhook(Some("HOOK_SECRET".to_owned()));
        assert!(says(signed.clone(), false).ends_with("; HOOK_SECRET is not set here"));
        assert!(says(signed, true).ends_with(":8443"));
    }
}
