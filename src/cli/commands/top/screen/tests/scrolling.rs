//! Which rows of a long list are in sight.

use std::sync::Arc;

use super::*;

/// A team of many, of which so many ask.
fn team(asking: usize) -> Screen {
    let mut news = news();
    let mut board = (*news.board.unwrap()).clone();
    let need = board.needs_you[0].clone();
    let asks = |number| Need { who: format!("asks-{number}"), ..need.clone() };
    board.needs_you = (0..asking).map(asks).collect();
    let works = |number| member(&format!("works-{number:02}"), Group::Working, "running");
    board.members = (0..20).map(works).collect();
    news.board = Some(Arc::new(board));
    let mut screen = screen();
    screen.update(Arc::new(news));
    screen
}

#[test]
fn what_needs_a_person_stays_on_top_when_a_lower_row_is_chosen() {
    let mut screen = team(2);
    press(&mut screen, "G");
    let lines = shown(&screen);
    assert_eq!(lines[3], "Needs you (2)");
    assert!(lines[4].starts_with("! asks-0") && lines[5].starts_with("! asks-1"), "{lines:?}");
    assert!(lines[13].starts_with("● works-19") && lines[6].starts_with("● works-12"), "{lines:?}");
    // A click chooses what is painted there.
    screen.press(Input::Click { row: 6, column: 0 });
    assert_eq!(screen.chosen().unwrap().member(), Some("works-12"));
    screen.press(Input::Click { row: 5, column: 0 });
    assert_eq!(screen.chosen().unwrap().member(), Some("asks-1"));
}

#[test]
fn many_needs_leave_half_of_the_rows_and_each_can_be_chosen() {
    let mut screen = team(9);
    press(&mut screen, "G");
    let lines = shown(&screen);
    assert!(lines[7].starts_with("! asks-3") && lines[8].starts_with("● works-14"), "{lines:?}");
    press(&mut screen, "home");
    for number in 0..9 {
        assert_eq!(screen.chosen().unwrap().member(), Some(&*format!("asks-{number}")));
        let lines = shown(&screen);
        assert!(
            lines.iter().any(|line| line.starts_with(&format!("! asks-{number}"))),
            "{lines:?}"
        );
        press(&mut screen, "j");
    }
}

#[test]
fn the_last_row_says_how_many_rows_are_out_of_sight_and_where() {
    let mut screen = team(2);
    let last = |screen: &Screen| shown(screen).last().cloned().unwrap();
    let expected = "a answer  m message  … 13 below  ? help  enter open  q quit";
    assert_eq!(last(&screen), expected);
    press(&mut screen, "G");
    assert!(last(&screen).contains("  … 12 above  "), "{}", last(&screen));
    for _ in 0..5 {
        press(&mut screen, "k");
    }
    assert!(last(&screen).contains("  … 8 above, 4 below  "), "{}", last(&screen));
    screen.size = (60, 60);
    assert!(!last(&screen).contains('…'), "{}", last(&screen));
}

#[test]
fn a_list_of_news_says_that_it_is_paused_and_which_key_follows() {
    let mut screen = screen();
    let mut many = news();
    many.letters = Arc::new((0..30).map(|number| letter(number, "ann", "ben")).collect());
    screen.update(Arc::new(many));
    press(&mut screen, "2");
    let last = |screen: &Screen| shown(screen).last().cloned().unwrap();
    assert!(last(&screen).contains("  … 19 above  "), "{}", last(&screen));
    press(&mut screen, "k");
    assert!(last(&screen).contains("  paused, end follows  "), "{}", last(&screen));
    press(&mut screen, "home");
    assert!(last(&screen).contains("  paused (19 newer), end follows  "), "{}", last(&screen));
    press(&mut screen, "G");
    assert!(!last(&screen).contains("paused"), "{}", last(&screen));
}
