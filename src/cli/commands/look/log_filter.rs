//! Which happenings to show. Pure.

use clap::Args;

use crate::domain::text::exactly::exactly;
use crate::domain::time::{iso8601, parse_time};
use crate::sys::clock;
use crate::view::{Happening, Topic};

/// Which happenings to show.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct LogFilter {
    /// Only what concerns this member.
    #[arg(long, value_name = "NAME")]
    member: Option<String>,
    /// Only what concerns this thread, message, request, task, permission question or workflow.
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
    /// Only these kinds: message, receipt, request, task, permission, wait, workflow, member [default: all but receipt and wait].
    #[arg(long, value_name = "KIND", value_parser = topic)]
    kind: Vec<Topic>,
    /// Only what happened since then: 30m, 1h or 2d ago, or a day or a time in UTC, such as 2026-01-31, 2026-01-31T08:00Z or 08:00.
    #[arg(long, value_name = "TIME", value_parser = since)]
    pub(super) since: Option<i64>,
    /// Only what happened after the event with this seq, such as the `seq` of `status --json`.
    #[arg(long, value_name = "SEQ", value_parser = seq)]
    pub(super) after: Option<u64>,
}

impl LogFilter {
    /// Returns what is asked for as options of a command line, if anything is.
    pub(super) fn asked(&self) -> Option<String> {
        let member = self.member.as_ref().map(|name| format!("--member {}", exactly(name)));
        let thread = self.thread.as_ref().map(|id| format!("--thread {}", exactly(id)));
        let kinds = self.kind.iter().map(|kind| format!("--kind {}", kind.as_str()));
        let since = self.since.map(|since| format!("--since {}", iso8601(since)));
        let after = self.after.map(|seq| format!("--after {seq}"));
        let places = since.into_iter().chain(after);
        let asked: Vec<_> = member.into_iter().chain(thread).chain(kinds).chain(places).collect();
        (!asked.is_empty()).then(|| asked.join(" "))
    }

    /// Says whether what came before an event with this seq and at this time is not asked for. Nothing if it is not asked by time or seq.
    pub(super) fn ends_before(&self, seq: u64, at_ms: i64) -> Option<bool> {
        match (self.since, self.after) {
            (None, None) => None,
            (since, after) => Some(
                since.is_some_and(|since| at_ms < since) || after.is_some_and(|after| seq <= after),
            ),
        }
    }

    /// Says whether to show a happening.
    pub(super) fn fits(&self, happening: &Happening) -> bool {
        let is_kind = match &self.kind[..] {
            // A receipt is the news of a message, not of a team; a wait is what a member does while it repeats its question.
            [] => !happening.topic.is_beside() || self.thread.is_some(),
            kinds => kinds.contains(&happening.topic),
        };
        let concerns = |name: &String| {
            happening.members.iter().any(|member| {
                member.eq_ignore_ascii_case(name)
                    || (member == "all" && happening.topic == Topic::Message)
            })
        };
        is_kind
            && self.since.is_none_or(|since| since <= happening.at.0)
            && self.after.is_none_or(|seq| seq < happening.seq)
            && self.member.as_ref().is_none_or(concerns)
            && self.thread.as_ref().is_none_or(|id| happening.ids.contains(id))
    }
}

fn topic(word: &str) -> Result<Topic, String> {
    let found = Topic::ALL.into_iter().find(|topic| topic.as_str() == word);
    let words = || Topic::ALL.map(Topic::as_str).join(", ");
    found.ok_or_else(|| format!("write one of {}", words()))
}

/// Parses how many to show.
pub(super) fn count(text: &str) -> Result<usize, String> {
    text.trim().parse().map_err(|_| "write a whole number, such as 20".to_owned())
}

fn seq(text: &str) -> Result<u64, String> {
    let how = "write the `seq` of `cli-team-bridge status --json` or of an event, such as 120";
    text.trim().parse().map_err(|_| how.to_owned())
}

/// Parses a time, or how long ago that was.
pub(super) fn since(text: &str) -> Result<i64, String> {
    let how = "write how long ago, such as 30m, 1h or 2d, or a day or a time in UTC, such as 2026-01-31, 2026-01-31T08:00Z or 08:00";
    since_at(text.trim(), clock::now().wall_ms).ok_or_else(|| how.to_owned())
}

fn since_at(text: &str, now_ms: i64) -> Option<i64> {
    let ago_ms = || {
        let unit_ms = match text.chars().next_back()? {
            'm' => 60_000,
            'h' => 3_600_000,
            'd' => 86_400_000,
            _ => return None,
        };
        let number: u32 = text[..text.len() - 1].parse().ok()?;
        Some(i64::from(number) * unit_ms)
    };
    match ago_ms() {
        Some(ago_ms) => Some(now_ms.saturating_sub(ago_ms)),
        None => parse_time(text).or_else(|| last_time_of_day(text, now_ms)),
    }
}

/// Parses a time of the day in UTC, as windows show it, which is today's or, if that is still to come, yesterday's.
fn last_time_of_day(text: &str, now_ms: i64) -> Option<i64> {
    const DAY_MS: i64 = 86_400_000;
    let today: String = iso8601(now_ms).chars().take(10).collect();
    let clock = text.strip_suffix('Z').unwrap_or(text);
    let at_ms = parse_time(&format!("{today}T{clock}Z"))?;
    Some(if at_ms <= now_ms { at_ms } else { at_ms - DAY_MS })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::Moment;

    fn happening(topic: Topic, members: &[&str]) -> Happening {
        Happening {
            seq: 1,
            at: Moment(100),
            topic,
            members: members.iter().map(ToString::to_string).collect(),
            ids: vec!["msg-1".to_owned()],
            words: String::new(),
        }
    }

    #[test]
    fn a_time_is_an_age_or_a_time_in_utc() {
        let now = 1_770_000_000_000;
        let check = |text, expected| assert_eq!(since_at(text, now), expected, "{text}");
        check("30m", Some(now - 30 * 60_000));
        check("1h", Some(now - 3_600_000));
        check("2d", Some(now - 2 * 86_400_000));
        check("2026-02-02T02:40Z", Some(now));
        check("02:40", Some(now));
        check("02:39:30Z", Some(now - 30_000));
        check("02:41", Some(now + 60_000 - 86_400_000));
        for wrong in ["", "h", "1", "24:00", "-1h", "1w", "99999999999h", "é", "1.5h"] {
            check(wrong, None);
        }
    }

    #[test]
    fn receipts_and_waits_show_only_if_asked_for() {
        let filter = LogFilter::default();
        assert!(filter.fits(&happening(Topic::Task, &[])));
        for topic in [Topic::Receipt, Topic::Wait] {
            let beside = happening(topic, &["ann"]);
            assert!(!filter.fits(&beside));
            assert!(LogFilter { kind: vec![topic], ..filter.clone() }.fits(&beside));
            let of_thread = LogFilter { thread: Some("msg-1".to_owned()), ..filter.clone() };
            assert!(of_thread.fits(&beside));
        }
    }

    #[test]
    fn each_filter_leaves_out_what_it_does_not_name() {
        let sent = happening(Topic::Message, &["ann", "all"]);
        let member =
            |name: &str| LogFilter { member: Some(name.to_owned()), ..LogFilter::default() };
        assert!(member("Ann").fits(&sent));
        assert!(member("bob").fits(&sent), "it went to all");
        assert!(!member("bob").fits(&happening(Topic::Task, &["ann"])));
        let since = |since| LogFilter { since: Some(since), ..LogFilter::default() };
        assert!(since(100).fits(&sent));
        assert!(!since(101).fits(&sent));
        let after = |seq| LogFilter { after: Some(seq), ..LogFilter::default() };
        assert!(after(sent.seq - 1).fits(&sent));
        assert!(!after(sent.seq).fits(&sent));
        assert_eq!(after(7).ends_before(8, 0), Some(false));
        assert_eq!(after(7).ends_before(7, 0), Some(true));
        assert_eq!(LogFilter::default().ends_before(7, 0), None);
        let thread = LogFilter { thread: Some("msg-2".to_owned()), ..LogFilter::default() };
        assert!(!thread.fits(&sent));
    }
}
