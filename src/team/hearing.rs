//! What an agent says by itself: its updates, and its questions for permission.

use super::actor::Actor;
use super::transcript;
use crate::acp::{AgentEvent, OurTools, PermissionQuestion, Wanted, is_our_tool};
use crate::config::Permissions;
use crate::domain::tools::{ENDPOINT_TOOLS, SERVER};

impl Actor {
    pub(super) fn hear(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::Update { session, update } => {
                // The agent's earlier sessions are over, whatever it still says in them.
                let Some(turn) = self.turn.as_mut().filter(|_| session == self.acp.id) else {
                    return;
                };
                turn.hear(&update);
                let line = transcript::of_update(self.seat.bus().now().wall_ms, &update);
                self.seat.bus().transcript(&turn.transcript, &line);
            }
            AgentEvent::PermissionAsked(question) => self.answer(question),
            AgentEvent::UnknownNotification { method } | AgentEvent::UnknownRequest { method } => {
                tracing::debug!(
                    "{} uses `{method}`, which is not known here",
                    self.identity.name
                );
            }
        }
    }

    /// Answers a permission question by the profile; our own tools never need asking.
    fn answer(&mut self, question: PermissionQuestion) {
        let call = question.request().tool_call.clone();
        let title = call.title.clone().unwrap_or_else(|| call.id.clone());
        let ours = OurTools {
            server: SERVER,
            tools: &ENDPOINT_TOOLS,
        };
        let earlier = self.turn.as_ref().and_then(|turn| turn.calls.get(&call.id));
        let allowed = self.profile.permissions.value == Permissions::Allow
            || is_our_tool(question.request(), earlier, ours);
        let wanted = if allowed {
            Wanted::AllowOnce
        } else {
            Wanted::Reject
        };
        let answer = question.answer_by_kind(wanted);
        if let Some(turn) = &mut self.turn {
            turn.calls.see(call);
            let line = transcript::of_permission(
                self.seat.bus().now().wall_ms,
                &title,
                &format!("{answer:?}"),
            );
            self.seat.bus().transcript(&turn.transcript, &line);
        }
    }
}
