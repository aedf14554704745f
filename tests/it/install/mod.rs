//! Everything that people install: the npm packages, the plugin, the completions and the manual pages.

pub(crate) mod first_minutes;
pub(crate) mod manifests;
pub(crate) mod npm_packages;
pub(crate) mod shell_files;
