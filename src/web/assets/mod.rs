//! The files that pages load: the style, the script, the icon and the manifest, compiled into the program.

mod find_asset;

pub use self::find_asset::{Asset, find_asset};
pub(super) use self::find_asset::{ICON_PATH, MANIFEST, PATHS};
