//! Draws the screen of a terminal as SVG, on a dark ground of its own, which reads well on light and dark pages.

use std::fmt::Write as _;

use vt100::{Cell, Color, Screen};

use crate::draw_demo::escaped;

/// In pixels: the width of a cell, the height of a row, and the frame around the text.
const CELL: f64 = 7.25;
const ROW: u16 = 18;
const FRAME: u16 = 16;

const GROUND: &str = "#0d1117";
const TEXT: &str = "#d0d7de";
const FAINT: &str = "#8b949e";

/// The first eight colours of the terminal, and the bright ones.
const COLOURS: [&str; 16] = [
    "#484f58", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#d0d7de",
    "#8b949e", "#ffa198", "#a5f3b0", "#f2cc60", "#a5d6ff", "#e2c5ff", "#b3f0ff", "#ffffff",
];

/// The beginnings of ids; what follows is drawn by lot, and would be another one in each run.
const IDS: [&str; 4] = ["task-", "wf-", "msg-", "perm-"];
const ID_LETTERS: &str = "b3j7x2abq5wt";

/// How a run of cells looks.
#[derive(Clone, PartialEq)]
struct Look {
    text: String,
    ground: Option<String>,
    is_bold: bool,
}

/// Draws a screen below the command that shows it.
pub(crate) fn draw(command: &str, screen: &Screen) -> String {
    let (rows, columns) = screen.size();
    let shown: Vec<Vec<&Cell>> = (0..rows.get())
        .map(|row| (0..columns.get()).filter_map(|column| screen.cell(row, column)).collect())
        .collect();
    let used =
        shown.iter().rposition(|row| row.iter().any(|cell| has_ink(cell))).map_or(0, |at| at + 1);
    let width = f64::from(columns.get()) * CELL + 2.0 * f64::from(FRAME);
    let height = (u16::try_from(used).unwrap_or(0) + 2) * ROW + 2 * FRAME;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         aria-label=\"What {command} shows\">\n<style>text {{ font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; \
         fill: {TEXT}; white-space: pre }} .b {{ font-weight: bold }}</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{GROUND}\"/>\n\
         <text x=\"{FRAME}\" y=\"{}\"><tspan fill=\"{}\">$ {}</tspan></text>\n",
        FRAME + 12,
        COLOURS[2],
        escaped(command),
    );
    for (cells, row) in shown.iter().take(used).zip(2_u16..) {
        draw_row(&mut svg, cells, FRAME + row * ROW);
    }
    svg + "</svg>\n"
}

fn has_ink(cell: &Cell) -> bool {
    !cell.contents().trim().is_empty() || cell.inverse()
}

fn draw_row(svg: &mut String, cells: &[&Cell], top: u16) {
    let texts = with_plain_ids(cells);
    let mut text = String::new();
    let mut at = 0;
    while at < cells.len() {
        let look = look(cells[at]);
        // A gap ends a run as well: what follows has a place of its own, whatever the letters' width.
        let same = |cell: &&&Cell| self::look(cell) == look;
        let mut end = at + cells[at..].iter().take_while(same).count();
        if look.ground.is_none()
            && let Some(gap) = gap(&texts[at..end])
        {
            end = at + gap;
        }
        let run = texts[at..end].concat();
        let x =
            |column: usize| f64::from(FRAME) + f64::from(u16::try_from(column).unwrap_or(0)) * CELL;
        if let Some(ground) = &look.ground {
            let (x, width) = (x(at), x(end) - x(at));
            let _ = writeln!(
                svg,
                "<rect x=\"{x}\" y=\"{top}\" width=\"{width}\" height=\"{ROW}\" fill=\"{ground}\"/>"
            );
        }
        let ink = run.trim_start();
        if !ink.trim_end().is_empty() {
            let begin =
                at + texts[at..end].iter().take_while(|text| text.trim().is_empty()).count();
            let class = if look.is_bold { " class=\"b\"" } else { "" };
            let fill =
                if look.text == TEXT { String::new() } else { format!(" fill=\"{}\"", look.text) };
            let _ = write!(
                text,
                "<tspan x=\"{}\"{class}{fill}>{}</tspan>",
                x(begin),
                escaped(ink.trim_end())
            );
        }
        at = end;
    }
    if !text.is_empty() {
        let _ = writeln!(svg, "<text y=\"{}\">{text}</text>", top + 13);
    }
}

/// Returns where the next text begins after two spaces in a row.
fn gap(texts: &[String]) -> Option<usize> {
    let is_space = |text: &String| text == " ";
    let first = texts.iter().position(|text| !is_space(text))?;
    let end = first + texts[first..].windows(2).position(|two| two.iter().all(is_space))?;
    let next = texts[end..].iter().position(|text| !is_space(text))?;
    Some(end + next)
}

/// Returns the text of each cell, with ids that are the same in each picture. The second half of a wide letter has none.
fn with_plain_ids(cells: &[&Cell]) -> Vec<String> {
    let text = |cell: &&Cell| match cell.contents() {
        "" if cell.is_wide_continuation() => String::new(),
        "" => " ".to_owned(),
        text => text.to_owned(),
    };
    let mut texts: Vec<String> = cells.iter().map(text).collect();
    for begin in IDS {
        let length = begin.len() + ID_LETTERS.len();
        for at in 0..texts.len().saturating_sub(length) {
            if texts[at..at + begin.len()].concat() == begin {
                let letters =
                    texts[at + begin.len()..at + length].iter_mut().zip(ID_LETTERS.chars());
                letters.for_each(|(text, letter)| *text = letter.to_string());
            }
        }
    }
    texts
}

fn look(cell: &Cell) -> Look {
    let text =
        colour(cell.fgcolor()).unwrap_or_else(|| if cell.dim() { FAINT } else { TEXT }.to_owned());
    let ground = colour(cell.bgcolor());
    let (text, ground) = if cell.inverse() {
        (ground.unwrap_or_else(|| GROUND.to_owned()), Some(text))
    } else {
        (text, ground)
    };
    Look { text, ground, is_bold: cell.bold() }
}

fn colour(colour: Color) -> Option<String> {
    match colour {
        Color::Default => None,
        Color::Idx(number) => Some(COLOURS[usize::from(number % 16)].to_owned()),
        Color::Rgb(red, green, blue) => Some(format!("#{red:02x}{green:02x}{blue:02x}")),
    }
}
