//! Surfaces: the programs in which models work, and the ways in which messages reach a session there.
//!
//! A session says its surface itself, and it is never guessed: a message that goes a way which its program does not have is late. To add
//! a way: a file in [`methods`], a word in [`Way`], and its place in the rows that have it.
//!
//! [`methods`]: crate::delivery::methods

use Way::{Channel, Drain, Hook, Inject, Notice, Piggyback, Prompt, Pull, Steer, Watch};

use crate::domain::text::suggest::nearest;

/// A way in which messages reach a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Into a running turn, by the bridge that holds the session.
    Steer,
    /// The agent asks its bridge between two steps.
    Drain,
    /// A prompt of its own.
    Prompt,
    /// In front of the next task.
    Inject,
    /// A push by the server of the session, if it was started with `--channel`.
    Channel,
    /// By hooks of the program, which carry the messages.
    Hook,
    /// By hooks of the program, which only say that there are some.
    Notice,
    /// By a command whose lines begin turns.
    Watch,
    /// On the results of tools.
    Piggyback,
    /// The model asks.
    Pull,
}

/// A program in which models work.
#[derive(Debug)]
pub struct Surface {
    pub name: &'static str,
    /// Other names of the same program.
    also: &'static [&'static str],
    /// The ways to an agent that a bridge started there, in the order in which they are tried.
    pub led: &'static [Way],
    /// The ways to a session that joined by itself, in the order in which they are tried.
    pub joined: &'static [Way],
}

/// The ways that every session has.
const EVERY: &[Way] = &[Piggyback, Pull];
/// The ways to an agent into whose turns nothing gets.
const LED: &[Way] = &[Prompt, Inject, Piggyback, Pull];

/// The known programs.
pub const SURFACES: [Surface; 10] = [
    Surface {
        name: "claude-code",
        also: &["claude"],
        led: &[Steer, Prompt, Inject, Piggyback, Pull],
        joined: &[Channel, Hook, Watch, Piggyback, Pull],
    },
    Surface { name: "claude-desktop", also: &[], led: &[], joined: EVERY },
    Surface {
        name: "codex",
        also: &["codex-cli"],
        led: &[Steer, Prompt, Inject, Piggyback, Pull],
        joined: EVERY,
    },
    Surface { name: "gemini", also: &["gemini-cli"], led: LED, joined: &[Notice, Piggyback, Pull] },
    Surface {
        name: "qwen",
        also: &["qwen-code"],
        led: &[Drain, Prompt, Inject, Piggyback, Pull],
        joined: &[Notice, Piggyback, Pull],
    },
    Surface { name: "droid", also: &["droid-cli"], led: LED, joined: EVERY },
    Surface { name: "cursor", also: &[], led: &[], joined: EVERY },
    Surface { name: "vscode", also: &["vs-code"], led: &[], joined: EVERY },
    Surface { name: "zed", also: &[], led: &[], joined: EVERY },
    Surface { name: "jetbrains", also: &[], led: &[], joined: EVERY },
];

/// Returns the known program of this name; case does not count, nor whether its words are joined by `-` or `_`.
pub fn known(word: &str) -> Option<&'static Surface> {
    let word = word.replace('_', "-");
    SURFACES.iter().find(|surface| {
        let mut names = std::iter::once(&surface.name).chain(surface.also);
        names.any(|name| name.eq_ignore_ascii_case(&word))
    })
}

/// Returns what to tell of a surface that is not known: the known ones, nearest first.
pub fn about_unknown(word: &str) -> Option<String> {
    if known(word).is_some() {
        return None;
    }
    let names = || SURFACES.iter().map(|surface| surface.name);
    let mut all = nearest(&word.replace('_', "-"), names());
    let rest: Vec<_> = names().filter(|name| all.iter().all(|near| near != name)).collect();
    all.extend(rest.into_iter().map(str::to_owned));
    Some(format!(
        "the surface `{word}` is not known, so messages come with the results of tools and when \
         the model asks; the known ones are {}",
        all.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    use crate::config::{Config, Load};
    use crate::delivery::capabilities::{Reach, Shown};
    use crate::domain::messaging::DeliveryMethod;

    /// Returns the method by which a way delivers; none if it only announces messages.
    fn method(way: Way) -> Option<DeliveryMethod> {
        Some(match way {
            Steer => DeliveryMethod::Steer,
            Drain => DeliveryMethod::Drain,
            Prompt => DeliveryMethod::Prompt,
            Inject => DeliveryMethod::Inject,
            Channel => DeliveryMethod::Channel,
            Hook => DeliveryMethod::Hook,
            Piggyback => DeliveryMethod::Piggyback,
            Pull => DeliveryMethod::Pull,
            Notice | Watch => return None,
        })
    }

    #[test]
    fn a_surface_is_found_by_its_names_however_they_are_written() {
        for word in ["claude-code", "claude_code", "Claude-Code", "claude"] {
            assert_eq!(known(word).unwrap().name, "claude-code");
        }
        assert_eq!(known("codex_cli").unwrap().name, "codex");
        assert!(known("emacs").is_none());
    }

    #[test]
    fn every_session_can_ask() {
        assert_eq!(known("claude_code").unwrap().joined[..2], [Channel, Hook]);
        for surface in &SURFACES {
            for ways in [surface.led, surface.joined].into_iter().filter(|ways| !ways.is_empty()) {
                assert_eq!(ways[ways.len() - 2..], [Piggyback, Pull], "{}", surface.name);
            }
        }
    }

    /// A row says what the profile and the program's offers come to.
    #[test]
    fn the_rows_of_agents_are_the_ways_of_their_bridges() {
        let nowhere = Path::new("/nowhere");
        let load = Load { project: nowhere, home: None, config_home: None, explicit: None };
        let config = Config::load(load).unwrap();
        for name in ["claude-code", "codex", "gemini", "qwen", "droid"] {
            let led = known(name).unwrap().led;
            let shown = Shown { steers: led.contains(&Steer), drains: false };
            let profile = config.profile(name).unwrap();
            let of_bridge = Reach::of(profile.mid_turn.value, shown).methods();
            let of_tools = [DeliveryMethod::Piggyback, DeliveryMethod::Pull];
            let expected: Vec<_> = of_bridge.into_iter().chain(of_tools).collect();
            let methods: Vec<_> = led.iter().filter_map(|way| method(*way)).collect();
            assert_eq!(methods, expected, "{name}");
        }
    }

    #[test]
    fn an_unknown_surface_is_told_with_the_nearest_first() {
        assert_eq!(about_unknown("cursor"), None);
        let told = about_unknown("cursr").unwrap();
        assert!(told.contains("`cursr` is not known"), "{told}");
        assert!(told.contains("the known ones are cursor, claude-code, claude-desktop,"), "{told}");
        assert!(about_unknown("gemini_clj").unwrap().contains("ones are gemini,"));
    }
}
