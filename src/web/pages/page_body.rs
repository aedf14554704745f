//! The body of a page as its parts, each an element with an id, so that a live page gets only those that have changed.

use maud::{Markup, Render};

/// A part of a page.
pub(super) struct Part {
    /// The id of its element.
    pub(super) id: &'static str,
    pub(super) html: Markup,
    /// Whether it is sent again when it changes. A list of messages is not: its rows are.
    pub(super) is_live: bool,
}

impl Part {
    /// A part that changes with the team.
    pub(super) fn live(id: &'static str, html: Markup) -> Self {
        Self { id, html, is_live: true }
    }

    /// A part that stays as it is, or whose rows are sent one by one.
    pub(super) fn fixed(id: &'static str, html: Markup) -> Self {
        Self { id, html, is_live: false }
    }
}

/// Parts one after the other. They go straight into what is around them: a page of messages is long, and each copy of it costs.
pub(super) struct Parts<'a>(pub(super) &'a [Part]);

impl Render for Parts<'_> {
    fn render_to(&self, page: &mut String) {
        self.0.iter().for_each(|part| part.html.render_to(page));
    }
}

/// The body of a page.
pub(super) struct Body {
    /// The heading, which also begins the title.
    pub(super) heading: String,
    pub(super) parts: Vec<Part>,
    /// What stands beside the parts on a wide screen, and below them on others.
    pub(super) side: Vec<Part>,
}

impl Body {
    pub(super) fn new(heading: impl Into<String>, parts: Vec<Part>) -> Self {
        Self { heading: heading.into(), parts, side: Vec::new() }
    }
}
