//! The clocks: wall time for people, the tick for deadlines.

use std::sync::OnceLock;

use chrono::Timelike as _;
use nix::time::{ClockId, clock_gettime};

use crate::domain::time::{Now, Tick};

/// Returns the time.
pub fn now() -> Now {
    Now {
        wall_ms: chrono::Utc::now().timestamp_millis(),
        tick: Tick { boot: boot(), ms: monotonic_ms() },
    }
}

/// Returns the milliseconds since the machine was started, those of its sleep included. All processes share this clock, too.
pub fn since_start_ms() -> u64 {
    milliseconds(AWAKE_OR_ASLEEP)
}

/// Returns the minute of the day where the user is, by the system's time zone.
pub fn local_minute_of_day() -> u32 {
    let now = chrono::Local::now();
    now.hour() * 60 + now.minute()
}

/// The clock that all processes share and that stops while the machine sleeps. On macOS `CLOCK_MONOTONIC` does not stop, and `nix` has
/// no name for the clock that does.
#[cfg(not(target_os = "macos"))]
const STEADY: ClockId = ClockId::CLOCK_MONOTONIC;
#[cfg(target_os = "macos")]
const STEADY: ClockId = ClockId::from_raw(nix::libc::CLOCK_UPTIME_RAW);

/// The clock that runs on in the machine's sleep.
#[cfg(target_os = "linux")]
const AWAKE_OR_ASLEEP: ClockId = ClockId::CLOCK_BOOTTIME;
#[cfg(not(target_os = "linux"))]
const AWAKE_OR_ASLEEP: ClockId = ClockId::CLOCK_MONOTONIC;

fn monotonic_ms() -> u64 {
    milliseconds(STEADY)
}

fn milliseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock).expect("the clock exists on every supported system");
    let (seconds, nanoseconds) = (time.tv_sec(), time.tv_nsec());
    u64::try_from(seconds).unwrap_or(0) * 1000 + u64::try_from(nanoseconds).unwrap_or(0) / 1_000_000
}

/// Returns a number derived from the boot id, which each process reads once.
fn boot() -> u32 {
    static BOOT: OnceLock<u32> = OnceLock::new();
    *BOOT.get_or_init(|| {
        // Without a boot id all boots look alike: a deadline may then fire late, but never early.
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        // The log stores ticks, and processes compare them: builds by different compilers must derive the same number. The standard
        // library's hasher does not promise that; a CRC does.
        crc32fast::hash(id.trim().as_bytes())
    })
}
