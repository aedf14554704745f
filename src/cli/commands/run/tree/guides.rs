//! The lines that connect a step with the step above it.

use crate::view::TreePlace;

/// Returns the guides before a step's mark.
pub(super) fn guides(place: &TreePlace<'_>) -> String {
    let own = match place.continues.last() {
        Some(true) => "├─ ",
        Some(false) => "└─ ",
        None => "",
    };
    guides_before(place) + own
}

/// Returns the guides of a step's ancestors.
pub(super) fn guides_before(place: &TreePlace<'_>) -> String {
    // A long chain would move its end out of sight, so its outermost guides are left out.
    const DEEPEST: usize = 7;
    let above = &place.continues[..place.continues.len().saturating_sub(1)];
    let left_out = above.len().saturating_sub(DEEPEST);
    let elided = if left_out > 0 { "…  " } else { "" };
    let guides = above[left_out..].iter().skip(usize::from(left_out > 0));
    let guides = guides.map(|continues| if *continues { "│  " } else { "   " });
    std::iter::once(elided).chain(guides).collect()
}
