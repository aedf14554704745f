//! Members that a killed server has left: the next server records their death at its start, so that what they had claimed is open again even
//! if nobody else is there to see it.

use super::joined_programs::JoinedPrograms;
use crate::web::bus_reader::BusReader;

/// Records the death of members whose process has ended, if there are any. Only for a server that may write.
pub(in crate::web) async fn sweep_dead(reader: BusReader, programs: JoinedPrograms) {
    let has_dead = reader.ask(|bus| {
        let sessions: Vec<_> = bus.state().session_ids().collect();
        sessions.into_iter().any(|session| !bus.is_held(session))
    });
    if has_dead.await == Ok(true)
        && let Err(error) = programs.record_deaths().await
    {
        tracing::debug!(%error, "cannot record who has died");
    }
}
