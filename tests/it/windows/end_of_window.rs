//! How the window gives the terminal back, and where there is none.

use nix::sys::signal::Signal;

use super::team_of_five::{SCRIPT, SMALL};
use crate::support::{Stage, Terminal, until};

#[tokio::test]
async fn every_end_gives_the_terminal_back() {
    for (keys, signal) in [
        ("q", None),
        ("\x03", None),
        ("", Some(Signal::SIGTERM)),
        ("", Some(Signal::SIGHUP)),
        ("", Some(Signal::SIGINT)),
    ] {
        let stage = Stage::new(SCRIPT);
        let mut terminal = Terminal::run(&stage, &["top", "--mouse"], SMALL);
        terminal.until_shows("There is no team in this project yet.").await;
        assert!(terminal.is_on_other_screen() && !terminal.has_lines(), "{}", terminal.screen());
        terminal.press(keys);
        if let Some(signal) = signal {
            terminal.signal(signal);
        }
        assert_eq!(terminal.ended("").await, Some(0), "{keys:?} {signal:?}");
        until("the terminal is back", || !terminal.is_on_other_screen()).await;
        assert!(terminal.has_lines() && !terminal.is_odd(), "{keys:?} {signal:?}");
        assert_eq!(terminal.screen().trim(), "", "nothing is left on the screen");
    }
}

/// No program outlives SIGKILL; a shell then resets the modes of the terminal, and nothing else is odd about it.
#[tokio::test]
async fn a_killed_window_leaves_a_terminal_that_a_shell_can_use() {
    let stage = Stage::new(SCRIPT);
    let mut terminal = Terminal::run(&stage, &["top"], SMALL);
    terminal.until_shows("There is no team in this project yet.").await;
    terminal.signal(Signal::SIGKILL);
    assert_eq!(terminal.ended("").await, None);
    assert!(!terminal.is_odd());
}

#[tokio::test]
async fn without_a_terminal_it_says_what_to_run_instead() {
    let stage = Stage::new(SCRIPT);
    let project = stage.project().to_str().unwrap();
    let (exit, said) = stage.ended(&["top", "--project", project], None).await;
    assert_eq!(exit.code, Some(1), "{said}");
    assert!(said.starts_with("error: `top` needs a terminal"), "{said}");
    assert!(said.contains("hint: `cli-team-bridge status` prints the same"), "{said}");

    let stage = stage.with_env(vec![("TERM".into(), "dumb".into())]);
    let mut terminal = Terminal::run(&stage, &["top"], SMALL);
    assert_eq!(terminal.ended("hint: ").await, Some(1));
    assert!(!terminal.sent().contains('\x1b'));
}

#[tokio::test]
async fn a_bus_that_cannot_be_read_is_an_error_without_a_window() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    lead.close().await;
    let copy = stage.copied();
    let mut terminal = Terminal::run(&copy, &["top"], SMALL);
    assert_eq!(terminal.ended("was not created here").await, Some(1));
    assert!(!terminal.sent().contains("\x1b[?1049h"));
}

#[tokio::test]
async fn a_bus_that_is_removed_and_made_again_is_shown_again() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let mut terminal = Terminal::run(&stage, &["top"], SMALL);
    terminal.until_shows("1 member").await;
    lead.close().await;
    std::fs::remove_dir_all(stage.bus()).unwrap();
    terminal.until_shows("The bus was removed.").await;
    let lead = stage.orchestrator().await;
    terminal.until_shows("1 member").await;
    terminal.press("q");
    assert_eq!(terminal.ended("").await, Some(0));
    lead.close().await;
}
