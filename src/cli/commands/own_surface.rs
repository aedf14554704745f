//! What a session that joins by itself says of its program, and whether it wants messages pushed.

use clap::Args;

use crate::delivery::surface::{self, Way};
use crate::domain::env_vars;
use crate::domain::member::Label;
use crate::mcp::Pushing;

/// The program in which the model of a session works.
#[derive(Clone, Debug, Args)]
pub(crate) struct SurfaceArguments {
    /// The program in which the model works, such as claude-code [default: `BRIDGE_SURFACE`].
    #[arg(long, value_name = "WORD")]
    surface: Option<Label>,
    /// Push messages into the session as they come; Claude Code shows them if it was started with this server as a channel.
    #[arg(long)]
    channel: bool,
}

/// The same, as far as it is known.
#[derive(Clone, Debug)]
pub(crate) struct OwnSurface {
    pub(crate) name: Option<Label>,
    pub(crate) pushing: Pushing,
}

impl SurfaceArguments {
    /// Finds the surface of this session, and says on stderr what is wrong with it. It is never guessed.
    pub(crate) fn find(self) -> OwnSurface {
        let name = self.surface.or_else(from_environment);
        if let Some(told) = name.as_ref().and_then(|name| surface::about_unknown(name.as_str())) {
            tracing::warn!("{told}");
        }
        let own = OwnSurface {
            name,
            pushing: if self.channel { Pushing::ByChannel } else { Pushing::Never },
        };
        if self.channel && own.known().is_some_and(|ways| !ways.contains(&Way::Channel)) {
            let name = own.name.as_ref().map_or("", Label::as_str);
            tracing::warn!(
                "the surface `{name}` shows no pushes, so with --channel each message comes a \
                 minute later"
            );
        }
        own
    }
}

impl OwnSurface {
    /// Says whether a command whose lines begin turns may serve this session: not if its program is known to have no such tool.
    pub(crate) fn may_watch(&self) -> bool {
        self.known().is_none_or(|ways| ways.contains(&Way::Watch))
    }

    /// Returns the ways to the session, if its program is known.
    fn known(&self) -> Option<&'static [Way]> {
        let surface = surface::known(self.name.as_ref()?.as_str())?;
        Some(surface.joined)
    }
}

fn from_environment() -> Option<Label> {
    let word = std::env::var(env_vars::SURFACE).ok().filter(|word| !word.is_empty())?;
    match Label::parse(&word) {
        Ok(label) => Some(label),
        Err(error) => {
            tracing::warn!("ignored {}: {error}", env_vars::SURFACE);
            None
        }
    }
}
