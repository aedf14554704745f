//! What a person looks at: the commands, the window `top`, and the pages of `web`.

pub(crate) mod commands;
pub(crate) mod open_pages;
pub(crate) mod top;
pub(crate) mod web;
