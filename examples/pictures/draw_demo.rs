//! Draws the output of the demo. Each line appears at the time at which it was printed, slowed down so that it can be read.

use std::fmt::Write as _;

/// The length of the drawing in seconds. The demo itself takes a third of a second.
const SECONDS: f64 = 10.0;

/// In pixels: the width of a letter, the height of a line, and the frame around the text.
const LETTER: f64 = 7.25;
const LINE: usize = 20;
const FRAME: usize = 16;

const STYLE: &str = "\
text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #d0d7de; white-space: pre }
.time { fill: #8b949e } .prompt { fill: #7ee787 }
.line { animation: appear 0.2s both }
@keyframes appear { from { opacity: 0 } }
@media (prefers-reduced-motion: reduce) { .line { animation: none } }";

pub(crate) fn draw(lines: &[String]) -> String {
    let command = "$ cli-team-bridge demo".to_owned();
    let longest = lines.iter().map(|line| line.chars().count()).max().unwrap_or_default();
    #[expect(clippy::cast_precision_loss, reason = "lines are short")]
    let width = (longest as f64 * LETTER).ceil() + 2.0 * FRAME as f64;
    let height = (lines.len() + 1) * LINE + 2 * FRAME;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         aria-label=\"What cli-team-bridge demo prints\">\n<style>{STYLE}</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#0d1117\"/>\n"
    );
    let mut times = lines.iter().filter_map(|line| Some(time_of(line)?.0));
    let slower = SECONDS / times.next_back().unwrap_or(1.0).max(0.01);
    let mut at = 0.0;
    for (row, line) in std::iter::once(&command).chain(lines).enumerate() {
        let y = FRAME + (row + 1) * LINE - 6;
        let (time, text) =
            time_of(line).map_or((None, line.as_str()), |(time, text)| (Some(time), text));
        let text = without_id(text);
        at = time.map_or(at, |time: f64| time * slower);
        let class = if row == 0 { "prompt" } else { "line" };
        let _ = write!(
            svg,
            "<text class=\"{class}\" x=\"{FRAME}\" y=\"{y}\" style=\"animation-delay:{at:.1}s\">"
        );
        if let Some(time) = time {
            let _ = write!(svg, "<tspan class=\"time\">{time:6.2} s</tspan>");
        }
        let _ = writeln!(svg, "{}</text>", escaped(text));
    }
    svg + "</svg>\n"
}

/// Returns a line without the id in the name of the demo's project, which is another one in each run.
fn without_id(text: &str) -> &str {
    text.split_once("/cli-team-bridge-demo-").map_or(text, |(before, id)| {
        let kept = before.len() + "/cli-team-bridge-demo".len();
        if id.contains(' ') { text } else { &text[..kept] }
    })
}

/// Splits a line of the demo into its time, in seconds, and its text.
fn time_of(line: &str) -> Option<(f64, &str)> {
    let (time, text) = line.trim_start().split_once(" s ")?;
    Some((time.parse().ok()?, &line[line.len() - text.len() - 1..]))
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
