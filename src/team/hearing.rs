//! What an agent says by itself: its updates, and its questions for permission.

use super::actor::Actor;
use super::transcript;
use crate::acp::{AgentEvent, Update};

impl Actor {
    pub(super) fn hear(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::Update { session, update } => {
                if let (Update::ConfigOptions(options), true) = (&update, session == self.acp.id) {
                    self.acp.config_options.clone_from(options);
                    self.offers.note(self.identity.session, &self.acp);
                    if let Some(mode) = self.acp.mode_setting() {
                        self.acp.hear_mode(&mode);
                    }
                }
                if let (Update::Mode(mode), true) = (&update, session == self.acp.id) {
                    self.acp.hear_mode(mode);
                }
                // The agent's earlier sessions are over, whatever it still says in them.
                let Some(turn) = self.turn.as_mut().filter(|_| session == self.acp.id) else {
                    return;
                };
                self.ladder.hear(&update, turn);
                turn.hear(&update);
                let name = turn.transcript.clone();
                let line = transcript::of_update(self.wall_ms(), &update);
                self.transcribe(&name, line);
            }
            AgentEvent::PermissionAsked(question) => self.consider(question),
            AgentEvent::FileAsked(question) => self.consider_file(question),
            AgentEvent::DrainAsked(question) => self.ladder.ask(question),
            AgentEvent::UnknownNotification { method } | AgentEvent::UnknownRequest { method } => {
                tracing::debug!(
                    "{} uses `{method}`, which is not known here",
                    self.identity.name
                );
            }
        }
    }
}
