//! Detects network file systems, where locks and notifications do not work as on a local disk.

#[cfg(target_os = "linux")]
mod linux;

#[cfg(target_os = "linux")]
pub use self::linux::of;

/// Finds none: the check of other systems is not implemented.
#[cfg(not(target_os = "linux"))]
pub fn of(_directory: &std::path::Path) -> std::io::Result<Option<String>> {
    Ok(None)
}
