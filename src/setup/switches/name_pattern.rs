//! Patterns with which clients name servers and tools: `*` stands for any letters.

/// Says whether a name fits a pattern. A repository may bring the pattern, so it is looked through once: each part is taken where it
/// stands first.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    let Some((first, others)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let (between, last) = others.rsplit_once('*').unwrap_or(("", others));
    for part in between.split('*') {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_letters() {
        for pattern in ["bridge", "*", "br*", "*ge", "b*d*e", "bridge*", "**b**e**", "*idge"] {
            assert!(fits(pattern, "bridge"), "{pattern}");
        }
        for pattern in ["", "bri", "br*x", "x*", "b*dx*e", "Bridge", "*e*e", "brid*dge"] {
            assert!(!fits(pattern, "bridge"), "{pattern}");
        }
        // It ends.
        assert!(!fits(&("*".repeat(50_000) + "#"), &"b".repeat(40)));
    }
}
