//! What a person decides in the window: answers, approvals, and what ends work.

use std::sync::Arc;

use super::*;

#[test]
fn an_answer_is_a_no_until_another_is_chosen_and_a_letter_alone_allows_nothing() {
    let answered = |keys: &str| press(&mut screen(), keys);
    let answer = |decision| Some(Effect::Act(Act::Answer { id: "perm-1".to_owned(), decision }));
    assert_eq!(answered("a enter"), answer(Decision::Reject));
    assert_eq!(answered("a o enter"), answer(Decision::AllowOnce));
    assert_eq!(answered("a n enter"), answer(Decision::RejectAlways));
    assert_eq!(answered("a right right right enter"), answer(Decision::AllowAlways));
    assert_eq!(answered("a a a"), None);
    assert_eq!(answered("a o esc enter"), None);
}

#[test]
fn a_window_that_is_too_small_for_a_question_takes_no_answer() {
    for size in [(1, 1), (14, 60), (15, 59)] {
        let mut screen = screen();
        press(&mut screen, "a o");
        screen.size = size;
        assert_eq!(press(&mut screen, "enter"), None, "{size:?}");
        assert!(screen.notice.as_ref().unwrap().starts_with("Nothing was done: "));
        screen.size = (15, 60);
        press(&mut screen, "K y");
        screen.size = size;
        assert_eq!(press(&mut screen, "enter"), None, "{size:?}");
    }
}

#[test]
fn an_answer_shows_the_whole_command_and_closes_when_another_has_answered() {
    let mut screen = screen();
    press(&mut screen, "a");
    let mut asked = news();
    let long = format!("{} END", "x".repeat(1_000));
    asked.call = Some(("perm-1".to_owned(), Arc::new(vec![long])));
    screen.update(Arc::new(asked));
    let text = shown(&screen).join("\n");
    assert!(text.contains("May ann do this?") && text.contains(COMMAND), "{text}");
    assert!(text.contains("more below") && !text.contains("END"), "{text}");
    assert_eq!(press(&mut screen, "o enter"), None, "its end has not been in sight");
    let text = shown(&screen).join("\n");
    assert!(text.contains("END") && !text.contains("more below"), "{text}");
    press(&mut screen, "d page-down page-down page-down");
    let text = shown(&screen).join("\n");
    assert!(text.contains("END") && text.contains("> Deny "), "{text}");
    assert!(!text.contains("more below"), "{text}");
    press(&mut screen, "k");
    assert!(shown(&screen).join("\n").contains("more below"), "a key up moves at once");
    let mut later = news();
    let mut board = (*later.board.unwrap()).clone();
    board.permissions.clear();
    later.board = Some(Arc::new(board));
    screen.update(Arc::new(later));
    assert_eq!(screen.dialog, Dialog::None);
    assert_eq!(press(&mut screen, "enter"), None);
}

#[test]
fn an_approval_shows_the_whole_prompt_and_a_refusal_may_say_why() {
    let asking = || {
        let mut asked = news();
        let mut board = (*asked.board.unwrap()).clone();
        board.needs_you[0].kind = NeedKind::Approval;
        (board.needs_you[0].who, board.needs_you[0].id) = ("deploy".into(), Some("wf-1".into()));
        asked.board = Some(Arc::new(board));
        asked
    };
    let mut screen = screen();
    screen.update(Arc::new(asking()));
    press(&mut screen, "a");
    let step = AskingStep { workflow: "wf-1".to_owned(), step: "deploy".to_owned() };
    assert_eq!(screen.wanted().step.as_ref(), Some(&step));
    let mut asked = asking();
    let prompt = vec!["Deploy  it.".to_owned(), "x".repeat(1_000), "END".to_owned()];
    asked.prompt = Some((step, Arc::new(prompt)));
    screen.update(Arc::new(asked));
    let text = shown(&screen).join("\n");
    assert!(text.contains("May the step deploy begin?") && text.contains("Deploy  it."), "{text}");
    assert!(text.contains("more below") && !text.contains("END"), "{text}");
    press(&mut screen, "page-down page-down page-down");
    assert!(shown(&screen).join("\n").contains("END"));
    let mut opened = screen.clone();
    press(&mut opened, "esc enter");
    assert_eq!(opened.wanted().step.map(|step| step.step), Some("deploy".to_owned()));
    let text = shown(&opened).join("\n");
    assert!(text.contains("asks to begin") && text.contains("Deploy  it."), "{text}");
    let refused = |reason: Option<&str>| {
        let (workflow, step) = ("wf-1".to_owned(), "deploy".to_owned());
        let reason = reason.map(str::to_owned);
        Some(Effect::Act(Act::Approve { workflow, step, given: false, reason }))
    };
    assert_eq!(press(&mut screen.clone(), "enter"), refused(None));
    assert_eq!(press(&mut screen.clone(), "w enter enter"), refused(None));
    assert_eq!(press(&mut screen.clone(), "w enter n o esc"), None);
    assert_eq!(press(&mut screen, "w enter n o"), None);
    assert!(shown(&screen).join("\n").contains("Why not deploy? no"));
    assert_eq!(press(&mut screen, "enter"), refused(Some("no")));
}

#[test]
fn cancel_and_kill_are_asked_about_and_only_a_yes_counts() {
    let act = |act| Some(Effect::Act(act));
    let ben = |keys: &str| press(&mut screen(), &format!("j {keys}"));
    assert_eq!(ben("x x"), None);
    assert_eq!(ben("K K"), None);
    assert_eq!(ben("K enter"), None);
    assert_eq!(ben("K y"), None, "it is asked twice");
    assert_eq!(ben("K y y y"), None, "a key that is held down answers once");
    assert_eq!(ben("K y n enter"), None);
    assert_eq!(ben("K y K enter"), None);
    assert_eq!(
        ben("K y enter"),
        act(Act::Kill { member: "ben".to_owned(), session: Some(SESSION) })
    );
    assert_eq!(ben("x y enter"), act(Act::Cancel { id: "task-ben".to_owned() }));
    assert_eq!(
        ben("j j x y enter"),
        act(Act::Stop { member: "cat".to_owned(), session: Some(SESSION) }),
        "it has no task"
    );
    assert_eq!(ben("j K y enter"), None, "the leader is no agent");
}

#[test]
fn a_text_that_is_read_goes_to_its_end_and_its_beginning_at_once() {
    let mut screen = screen();
    press(&mut screen, "?");
    assert!(shown(&screen).join("\n").contains("more below"));
    press(&mut screen, "G");
    let text = shown(&screen).join("\n");
    assert!(text.contains(" line ") && !text.contains("more below"), "{text}");
    press(&mut screen, "home");
    assert!(shown(&screen).join("\n").contains(" line 1 of "));
}

#[test]
fn a_question_and_a_disagreement_are_answered_by_a_message_in_their_thread() {
    for (kind, who, label) in [
        (NeedKind::Question, "ben", "Reply to ben:"),
        (NeedKind::Decision, "ben and ann", "Binds both, to ben:"),
    ] {
        let mut asked = news();
        let mut board = (*asked.board.unwrap()).clone();
        board.needs_you[0].kind = kind;
        (board.needs_you[0].who, board.needs_you[0].id) = (who.into(), Some("msg-7".into()));
        asked.board = Some(Arc::new(board));
        let mut screen = screen();
        screen.update(Arc::new(asked));
        press(&mut screen, "enter");
        let text = shown(&screen).join("\n");
        assert_eq!(text.matches("msg-7").count(), 1, "the command alone names it: {text}");
        press(&mut screen, "esc a");
        assert_eq!(shown(&screen).last().map(String::as_str), Some(label));
        let sent = Act::Send {
            to: "ben".to_owned(),
            text: "y".to_owned(),
            priority: Priority::Normal,
            reply_to: Some("msg-7".to_owned()),
        };
        assert_eq!(press(&mut screen, "y enter"), Some(Effect::Act(sent)));
    }
}
