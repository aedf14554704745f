//! The sums of usage: a walk over the whole log at the first time, and afterwards over what is new.

use super::kept_places::{Kept, Sums};
use crate::bus::storage::LogError;
use crate::bus::storage::file::Follower;
use crate::view::{SpentBy, UsageFold, UsageRow};

pub(in crate::web::bus_reader) struct UsageWalk {
    by: SpentBy,
    is_begun: bool,
}

impl UsageWalk {
    pub(super) fn by(by: SpentBy) -> Self {
        Self { by, is_begun: false }
    }

    pub(super) fn step(
        &mut self,
        bus: &mut Follower,
        kept: &mut Kept,
    ) -> Result<Option<Vec<UsageRow>>, LogError> {
        let known = &mut kept.usage.0;
        if !std::mem::replace(&mut self.is_begun, true) {
            let oldest = bus.parts()?.first().copied().unwrap_or_default();
            known.retain(|(_, sums)| sums.oldest == oldest);
            if known.iter().all(|(by, _)| *by != self.by) {
                let fold = UsageFold::new(self.by);
                known.push((self.by, Sums { oldest, position: oldest, fold }));
            }
        }
        // Another walk has begun again meanwhile.
        let Some((_, sums)) = known.iter_mut().find(|(by, _)| *by == self.by) else {
            self.is_begun = false;
            return Ok(None);
        };
        let (entries, next) = bus.entries_after(sums.position, kept.entries)?;
        for (_, entry) in &entries {
            sums.fold.take(entry, bus.state());
        }
        // At the end it stays where it is: what is damaged or being written may be read later.
        if !entries.is_empty() {
            sums.position = next;
        }
        let is_over = entries.is_empty() || sums.position >= bus.position();
        Ok(is_over.then(|| sums.fold.rows()))
    }
}
