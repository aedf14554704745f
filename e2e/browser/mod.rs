//! The pages of `web` in a real Chromium, which comes as an npm package and is driven by one Node script.

pub(crate) mod shows_a_team;
