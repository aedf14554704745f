//! What drawings have in common: cut words, numbers as coordinates, and the frame that scrolls.

use maud::{Markup, html};

/// Returns the beginning of a word that fits into so many letters of a drawing.
pub(super) fn cut(text: &str, most: usize) -> String {
    crate::domain::text::visible_letters::beginning(text, most)
}

/// Returns a drawing in a frame that scrolls, with its title for those who do not see it.
pub(super) fn drawing(title: &str, size: (i64, i64), content: &Markup) -> Markup {
    html! {
        div.drawing tabindex="0" role="region" aria-label={ (title) ", scrollable" } { (svg(title, size, content)) }
    }
}

/// Returns the same for a drawing whose newest end is at its right, which is in sight first; what stands beside it stays in sight.
pub(super) fn newest_drawing(
    title: &str,
    beside: &Markup,
    size: (i64, i64),
    content: &Markup,
) -> Markup {
    html! {
        div.drawing.newest data-newest="" tabindex="0" role="region" aria-label={ (title) ", scrollable" } {
            (beside) (svg(title, size, content))
        }
    }
}

fn svg(title: &str, (width, height): (i64, i64), content: &Markup) -> Markup {
    html! {
        svg role="group" width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) } aria-label=(title) {
            title { (title) }
            (content)
        }
    }
}

/// Returns a count as a coordinate.
pub(super) fn at(index: usize) -> i64 {
    i64::try_from(index).unwrap_or(i64::MAX / 4096)
}
