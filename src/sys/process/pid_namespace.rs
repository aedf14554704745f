//! Whether this process sees all of its ancestors in `/proc`.
//!
//! Inside a PID namespace (`unshare`, `bwrap`, a container) a process finds no ancestor above the namespace's first process, so a missing
//! ancestor proves nothing. On systems other than Linux no ancestor is visible at all.

/// The ancestors that a process sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    Whole,
    /// Those in its own PID namespace, inside other namespaces.
    Inner,
    /// Not even itself: `/proc` is missing, something else, or that of an unrelated namespace.
    Blind,
}

/// Returns how far this process sees.
#[cfg(not(target_os = "linux"))]
pub fn look() -> Sight {
    Sight::Whole
}

/// Returns how far this process sees.
#[cfg(target_os = "linux")]
pub fn look() -> Sight {
    use std::os::unix::fs::MetadataExt as _;

    /// The inode of the machine's first PID namespace, the same on every Linux (`PID_NS_INIT_INO` in `linux/nsfs.h`).
    const FIRST: u64 = 0xEFFF_FFFC;

    let is_proc = rustix::fs::statfs("/proc")
        .is_ok_and(|system| system.f_type == rustix::fs::PROC_SUPER_MAGIC);
    let own = super::own_pid();
    match own {
        Some(own) if is_proc && super::proc_stat::stat(own).is_some() => {
            let namespace = std::fs::metadata("/proc/self/ns/pid");
            if namespace.is_ok_and(|namespace| namespace.ino() == FIRST) {
                Sight::Whole
            } else {
                Sight::Inner
            }
        }
        _ => Sight::Blind,
    }
}

/// Says whether this process may descend from a member that is not among its visible ancestors: it does not see all of them, and sees
/// none of `theirs`, the known processes of that member, each with its pid and start time.
pub fn may_hide(theirs: impl IntoIterator<Item = (u32, Option<u64>)>) -> bool {
    let is_seen = |(pid, started): (u32, Option<u64>)| {
        started.is_some_and(|started| super::descendants::find(pid, started).is_some())
    };
    // A visible process is in this namespace or below it, so all processes between it and this one are visible as well.
    look() != Sight::Whole && !theirs.into_iter().any(is_seen)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_visible_process_does_not_hide() {
        assert_ne!(look(), Sight::Blind);
        let own = std::process::id();
        let started = crate::sys::process::start_time(own);
        assert!(!may_hide([(u32::MAX, Some(1)), (own, started)]));
        let is_hidden = look() == Sight::Inner;
        assert_eq!(may_hide([(own, None)]), is_hidden);
        assert_eq!(may_hide([]), is_hidden);
    }
}
