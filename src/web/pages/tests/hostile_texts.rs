//! Texts that mean harm are texts, and a team without end makes no page without end.

use std::sync::Arc;

use super::team_of_five::{context, extra, letter, member, snapshot, task};
use super::views_of_a_team::views;
use crate::domain::task::result::{Change, Details, FileChange};
use crate::domain::text::exactly::exactly;
use crate::domain::text::visible_letters::{beginning, is_invisible};
use crate::reader::UnlistedTurn;
use crate::team::FileDiff;
use crate::view::{Group, LiveKind, LiveLine, Moment};
use crate::web::pages::{Extra, FilesElsewhere, PageContext, PageInput, StepPrompt, View, page};

const HARM: &str = "</pre></script><script>alert(1)</script><img src=x onerror=alert(2)>\" onmouseover=\"alert(3)\u{1b}[31mred\u{202e}txt.exe\u{200b}";

#[test]
fn a_text_that_means_harm_is_shown_as_text() {
    let (mut snapshot, mut extra) = (snapshot(), extra());
    let mut board = (**snapshot.board.as_ref().unwrap()).clone();
    // The read model has such texts on one line, and without invisible letters.
    let line = beginning(HARM, 4_000);
    for row in &mut board.members {
        (row.doing, row.model, row.cwd) =
            (line.clone(), Some(HARM.to_owned()), Some(HARM.to_owned()));
        row.roles = vec![HARM.to_owned()];
    }
    for row in &mut board.tasks {
        row.prompt = Some(line.clone());
    }
    let question = &mut board.permissions[0];
    (question.title, question.exact_title) = (line.clone(), exactly(HARM));
    question.exact_paths = vec![exactly(HARM)];
    board.workflows[0].name.clone_from(&line);
    for step in &mut board.workflows[0].steps {
        step.note = Some(line.clone());
    }
    board.needs_you[1].words.clone_from(&line);
    board.problems[0].words.clone_from(&line);
    board.requests[0].description = Some(line.clone());
    snapshot.board = Some(Arc::new(board));
    snapshot.letters = Arc::new(vec![letter(1, "ann", "ben", &line)]);
    let whole = extra.task.as_mut().unwrap();
    (whole.whole_prompt, whole.output, whole.whole_error) =
        (Some(HARM.to_owned()), Some(HARM.to_owned()), Some(HARM.to_owned()));
    extra.live = Arc::new(vec![LiveLine { kind: LiveKind::Words, text: line.clone() }]);
    extra.diffs = vec![
        FileDiff { path: HARM.to_owned(), diff: Ok(format!("+{HARM}")), is_cut: true },
        FileDiff { path: HARM.to_owned(), diff: Err(HARM.to_owned()), is_cut: false },
    ];
    extra.prompts = vec![StepPrompt {
        workflow: "wf-1".to_owned(),
        step: "publish".to_owned(),
        lines: vec![HARM.to_owned()],
    }];
    extra.calls = vec![("perm-1".to_owned(), vec![HARM.to_owned()])];
    extra.thread = vec![letter(1, "ann", "ben", &line)];
    let found = extra.found.as_mut().unwrap();
    found.hits[0].text.clone_from(&line);
    found.trouble = Some(HARM.to_owned());
    let context = PageContext { project: HARM, ..context() };
    let named = [
        View::Member(HARM.to_owned()),
        View::Task(HARM.to_owned()),
        View::Workflow(HARM.to_owned()),
        View::Thread(HARM.to_owned()),
        View::Search(HARM.to_owned()),
    ];
    let all = views().into_iter().map(|(_, view)| view).chain(named);
    let harm = || Some(HARM.to_owned());
    let turn = UnlistedTurn {
        turn_id: "task-x".to_owned(),
        agent: Some("ann".to_owned()),
        began_at: None,
        ended_at: Some(Moment(1)),
        whole_prompt: harm(),
        output: harm(),
    };
    let of_turn = Extra { turn: Some(turn), ..extra.clone() };
    let mut far = extra.clone();
    let path = HARM.to_owned();
    let files = vec![FileChange { path, change: Change::Edited, sources: Vec::new() }];
    let details = Details { files, ..Details::default() };
    far.task.as_mut().unwrap().details = Some(details);
    far.elsewhere = Some(FilesElsewhere { machine: HARM.to_owned(), is_namesake: false });
    let ben = View::Task("task-ben".to_owned());
    let far = [(View::Task("task-x".to_owned()), &of_turn), (ben, &far)];
    let all = all.map(|view| (view, &extra)).chain(far);
    for (view, extra) in all {
        let html = page(&view, &PageInput { snapshot: &snapshot, extra }, &context);
        assert_eq!(html.matches("<script").count(), 1, "{view:?}: only our own");
        assert!(!html.contains("<img src=x"), "{view:?}");
        assert!(!html.contains("\" onmouseover"), "{view:?}");
        let hidden: Vec<_> = html
            .chars()
            .filter(|letter| is_invisible(*letter) && !matches!(letter, '\n' | '\t'))
            .collect();
        assert!(hidden.is_empty(), "{view:?}: {hidden:?}");
    }
}

#[test]
fn a_team_without_end_makes_no_page_without_end() {
    let (mut snapshot, mut extra) = (snapshot(), extra());
    let mut board = (**snapshot.board.as_ref().unwrap()).clone();
    let need = board.needs_you[1].clone();
    board.members = (0..5_000)
        .map(|number| {
            member(&format!("agent-{number}"), Group::Working, "running", &"x".repeat(80))
        })
        .collect();
    board.tasks = (0..5_000)
        .map(|number| task(&format!("task-{number}"), "agent-1", "running", &"x".repeat(200)))
        .collect();
    board.needs_you = vec![need; 5_000];
    board.problems = vec![board.problems[0].clone(); 5_000];
    board.requests = vec![board.requests[0].clone(); 5_000];
    snapshot.board = Some(Arc::new(board));
    snapshot.letters = Arc::new(
        (1..=500)
            .map(|seq| letter(seq, &format!("agent-{seq}"), "agent-1", &"word ".repeat(80)))
            .collect(),
    );
    let whole = extra.task.as_mut().unwrap();
    whole.output = Some("megabyte ".repeat(120_000));
    extra.diffs =
        vec![FileDiff { path: "a".to_owned(), diff: Ok("+x\n".repeat(400_000)), is_cut: true }];
    for (name, view) in views() {
        let html = page(&view, &PageInput { snapshot: &snapshot, extra: &extra }, &context());
        assert!(html.len() < 1_500_000, "{name}: {} bytes", html.len());
    }
    let html = page(&View::Tasks, &PageInput { snapshot: &snapshot, extra: &extra }, &context());
    assert!(html.contains("4800 more: "));
}
