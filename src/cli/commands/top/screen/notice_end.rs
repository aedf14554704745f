//! When a notice goes by itself: what came of an act must not look like the news of an hour later.

use std::time::Instant;

use super::state::{Dialog, Screen};
use crate::domain::wait_times;

/// The notice in sight, and when it goes.
#[derive(Debug, Default)]
pub(in crate::cli::commands::top) struct NoticeEnd {
    known: Option<(String, Instant)>,
}

impl NoticeEnd {
    /// Returns when the notice in sight goes. One that comes or changes is in sight from now on.
    pub(in crate::cli::commands::top) fn of(
        &mut self,
        screen: &Screen,
        now: Instant,
    ) -> Option<Instant> {
        let notice = screen.notice.as_ref().filter(|_| screen.dialog == Dialog::None);
        // While an act is performed, its notice says so.
        let notice = notice.filter(|words| *words != Screen::ACTING);
        match (notice, &self.known) {
            (Some(words), Some((known, _))) if words == known => {}
            _ => self.known = notice.map(|words| (words.clone(), now + wait_times::NOTICE_SHOWN)),
        }
        self.known.as_ref().map(|(_, end)| *end)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::WindowKeys;

    #[test]
    fn a_notice_goes_a_while_after_it_came_into_sight_and_one_of_an_act_at_work_stays() {
        let mut screen = Screen::new("book".to_owned(), WindowKeys::default(), None);
        let mut end = NoticeEnd::default();
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let lasts = |seconds| Some(at(seconds) + wait_times::NOTICE_SHOWN);
        assert_eq!(end.of(&screen, at(0)), None);
        screen.notice = Some(Screen::ACTING.to_owned());
        assert_eq!(end.of(&screen, at(1)), None);
        screen.notice = Some("`ben` has stopped".to_owned());
        assert_eq!(end.of(&screen, at(2)), lasts(2));
        assert_eq!(end.of(&screen, at(5)), lasts(2), "other news do not keep it");
        screen.notice = Some("`ann` has stopped".to_owned());
        assert_eq!(end.of(&screen, at(6)), lasts(6));
        screen.dialog = Dialog::Help { scroll: 0 };
        assert_eq!(end.of(&screen, at(7)), None, "it is not in sight");
        screen.dialog = Dialog::None;
        assert_eq!(end.of(&screen, at(8)), lasts(8));
    }
}
