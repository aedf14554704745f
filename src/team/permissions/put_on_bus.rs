//! Puts a question for permission on the bus, with retries: a bus that is busy for seconds, or a full disk, must not decide it.

use tokio::time::Instant;

use super::ask::time_limit;
use super::open_questions::{OpenQuestions, Unposted, Waiting};
use super::user_reachable::Reach;
use crate::bus::BusError;
use crate::bus::event::Event;
use crate::bus::rules::{AskedFirst, NewQuestion, Operation};
use crate::bus::storage::LogError;
use crate::domain::ids::PermissionId;
use crate::domain::permission::Decision;
use crate::domain::wait_times;
use crate::team::agent::context::AgentContext;
use crate::team::agent::pending_writes;
use crate::team::turn::turn_record::Turn;

impl OpenQuestions {
    /// Puts a question on the bus; returns it if the bus cannot accept it yet. A question that the bus refuses is rejected.
    pub(super) async fn put(
        &mut self,
        agent: &AgentContext,
        turn: &mut Option<Turn>,
        mut unposted: Unposted,
    ) -> Option<Unposted> {
        let limit = time_limit(agent);
        let new = NewQuestion {
            question: unposted.question.clone(),
            offers: unposted.asked.offers(),
            timeout_ms: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX),
            to: match agent.user.reach() {
                Reach::AtOnce => AskedFirst::Human,
                Reach::WithNextCall => AskedFirst::HumanWithNextCall,
                Reach::Never => AskedFirst::Orchestrator,
            },
        };
        if unposted.tries == 0 {
            unposted.behind = newest_question(agent).map_or(0, |(seq, _)| seq);
        }
        let operation = Operation::AskPermission(Box::new(new));
        let put = match agent.membership.ask_again(unposted.command, operation).await {
            Ok(receipt) => put_as(agent, &receipt.events, &unposted),
            Err(error) if may_pass(&error) && Instant::now() < unposted.until => {
                tracing::debug!(
                    "failed to record a permission question of {}, will retry: {error}",
                    agent.name()
                );
                unposted.tries = unposted.tries.saturating_add(1);
                unposted.again = Some(Instant::now() + pending_writes::pause(unposted.tries));
                return Some(unposted);
            }
            Err(error) => {
                tracing::warn!(
                    "failed to record a permission question of {}: {error}",
                    agent.name()
                );
                None
            }
        };
        let Unposted { question, asked, .. } = unposted;
        let Some(id) = put else {
            self.answer(agent, turn, (&question.title, asked), Decision::Reject);
            return None;
        };
        self.waiting.push(Waiting {
            id,
            question,
            asked,
            until: Instant::now() + limit + wait_times::PERMISSION_SLACK,
        });
        None
    }
}

/// Returns the id of a question that was put on the bus: by this try, or by an earlier one whose outcome was unknown and which may
/// have its answer already. Questions go there one after the other, so this one is the newest.
fn put_as(agent: &AgentContext, events: &[Event], unposted: &Unposted) -> Option<PermissionId> {
    let asked = events.iter().find_map(|event| match event {
        Event::PermissionAsked(asked) => Some(asked.id.clone()),
        _ => None,
    });
    let newest = || newest_question(agent).filter(|(seq, _)| *seq > unposted.behind);
    asked.or_else(|| newest().map(|(_, id)| id))
}

/// Returns the newest question of this agent on the bus, and its position.
fn newest_question(agent: &AgentContext) -> Option<(u64, PermissionId)> {
    let session = agent.session();
    agent.membership.bus().look(|state| {
        let newest = state.newest_permission_of(session)?;
        Some((newest.seq, newest.id.clone()))
    })
}

/// Returns whether the bus may accept later what it has not accepted now.
fn may_pass(error: &BusError) -> bool {
    matches!(error, BusError::Log(error) if !matches!(error, LogError::TooLong { .. } | LogError::Newer))
}
