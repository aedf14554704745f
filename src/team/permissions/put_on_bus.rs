//! Putting a question for permission on the bus, as often as it takes: a bus that is busy for seconds, or a disk that is full, is no
//! answer to an agent.

use tokio::time::Instant;

use super::ask::{Asker, Waiting};
use crate::bus::BusError;
use crate::bus::event::{Event, Question};
use crate::bus::rules::{AskedFirst, NewQuestion, Operation};
use crate::bus::storage::LogError;
use crate::domain::ids::{CommandId, PermissionId};
use crate::domain::permission::Decision;
use crate::domain::timeouts;
use crate::team::agent::actor::Actor;
use crate::team::agent::pending_writes;

/// A question that is not on the bus yet. All tries to put it there carry one command id, so it stands there once also where the
/// outcome of a try is unknown.
pub(crate) struct Fresh {
    pub(crate) command: CommandId,
    pub(crate) question: Question,
    pub(crate) asked: Asker,
    /// The place of the newest question on the bus before the first try.
    pub(crate) behind: u64,
    /// How often it was tried in vain, and before when it is not tried again.
    pub(crate) tries: u32,
    pub(crate) again: Option<Instant>,
    /// When it is answered with no instead.
    pub(crate) until: Instant,
}

impl Actor {
    /// Puts a question on the bus; returns it when the bus cannot take it yet. What nobody can be asked is answered with no.
    pub(crate) async fn put(&mut self, mut fresh: Fresh) -> Option<Fresh> {
        let limit = self.limit_of_questions();
        let new = NewQuestion {
            question: fresh.question.clone(),
            offers: fresh.asked.offers(),
            timeout_ms: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX),
            to: if self.human.is_reachable() {
                AskedFirst::Human
            } else {
                AskedFirst::Orchestrator
            },
        };
        if fresh.tries == 0 {
            fresh.behind = self.newest_question().map_or(0, |(seq, _)| seq);
        }
        let ask = Operation::AskPermission(Box::new(new));
        let put = match self.membership.ask_again(fresh.command, ask).await {
            Ok(receipt) => self.put_as(&receipt.events, &fresh),
            Err(error) if may_pass(&error) && Instant::now() < fresh.until => {
                tracing::debug!(
                    "failed to record a permission question of {}, will retry: {error}",
                    self.identity.name
                );
                fresh.tries = fresh.tries.saturating_add(1);
                fresh.again = Some(Instant::now() + pending_writes::pause(fresh.tries));
                return Some(fresh);
            }
            Err(error) => {
                tracing::warn!(
                    "failed to record a permission question of {}: {error}",
                    self.identity.name
                );
                None
            }
        };
        let Fresh { question, asked, .. } = fresh;
        let Some(id) = put else {
            self.tell(&question.title, asked, Decision::Reject);
            return None;
        };
        self.questions.waiting.push(Waiting {
            id,
            title: question.title,
            asked,
            until: Instant::now() + limit + timeouts::PERMISSION_SLACK,
        });
        None
    }

    /// Returns the id of a question that was put on the bus: by this try, or by one before whose outcome was unknown, which may have
    /// its answer already. Questions go there one after the other, so that one is the newest.
    fn put_as(&self, events: &[Event], fresh: &Fresh) -> Option<PermissionId> {
        let asked = events.iter().find_map(|event| match event {
            Event::PermissionAsked(asked) => Some(asked.id.clone()),
            _ => None,
        });
        let newest = || self.newest_question().filter(|(seq, _)| *seq > fresh.behind);
        asked.or_else(|| newest().map(|(_, id)| id))
    }

    /// Returns the newest question of this agent on the bus, and its place there.
    fn newest_question(&self) -> Option<(u64, PermissionId)> {
        let session = self.identity.session;
        self.membership.bus().look(|state| {
            let newest = state.newest_permission_of(session)?;
            Some((newest.seq, newest.id.clone()))
        })
    }
}

/// Says whether the bus may take later what it has not taken now.
fn may_pass(error: &BusError) -> bool {
    matches!(error, BusError::Log(error) if !matches!(error, LogError::TooLong { .. } | LogError::Newer))
}
