//! The clocks: wall time for people, the tick for deadlines.

use std::sync::OnceLock;

use nix::time::{ClockId, clock_gettime};

use crate::domain::time::{Now, Tick};

/// Returns the time.
pub fn now() -> Now {
    Now {
        wall_ms: chrono::Utc::now().timestamp_millis(),
        tick: Tick { boot: boot(), ms: monotonic_ms() },
    }
}

/// The clock that all processes share and that stands still while the machine sleeps. On macOS `CLOCK_MONOTONIC` goes on then,
/// and `nix` has no name for the one that does not.
#[cfg(not(target_os = "macos"))]
const STEADY: ClockId = ClockId::CLOCK_MONOTONIC;
#[cfg(target_os = "macos")]
const STEADY: ClockId = ClockId::from_raw(nix::libc::CLOCK_UPTIME_RAW);

/// Milliseconds of that clock.
fn monotonic_ms() -> u64 {
    let time = clock_gettime(STEADY).expect("the clock exists on every supported system");
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
