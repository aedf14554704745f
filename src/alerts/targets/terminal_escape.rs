//! Notifications by an escape sequence to this process's terminal, which shows them on the desktop.
//!
//! OSC 9 is iTerm2's and is known to most terminals; OSC 777 is rxvt's, with a title. tmux passes them on with
//! `set -g allow-passthrough on`.

use std::io;

use crate::alerts::Notification;
use crate::config::Desktop;
use crate::sys::terminal;

/// Writes a notification to the controlling terminal. Never waits: a suspended terminal takes nothing.
pub(super) fn write(form: Desktop, notification: &Notification) -> io::Result<()> {
    let is_in_tmux = std::env::var_os("TMUX").is_some_and(|value| !value.is_empty());
    terminal::write_at_once(sequence(form, notification, is_in_tmux).as_bytes())
}

fn sequence(form: Desktop, notification: &Notification, is_in_tmux: bool) -> String {
    // The notification has no control characters but the ends of its lines, so it cannot end the sequence.
    let sequence = if form == Desktop::Osc777 {
        let title = notification.title.replace(';', ",");
        format!("\x1b]777;notify;{title};{}\x1b\\", notification.text.replace('\n', " · "))
    } else {
        // After `9;`, ConEmu and others take a number and a semicolon for a command of their own.
        format!("\x1b]9;{}\x1b\\", notification.line().replace(';', ","))
    };
    if is_in_tmux {
        format!("\x1bPtmux;{}\x1b\\", sequence.replace('\x1b', "\x1b\x1b"))
    } else {
        sequence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_is_one_sequence() {
        let notification = Notification {
            title: "shop; cart".to_owned(),
            text: "ann asks\nbob has finished".to_owned(),
            kinds: Vec::new(),
        };
        let osc777 = "\x1b]777;notify;shop, cart;ann asks · bob has finished\x1b\\";
        assert_eq!(sequence(Desktop::Osc777, &notification, false), osc777);
        let osc9 = "\x1b]9;shop, cart: ann asks (and 1 more line)\x1b\\";
        assert_eq!(sequence(Desktop::Osc9, &notification, false), osc9);
        let command = Notification { title: "4;1;50".to_owned(), ..notification.clone() };
        let osc9 = "\x1b]9;4,1,50: ann asks (and 1 more line)\x1b\\";
        assert_eq!(sequence(Desktop::Osc9, &command, false), osc9);
        let in_tmux = sequence(Desktop::Osc9, &notification, true);
        assert!(in_tmux.starts_with("\x1bPtmux;\x1b\x1b]9;"), "{in_tmux:?}");
        assert!(in_tmux.ends_with("\x1b\x1b\\\x1b\\"), "{in_tmux:?}");
    }
}
