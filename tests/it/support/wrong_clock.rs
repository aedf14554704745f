//! The clock of a machine that is set wrongly: a library that a program loads before the system's, and that moves the time of day. The
//! clocks that only run, by which programs wait, stay as they are.

use std::path::PathBuf;
use std::process::Command;

use cli_team_bridge::sys::clock;

/// Asks the system itself. `AHEAD` is in seconds.
const LIBRARY: &str = r"
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = syscall(SYS_clock_gettime, clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += AHEAD;
    return failed;
}

int gettimeofday(struct timeval *now, void *zone) {
    struct timespec exact;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *seconds) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (seconds)
        *seconds = exact.tv_sec;
    return exact.tv_sec;
}
";

/// The variable that has a program load a library before all others.
pub(crate) const PRELOAD: &str = "LD_PRELOAD";

/// A clock that is ahead of the machine's, or behind it.
pub(crate) struct WrongClock {
    pub(crate) ahead_s: i64,
    _directory: tempfile::TempDir,
    library: PathBuf,
}

impl WrongClock {
    /// Builds the library; none where there is no C compiler, or where programs do not load it.
    pub(crate) fn set(ahead_s: i64) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let [source, library] = ["clock.c", "clock.so"].map(|name| directory.path().join(name));
        std::fs::write(&source, LIBRARY).unwrap();
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let built = Command::new(compiler)
            .args(["-shared", "-fPIC", "-O1", &format!("-DAHEAD={ahead_s}"), "-o"])
            .args([&library, &source])
            .output();
        let clock = Self { ahead_s, _directory: directory, library };
        let is_set = built.is_ok_and(|built| built.status.success()) && clock.is_set();
        is_set.then_some(clock)
    }

    /// Returns the variable that has a program, and what it starts with its environment, believe in this clock.
    pub(crate) fn variable(&self) -> (&'static str, &str) {
        (PRELOAD, self.library.to_str().unwrap())
    }

    fn is_set(&self) -> bool {
        let (name, library) = self.variable();
        let date = Command::new("date").arg("+%s").env(name, library).output().unwrap();
        let told: i64 = String::from_utf8_lossy(&date.stdout).trim().parse().unwrap_or(0);
        let true_s = clock::now().wall_ms / 1_000;
        (told - true_s - self.ahead_s).abs() < 600
    }
}
