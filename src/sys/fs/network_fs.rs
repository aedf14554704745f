//! Detects network file systems, where locks and notifications do not work as on a disk.

#[cfg(target_os = "linux")]
mod linux;

#[cfg(target_os = "linux")]
pub use self::linux::of;

/// Says nothing: other systems tell it in other ways.
#[cfg(not(target_os = "linux"))]
pub fn of(_directory: &std::path::Path) -> std::io::Result<Option<String>> {
    Ok(None)
}
