//! What is wrong, in the window.

use std::sync::Arc;

use super::{member, news, press, screen, shown, task};
use crate::cli::commands::top::screen::Item;
use crate::domain::ids::SessionId;
use crate::domain::task::result::{Money, Usage};
use crate::view::{Group, MemberRow, Moment, Need, NeedKind, Problem, ProblemKind, Spent, Trouble};

#[test]
fn what_is_wrong_stands_below_what_needs_you_and_once() {
    let mut news = news();
    let mut board = (*news.board.unwrap()).clone();
    let left = |doing: &str, at: u32| MemberRow {
        session: SessionId(uuid::Uuid::from_u128(at.into())),
        doing: doing.to_owned(),
        task_id: None,
        last_active: Moment(at.into()),
        ..member("dan", Group::Ended, "left")
    };
    board.members.extend([left("failed: exit code 7", 2), left("stopped", 1)]);
    let crashed = SessionId(uuid::Uuid::from_u128(2));
    let problem = |kind, member: Option<&str>, words: &str| Problem {
        session: (kind == ProblemKind::Crashed).then_some(crashed),
        ..Problem::of(kind, member, words.to_owned())
    };
    board.problems = vec![
        problem(ProblemKind::Stuck, Some("ann"), "it does not end a cancelled turn"),
        problem(ProblemKind::Crashed, Some("dan"), "failed: exit code 7"),
        problem(ProblemKind::Circle, None, "cay and eve wait for each other"),
        problem(ProblemKind::Damaged, None, "2 lines of the log are damaged"),
    ];
    news.board = Some(Arc::new(board));
    let mut screen = screen();
    screen.update(Arc::new(news));
    let lines = shown(&screen);
    assert_eq!(lines[0], "1 needs you, 3 problems, 4 members (1 working), book");
    let rest = [
        "Problems (3)",
        "✗ team         cay and eve wait for each…",
        "✗ bus          2 lines of the log are da…",
        "✗ dan          failed: exit code 7     59s   2      –      –",
        "Working (1)",
    ];
    assert_eq!(lines[5..10], rest);
    assert_eq!(lines.iter().filter(|line| line.contains("dan")).count(), 1, "{lines:?}");
    press(&mut screen, "G");
    assert!(shown(&screen).iter().any(|line| line.starts_with("✗ dan          stopped")));
    for heading in ["codex", "All members"] {
        press(&mut screen, "g home");
        let lines = shown(&screen);
        assert!(lines.contains(&"Problems (3)".to_owned()), "{heading}: {lines:?}");
        assert_eq!(lines.iter().filter(|line| line.contains("failed: exit")).count(), 1);
    }
    press(&mut screen, "g home j j enter");
    assert!(shown(&screen).join("\n").contains("2 lines of the log are damaged"));
}

#[test]
fn each_way_to_be_stuck_has_its_own_word_and_the_key_that_helps() {
    let stuck = |trouble: Trouble| {
        let mut news = news();
        let mut board = (*news.board.unwrap()).clone();
        board.needs_you = vec![Need {
            kind: NeedKind::Stuck,
            state: Some(trouble.word().to_owned()),
            trouble: Some(trouble),
            who: "ben".to_owned(),
            id: Some("task-ben".to_owned()),
            words: trouble.meaning().to_owned(),
            since: None,
            until: None,
            behind: 0,
        }];
        news.board = Some(Arc::new(board));
        let mut screen = screen();
        screen.update(Arc::new(news));
        screen
    };
    for (trouble, row, key) in [
        (Trouble::Stalled, "! ben          stalled: silent in ", "x cancel its task"),
        (Trouble::Stuck, "! ben          stuck: does not end", "K kill it"),
        (Trouble::SilentProcess, "! ben          hung: its process ", "m message"),
    ] {
        let mut screen = stuck(trouble);
        let lines = shown(&screen);
        assert!(lines.iter().any(|line| line.starts_with(row)), "{lines:?}");
        assert!(lines.last().unwrap().starts_with(key), "{lines:?}");
        press(&mut screen, "enter");
        let text = shown(&screen).join("\n");
        assert!(text.contains(&format!("ben is {}", trouble.word())), "{text}");
    }
}

#[test]
fn a_chosen_row_shows_its_whole_remedy() {
    let mut news = news();
    let mut board = (*news.board.unwrap()).clone();
    board.needs_you.clear();
    let why = "its turn failed: \"401 Unauthorized\", so 1 message is unread".to_owned();
    board.problems = vec![Problem::of(ProblemKind::WakeFailed, Some("cat"), why)];
    news.board = Some(Arc::new(board));
    let mut screen = screen();
    screen.update(Arc::new(news));
    press(&mut screen, "home j");
    let lines = shown(&screen);
    let row = lines.iter().find(|line| line.starts_with("✗ cat")).unwrap();
    assert!(row.contains("its turn failed: \"4"), "{lines:?}");
    let remedy = lines[11..14].join(" ");
    assert_eq!(
        remedy,
        "its turn failed: \"401 Unauthorized\", so 1 message is unread. Once that is mended, \
         `cli-team-bridge send cat TEXT` or a task wakes it, with what is unread."
    );
    assert!(lines[14].contains("q quit"), "{lines:?}");
    screen.size = (11, 60);
    let small = shown(&screen);
    assert!(small[9].ends_with(" … (Enter)") && small[8].starts_with("its turn"), "{small:?}");
    press(&mut screen, "end");
    assert!(!shown(&screen).join(" ").contains("wakes"), "another row is chosen");
    screen.filter = "cat 401".to_owned();
    assert!(shown(&screen).iter().any(|line| line.starts_with("✗ cat")), "it has that name");
}

#[test]
fn a_problem_of_a_member_without_a_row_has_the_words_of_its_last_task() {
    let mut news = news();
    let mut board = (*news.board.unwrap()).clone();
    board.needs_you.clear();
    let why = "failed: exit code 7".to_owned();
    board.problems = vec![Problem::of(ProblemKind::Crashed, Some("dan"), why)];
    board.tasks.push(task("dan", "edit"));
    news.board = Some(Arc::new(board));
    let mut screen = screen();
    screen.size = (24, 60);
    screen.update(Arc::new(news));
    press(&mut screen, "home j space");
    assert!(matches!(screen.chosen(), Some(Item::Problem(_))), "{:?}", screen.chosen());
    assert_eq!(screen.wanted().live.as_deref(), Some("task-dan"), "{:?}", shown(&screen));
}

#[test]
fn what_an_ended_agent_has_used_stays_in_its_row() {
    let mut news = news();
    let mut board = (*news.board.unwrap()).clone();
    let usage = Spent::of(&Usage {
        total_tokens: Some(3_400),
        cost: Money::of(1.25, "USD"),
        ..Usage::default()
    });
    board.members = vec![MemberRow {
        doing: "stopped".to_owned(),
        task_id: None,
        usage: Some(usage),
        ..member("dan", Group::Ended, "left")
    }];
    news.board = Some(Arc::new(board));
    let mut screen = screen();
    screen.update(Arc::new(news));
    let lines = shown(&screen);
    let row = lines.iter().find(|line| line.starts_with("✗ dan")).unwrap();
    assert!(row.ends_with("3400  $1.25"), "{row}");
}
