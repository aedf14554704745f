//! Handles what an agent sends by itself: its updates, and its requests for permission, files and messages.
//!
//! Methods of the actor: `hear`.

use super::Actor;
use crate::acp::{AgentEvent, Update};
use crate::domain::time::Tick;
use crate::team::agent::model_and_mode::quoted;
use crate::team::turn::proof_of_reading::Sign;
use crate::team::turn::tool_answers::held_by_tools;
use crate::team::turn::transcript;

impl Actor {
    pub(crate) fn hear(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::Update { session, update, read } => {
                if let (Update::ConfigOptions(options), true) =
                    (&update, session == self.process.session.id)
                {
                    self.process.session.config_options.clone_from(options);
                    self.agent.offers.note(self.agent.session(), &self.process.session);
                    if let Some(mode) = self.process.session.mode_setting() {
                        self.process.session.hear_mode(mode.as_str());
                    }
                }
                if let (Update::Mode(mode), true) = (&update, session == self.process.session.id) {
                    self.process.session.hear_mode(mode);
                }
                if let (Some(call), true) =
                    (update.about_call(), session == self.process.session.id)
                {
                    self.questions.note(&call);
                }
                // The agent's earlier sessions are over, whatever it still sends about them.
                let Some(turn) = self.turn.as_mut().filter(|_| session == self.process.session.id)
                else {
                    return;
                };
                let sign = self.mid_turn.hear(&update, turn);
                let (me, secrets) = (self.agent.session(), &self.agent.secrets);
                self.agent.doing.hear(me, &update, &turn.calls, secrets);
                let name = turn.transcript.clone();
                self.note_answers(sign, read);
                let line = transcript::of_update(self.agent.wall_ms(), &update);
                self.agent.transcribe(&name, line);
            }
            AgentEvent::PermissionAsked(question) => {
                let session = &self.process.session.id;
                self.questions.consider(&self.agent, session, &mut self.turn, question);
            }
            AgentEvent::FileAsked(question) => {
                let session = &self.process.session.id;
                self.questions.consider_file(&self.agent, session, self.turn.as_ref(), question);
            }
            AgentEvent::DrainAsked(question) => self.mid_turn.ask(question),
            AgentEvent::UnknownNotification { method } | AgentEvent::UnknownRequest { method } => {
                tracing::debug!(
                    "{} used {}, which the bridge does not know",
                    self.agent.name(),
                    quoted(self.agent.secrets.hidden(method).as_str())
                );
            }
        }
    }

    /// Notes which answers of our tools the agent can have received, now that a tool call has ended.
    ///
    /// The bus may be ahead of the agent's updates. A call that began to hold something only after this update was read is a later
    /// call, which the agent has not reported yet.
    fn note_answers(&mut self, sign: Sign, read: Tick) {
        if !sign.ended_well && !sign.calls_over {
            return;
        }
        let mut held = held_by_tools(&self.agent);
        let session = self.agent.session();
        self.agent
            .membership
            .bus()
            .look(|state| held.retain(|call| state.held_by(session, *call, read.ms)));
        let Some(turn) = &mut self.turn else { return };
        if sign.ended_well {
            turn.answered.extend(held.iter().copied());
        }
        if sign.calls_over {
            // A failed call brought its agent nothing.
            held.retain(|call| turn.answered.contains(call));
            self.mid_turn.calls_over(held);
        }
    }
}
