//! Keys, news and pictures of the window, without a terminal.

mod decided_rows;
mod decisions;
mod head_and_ages;
mod problems;
mod scrolling;

use std::collections::BTreeMap;
use std::sync::Arc;

use ratatui::style::Color;

use super::state::{Dialog, Screen};
use super::{Effect, Pane};
use crate::bus::state::State;
use crate::cli::commands::top::keyboard::Input;
use crate::cli::commands::top::news::{AskingStep, BusState, News};
use crate::cli::commands::top::paint::{Look, picture};
use crate::config::{KeyPress, WindowKeys};
use crate::domain::act::Act;
use crate::domain::ids::SessionId;
use crate::domain::messaging::Priority;
use crate::domain::permission::Decision;
use crate::domain::text::exactly::exactly;
use crate::domain::time::{Now, Tick};
use crate::view::tests::row;
use crate::view::{
    Board, Group, Letter, LiveKind, LiveLine, Looked, MemberRow, Moment, Need, NeedKind, NoTexts,
    PermissionRow, Receipt, ReceiptStatus, TaskRow,
};

const SESSION: SessionId = SessionId(uuid::Uuid::nil());

fn member(name: &str, group: Group, state: &str) -> MemberRow {
    MemberRow {
        group,
        doing: format!("{name} is {state}"),
        task_id: (group != Group::Idle).then(|| format!("task-{name}")),
        unread: 2,
        live_seconds: 1,
        is_trial: false,
        profile: Some("codex".to_owned()),
        ..row(name, state)
    }
}

fn task(agent: &str, prompt: &str) -> TaskRow {
    TaskRow {
        host: None,
        task_id: format!("task-{agent}"),
        agent: agent.to_owned(),
        agent_left: None,
        profile: None,
        assigned_by: "lead".to_owned(),
        status: "running".to_owned(),
        agent_state: None,
        cancel_asked: false,
        cancelled_by: None,
        prompt: Some(prompt.to_owned()),
        workflow_id: None,
        is_trial: false,
        queued_at: Moment(0),
        started_at: Some(Moment(0)),
        ended_at: None,
        error: None,
        usage: None,
    }
}

const COMMAND: &str = "rm -rf target && echo done";

/// A team of four: one that asks, one that works, one that is idle, and a client that leads.
fn news() -> News {
    let now = Now { wall_ms: 60_000, tick: Tick { boot: 1, ms: 1 } };
    let state = State::default();
    let is_held = |_| true;
    let looked =
        Looked { state: &state, seq: 9, now, is_held: &is_held, damaged_lines: 0, most_ended: 5 };
    let mut board = Board::of(&looked, &mut NoTexts);
    let lead = MemberRow { kind: "orchestrator".to_owned(), ..member("lead", Group::Idle, "idle") };
    (board.totals.members, board.totals.working) = (4, 1);
    board.members = vec![
        lead,
        member("ann", Group::NeedsYou, "waiting_permission"),
        member("ben", Group::Working, "running"),
        member("cat", Group::Idle, "idle"),
    ];
    board.tasks = vec![task("ann", "clean up"), task("ben", "write the chapter 字字")];
    board.permissions = vec![PermissionRow {
        permission_id: "perm-1".to_owned(),
        agent: "ann".to_owned(),
        task_id: Some("task-ann".to_owned()),
        kind: "execute".to_owned(),
        title: COMMAND.to_owned(),
        exact_title: exactly(COMMAND),
        paths: Vec::new(),
        exact_paths: Vec::new(),
        exact_words: exactly(COMMAND),
        offers: ["allow_once", "allow_always", "reject"].map(str::to_owned).to_vec(),
        asked_at: Moment(50_000),
        expires_at: Moment(170_000),
    }];
    board.needs_you = vec![Need {
        kind: NeedKind::Permission,
        state: None,
        trouble: None,
        who: "ann".to_owned(),
        id: Some("perm-1".to_owned()),
        words: format!("execute: {COMMAND:?}"),
        since: Some(Moment(50_000)),
        until: Some(Moment(290_000)),
        behind: 0,
    }];
    let letters = (0..3).map(|number| letter(number, "ann", "ben"));
    News {
        state: BusState::Open,
        board: Some(Arc::new(board)),
        letters: Arc::new(letters.collect()),
        ..News::default()
    }
}

fn letter(number: u64, from: &str, to: &str) -> Letter {
    Letter {
        message_id: format!("msg-{number}"),
        seq: number,
        at: Moment(0),
        from: from.to_owned(),
        for_member: None,
        resolved: None,
        to: to.to_owned(),
        kind: "message".to_owned(),
        text: Some(format!("text {number}")),
        lost: None,
        bytes: 6,
        thread_id: String::new(),
        reply_to: None,
        asks_you: None,
        answered_in: None,
        request_id: None,
        task_id: None,
        signal: None,
        decides: false,
        priority: None,
        reference: None,
        payload: None,
        payload_bytes: None,
        attachments: Vec::new(),
        urgent: false,
        taken_back: false,
        receipts: vec![Receipt { status: ReceiptStatus::Seen, ..Receipt::unread(to.to_owned()) }],
    }
}

fn screen() -> Screen {
    let mut screen = Screen::new("book".to_owned(), WindowKeys::default(), None);
    screen.size = (15, 60);
    screen.update(Arc::new(news()));
    screen
}

/// Presses keys by their names, and returns the last effect.
fn press(screen: &mut Screen, keys: &str) -> Option<Effect> {
    let mut last = None;
    for name in keys.split(' ') {
        let key = KeyPress::parse(name).unwrap_or_else(|| panic!("no key {name}"));
        last = screen.press(Input::Key(key));
    }
    last
}

fn shown(screen: &Screen) -> Vec<String> {
    let (buffer, cursor) = picture(screen, Look { colours: true });
    assert!(buffer.area.contains(cursor), "{cursor:?}");
    let columns = usize::from(buffer.area.width);
    let row = |cells: &[ratatui::buffer::Cell]| {
        let mut text = String::new();
        let mut skipped = 0;
        for cell in cells {
            if skipped > 0 {
                skipped -= 1;
                continue;
            }
            text.push_str(cell.symbol());
            skipped = console::measure_text_width(cell.symbol()).saturating_sub(1);
        }
        text.trim_end().to_owned()
    };
    buffer.content.chunks(columns).map(row).collect()
}

#[test]
fn the_team_stands_in_sixty_columns_with_what_needs_you_on_top() {
    let expected = [
        "1 needs you, 4 members (1 working), book",
        "1 Team 2 Messages 3 Tasks 4 Requests 5 Workflows 6 Events",
        "  name         now                     age new tokens   cost",
        "Needs you (1)",
        "! ann          execute: \"rm -rf targ…  10s   2      –      –",
        "Working (1)",
        "● ben          \"write the chapter 字…   1m   2      –      –",
        "Idle (2)",
        "○ lead         lead is idle             1m   2",
        "○ cat          cat is idle              1m   2      –      –",
        "",
        "",
        "",
        "",
        "a answer  m message  ? help  enter open  space peek  q quit",
    ];
    assert_eq!(shown(&screen()), expected);
}

#[test]
fn a_key_chooses_rows_and_never_headings() {
    let mut screen = screen();
    let chosen =
        |screen: &Screen| screen.chosen().and_then(|item| item.member()).map(str::to_owned);
    assert_eq!(chosen(&screen).as_deref(), Some("ann"));
    for (keys, name) in [
        ("j", "ben"),
        ("down", "lead"),
        ("j", "cat"),
        ("j", "cat"),
        ("k", "lead"),
        ("home", "ann"),
        ("G", "cat"),
    ] {
        press(&mut screen, keys);
        assert_eq!(chosen(&screen).as_deref(), Some(name), "{keys}");
    }
}

#[test]
fn the_chosen_row_stays_when_others_come_and_go() {
    let mut screen = screen();
    press(&mut screen, "j");
    let mut later = news();
    let mut board = (*later.board.unwrap()).clone();
    board.needs_you.clear();
    board.members.insert(0, member("new", Group::Working, "running"));
    later.board = Some(Arc::new(board.clone()));
    screen.update(Arc::new(later.clone()));
    assert_eq!(screen.chosen().unwrap().member(), Some("ben"));
    board.members.retain(|row| row.name != "ben");
    later.board = Some(Arc::new(board));
    screen.update(Arc::new(later));
    assert!(screen.chosen().is_some(), "another row takes its place");
}

#[test]
fn a_message_is_typed_and_a_pasted_line_end_does_not_send_it() {
    let mut screen = screen();
    press(&mut screen, "j m h i");
    assert_eq!(screen.press(Input::Paste(" one\ntwo".to_owned())), None);
    assert!(shown(&screen).last().unwrap().starts_with("To ben: hi one⏎two"));
    let sent = Act::Send {
        to: "ben".to_owned(),
        text: "hi one\ntwo".to_owned(),
        priority: Priority::Normal,
        reply_to: None,
    };
    assert_eq!(press(&mut screen, "enter"), Some(Effect::Act(sent)));
    // From the row of a message it is the answer to that.
    press(&mut screen, "2 m");
    assert_eq!(shown(&screen).last().map(String::as_str), Some("Reply to ann:"));
    let reply = Act::Send {
        to: "ann".to_owned(),
        text: "o".to_owned(),
        priority: Priority::Normal,
        reply_to: Some("msg-2".to_owned()),
    };
    assert_eq!(press(&mut screen, "o enter"), Some(Effect::Act(reply)));
    press(&mut screen, "1");
    assert_eq!(press(&mut screen, "m space enter"), None, "an empty message is none");
    assert_eq!(press(&mut screen, "m q esc"), None, "a letter is a letter");
}

#[test]
fn a_window_below_an_agent_only_looks() {
    let mut screen = screen();
    screen.looks_only = Some("an agent started it");
    for keys in ["a", "m", "x", "K", "enter", "a"] {
        press(&mut screen, keys);
        let is_open = matches!(screen.dialog, Dialog::Open { .. });
        assert!(screen.dialog == Dialog::None || is_open, "{keys}");
    }
    assert!(shown(&screen).last().unwrap().contains("only looks: an agent started it"));
}

#[test]
fn a_filter_shows_only_what_fits_and_esc_brings_the_rest_back() {
    let mut screen = screen();
    press(&mut screen, "/ c h a p t e r");
    press(&mut screen, "enter 3");
    assert_eq!(screen.items(Pane::Tasks).len(), 1);
    assert!(shown(&screen).join("\n").contains("write the chapter 字字"));
    press(&mut screen, "/ x x enter");
    assert!(shown(&screen).join("\n").contains("Nothing here has the words of the filter."));
    press(&mut screen, "esc");
    assert_eq!(screen.items(Pane::Tasks).len(), 2);
    press(&mut screen, "/ x esc");
    assert_eq!(screen.filter, "");
}

#[test]
fn a_peek_shows_the_words_of_the_chosen_agent_and_follows_the_choice() {
    let mut screen = screen();
    press(&mut screen, "j space");
    assert_eq!(screen.wanted().live.as_deref(), Some("task-ben"));
    let mut live = news();
    let words = LiveLine { kind: LiveKind::Words, text: "I write".to_owned() };
    live.live = Some(("task-ben".to_owned(), Arc::new(vec![words])));
    screen.update(Arc::new(live));
    assert!(shown(&screen).join("\n").contains("ben: live words"));
    assert!(shown(&screen).contains(&"I write".to_owned()));
    press(&mut screen, "k");
    assert_eq!(screen.wanted().live.as_deref(), Some("task-ann"));
    assert!(!shown(&screen).contains(&"I write".to_owned()), "these are words of another");
    press(&mut screen, "esc");
    assert_eq!(screen.wanted().live, None);
}

#[test]
fn every_pane_and_dialog_is_painted_at_every_size() {
    for (rows, columns) in (0..40).flat_map(|rows| [(rows, 7), (rows, 61), (rows, 200)]) {
        let mut screen = screen();
        screen.size = (rows, columns);
        for keys in [
            "1",
            "2",
            "3",
            "4",
            "5",
            "6",
            "1 g",
            "g",
            "enter",
            "esc ?",
            "esc space",
            "a",
            "esc m x",
            "esc K",
        ] {
            press(&mut screen, keys);
            let (buffer, _) = picture(&screen, Look { colours: true });
            assert_eq!(buffer.area.height, rows, "{keys}");
        }
    }
}

#[test]
fn a_long_notice_has_up_to_three_rows_and_the_list_keeps_the_others() {
    let mut screen = screen();
    let rows = shown(&screen).len();
    let notice = "the message is stored, and ben reads it with its next call of a tool, or when its task ends";
    screen.notice = Some(notice.to_owned());
    let lines = shown(&screen);
    assert_eq!(lines.len(), rows);
    let wanted = [
        "the message is stored, and ben reads it with its next call",
        "of a tool, or when its task ends",
    ];
    assert_eq!(lines[rows - 2..], wanted);
    assert!(lines[..rows - 2].iter().any(|line| line.starts_with("○ cat")), "{lines:?}");
    screen.notice = Some("words ".repeat(60));
    let lines = shown(&screen);
    assert!(lines[rows - 3].starts_with("words ") && lines[rows - 1].ends_with('…'), "{lines:?}");
    press(&mut screen, "j K");
    let lines = shown(&screen);
    assert!(lines.join(" ").contains("Press y for yes, any other key for no."), "{lines:?}");
    screen.dialog = Dialog::None;
    screen.notice = Some("short".to_owned());
    assert_eq!(shown(&screen)[rows - 1], "short");
}

#[test]
fn without_colours_every_state_still_has_its_mark() {
    let screen = screen();
    let (buffer, _) = picture(&screen, Look { colours: false });
    assert!(buffer.content.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
    let marks = ["!", "●", "○"];
    let text = shown(&screen).join("\n");
    assert!(marks.iter().all(|mark| text.contains(mark)), "{text}");
}

#[test]
fn nothing_that_agents_say_reaches_the_terminal_as_a_control_character() {
    let odd = "a\u{1b}[2J\u{202e}\u{7}b";
    let mut news = news();
    let mut board = (*news.board.unwrap()).clone();
    // The view has cleaned all of it; a text that slipped through is passed over by the cells.
    board.members[2].doing = odd.to_owned();
    board.members[2].task_id = None;
    news.board = Some(Arc::new(board));
    let mut screen = screen();
    screen.update(Arc::new(news));
    for keys in ["1", "j", "enter"] {
        press(&mut screen, keys);
        let (buffer, _) = picture(&screen, Look { colours: true });
        for cell in &buffer.content {
            assert!(!cell.symbol().chars().any(char::is_control), "{:?}", cell.symbol());
        }
    }
}

#[test]
fn the_title_says_how_many_need_you() {
    let mut screen = screen();
    assert_eq!(screen.title(), "1 needs you: book");
    screen.update(Arc::new(News::default()));
    assert_eq!(screen.title(), "top: book");
}

#[test]
fn new_messages_come_into_sight_until_another_row_is_chosen() {
    let mut screen = screen();
    press(&mut screen, "2");
    let chosen = |screen: &Screen| screen.chosen().unwrap().key().unwrap();
    assert_eq!(chosen(&screen), "letter msg-2");
    let with = |count| {
        let letters = (0..count).map(|number| letter(number, "ann", "ben")).collect();
        Arc::new(News { letters: Arc::new(letters), ..news() })
    };
    screen.update(with(5));
    assert_eq!(chosen(&screen), "letter msg-4");
    press(&mut screen, "k");
    screen.update(with(9));
    assert_eq!(chosen(&screen), "letter msg-3");
    press(&mut screen, "G");
    screen.update(with(12));
    assert_eq!(chosen(&screen), "letter msg-11");
}

#[test]
fn the_team_is_grouped_by_state_by_profile_or_not_at_all() {
    let mut screen = screen();
    let headings = |screen: &Screen| {
        let items = screen.items(Pane::Team);
        let mut counts = BTreeMap::new();
        for item in &items {
            if let super::Item::Heading(words, count, _) = item {
                counts.insert((*words).to_owned(), *count);
            }
        }
        counts.into_iter().map(|(words, count)| format!("{words} {count}")).collect::<Vec<_>>()
    };
    assert_eq!(headings(&screen), ["Idle 2", "Needs you 1", "Working 1"]);
    press(&mut screen, "g");
    assert_eq!(headings(&screen), ["Needs you 1", "codex 4"]);
    press(&mut screen, "g");
    assert_eq!(headings(&screen), ["All members 4", "Needs you 1"]);
}
