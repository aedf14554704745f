//! Who waits for whom: what a waiting member waits for in turn, and members that wait for each other in a circle.

use std::collections::BTreeMap;

use super::stretches::ANSWERED;
use super::{DIED, Group, MemberRow, Moment, Stretch, StretchKind};
use crate::domain::messaging::chain_of_waits;
use crate::domain::text::listed::listed;
use crate::domain::wait_times;

/// The members for whom each waiting member waits, by the names of the live ones.
pub(super) struct Waits<'a> {
    live: BTreeMap<&'a str, &'a MemberRow>,
}

impl<'a> Waits<'a> {
    /// Looks at the rows of a team.
    pub(super) fn of(members: &'a [MemberRow]) -> Self {
        let live = members.iter().filter(|row| row.group != Group::Ended);
        Self { live: live.map(|row| (row.name.as_str(), row)).collect() }
    }

    /// Returns the members of the circle in which a member waits, each waiting for the next, and the last for the member itself; none if
    /// it waits in no circle.
    pub(super) fn circle(&self, row: &'a MemberRow) -> Option<Vec<&'a str>> {
        let first = row.waits_for.as_deref().filter(|first| *first != row.name)?;
        let awaited = |name: &'a str| self.live.get(name).and_then(|one| one.waits_for.as_deref());
        chain_of_waits(first, row.name.as_str(), awaited)
    }

    /// Returns each circle once, beginning with the member that the team lists first.
    pub(super) fn circles(&self, members: &'a [MemberRow]) -> Vec<Vec<&'a str>> {
        let mut known: Vec<Vec<&str>> = Vec::new();
        for row in members.iter().filter(|row| row.group != Group::Ended) {
            if known.iter().any(|circle| circle.contains(&&*row.name)) {
                continue;
            }
            if let Some(others) = self.circle(row) {
                known.push([vec![row.name.as_str()], others].concat());
            }
        }
        known
    }

    /// Says for whom a member waits, and what that one does: the first words are enough where a window cuts the rest.
    pub(super) fn in_words(&self, row: &'a MemberRow, name: &str) -> String {
        if let Some(others) = self.circle(row) {
            return format!("in a circle with {}", listed(&others, "and"));
        }
        // Between two waits a member works, if only for the moment in which it asks anew.
        if row.state != "waiting" {
            return format!("waited for {name} until just now");
        }
        let chain = self.chain(name);
        let last = chain.last().copied().unwrap_or(name);
        let how = match self.live.get(last) {
            None => ", who is not here".to_owned(),
            Some(other) if self.circle(other).is_some() => ", who waits in a circle".to_owned(),
            Some(other) => match other.state.as_str() {
                _ if other.waits_for_user() => ", who waits for you".to_owned(),
                "stalled" | "stuck" | "hung" => format!(", who is {}", other.state),
                // Nothing reports what the client of another member is doing.
                "idle" if other.kind == "agent" => ", who is idle".to_owned(),
                _ => String::new(),
            },
        };
        let chain = match chain.as_slice() {
            [one, other] => format!("{one}, who waits for {other}"),
            all => all.join(" → "),
        };
        format!("waits for {chain}{how}")
    }

    /// Returns a member, for whom that one waits, and so on to the end, or to the first one that waits in a circle.
    fn chain<'n>(&self, first: &'n str) -> Vec<&'n str>
    where
        'a: 'n,
    {
        let mut chain = vec![first];
        while let Some(row) = chain.last().and_then(|last| self.live.get(last))
            && let Some(next) = row.waits_for.as_deref()
            && self.circle(row).is_none()
            && !chain.contains(&next)
        {
            chain.push(next);
        }
        chain
    }

    /// Counts what waits behind a member: those that wait for it, directly or through others, and the tasks behind its own.
    pub(super) fn behind(&self, members: &[MemberRow], name: &str) -> usize {
        let own = self.live.get(name).map_or(0, |row| row.queued);
        let waiting = members.iter().filter(|row| row.group != Group::Ended && row.name != name);
        let waiting = waiting.filter_map(|row| row.waits_for.as_deref());
        own + waiting.filter(|first| self.chain(first).contains(&name)).count()
    }
}

/// Puts into words what each waiting member waits for.
pub(super) fn put_words(members: &mut [MemberRow]) {
    let waits = Waits::of(members);
    let words: Vec<_> = members
        .iter()
        .map(|row| {
            let here = Some(row).filter(|row| row.group != Group::Ended)?;
            match &row.waits_for {
                Some(whom) => Some(waits.in_words(row, whom)),
                // As those that wait for it say.
                None => (here.state == "waiting" && here.waits_for_user())
                    .then(|| "waits for you".to_owned()),
            }
        })
        .collect();
    for (row, words) in members.iter_mut().zip(words) {
        row.wait_words = words;
    }
}

/// Says whether a member that waits for nobody may have ended a wait a moment ago, to ask anew: an agent in its turn, or a member of whose
/// client nothing else is known.
pub(super) fn may_ask_anew(row: &MemberRow) -> bool {
    let is_at_it = match row.state.as_str() {
        "running" => true,
        "idle" => row.kind != "agent",
        _ => false,
    };
    is_at_it && row.waits_for.is_none()
}

/// Lets members whose wait has just ended without a message wait on while they ask anew, which takes a model some seconds: who waits
/// for whom would flicker otherwise, and would be young again with each wait.
pub(super) fn bridge(
    members: &mut [MemberRow],
    by_member: &BTreeMap<&str, Vec<&Stretch>>,
    now: Moment,
) {
    let may_wait = |row: &&mut MemberRow| row.state == "waiting" || may_ask_anew(row);
    for row in members.iter_mut().filter(may_wait) {
        let own = by_member.get(row.name.as_str()).into_iter().flatten();
        // A wait for any message goes on from call to call, too.
        let is_for_any = row.state == "waiting" && row.waits_for.is_none();
        let mut waits: Vec<_> = own
            .filter_map(|one| match &one.kind {
                StretchKind::Wait { whom, .. } if whom.is_none() == is_for_any => Some((one, whom)),
                _ => None,
            })
            .collect();
        waits.sort_by_key(|(one, _)| std::cmp::Reverse(one.from));
        // One that goes on is as good as over: the board is newer.
        let is_asked_anew = |one: &Stretch, then: Moment| {
            !matches!(one.ended, Some(ANSWERED | DIED))
                && one.until.unwrap_or(then).until(then) < wait_times::WAIT_ASKED_AGAIN_MS
        };
        if row.waits_for.is_none() && !is_for_any {
            let Some((last, whom)) = waits.first() else { continue };
            if !is_asked_anew(last, now) {
                continue;
            }
            row.waits_for.clone_from(whom);
            row.waits_since = Some(last.from);
        }
        let going_on =
            waits.first().filter(|(one, whom)| one.until.is_none() && **whom == row.waits_for);
        // Calls of older versions do not say when they were made.
        let Some(first) = row.waits_since.or(going_on.map(|(one, _)| one.from)) else { continue };
        let mut since = first;
        for (earlier, whom) in waits.iter().filter(|(one, _)| one.from < first) {
            if **whom != row.waits_for || !is_asked_anew(earlier, since) {
                break;
            }
            since = earlier.from;
        }
        row.waits_since = Some(since);
    }
}

/// Says who waits in a circle.
pub(super) fn circle_in_words(circle: &[&str]) -> String {
    if let [one, other] = circle {
        return format!("{one} and {other} wait for each other");
    }
    let pairs = circle.iter().zip(circle.iter().cycle().skip(1));
    let steps: Vec<_> = pairs.map(|(one, other)| format!("{one} for {other}")).collect();
    format!("a circle of waits: {}", listed(&steps, "and"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::stretches::by_member;

    #[test]
    fn who_waits_for_the_user_says_so_on_its_own_row() {
        let mut members = team(&[("ann", "waiting", None), ("ben", "waiting", None)]);
        members[0].asks_user = true;
        put_words(&mut members);
        let words = members.iter().map(|row| row.wait_words.as_deref());
        assert_eq!(words.collect::<Vec<_>>(), [Some("waits for you"), None]);
    }
    use crate::view::tests::row;

    fn team(waits: &[(&str, &str, Option<&str>)]) -> Vec<MemberRow> {
        let rows = waits.iter().map(|(name, state, whom)| MemberRow {
            waits_for: whom.map(str::to_owned),
            ..row(name, state)
        });
        rows.collect()
    }

    fn words(members: &[MemberRow]) -> Vec<String> {
        let waits = Waits::of(members);
        let waiting = members.iter().filter_map(|row| Some((row, row.waits_for.as_deref()?)));
        waiting.map(|(row, whom)| waits.in_words(row, whom)).collect()
    }

    #[test]
    fn members_that_wait_for_each_other_are_a_circle_however_many_they_are() {
        let two = team(&[("ann", "waiting", Some("ben")), ("ben", "waiting", Some("ann"))]);
        assert_eq!(words(&two), ["in a circle with ben", "in a circle with ann"]);
        let waits = Waits::of(&two);
        let circles = waits.circles(&two);
        assert_eq!(circles, [["ann", "ben"]]);
        assert_eq!(circle_in_words(&circles[0]), "ann and ben wait for each other");

        let mut chain = team(&[
            ("ann", "waiting", Some("ben")),
            ("ben", "waiting", Some("cay")),
            ("cay", "waiting", Some("dan")),
            ("dan", "waiting", Some("ben")),
            ("eve", "waiting", Some("eve")),
        ]);
        assert_eq!(
            words(&chain),
            [
                "waits for ben, who waits in a circle",
                "in a circle with cay and dan",
                "in a circle with dan and ben",
                "in a circle with ben and cay",
                "waits for eve",
            ]
        );
        let waits = Waits::of(&chain);
        let circles = waits.circles(&chain);
        assert_eq!(circles, [["ben", "cay", "dan"]]);
        let said = "a circle of waits: ben for cay, cay for dan and dan for ben";
        assert_eq!(circle_in_words(&circles[0]), said);
        chain[3].group = Group::Ended;
        assert!(Waits::of(&chain).circles(&chain).is_empty(), "who left waits for nobody");
    }

    #[test]
    fn a_wait_says_what_the_awaited_one_does() {
        let members = team(&[
            ("ann", "waiting", Some("zoe")),
            ("ben", "waiting", Some("idler")),
            ("cay", "waiting", Some("asker")),
            ("dan", "waiting", Some("silent")),
            ("eve", "waiting", Some("worker")),
            ("fay", "waiting", Some("eve")),
            ("idler", "idle", None),
            ("asker", "waiting_permission", None),
            ("silent", "stalled", None),
            ("worker", "running", None),
        ]);
        assert_eq!(
            words(&members),
            [
                "waits for zoe, who is not here",
                "waits for idler, who is idle",
                "waits for asker, who waits for you",
                "waits for silent, who is stalled",
                "waits for worker",
                "waits for eve, who waits for worker",
            ]
        );
    }

    #[test]
    fn who_has_asked_the_user_and_does_nothing_else_waits_for_the_user() {
        let mut members = team(&[
            ("ann", "waiting", Some("ben")),
            ("ben", "waiting", Some("cay")),
            ("cay", "idle", None),
        ]);
        members[2].asks_user = true;
        let said = |members: &[MemberRow]| words(members)[1].clone();
        assert_eq!(words(&members)[0], "waits for ben, who waits for cay, who waits for you");
        assert_eq!(said(&members), "waits for cay, who waits for you");
        members[2].state = "running".to_owned();
        assert_eq!(said(&members), "waits for cay", "it goes on without the answer");
    }

    #[test]
    fn a_chain_of_waits_is_told_to_its_end() {
        let mut members = team(&[
            ("ann", "waiting", Some("ben")),
            ("ben", "waiting", Some("cay")),
            ("cay", "waiting", Some("dan")),
            ("dan", "waiting_permission", None),
        ]);
        assert_eq!(
            words(&members),
            [
                "waits for ben → cay → dan, who waits for you",
                "waits for cay, who waits for dan, who waits for you",
                "waits for dan, who waits for you",
            ]
        );
        members[3].queued = 2;
        let behind = |name| Waits::of(&members).behind(&members, name);
        assert_eq!((behind("dan"), behind("ben"), behind("ann")), (5, 1, 0));
    }

    #[test]
    fn a_circle_stays_while_one_of_it_asks_anew() {
        let wait = |member: &str, until: Option<i64>, ended| Stretch {
            member: member.to_owned(),
            kind: StretchKind::Wait { whom: Some("ben".to_owned()), for_user: false },
            from: Moment(0),
            until: until.map(Moment),
            ended,
        };
        let names = [("ann", "running", None), ("ben", "waiting", Some("ann"))];
        let bridged = |stretch: Stretch, now: i64| {
            let mut members = team(&names);
            bridge(&mut members, &by_member(&[stretch]), Moment(now));
            put_words(&mut members);
            let circles = Waits::of(&members).circles(&members).len();
            (members[0].wait_words.clone().unwrap_or_default(), circles)
        };
        let gap = wait("ann", Some(120_000), None);
        assert_eq!(bridged(gap.clone(), 123_000), ("in a circle with ben".to_owned(), 1));
        assert_eq!(bridged(gap, 200_000), (String::new(), 0), "it does something else");
        let answered = wait("ann", Some(120_000), Some(ANSWERED));
        assert_eq!(bridged(answered, 123_000), (String::new(), 0));
        let mut alone = team(&[("ann", "running", None)]);
        bridge(&mut alone, &by_member(&[wait("ann", Some(5), None)]), Moment(6));
        assert!(alone[0].waits_for.is_some());
        put_words(&mut alone);
        assert_eq!(alone[0].wait_words.as_deref(), Some("waited for ben until just now"));
        let mut idle = team(&[("ann", "idle", None)]);
        bridge(&mut idle, &by_member(&[wait("ann", Some(5), None)]), Moment(6));
        assert_eq!(idle[0].waits_for, None, "its turn is over");
        let mut peer = team(&[("ann", "idle", None)]);
        peer[0].kind = "peer".to_owned();
        bridge(&mut peer, &by_member(&[wait("ann", Some(5), None)]), Moment(6));
        assert_eq!(
            peer[0].waits_for.as_deref(),
            Some("ben"),
            "of its client nothing else is known"
        );
    }

    #[test]
    fn a_wait_that_is_asked_anew_is_as_old_as_its_first_question() {
        let wait = |from, until, whom: &str, ended| Stretch {
            member: "ann".to_owned(),
            kind: StretchKind::Wait { whom: Some(whom.to_owned()), for_user: false },
            from: Moment(from),
            until,
            ended,
        };
        let since = |stretches: &[Stretch]| {
            let mut members = team(&[("ann", "waiting", Some("ben"))]);
            members[0].waits_since = Some(Moment(30_000));
            bridge(&mut members, &by_member(stretches), Moment(31_000));
            members[0].waits_since.unwrap().0
        };
        let asked = [
            wait(10_000, Some(Moment(19_000)), "ben", None),
            wait(20_000, Some(Moment(29_000)), "ben", None),
            wait(30_000, None, "ben", None),
        ];
        assert_eq!(since(&asked), 10_000);
        let mut answered = asked.clone();
        answered[1].ended = Some(ANSWERED);
        assert_eq!(since(&answered), 30_000, "the answer ended that wait");
        let mut other = asked.clone();
        other[0] = wait(10_000, Some(Moment(19_000)), "cay", None);
        assert_eq!(since(&other), 20_000);
        // One who waits for any message does so on and on, too.
        let mut any = asked.clone();
        for one in &mut any {
            one.kind = StretchKind::Wait { whom: None, for_user: false };
        }
        let mut members = team(&[("ann", "waiting", None)]);
        members[0].waits_since = Some(Moment(30_000));
        bridge(&mut members, &by_member(&any), Moment(31_000));
        assert_eq!((members[0].waits_since, &members[0].waits_for), (Some(Moment(10_000)), &None));
        // The board is newer than the stretches: the last wait has just ended.
        let mut members = team(&[("ann", "running", None)]);
        bridge(&mut members, &by_member(&asked), Moment(31_000));
        assert_eq!(members[0].waits_since, Some(Moment(10_000)));
    }
}
