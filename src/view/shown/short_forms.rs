//! Ages, numbers and money in the few letters that a row has for them.

use crate::domain::messaging::Author;
use crate::view::spent::amount_with_sign;
use crate::view::{Moment, Spent};

/// Stands for tokens or a cost that an agent has not reported.
pub const NOT_REPORTED: &str = "–";

/// What the user is called in a sentence that says who did something. In addresses and in JSON it is `human`.
pub const USER: &str = "the user";

/// Names in a sentence who did something, as events and rows have it.
pub fn by_whom(by: &str) -> &str {
    if by == Author::HUMAN { USER } else { by }
}

/// Names the user who has answered in the client of an orchestrator, rather than at the command line or in a window.
pub fn human_in(orchestrator: &str) -> String {
    format!("{USER} (in {orchestrator})")
}

/// Returns how long ago a moment was, in at most four columns.
pub fn age(since: Moment, now: Moment) -> String {
    let seconds = since.until(now) / 1000;
    match seconds {
        0..=59 => format!("{seconds}s"),
        60..=5_999 => format!("{}m", seconds / 60),
        6_000..=359_999 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", (seconds / 86_400).min(999)),
    }
}

/// Returns for how many milliseconds an age stays as it is.
pub fn age_lasts(since: Moment, now: Moment) -> u64 {
    let ms = since.until(now);
    let unit = match ms / 1000 {
        0..=59 => 1_000,
        60..=5_999 => 60_000,
        6_000..=359_999 => 3_600_000,
        _ => 86_400_000,
    };
    unit - ms % unit
}

/// Returns a number in at most five columns; nothing for zero.
pub fn short(number: u64) -> String {
    match number {
        0 => String::new(),
        1..=9_999 => number.to_string(),
        10_000..=999_499 => format!("{}k", (number + 500) / 1_000),
        999_500..=99_949_999 => {
            let tenths = (number + 50_000) / 100_000;
            format!("{}.{}M", tenths / 10, tenths % 10)
        }
        _ => format!("{}M", (number.saturating_add(500_000) / 1_000_000).min(9_999)),
    }
}

/// Returns the costs in a few columns, with a sign if not all agents report them; nothing if none are known.
pub fn money(spent: &Spent) -> String {
    let mut costs = spent.cost.iter().filter(|(_, amount)| **amount > 0.0);
    let Some((currency, amount)) = costs.next() else { return String::new() };
    let more = if costs.next().is_some() { "+" } else { "" };
    let (sign, mut digits) = amount_with_sign(*amount, spent.is_all_cost());
    if *amount >= 100.0 {
        digits = format!("{amount:.0}");
    }
    match currency.as_str() {
        "USD" => format!("{sign}${digits}{more}"),
        "EUR" => format!("{sign}€{digits}{more}"),
        "GBP" => format!("{sign}£{digits}{more}"),
        other => format!("{sign}{digits} {other}{more}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_and_numbers_have_few_columns() {
        let ages = [0, 59_999, 60_000, 5_999_999, 6_000_000, 400_000_000, i64::MAX / 2];
        let ages = ages.map(|ms| age(Moment(0), Moment(ms)));
        assert_eq!(ages, ["0s", "59s", "1m", "99m", "1h", "4d", "999d"]);
        let numbers =
            [0, 7, 9_999, 10_000, 11_700, 999_999, 1_249_000, 99_950_000, u64::MAX].map(short);
        assert_eq!(numbers, ["", "7", "9999", "10k", "12k", "1.0M", "1.2M", "100M", "9999M"]);
    }

    #[test]
    fn an_age_lasts_until_it_is_written_differently() {
        for ms in [0, 1, 999, 58_500, 59_001, 60_000, 119_999, 5_999_000, 6_000_001, 359_999_999] {
            let lasts = i64::try_from(age_lasts(Moment(0), Moment(ms))).unwrap();
            let shown = |ms| age(Moment(0), Moment(ms));
            assert_eq!(shown(ms), shown(ms + lasts - 1), "{ms}");
            assert_ne!(shown(ms), shown(ms + lasts), "{ms}");
        }
    }

    #[test]
    fn money_says_that_there_are_more_currencies() {
        let mut spent = Spent::default();
        assert_eq!(money(&spent), "");
        spent.cost.insert("USD".to_owned(), 1.5);
        assert_eq!(money(&spent), "$1.50");
        spent.agents_without_cost = 1;
        assert_eq!(money(&spent), "≥ $1.50");
        spent.agents_without_cost = 0;
        spent.cost.insert("EUR".to_owned(), 120.0);
        assert_eq!(money(&spent), "€120+");
    }

    #[test]
    fn what_is_more_than_nothing_never_looks_like_nothing() {
        let mut spent = Spent::default();
        let mut shown = |amount, agents_without_cost| {
            spent.cost.insert("USD".to_owned(), amount);
            (spent.agents, spent.agents_without_cost) = (2, agents_without_cost);
            [money(&spent), spent.least_cost(), spent.cost_in_words()]
        };
        assert_eq!(shown(0.000_552, 0), ["<$0.01", "<0.01 USD", "<0.01 USD"]);
        let some = "<0.01 USD (1 of 2 agents reports costs)";
        assert_eq!(shown(0.000_552, 1), ["> $0.00", "> 0.00 USD", some]);
        assert_eq!(shown(0.006, 0), ["$0.01", "0.01 USD", "0.01 USD"]);
        assert_eq!(shown(0.0, 0), ["", "0.00 USD", "0.00 USD"]);
    }
}
