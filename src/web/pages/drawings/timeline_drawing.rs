//! Who worked when, and who waited for whom: a lane for each member, with a bar for each task, a dotted line for each wait, and a box
//! for each question for permission.

use maud::{Markup, html};

use super::bar_labels::Room;
use super::svg_parts::{at, cut, newest_drawing};
use crate::domain::text::counted::counted;
use crate::domain::text::visible_letters::{beginning, quoted};
use crate::domain::time::iso8601;
use crate::view::{
    Board, CUT_SHORT, DIED, MemberRow, Moment, NOT_TAKEN, REFUSED, StatusLook, Stretch,
    StretchKind, Trouble, ended_with_process, span,
};
use crate::web::pages::View;
use crate::web::pages::parts::{MOST_ROWS, clock, tone};

/// The most lanes.
const LANES: usize = 40;

/// The columns of the names.
const NAMES: i64 = 150;

/// The room for half of the first time of the scale.
const LEFT: i64 = 26;

const WIDTH: i64 = 900;

/// The columns up to which something is drawn.
const DRAWN: i64 = LEFT + WIDTH + 20;

const TOP: i64 = 30;
const LANE: i64 = 46;

/// Distances of the lines of the scale, in milliseconds.
const STEPS: [i64; 12] = [
    1_000,
    5_000,
    15_000,
    60_000,
    300_000,
    900_000,
    3_600_000,
    10_800_000,
    21_600_000,
    86_400_000,
    604_800_000,
    2_592_000_000,
];

/// The most letters of a prompt in words: as many as the widest bar has room for, as the name of a link has all that it shows.
const WORDS: usize = 130;

/// The scale of a drawing.
#[derive(Clone, Copy)]
struct Scale {
    from: Moment,
    ms: i64,
}

impl Scale {
    fn x(self, at: Moment) -> i64 {
        let offset = i128::from(at.0.saturating_sub(self.from.0).clamp(0, self.ms));
        LEFT + i64::try_from(offset * i128::from(WIDTH) / i128::from(self.ms)).unwrap_or(WIDTH)
    }
}

/// Returns the stretches of a member by their beginning.
fn in_lane<'a>(shown: &'a [Stretch], lane: &str) -> Vec<&'a Stretch> {
    let mut own: Vec<_> = shown.iter().filter(|one| one.member == lane).collect();
    own.sort_by_key(|one| one.from);
    own
}

/// Says whether a stretch stands in the lower row of its lane.
fn is_below(stretch: &Stretch) -> bool {
    matches!(stretch.kind, StretchKind::Wait { .. } | StretchKind::Asking)
}

/// Returns the room around the bar of a stretch, among those of its lane.
fn room(own: &[&Stretch], index: usize, (scale, now): (Scale, Moment)) -> Room {
    let ends = |stretch: &Stretch| {
        (
            scale.x(stretch.from),
            scale.x(stretch.until.unwrap_or(now)).max(scale.x(stretch.from) + 3),
        )
    };
    let (from, until) = ends(own[index]);
    let is_of_row = |other: &&&Stretch| is_below(other) == is_below(own[index]);
    let next = own[index + 1..].iter().find(is_of_row);
    let mut before = own[..index].iter().filter(is_of_row);
    Room {
        from,
        until,
        edge: next.map_or(DRAWN, |next| ends(next).0),
        is_in_another: before.any(|other| ends(other).1 > until),
    }
}

/// Returns the stretches by their beginning, the newest first.
fn newest_first(shown: &[Stretch]) -> Vec<&Stretch> {
    let mut all: Vec<_> = shown.iter().collect();
    all.sort_by_key(|one| std::cmp::Reverse(one.from));
    all
}

/// The names of the lanes stay in sight when the drawing is scrolled.
fn names(lanes: &[&str], board: &Board, height: i64) -> Markup {
    html! {
        svg.names aria-hidden="true" preserveAspectRatio="xMinYMin slice" width=(NAMES) height=(height) viewBox={ "0 0 " (NAMES) " " (height) } {
            @for (index, lane) in lanes.iter().enumerate() {
                @let y = TOP + LANE * at(index);
                line."l-grid" x1="0" x2=(NAMES) y1=(y) y2=(y) {}
                text."t-bold" x="6" y=(y + 24) { (cut(lane, 18)) }
                @if let Some((trouble, _)) = trouble_of(lane, board) { text."t-soft" x="6" y=(y + 40) { "! " (trouble.word()) } }
            }
        }
    }
}

/// Returns in a word what is wrong with a member whose lane may be empty since then.
fn trouble_of<'b>(name: &str, board: &'b Board) -> Option<(Trouble, &'b MemberRow)> {
    let row = board.members.iter().find(|row| row.name == name)?;
    Some((Trouble::of(&row.state, &row.kind)?, row))
}

/// Draws stretches of time.
pub(in crate::web::pages) fn timeline_drawing(stretches: &[Stretch], board: &Board) -> Markup {
    let shown = &stretches[stretches.len().saturating_sub(MOST_ROWS)..];
    let shown = &ended_with_process(shown, &board.members)[..];
    let from = shown.iter().map(|one| one.from).min().unwrap_or(board.at);
    let scale = Scale { from, ms: board.at.0.saturating_sub(from.0).max(1_000) };
    let mut lanes: Vec<&str> = Vec::new();
    for stretch in shown {
        if !lanes.contains(&stretch.member.as_str()) && lanes.len() < LANES {
            lanes.push(&stretch.member);
        }
    }
    // One that does not end its turn may have no stretch among the last ones.
    let troubled = board.members.iter().filter(|row| trouble_of(&row.name, board).is_some());
    for row in troubled {
        if !lanes.contains(&row.name.as_str()) && lanes.len() < LANES {
            lanes.push(&row.name);
        }
    }
    lanes.sort_unstable();
    let height = TOP + LANE * at(lanes.len()) + 12;
    let content = html! {
        (grid(scale, height))
        @for (index, lane) in lanes.iter().enumerate() {
            @let y = TOP + LANE * at(index);
            line."l-grid" x1="0" x2=(DRAWN) y1=(y) y2=(y) {}
            @let own = in_lane(shown, lane);
            @for (index, stretch) in own.iter().enumerate() { (bar(stretch, y, board.at, room(&own, index, (scale, board.at)))) }
        }
    };
    let title = format!("{} of the last {}", counted(lanes.len(), "member"), span(scale.ms));
    html! {
        (newest_drawing(&title, &names(&lanes, board, height), (DRAWN + 4, height), &content))
        @for lane in &lanes {
            @if let Some((trouble, row)) = trouble_of(lane, board) { p.body { b { (lane) " is " (trouble.word()) } ": " (trouble.meaning_for(row.silent_in.as_deref())) "." } }
        }
        p.empty { "A high bar is work at a task, with how it ended where there is room for that (✓ ✗ -; ● goes on), in it or at its right; a low bar is a turn in which a member reads its messages, with ✗ if that failed and - if they are unread again; a dotted line is a wait for a message; ! is a question for permission." }
        details.body id="timeline-words" {
            summary { "The same in words, newest first" }
            ol { @for stretch in newest_first(shown) { li.small { (clock(stretch.from)) " " (in_words(stretch, board.at)) } } }
        }
    }
}

fn grid(scale: Scale, height: i64) -> Markup {
    let step = STEPS.into_iter().find(|step| scale.ms / step <= 9).unwrap_or(i64::MAX / 2);
    let first = scale.from.0.div_euclid(step).saturating_add(1).saturating_mul(step);
    let lines = (0..10).map(|number| first.saturating_add(step.saturating_mul(number)));
    let end = scale.from.0.saturating_add(scale.ms);
    // Times below a minute need seconds, and those above a day need the day.
    let (skipped, letters) = if step >= 86_400_000 {
        (5, 5)
    } else if step < 60_000 {
        (11, 8)
    } else {
        (11, 5)
    };
    html! {
        @for ms in lines.take_while(|ms| *ms <= end) {
            @let x = scale.x(Moment(ms));
            line."l-grid" x1=(x) x2=(x) y1=(TOP - 8) y2=(height - 6) {}
            text."t-soft" x=(x) y="16" text-anchor="middle" { (iso8601(ms).chars().skip(skipped).take(letters).collect::<String>()) }
        }
    }
}

fn bar(stretch: &Stretch, y: i64, now: Moment, room: Room) -> Markup {
    let (from, width) = (room.from, room.until - room.from);
    let words = in_words(stretch, now);
    match &stretch.kind {
        StretchKind::Work { task, words: prompt } => {
            let look = StatusLook::of(end_of_work(stretch).unwrap_or("running"));
            let label = room.marked(look.mark, prompt.as_ref().unwrap_or(task));
            let link = html! {
                a href=(View::Task(task.clone()).path()) aria-label=(name_of_work(stretch, task, prompt.as_deref(), now)) {
                    rect class={ "work " (tone(look.tone)) } x=(from) y=(y + 6) width=(width) height="19" rx="4" {}
                    @if let Some((x, label)) = label { text class={ "t-bold t-" (tone(look.tone)) } x=(x) y=(y + 20) { (label) } }
                }
            };
            with_tooltip(&words, &link)
        }
        StretchKind::Reading { transcript } => {
            let (mark, tone) = match (stretch.until, stretch.ended) {
                (None, _) => (None, "active"),
                (Some(_), Some(REFUSED | CUT_SHORT | DIED)) => (Some("✗"), "bad"),
                (Some(_), Some(NOT_TAKEN)) => (Some("-"), "faint"),
                (Some(_), _) => (None, "faint"),
            };
            let mark = mark.and_then(|mark| Some((room.mark_beside(mark)?, mark)));
            let link = html! {
                a href=(View::Task(transcript.clone()).path()) aria-label=(words) {
                    rect class={ "work " (tone) } x=(from) y=(y + 12) width=(width) height="7" rx="2" {}
                    @if let Some((x, mark)) = mark { text class={ "t-bold t-" (tone) } x=(x) y=(y + 20) aria-hidden="true" { (mark) } }
                }
            };
            with_tooltip(&words, &link)
        }
        StretchKind::Wait { whom, for_user } => {
            let label = room.plain(&format!("for {}", awaited(whom.as_deref(), *for_user)));
            html! {
                line.wait x1=(from) x2=(from + width) y1=(y + 41) y2=(y + 41) { title { (words) } }
                @if let Some((x, label)) = label { text."t-soft" x=(x) y=(y + 37) { (label) } }
            }
        }
        StretchKind::Asking => html! {
            rect.ask x=(from) y=(y + 27) width=(width) height="14" rx="3" { title { (words) } }
            @if width.min(room.edge - from) > 12 { text."t-bold t-urgent" x=(from + 4) y=(y + 38) { "!" } }
        },
    }
}

/// Within a link, its tooltip would count as words that it shows.
fn with_tooltip(words: &str, link: &Markup) -> Markup {
    html! { g role="presentation" { title { (words) } (link) } }
}

/// Returns the name of the link to work. It begins with the words that stand in its bar, so that somebody can say them.
fn name_of_work(stretch: &Stretch, task: &str, prompt: Option<&str>, now: Moment) -> String {
    let (time, end) = (time_in_words(stretch, now), end_in_words(stretch));
    let did = format!("{} worked at it for {time}{end}", stretch.member);
    match prompt {
        Some(prompt) => format!("{} ({did}; {task})", beginning(prompt, WORDS)),
        None => format!("{task} ({did})"),
    }
}

/// Says how work has ended: if nothing tells that, its agent ended meanwhile.
fn end_of_work(stretch: &Stretch) -> Option<&'static str> {
    stretch.ended.or(stretch.until.map(|_| "interrupted"))
}

/// Returns what is waited for: a member, the user or any message.
fn awaited(whom: Option<&str>, for_user: bool) -> &str {
    whom.unwrap_or(if for_user { "you" } else { "a message" })
}

/// Returns how long a stretch took, and whether it goes on.
fn time_in_words(stretch: &Stretch, now: Moment) -> String {
    let time = stretch.from.until(stretch.until.unwrap_or(now));
    let goes_on = match (stretch.until, stretch.ended) {
        (None, _) => " so far",
        (Some(_), Some(DIED)) => ", until its process died",
        (Some(_), _) => "",
    };
    format!("{}{goes_on}", span(i64::try_from(time).unwrap_or(i64::MAX)))
}

/// Returns how work has ended, behind a comma; nothing if it goes on.
fn end_in_words(stretch: &Stretch) -> String {
    end_of_work(stretch).map(|end| format!(", {end}")).unwrap_or_default()
}

fn in_words(stretch: &Stretch, now: Moment) -> String {
    let time = time_in_words(stretch, now);
    let member = &stretch.member;
    match &stretch.kind {
        StretchKind::Work { task, words } => {
            let prompt = words.as_ref().map(|words| format!("{}, ", quoted(words, WORDS)));
            let prompt = prompt.unwrap_or_default();
            format!("{member} worked at {prompt}{task} for {time}{}", end_in_words(stretch))
        }
        StretchKind::Reading { .. } => match stretch.ended {
            Some(REFUSED) => format!("{member} could not read its messages: its turn failed"),
            Some(NOT_TAKEN) => {
                format!("{member} did not take its messages in {time}: they are unread again")
            }
            Some(CUT_SHORT) => {
                format!("{member} read its messages for {time}, and then its turn failed")
            }
            _ => format!("{member} read its messages for {time}"),
        },
        StretchKind::Wait { whom, for_user } => {
            let awaited = awaited(whom.as_deref(), *for_user);
            format!("{member} waited for {awaited} for {time}")
        }
        StretchKind::Asking => format!("{member} waited for a permission for {time}"),
    }
}
