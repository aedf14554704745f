//! Patterns with which clients name servers and tools: `*` stands for any letters, and for some clients `?` for one.

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

/// Says the same of a pattern in which `?` stands for one letter. The name is short: it may be looked through once for each letter of the
/// pattern.
pub(super) fn fits_with_marks(pattern: &str, name: &str) -> bool {
    // The lengths of the beginnings of the name that fit what was seen of the pattern.
    let name: Vec<char> = name.chars().collect();
    let mut fit = vec![false; name.len() + 1];
    fit[0] = true;
    for letter in pattern.chars() {
        if letter == '*' {
            let first = fit.iter().position(|fits| *fits).unwrap_or(fit.len());
            fit[first..].fill(true);
            continue;
        }
        for length in (1..fit.len()).rev() {
            fit[length] = fit[length - 1] && (letter == '?' || letter == name[length - 1]);
        }
        fit[0] = false;
    }
    fit[name.len()]
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

    #[test]
    fn a_question_mark_stands_for_one_letter_where_the_client_says_so() {
        for pattern in ["bridge", "*", "br*", "*ge", "b*d*e", "**b**e**", "bridg?", "??????", "?*?"]
        {
            assert!(fits_with_marks(pattern, "bridge"), "{pattern}");
        }
        for pattern in ["", "bri", "x*", "b*dx*e", "*e*e", "brid*dge", "bridge?", "?????", "?x*"] {
            assert!(!fits_with_marks(pattern, "bridge"), "{pattern}");
        }
        assert!(!fits_with_marks(&("*?".repeat(50_000) + "#"), &"b".repeat(40)));
        assert!(!fits("bridg?", "bridge"));
    }
}
