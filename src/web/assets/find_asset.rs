//! Finds a file that pages load by its path, which has a hash of its content, so that browsers may keep it.

use std::sync::LazyLock;

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

/// A file that pages load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asset {
    pub content_type: &'static str,
    pub bytes: &'static [u8],
    /// Whether its path changes with its content, so that a browser may keep it for ever.
    pub is_hashed: bool,
}

const STYLE: &[u8] = include_bytes!("style.css");
const SCRIPT: &[u8] = include_bytes!("script.js");
const ICON: &[u8] = include_bytes!("icon.svg");
const MANIFEST_BYTES: &[u8] = include_bytes!("manifest.webmanifest");

/// The paths of the files whose content stands in their path.
pub(in crate::web) struct HashedPaths {
    pub(in crate::web) style: String,
    pub(in crate::web) script: String,
}

/// The paths that a page names.
pub(in crate::web) static PATHS: LazyLock<HashedPaths> = LazyLock::new(|| HashedPaths {
    style: format!("/assets/style-{}.css", hash(STYLE)),
    script: format!("/assets/script-{}.js", hash(SCRIPT)),
});

/// The path of the icon, which the manifest names.
pub(in crate::web) const ICON_PATH: &str = "/icon.svg";

/// The path of the manifest, beside the pages: what it names is relative to it.
pub(in crate::web) const MANIFEST: &str = "manifest.webmanifest";

/// Returns the file at a path of the server, such as `/assets/style-HASH.css`, or beside the pages.
pub fn find_asset(path: &str) -> Option<Asset> {
    let (content_type, bytes, is_hashed) = match path {
        ICON_PATH => ("image/svg+xml", ICON, false),
        MANIFEST => ("application/manifest+json", MANIFEST_BYTES, false),
        path if path == PATHS.style => ("text/css; charset=utf-8", STYLE, true),
        path if path == PATHS.script => ("text/javascript; charset=utf-8", SCRIPT, true),
        _ => return None,
    };
    Some(Asset { content_type, bytes, is_hashed })
}

/// Returns the beginning of a hash: it only has to change with the content.
fn hash(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes)[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_is_found_by_its_path_alone() {
        for (path, kind) in [
            (PATHS.style.as_str(), "text/css; charset=utf-8"),
            (&PATHS.script, "text/javascript; charset=utf-8"),
            (ICON_PATH, "image/svg+xml"),
            (MANIFEST, "application/manifest+json"),
        ] {
            assert_eq!(find_asset(path).map(|asset| asset.content_type), Some(kind), "{path}");
        }
        for path in ["/assets/style.css", "/assets/../style.css", "/assets/style-0.css", "/", ""] {
            assert_eq!(find_asset(path), None, "{path}");
        }
    }

    #[test]
    fn the_files_are_small_and_need_nothing_that_the_policy_forbids() {
        let text = |bytes| std::str::from_utf8(bytes).unwrap();
        let (style, script) = (text(STYLE), text(SCRIPT));
        assert!(style.len() < 20 * 1024, "{} bytes of style", style.len());
        assert!(script.len() < 16 * 1024, "{} bytes of script", script.len());
        for forbidden in ["eval(", "new Function", "http://", "https://", "setAttribute(\"style\""]
        {
            assert!(!script.contains(forbidden), "{forbidden}");
        }
        assert!(!style.contains("url("));
        serde_json::from_slice::<serde_json::Value>(MANIFEST_BYTES).unwrap();
    }
}
