//! Everything that people install: the npm packages, the plugin, the completions and the manual pages.

mod fake_registry;
pub(crate) mod manifests;
pub(crate) mod npm_packages;
pub(crate) mod shell_files;
