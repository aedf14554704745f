//! One machine at a time uses a bus: deadlines count in that machine's time, and its locks show which sessions are dead.
//!
//! A shared folder of a virtual machine can be opened from both sides. The second side gets an error that says so.

use crate::bus::state::State;
use crate::bus::storage::{Log, LogError, Presence};

/// Refuses a bus with live sessions of another boot.
pub(crate) fn check(log: &mut dyn Log, state: &State) -> Result<(), LogError> {
    let boot = log.now().tick.boot;
    let elsewhere = state.live_sessions().into_iter();
    let mut elsewhere = elsewhere.filter(|session| session.since.boot != boot);
    // After a reboot of this machine, no process holds the presences of the earlier boot.
    match elsewhere.find(|session| log.held(session.id) == Presence::Held) {
        Some(session) => Err(LogError::OtherMachine { member: session.name.clone() }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::bus::rules::{Description, NameChoice};
    use crate::bus::storage::in_memory::Store;
    use crate::bus::{Bus, BusError, Joining, Membership};
    use crate::domain::member::MemberKind;
    use crate::domain::name::Name;
    use crate::sys::clock;

    #[tokio::test]
    async fn a_bus_that_another_running_boot_uses_is_refused() {
        let boot = Arc::new(AtomicU32::new(1));
        let current = Arc::clone(&boot);
        let store = Store::new(Arc::new(move || {
            let mut now = clock::now();
            now.tick.boot = current.load(Ordering::SeqCst);
            now
        }));
        let bus = Bus::open(Box::new(store.log())).unwrap();
        let joining = Joining {
            choice: NameChoice::Chosen(Name::parse("ann").unwrap()),
            kind: MemberKind::Peer,
            roles: Vec::new(),
            description: Description::default(),
        };
        let ann = Membership::join(&bus, joining).await.unwrap();
        boot.store(2, Ordering::SeqCst);
        let refused = Bus::open(Box::new(store.log())).err().unwrap();
        assert!(matches!(
            &refused,
            BusError::Log(LogError::OtherMachine { member }) if member.as_str() == "ann"
        ));
        assert!(refused.to_string().contains("another machine"), "{refused}");
        // A free presence of another boot is left from an earlier boot of this machine.
        bus.release(ann.session());
        assert!(Bus::open(Box::new(store.log())).is_ok());
        bus.close().await;
    }
}
