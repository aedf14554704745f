//! Circles of members that wait for each other.

use std::collections::{BTreeSet, VecDeque};

/// Returns the shortest chain of waits that begins with `first` and whose last member waits for `home`; none if there is none. `awaited`
/// returns whom a member waits for.
pub fn chain_of_waits<T: Ord + Copy, I: IntoIterator<Item = T>>(
    first: T,
    home: T,
    awaited: impl Fn(T) -> I,
) -> Option<Vec<T>> {
    let mut known = BTreeSet::from([first]);
    let mut chains = VecDeque::from([vec![first]]);
    while let Some(chain) = chains.pop_front() {
        for next in chain.last().copied().into_iter().flat_map(&awaited) {
            if next == home {
                return Some(chain);
            }
            if known.insert(next) {
                chains.push_back([chain.as_slice(), &[next]].concat());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each pair waits for its second member.
    fn chain(waits: &[(&'static str, &'static str)]) -> Option<Vec<&'static str>> {
        chain_of_waits("ann", "me", |name| {
            let waits = waits.iter().filter(move |(who, _)| *who == name);
            waits.map(|(_, whom)| *whom).collect::<Vec<_>>()
        })
    }

    #[test]
    fn a_chain_leads_back_by_the_shortest_way_or_not_at_all() {
        assert_eq!(chain(&[("ann", "me")]), Some(vec!["ann"]));
        assert_eq!(chain(&[("ann", "ben"), ("ben", "me")]), Some(vec!["ann", "ben"]));
        let both = [("ann", "ben"), ("ann", "cay"), ("ben", "dan"), ("dan", "me"), ("cay", "me")];
        assert_eq!(chain(&both), Some(vec!["ann", "cay"]));
        assert_eq!(chain(&[]), None);
        assert_eq!(chain(&[("ann", "ben"), ("cay", "me")]), None);
        assert_eq!(chain(&[("ann", "ben"), ("ben", "ann")]), None, "a circle of others");
    }
}
