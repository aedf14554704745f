//! What has been decided, above the messages.

use std::sync::Arc;

use super::{letter, news, press, screen, shown};
use crate::cli::commands::top::news::News;
use crate::cli::commands::top::screen::{Dialog, Item, Pane, Screen};
use crate::view::{ConflictRow, Decided, DecidedHow, Letter, Moment, PartyRow};

fn agreed() -> Decided {
    Decided {
        at: Moment(50_000),
        how: DecidedHow::Agreed,
        by: "ben".to_owned(),
        through: None,
        whom: vec!["ann".to_owned()],
        about: Some("One log?".to_owned()),
        words: Some("Two logs.".to_owned()),
        why: None,
        id: "msg-1".to_owned(),
        thread_id: Some("msg-0".to_owned()),
        task_id: None,
    }
}

fn allowed(number: u32) -> Decided {
    Decided {
        how: DecidedHow::Allowed,
        by: "human".to_owned(),
        about: Some(format!("execute \"make {number}\"")),
        words: None,
        id: format!("perm-{number}"),
        thread_id: None,
        task_id: Some("task-ann".to_owned()),
        ..agreed()
    }
}

fn decided(decided: Vec<Decided>) -> News {
    let in_thread =
        |number| Letter { thread_id: "msg-0".to_owned(), ..letter(number, "ann", "ben") };
    let letters = Arc::new((0..20).map(in_thread).collect());
    News { letters, decided: Arc::new(decided), ..news() }
}

#[test]
fn what_was_agreed_stands_above_the_messages_also_in_a_small_window() {
    let mut screen = screen();
    screen.update(Arc::new(decided(vec![agreed(), allowed(1)])));
    press(&mut screen, "2");
    let lines = shown(&screen);
    let expected = [
        "age  from → to          text",
        "Decided (2)",
        " 10s ben agreed with a… \"Two logs.\" (about \"One log?\")  ✓",
        " 10s the user allowed … execute \"make 1\"                ✓",
    ];
    assert_eq!(lines[2..6], expected, "{lines:#?}");
    assert_eq!(lines[6], "Messages (20)", "the messages do not seem to be decided");
    assert!(lines[7].contains("text 13"), "{lines:#?}");
    assert!(lines[13].contains("text 19"), "the newest message is in sight: {lines:#?}");
    screen.size = (15, 120);
    let lines = shown(&screen);
    assert!(lines[4].starts_with(" 10s ben agreed with ann  \"Two logs.\""), "{lines:#?}");
    press(&mut screen, "/ m a k e enter");
    assert_eq!(screen.items(Pane::Messages).len(), 2, "a filter finds it, with its heading");
}

#[test]
fn an_open_disagreement_stands_among_the_team_and_opens_with_its_thread() {
    let party = |name: &str| PartyRow {
        name: name.to_owned(),
        position: format!("msg-{name}"),
        words: Some(format!("as {name} says")),
    };
    let row = ConflictRow {
        thread: "msg-0".to_owned(),
        about: None,
        first_words: None,
        parties: vec![party("ann"), party("ben")],
        status: "negotiation",
        round: Some(2),
        arbiter: None,
        by: None,
        decision: None,
        decision_words: None,
        since: Moment(50_000),
    };
    let over = ConflictRow { status: "lapsed", round: None, ..row.clone() };
    let mut news = decided(Vec::new());
    let mut board = (*news.board.unwrap()).clone();
    board.needs_you.clear();
    board.conflicts = vec![row, over];
    news.board = Some(Arc::new(board));
    let mut screen = screen();
    screen.size = (24, 80);
    screen.update(Arc::new(news));
    let lines = shown(&screen);
    let at = lines.iter().position(|line| line == "Disagreements (1)");
    let at = at.unwrap_or_else(|| panic!("{lines:#?}"));
    assert!(lines[at + 1].starts_with("· ann and ben  round 2 of 3; they disagree;"), "{lines:#?}");
    press(&mut screen, "home");
    for _ in 0..lines.len() {
        if !matches!(screen.chosen(), Some(Item::Conflict(_))) {
            press(&mut screen, "j");
        }
    }
    assert!(
        shown(&screen).join("\n").contains("── ann and ben: messages"),
        "{:#?}",
        shown(&screen)
    );
    press(&mut screen, "enter");
    let text = shown(&screen).join("\n");
    assert!(text.contains("ann and ben disagree") && text.contains("What they wrote"), "{text}");
    assert!(text.contains("send ann TEXT --reply-to msg-0"), "{text}");
}

#[test]
fn what_was_decided_opens_with_its_thread_and_the_command_that_shows_it() {
    let mut screen = screen();
    screen.update(Arc::new(decided((0..9).map(allowed).chain([agreed()]).collect())));
    press(&mut screen, "2 home");
    for _ in 0..9 {
        press(&mut screen, "j");
    }
    assert!(shown(&screen).join("\n").contains("ben agreed"), "{:#?}", shown(&screen));
    press(&mut screen, "enter");
    assert!(matches!(screen.dialog, Dialog::Open { .. }));
    let text = shown(&screen).join("\n");
    for words in
        ["ben agreed with ann", "Two logs.", "about \"One log?\"", "messages --thread msg-0"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(text.contains("What they wrote") && text.contains("text 0"), "{text}");
}

#[test]
fn many_decisions_leave_the_rows_to_the_messages_and_are_reached_from_them() {
    let mut screen = screen();
    screen.update(Arc::new(decided((0..17).map(allowed).collect())));
    press(&mut screen, "2");
    let lines = shown(&screen);
    assert_eq!((&*lines[3], &*lines[7]), ("Decided (17)", "Messages (20)"), "{lines:#?}");
    let last = |screen: &Screen| shown(screen).last().cloned().unwrap();
    assert!(
        last(&screen).contains("… 14 above, 14 more decided"),
        "each counts: {}",
        last(&screen)
    );
    for _ in 0..19 {
        press(&mut screen, "k");
    }
    assert!(matches!(screen.chosen(), Some(Item::Letter(_))));
    let lines = shown(&screen);
    assert!(lines[7].starts_with("Messages") && lines[8].contains("text 0"), "{lines:#?}");
    assert!(last(&screen).contains("paused (14 newer)"), "{}", last(&screen));
    press(&mut screen, "k");
    let lines = shown(&screen);
    assert!(lines.iter().any(|line| line.contains("make 16")), "the oldest: {lines:#?}");
    press(&mut screen, "home j j j");
    assert!(shown(&screen).iter().any(|line| line.contains("make 3")), "{:#?}", shown(&screen));
    assert!(last(&screen).contains("paused (20 newer)"), "{}", last(&screen));
    press(&mut screen, "end");
    assert!(matches!(screen.chosen(), Some(Item::Letter(_))));
}

#[test]
fn rows_that_few_messages_leave_free_have_more_of_what_was_decided() {
    let mut screen = screen();
    let news = decided((0..17).map(allowed).collect());
    let letters = Arc::new(news.letters[..2].to_vec());
    screen.update(Arc::new(News { letters, ..news }));
    press(&mut screen, "2");
    let lines = shown(&screen);
    assert!(lines[10].contains("make 6") && lines[11] == "Messages (2)", "{lines:#?}");
    assert!(lines[12].contains("text 0") && lines[13].contains("text 1"), "{lines:#?}");
}
