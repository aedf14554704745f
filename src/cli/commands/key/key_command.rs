//! `key`: makes, lists and revokes the keys with which programs use the HTTP API of `web`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::bus::state::AccessKey;
use crate::cli::commands::look::{aligned, no_team, open_project, print_json};
use crate::cli::commands::own_labels::LabelArguments;
use crate::cli::steer::{MadeKey, Steering};
use crate::cli::{Failure, below_agent, output, serve_mcp, with_hint};
use crate::domain::access_key::{KeyScope, scopes_in_words};
use crate::domain::ids::KeyId;
use crate::domain::member::{Label, Traits};
use crate::domain::name::Name;
use crate::domain::time::iso8601;
use crate::view::Moment;

/// The name of orchestrators, to which numbers are added.
const LEADER: &str = "orchestrator";

/// The version of the JSON forms.
const VERSION: u32 = 1;

/// What to do with keys.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge key new dashboard            a key that reads all
  cli-team-bridge key new ci --write           a key that writes as the member `ci`
  cli-team-bridge key new ci --write --role builder
  cli-team-bridge key list                     list the valid keys
  cli-team-bridge key revoke ID                revoke one")]
pub(crate) struct KeyArguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Clone, Debug, Subcommand)]
enum Action {
    /// Make a key, and print its secret: this once.
    New(NewArguments),
    /// List the valid keys, without their secrets.
    List(TeamChoice),
    /// Make a key invalid.
    Revoke(RevokeArguments),
}

/// The options that all actions share.
#[derive(Clone, Debug, Args)]
struct TeamChoice {
    /// The project directory [default: found from the current directory].
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Print JSON instead of lines for people.
    #[arg(long)]
    json: bool,
}

/// The key to make, and what it may do: to read, if nothing else is said.
#[derive(Clone, Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
struct NewArguments {
    #[command(flatten)]
    team: TeamChoice,
    /// The member that the bearer of the key is.
    #[arg(value_name = "NAME")]
    name: Name,
    /// It may read all that the team says and does.
    #[arg(long)]
    read: bool,
    /// It may be the member NAME: read its inbox, write messages, open and claim requests.
    #[arg(long)]
    write: bool,
    /// It may assign tasks to live agents, as NAME.
    #[arg(long)]
    assign: bool,
    /// It may answer what agents ask, as you do.
    #[arg(long)]
    answer: bool,
    #[command(flatten)]
    labels: LabelArguments,
}

impl NewArguments {
    /// Refuses labels of nobody: a key that neither writes nor assigns makes no member.
    fn check_labels(&self) -> Result<(), Failure> {
        self.labels.check()?;
        if self.write || self.assign || self.labels.are_none() {
            return Ok(());
        }
        let words = "a key that only reads makes no member, whom these words would describe";
        Err(with_hint(words, "add --write"))
    }

    /// Returns what the key may do.
    fn scopes(&self) -> Vec<KeyScope> {
        let asked = [
            (KeyScope::Read, self.read),
            (KeyScope::Write, self.write),
            (KeyScope::Assign, self.assign),
            (KeyScope::Answer, self.answer),
        ];
        let mut scopes: Vec<_> =
            asked.into_iter().filter_map(|(scope, is_asked)| is_asked.then_some(scope)).collect();
        if scopes.is_empty() {
            scopes.push(KeyScope::Read);
        }
        scopes
    }
}

/// The key to revoke.
#[derive(Clone, Debug, Args)]
struct RevokeArguments {
    #[command(flatten)]
    team: TeamChoice,
    /// The key.
    #[arg(value_name = "ID", value_parser = KeyId::parse)]
    id: KeyId,
}

/// A key in JSON.
#[derive(Debug, Serialize)]
struct ShownKey {
    version: u32,
    key_id: String,
    name: String,
    scopes: Vec<KeyScope>,
    /// What the member is in its team.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    roles: Vec<Label>,
    #[serde(flatten)]
    traits: Traits,
    /// When it was made; missing where it was made just now.
    #[serde(skip_serializing_if = "Option::is_none")]
    made_at: Option<Moment>,
    /// Only where it was made just now.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
    /// Whether it was revoked just now.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    revoked: bool,
}

impl ShownKey {
    /// Shows a valid key.
    fn of(id: &KeyId, key: &AccessKey) -> Self {
        Self {
            version: VERSION,
            key_id: id.to_string(),
            name: key.name.to_string(),
            scopes: key.scopes.clone(),
            roles: key.roles.clone(),
            traits: key.traits.clone(),
            made_at: Some(Moment(key.made_ms)),
            secret: None,
            revoked: false,
        }
    }
}

pub(crate) fn run(arguments: &KeyArguments) -> Result<(), Failure> {
    below_agent::refuse_to("manage the keys of its user")?;
    match &arguments.action {
        Action::New(new) => make(new),
        Action::List(team) => list(team),
        Action::Revoke(revoke) => end(revoke),
    }
}

fn make(new: &NewArguments) -> Result<(), Failure> {
    // A program of that name would take the place of whoever leads next, and its mail.
    let name = new.name.as_str();
    if name == LEADER || name.strip_prefix(LEADER).is_some_and(|rest| rest.starts_with('-')) {
        let words = format!("`{name}` is the name of a session that leads the team");
        return Err(with_hint(words, "name the key after the program that uses it"));
    }
    new.check_labels()?;
    let (roles, traits) = (new.labels.roles.clone(), new.labels.traits(None));
    let made = on_team(new.team.project.as_deref(), async |team| {
        team.make_key(&new.name, new.scopes(), (roles.clone(), traits.clone())).await
    });
    let MadeKey { id, scopes, secret } = made?;
    if new.team.json {
        print_json(&ShownKey {
            version: VERSION,
            key_id: id.to_string(),
            name: new.name.to_string(),
            scopes,
            roles,
            traits,
            made_at: None,
            secret: Some(secret),
            revoked: false,
        });
        return Ok(());
    }
    output::say(&secret);
    let scopes = scopes_in_words(&scopes);
    output::tell(&format!(
        "This is the secret of {id}, the key of `{}` ({scopes}). It is shown only now: keep it where \
         no agent reads it. `cli-team-bridge key revoke {id}` makes it invalid.",
        new.name
    ));
    Ok(())
}

fn list(team: &TeamChoice) -> Result<(), Failure> {
    let opened = open_project(team.project.as_deref(), None)?;
    let keys: Vec<_> = opened.bus.as_ref().map(|bus| bus.state().keys()).unwrap_or_default();
    if team.json {
        let shown: Vec<_> = keys.iter().map(|(id, key)| ShownKey::of(id, key)).collect();
        print_json(&shown);
        return Ok(());
    }
    if opened.bus.is_none() {
        output::tell(&no_team(&opened.root));
    } else if keys.is_empty() {
        output::tell("There are no keys. `cli-team-bridge key new NAME` makes one.");
    }
    let cells: Vec<_> = keys
        .iter()
        .map(|(id, key)| {
            let scopes = scopes_in_words(&key.scopes);
            vec![
                id.to_string(),
                key.name.to_string(),
                scopes,
                format!("made {}", iso8601(key.made_ms)),
                labels_in_words(&key.roles, &key.traits),
            ]
        })
        .collect();
    for line in aligned(&cells, 0) {
        output::say(&line);
    }
    Ok(())
}

/// Writes what a member is in its team, as `@builder, lane @storage, can rust, #news`.
fn labels_in_words(roles: &[Label], traits: &Traits) -> String {
    let Traits { lane, capabilities, topics, .. } = traits;
    let roles = roles.iter().map(|role| format!("@{role}"));
    let lane = lane.iter().map(|lane| format!("lane @{lane}"));
    let capabilities = capabilities.iter().map(|word| format!("can {word}"));
    let topics = topics.iter().map(|topic| format!("#{topic}"));
    let words: Vec<_> = roles.chain(lane).chain(capabilities).chain(topics).collect();
    words.join(", ")
}

fn end(revoke: &RevokeArguments) -> Result<(), Failure> {
    let id = &revoke.id;
    let key = on_team(revoke.team.project.as_deref(), async |team| {
        let key = team.key(id);
        team.revoke_key(id).await?;
        key.ok_or_else(|| format!("there is no key `{id}`").into())
    })?;
    if revoke.team.json {
        print_json(&ShownKey { made_at: None, revoked: true, ..ShownKey::of(id, &key) });
    } else {
        output::say(&format!("{id}, a key of `{}`, is revoked", key.name));
    }
    Ok(())
}

/// Does something on the team's bus.
fn on_team<T>(
    project: Option<&Path>,
    act: impl AsyncFnOnce(&Steering) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut done = None;
    serve_mcp::run(async || {
        let team = Steering::open(project).await?;
        let acted = act(&team).await;
        team.close().await;
        done = Some(acted?);
        Ok(())
    })?;
    done.ok_or_else(|| "the act was interrupted".into())
}
