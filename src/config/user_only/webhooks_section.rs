//! The `[webhooks]` of a configuration: which messages are passed on to which URLs. Only the user's own files have it.

use toml::Spanned;
use toml::de::DeValue;

use crate::config::defaults;
use crate::config::error::shown;
use crate::config::key::names;
use crate::config::notify_section::{url, variable};
use crate::config::toml_reader::{Reader, TomlEntry};
use crate::domain::limits;
use crate::domain::member::Label;
use crate::domain::messaging::{Address, Audience};
use crate::domain::name::Name;

/// A URL that gets the messages of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// What the bus calls it.
    pub name: Label,
    pub url: String,
    /// The address of its messages.
    pub to: Audience,
    /// The variable of the environment with the secret that signs each POST.
    pub secret_env: Option<String>,
}

/// Reads the section over the webhooks of the files before it. A webhook takes the place of an earlier one of its name as a whole.
pub(in crate::config) fn read(
    reader: &mut Reader<'_>,
    value: &Spanned<DeValue<'_>>,
    webhooks: &mut Vec<Webhook>,
) {
    let mut is_unnamed = false;
    for entry in reader.table(value, "`webhooks`").unwrap_or_default() {
        if !entry.value.get_ref().is_table() && names(&defaults::WEBHOOKS).contains(&entry.key) {
            // The settings of a webhook stand where its name is missing, which is said once.
            if !std::mem::replace(&mut is_unnamed, true) {
                let advice =
                    "`[webhooks]` has a webhook without a name: name it, as in [webhooks.NAME]";
                reader.report(&entry.key_span, advice.to_owned());
            }
            continue;
        }
        let Ok(name) = Label::parse(entry.key) else {
            let message = format!("invalid name of a webhook: {:?} is no word", shown(entry.key));
            reader.report(&entry.key_span, message);
            continue;
        };
        let Some(webhook) = webhook(reader, name, &entry) else { continue };
        webhooks.retain(|other| other.name != webhook.name);
        if webhooks.len() == limits::WEBHOOKS {
            let most = limits::WEBHOOKS;
            let message = format!("`webhooks` has more than {most} of them, the limit");
            return reader.report(&entry.key_span, message);
        }
        webhooks.push(webhook);
    }
}

fn webhook(reader: &mut Reader<'_>, name: Label, entry: &TomlEntry<'_, '_>) -> Option<Webhook> {
    let table = format!("[webhooks.{name}]");
    let (mut address, mut to, mut secret_env) = (None, None, None);
    let (mut has_url, mut has_to) = (false, false);
    for key in reader.table(entry.value, &format!("`{table}`"))? {
        let what = format!("`{}` of {table}", shown(key.key));
        match key.key {
            "url" => {
                has_url = true;
                address = url(reader, key.value, &what);
            }
            "to" => {
                has_to = true;
                to = audience(reader, key.value, &what);
            }
            "secret_env" => secret_env = variable(reader, key.value, &what),
            _ => reader.report_unknown(&key, &table, &names(&defaults::WEBHOOKS)),
        }
    }
    for (key, is_there, advice) in [
        ("url", has_url, "where its messages go"),
        ("to", has_to, "an address such as \"#releases\" or the name of a member"),
    ] {
        if !is_there {
            let message = format!("the webhook `{name}` has no `{key}`: set {advice}");
            reader.report(&entry.key_span, message);
        }
    }
    Some(Webhook { name, url: address?, to: to?, secret_env })
}

/// Reads an address that is the same for as long as the file stands.
fn audience(reader: &mut Reader<'_>, value: &Spanned<DeValue<'_>>, what: &str) -> Option<Audience> {
    let text = reader.line(value, what, limits::ADDRESS_CHARS)?;
    let audience = match Address::parse(&text) {
        Ok(Address::All) => Some(Audience::All),
        Ok(Address::Group(group)) => Some(Audience::Group(group)),
        Ok(Address::Member(name)) => Name::parse(&name).ok().map(Audience::One),
        Ok(Address::Session(_) | Address::Elsewhere { .. }) | Err(_) => None,
    };
    if audience.is_none() {
        let message = format!(
            "{what} is {:?}: it must be the name of a member, `@word`, `#topic`, `all` or `human`",
            shown(&text)
        );
        reader.report(&value.span(), message);
    }
    audience
}
