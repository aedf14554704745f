//! The configuration on real files in a temporary home and project.

mod bound_keys;
mod brought;
mod documented;
mod layers;
mod profiles;
mod refusals;
mod test_directories;
mod projects;
mod webhooks;
