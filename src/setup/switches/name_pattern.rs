//! Patterns with which clients name servers and tools: `*` stands for any letters.

/// Says whether a name fits a pattern.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(after) = name.strip_prefix(first) else {
        return false;
    };
    let ends = after.char_indices().map(|(at, _)| at).chain([after.len()]);
    ends.into_iter().any(|at| fits(rest, &after[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_letters() {
        for pattern in ["bridge", "*", "br*", "*ge", "b*d*e", "bridge*"] {
            assert!(fits(pattern, "bridge"), "{pattern}");
        }
        for pattern in ["", "bri", "br*x", "x*", "b*dx*e", "Bridge"] {
            assert!(!fits(pattern, "bridge"), "{pattern}");
        }
    }
}
