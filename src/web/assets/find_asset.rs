//! Finds a file that pages load by its path, which has a hash of its content, so that browsers may keep it.

/// A file that pages load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asset {
    pub content_type: &'static str,
    pub bytes: &'static [u8],
    /// Whether its path changes with its content, so that a browser may keep it for ever.
    pub is_hashed: bool,
}

/// Returns the file at a path of the server, such as `/assets/style-HASH.css`.
pub fn find_asset(_path: &str) -> Option<Asset> {
    None
}
