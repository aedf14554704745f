//! Suggestions for an unknown name: the nearest known words.
//!
//! Errors about an unknown member, profile, key or tool end with them, so that a person or a model can correct itself.

/// More suggestions would not help.
const MOST: usize = 3;

/// A shorter common beginning of two words means nothing.
const SHORTEST_PREFIX: usize = 3;

/// Returns the candidates that `word` may be a typo of, nearest first, at most three.
///
/// Case does not count. A candidate is near if at most about one character in three differs, or if one of the two begins with the other.
/// Equally near candidates keep their order; a duplicate is returned once.
pub fn nearest<C: AsRef<str>>(word: &str, candidates: impl IntoIterator<Item = C>) -> Vec<String> {
    let word = word.to_lowercase();
    let mut near: Vec<(usize, String)> = Vec::new();
    for candidate in candidates {
        let candidate = candidate.as_ref();
        if near.iter().any(|(_, known)| known == candidate) {
            continue;
        }
        if let Some(distance) = distance(&word, &candidate.to_lowercase()) {
            near.push((distance, candidate.to_owned()));
        }
    }
    near.sort_by_key(|(distance, _)| *distance);
    near.truncate(MOST);
    near.into_iter().map(|(_, candidate)| candidate).collect()
}

/// Returns the distance of two lowercase words, or `None` if they have too little in common.
fn distance(word: &str, candidate: &str) -> Option<usize> {
    let (length, other) = (word.chars().count(), candidate.chars().count());
    if length.min(other) >= SHORTEST_PREFIX
        && (word.starts_with(candidate) || candidate.starts_with(word))
    {
        return Some(length.abs_diff(other));
    }
    // A short word may have one typo, but not all of its characters may differ.
    let longest = length.max(other);
    let allowed = (longest / 3).max(1).min(longest.saturating_sub(1));
    // The lengths alone can decide, so an endless hostile word costs nothing.
    if length.abs_diff(other) > allowed {
        return None;
    }
    let distance = strsim::osa_distance(word, candidate);
    (distance <= allowed).then_some(distance)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[track_caller]
    fn check(word: &str, candidates: &[&str], expected: &[&str]) {
        assert_eq!(nearest(word, candidates), expected);
    }

    #[test]
    fn a_typo_finds_the_intended_word() {
        check("codx", &["claude", "codex", "gemini"], &["codex"]);
        check("comand", &["command", "args"], &["command"]);
        check("cluade", &["claude", "codex"], &["claude"]);
    }

    #[test]
    fn case_does_not_count_and_the_candidate_keeps_its_own() {
        check("CODEX", &["Codex"], &["Codex"]);
    }

    #[test]
    fn a_beginning_is_near_however_long_the_rest() {
        check("rev", &["writer", "reviewer"], &["reviewer"]);
        check("reviewer-of-tests", &["reviewer"], &["reviewer"]);
    }

    #[test]
    fn words_with_nothing_in_common_are_not_suggested() {
        check("zebra", &["claude", "codex"], &[]);
        check("a", &["b"], &[]);
        check("", &["a", "codex"], &[]);
        check("codex", &[], &[]);
    }

    #[test]
    fn at_most_three_are_returned_nearest_first_and_ties_keep_their_order() {
        check(
            "codex",
            &["codex-22", "codex-3", "codex-2", "codex1", "codex-2"],
            &["codex1", "codex-3", "codex-2"],
        );
    }

    #[test]
    fn an_endless_word_costs_nothing() {
        assert!(nearest(&"x".repeat(10_000_000), ["codex"]).is_empty());
    }
}
