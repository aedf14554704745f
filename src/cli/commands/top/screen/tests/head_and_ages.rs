//! The first line of the window, and when its ages are painted.

use std::sync::Arc;

use super::*;
use crate::domain::task::result::{Money, Usage};
use crate::view::Spent;

#[test]
fn a_narrow_head_leaves_out_what_is_less_important_and_never_the_cost() {
    let mut news = news();
    let mut board = (*news.board.unwrap()).clone();
    board.totals.unread = 12;
    board.members[0].unread = 12;
    let usage =
        Usage { total_tokens: Some(144_600), cost: Money::of(1.83, "USD"), ..Usage::default() };
    board.totals.usage = Spent::of(&usage);
    news.board = Some(Arc::new(board));
    let mut screen = screen();
    screen.update(Arc::new(news));
    let mut head = |columns| {
        screen.size = (15, columns);
        shown(&screen)[0].clone()
    };
    let all = "1 needs you, 4 members (1 working), 12 unread, 145k tokens, 1.83 USD in ended turns";
    assert_eq!(head(100), format!("{all}, book"));
    assert_eq!(head(88), all);
    let without = "1 needs you, 4 members (1 working), 12 unread, 145k tokens, 1.83 USD";
    assert_eq!(head(80), without);
    assert_eq!(head(60), "1 needs you, 4 members (1 working), 12 unread, 1.83 USD");
    assert_eq!(head(30), "1 needs you, 1.83 USD");
}

#[test]
fn the_head_says_how_many_unread_messages_are_for_members_who_are_not_here() {
    let head = |unread_here, columns| {
        let mut news = news();
        let mut board = (*news.board.unwrap()).clone();
        board.members.iter_mut().for_each(|row| row.unread = 0);
        (board.totals.unread, board.members[0].unread) = (6, unread_here);
        news.board = Some(Arc::new(board));
        let mut screen = screen();
        screen.update(Arc::new(news));
        screen.size = (15, columns);
        shown(&screen)[0].clone()
    };
    assert_eq!(head(6, 100), "1 needs you, 4 members (1 working), 6 unread, book");
    let some = "1 needs you, 4 members (1 working), 6 unread (4 for members who are not here)";
    assert_eq!(head(2, 100), format!("{some}, book"));
    assert_eq!(head(2, 60), "1 needs you, 4 members (1 working), 6 unread");
}

#[test]
fn the_window_is_painted_when_an_age_in_sight_changes_and_not_before() {
    let at = |since: i64, keys: &str| {
        let mut news = news();
        let mut board = (*news.board.unwrap()).clone();
        board.at = Moment(1_000_500);
        board.needs_you.clear();
        for row in &mut board.members {
            row.last_active = Moment(since);
        }
        news.board = Some(Arc::new(board));
        let mut screen = screen();
        screen.update(Arc::new(news));
        press(&mut screen, keys);
        screen.ages_change_at()
    };
    assert_eq!(at(990_000, "j"), Some(Moment(1_001_000)), "seconds");
    assert_eq!(at(100_000, "j"), Some(Moment(1_060_000)), "a minute counter");
    assert_eq!(at(990_000, "?"), None, "help has no ages");
    assert_eq!(at(990_000, "6"), None, "no row is in sight");
}
