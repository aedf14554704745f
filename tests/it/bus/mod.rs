//! The bus over every engine, and as several processes use it.

pub(crate) mod copied_bus;
pub(crate) mod every_engine;
pub(crate) mod groups;
pub(crate) mod hung_process;
pub(crate) mod killed_prune;
pub(crate) mod killed_writers;
pub(crate) mod messages;
pub(crate) mod other_projects;
pub(crate) mod pushes;
pub(crate) mod requests;
pub(crate) mod roster;
pub(crate) mod unreadable_texts;
pub(crate) mod who_leads;
