//! The one table that all benchmarks print, in markdown.

use std::io::{self, Write as _};

use super::Outcome;
use super::samples::Rounds;

/// One line of the table.
pub(crate) struct Row {
    figure: String,
    demand: String,
    anchor: String,
    ours: String,
    ratio: String,
    verdict: &'static str,
}

/// The limit of a figure or ratio.
#[derive(Clone, Copy)]
pub(crate) enum Demand {
    AtMost(f64),
    AtLeast(f64),
    /// Shown for information.
    None,
}

impl Demand {
    fn judge(self, value: f64) -> &'static str {
        match self {
            Self::AtMost(limit) if value <= limit => "met",
            Self::AtLeast(limit) if value >= limit => "met",
            Self::AtMost(_) | Self::AtLeast(_) => "**missed**",
            Self::None => "",
        }
    }

    fn text(self, unit: &str) -> String {
        match self {
            Self::AtMost(limit) => format!("≤ {limit}{unit}"),
            Self::AtLeast(limit) => format!("≥ {limit}{unit}"),
            Self::None => String::new(),
        }
    }
}

impl Row {
    /// A figure that is judged by its ratio to an anchor of the same round.
    pub(crate) fn ratio(figure: &str, demand: Demand, rounds: &Rounds, unit: &str) -> Self {
        let (ratio, least, greatest) = rounds.ratio();
        Self {
            figure: figure.to_owned(),
            demand: demand.text(" ×"),
            anchor: with_unit(rounds.anchor(), unit),
            ours: with_unit(rounds.ours(), unit),
            ratio: format!("{ratio:.2} ({least:.2}–{greatest:.2})"),
            verdict: demand.judge(ratio),
        }
    }

    /// A figure that is judged by its absolute value.
    pub(crate) fn absolute(figure: &str, demand: Demand, value: f64, unit: &str) -> Self {
        Self {
            figure: figure.to_owned(),
            demand: demand.text(&format!(" {unit}")),
            anchor: String::new(),
            ours: with_unit(value, unit),
            ratio: String::new(),
            verdict: demand.judge(value),
        }
    }

    /// A figure a second that is judged by its absolute value, beside its anchor of the same rounds.
    pub(crate) fn rate(figure: &str, demand: Demand, rounds: &Rounds) -> Self {
        Self {
            demand: demand.text(" /s"),
            verdict: demand.judge(rounds.ours()),
            ..Self::ratio(figure, Demand::None, rounds, "/s")
        }
    }

    /// A figure that cannot be measured yet.
    pub(crate) fn skipped(figure: &str, demand: &str, why: &str) -> Self {
        Self {
            figure: figure.to_owned(),
            demand: demand.to_owned(),
            anchor: String::new(),
            ours: why.to_owned(),
            ratio: String::new(),
            verdict: "skipped",
        }
    }
}

fn with_unit(value: f64, unit: &str) -> String {
    let number = match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        small if small < 10.0 => format!("{value:.2}"),
        _ => format!("{value:.1}"),
    };
    format!("{number} {unit}")
}

/// Prints the head of the table.
pub(crate) fn print_head() -> Outcome {
    let mut out = io::stdout().lock();
    writeln!(out, "| figure | demand | anchor | ours | ratio (least–greatest) | |")?;
    writeln!(out, "|---|---|---|---|---|---|")?;
    Ok(())
}

/// Prints lines of the table.
pub(crate) fn print_rows(rows: &[Row]) -> Outcome {
    let mut out = io::stdout().lock();
    for row in rows {
        writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} |",
            row.figure, row.demand, row.anchor, row.ours, row.ratio, row.verdict
        )?;
    }
    out.flush()?;
    Ok(())
}
