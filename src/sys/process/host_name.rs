//! The name of the machine on which a process runs.

/// Returns the name; an empty one if the machine has none.
pub fn host_name() -> String {
    nix::unistd::gethostname().unwrap_or_default().to_string_lossy().into_owned()
}
