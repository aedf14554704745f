//! The clocks: wall time for people, the tick for deadlines.

use std::sync::OnceLock;

use nix::time::{ClockId, clock_gettime};

use crate::domain::time::{Now, Tick};

/// Returns the time.
pub fn now() -> Now {
    Now {
        wall_ms: chrono::Utc::now().timestamp_millis(),
        tick: Tick {
            boot: boot(),
            ms: monotonic_ms(),
        },
    }
}

/// Milliseconds of `CLOCK_MONOTONIC`, which stands still while the machine sleeps.
fn monotonic_ms() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC)
        .expect("CLOCK_MONOTONIC exists on every supported system");
    let (seconds, nanoseconds) = (time.tv_sec(), time.tv_nsec());
    u64::try_from(seconds).unwrap_or(0) * 1000 + u64::try_from(nanoseconds).unwrap_or(0) / 1_000_000
}

/// A number drawn from the boot id, read once a process.
fn boot() -> u32 {
    static BOOT: OnceLock<u32> = OnceLock::new();
    *BOOT.get_or_init(|| {
        // Where the system names no boot, all boots look alike: a deadline may then fire late, never early by a clock jump.
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        // Ticks stand in the log and are compared across processes: builds by different compilers must draw the same number,
        // which the standard library's hasher does not promise and a CRC does.
        crc32fast::hash(id.trim().as_bytes())
    })
}
