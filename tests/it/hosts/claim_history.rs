//! Decides whether a history of claims and messages, as their callers saw it, could have happened one act after the other.
//!
//! An act takes effect once between its call and its answer. For a request that has one owner at a time, and for messages that one member
//! reads, the general question (which is hard) has simple answers: `violation` gives them, and its tests break each rule.

/// A moment, in milliseconds of one clock.
pub(super) type Moment = i64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Won,
    Lost,
    /// No answer came: it may have won, or not.
    Unknown,
}

/// One claim of one request.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub(super) request: usize,
    pub(super) begun: Moment,
    pub(super) ended: Moment,
    pub(super) outcome: Outcome,
    /// When the claimer's session ended, which frees what it owns.
    pub(super) freed: Option<Moment>,
}

/// One message to the reader.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) text: String,
    pub(super) begun: Moment,
    pub(super) ended: Moment,
    /// Whether it was acknowledged.
    pub(super) is_certain: bool,
}

/// Names what could not have happened in the claims of all requests.
pub(super) fn violation(claims: &[Claim]) -> Option<String> {
    let requests = claims.iter().map(|claim| claim.request).max()? + 1;
    (0..requests).find_map(|request| {
        let of_one: Vec<_> = claims.iter().filter(|claim| claim.request == request).collect();
        two_owners(&of_one).or_else(|| lost_to_nobody(&of_one))
    })
}

/// Two have won, and neither was free again before the other's claim was over.
fn two_owners(claims: &[&Claim]) -> Option<String> {
    let won: Vec<_> = claims.iter().filter(|claim| claim.outcome == Outcome::Won).collect();
    let before = |one: &Claim, other: &Claim| one.freed.is_some_and(|freed| freed <= other.ended);
    won.iter().enumerate().find_map(|(at, one)| {
        let other =
            won[at + 1..].iter().find(|other| !before(one, other) && !before(other, one))?;
        Some(format!("two owners: {one:?} and {other:?}"))
    })
}

/// One has lost, and nobody had asked before its claim was over.
fn lost_to_nobody(claims: &[&Claim]) -> Option<String> {
    let lost = claims.iter().filter(|claim| claim.outcome == Outcome::Lost);
    let may_own = |claim: &&&Claim| claim.outcome != Outcome::Lost;
    lost.into_iter().find_map(|lost| {
        let rival = claims.iter().filter(may_own).find(|rival| rival.begun <= lost.ended);
        rival.is_none().then(|| format!("lost to nobody: {lost:?}"))
    })
}

/// Names what could not have happened in the messages, as the reader got them.
pub(super) fn disorder(sent: &[Sent], read: &[String]) -> Option<String> {
    let places = |text: &str| -> Vec<usize> {
        read.iter().enumerate().filter(|(_, read)| *read == text).map(|(at, _)| at).collect()
    };
    for one in sent {
        let times = places(&one.text).len();
        if times > 1 || (times == 0 && one.is_certain) {
            return Some(format!("read {times} times: {one:?}"));
        }
    }
    let first = |one: &Sent| places(&one.text).first().copied();
    sent.iter().find_map(|one| {
        let is_reversed = |other: &&Sent| one.ended < other.begun && first(other) < first(one);
        let both = |other: &&Sent| first(one).is_some() && first(other).is_some();
        let other = sent.iter().filter(both).find(is_reversed)?;
        Some(format!("{other:?} was read before {one:?}, which was over before it began"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(outcome: Outcome, begun: Moment, ended: Moment, freed: Option<Moment>) -> Claim {
        Claim { request: 0, begun, ended, outcome, freed }
    }

    #[test]
    fn a_history_that_could_have_happened_has_no_violation() {
        let history = [
            claim(Outcome::Won, 1, 9, Some(20)),
            // Its answer came first, and still it lost to the one above.
            claim(Outcome::Lost, 2, 3, None),
            claim(Outcome::Won, 18, 25, None),
            claim(Outcome::Lost, 30, 31, None),
        ];
        assert_eq!(violation(&history), None);
        let of_unknown = [claim(Outcome::Unknown, 1, 5, None), claim(Outcome::Lost, 2, 4, None)];
        assert_eq!(violation(&of_unknown), None);
    }

    #[test]
    fn two_owners_at_once_are_found() {
        for freed in [None, Some(40)] {
            let history = [claim(Outcome::Won, 1, 9, freed), claim(Outcome::Won, 18, 25, None)];
            assert!(violation(&history).unwrap().starts_with("two owners"), "{freed:?}");
        }
    }

    #[test]
    fn a_claim_that_lost_to_nobody_is_found() {
        let alone = [claim(Outcome::Lost, 1, 2, None)];
        assert!(violation(&alone).unwrap().starts_with("lost to nobody"));
        let too_early = [claim(Outcome::Lost, 1, 2, None), claim(Outcome::Won, 3, 4, None)];
        assert!(violation(&too_early).unwrap().starts_with("lost to nobody"));
    }

    #[test]
    fn a_message_that_is_lost_doubled_or_overtaken_is_found() {
        let sent = |text: &str, begun, ended, is_certain| Sent {
            text: text.to_owned(),
            begun,
            ended,
            is_certain,
        };
        let both = [sent("a", 1, 2, true), sent("b", 3, 4, true), sent("c", 1, 9, false)];
        let read = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(disorder(&both, &read(&["a", "b"])), None);
        assert_eq!(disorder(&both, &read(&["c", "a", "b"])), None);
        assert!(disorder(&both, &read(&["a"])).unwrap().starts_with("read 0 times"));
        assert!(disorder(&both, &read(&["a", "b", "a"])).unwrap().starts_with("read 2 times"));
        assert!(disorder(&both, &read(&["b", "a"])).unwrap().contains("was read before"));
    }
}
