//! Words of a pool of names. A peer takes such a word unasked, and the pool may be a project's: so it is to be the name of a person, and
//! no word for a member of some kind, or for several.

use crate::domain::name::Name;

/// Words by which members look for those that lead, serve or are everybody. [`Name`] itself refuses a few more.
const WORDS_FOR_MEMBERS: [&str; 19] = [
    "admin",
    "agent",
    "agents",
    "everybody",
    "everyone",
    "lead",
    "leader",
    "me",
    "member",
    "myself",
    "orchestrator",
    "owner",
    "peer",
    "project",
    "root",
    "self",
    "system",
    "team",
    "user",
];

/// Says whether a word stands for a member of some kind, or for several, in any case of its letters.
pub fn is_word_for_members(word: &Name) -> bool {
    WORDS_FOR_MEMBERS.iter().any(|one| one.eq_ignore_ascii_case(word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_has_no_word_for_members() {
        let is_one = |word: &str| is_word_for_members(&Name::parse(word).unwrap());
        assert!(["orchestrator", "Lead", "TEAM", "user", "me", "project"].into_iter().all(is_one));
        assert!(!["Ada", "Leader-2", "Meg", "reviewer"].into_iter().any(is_one));
    }
}
