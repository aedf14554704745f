//! What the page of a task says beside its texts, and the pages that lead there.

use std::sync::Arc;

use super::team_of_five::{context, extra, snapshot};
use crate::domain::task::result::{Change, ChangeSource, Details, FileChange};
use crate::domain::workflow::framed_output;
use crate::reader::UnlistedTurn;
use crate::view::{Moment, ReadingTurn};
use crate::web::pages::{Extra, FilesElsewhere, PageInput, View, page};

#[test]
fn what_an_agent_said_in_a_turn_without_a_task_is_read_on_a_page_of_its_own() {
    let turn = UnlistedTurn {
        turn_id: "task-cay".to_owned(),
        agent: Some("cay".to_owned()),
        began_at: Some(Moment(1)),
        ended_at: Some(Moment(2)),
        whole_prompt: Some("[ben → you] Is it free?".to_owned()),
        output: Some("It is free.".to_owned()),
    };
    let extra = Extra { task: None, turn: Some(turn), ..extra() };
    let view = View::Task("task-cay".to_owned());
    let html = page(&view, &PageInput { snapshot: &snapshot(), extra: &extra }, &context());
    assert!(html.contains("A turn of ") && html.contains("It is free."), "{html}");
    // The page of its agent and the timeline lead there.
    let mut snapshot = snapshot();
    let mut board = (**snapshot.board.as_ref().unwrap()).clone();
    let cay = board.members.iter_mut().find(|row| row.name == "cay").unwrap();
    let (began_at, ended_at) = (Moment(1), Some(Moment(2)));
    cay.reading_turns =
        vec![ReadingTurn { turn_id: "task-cay".to_owned(), began_at, ended_at, left_unread: None }];
    snapshot.board = Some(Arc::new(board));
    for view in [View::Member("cay".to_owned()), View::Timeline] {
        let html = page(&view, &PageInput { snapshot: &snapshot, extra: &extra }, &context());
        assert!(html.contains("href=\"task-task-cay\""), "{view:?}: {html}");
    }
}

#[test]
fn a_difference_that_may_be_of_others_says_so_where_it_stands() {
    let html = |sources: Vec<ChangeSource>, view: &View| {
        let path = "chapters/leases.md".to_owned();
        let files = vec![FileChange { path, change: Change::Edited, sources }];
        let mut extra = extra();
        let task = extra.task.as_mut().unwrap();
        task.details = Some(Details { files, ..Details::default() });
        page(view, &PageInput { snapshot: &snapshot(), extra: &extra }, &context())
    };
    for view in [View::Member("ben".to_owned()), View::Task("task-ben".to_owned())] {
        let diffs = |html: &str| html.split("id=\"diffs\"").nth(1).unwrap().to_owned();
        let mark = "changed during the task, maybe by others";
        assert!(diffs(&html(vec![ChangeSource::Git], &view)).contains(mark), "{view:?}");
        let own = diffs(&html(vec![ChangeSource::ToolCall, ChangeSource::Git], &view));
        assert!(!own.contains(mark), "{view:?}");
    }
}

#[test]
fn files_on_another_host_are_not_compared_here_and_the_page_says_where_they_are() {
    let mut extra = extra();
    let task = extra.task.as_mut().unwrap();
    task.row.host = Some("builder".to_owned());
    let path = "chapters/leases.md".to_owned();
    let files = vec![FileChange { path, change: Change::Edited, sources: Vec::new() }];
    task.details = Some(Details { files, ..Details::default() });
    let shown = |extra: &Extra, view: &View| {
        let html = page(view, &PageInput { snapshot: &snapshot(), extra }, &context());
        let diffs = html.split("id=\"diffs\"").nth(1).unwrap();
        diffs.split("</section>").next().unwrap().to_owned()
    };
    for view in [View::Member("ben".to_owned()), View::Task("task-ben".to_owned())] {
        let mut at = |machine: &str, is_namesake| {
            extra.elsewhere = Some(FilesElsewhere { machine: machine.to_owned(), is_namesake });
            shown(&extra, &view)
        };
        let far = at("builder", false);
        assert!(far.contains("The files are on &quot;builder&quot;: only git there"), "{far}");
        assert!(!far.contains("A lease ends by"), "{far}");
        let namesake = at("laptop", true);
        let words = "in another checkout, on a machine that is called &quot;laptop&quot; like this";
        assert!(namesake.contains(words), "{namesake}");
    }
}

#[test]
fn the_prompt_of_a_step_has_its_own_words_first_and_then_what_it_is_given() {
    let mut extra = extra();
    let given = framed_output("proof", Some("ann"), "done");
    let task = extra.task.as_mut().unwrap();
    task.whole_prompt = Some(format!("Publish {given}, all of it."));
    let input = PageInput { snapshot: &snapshot(), extra: &extra };
    let html = page(&View::Task("task-ben".to_owned()), &input, &context());
    let shown = "Publish [the output of step proof, by ann], all of it.\n\n\
                 With it, the output of step proof, by ann:\n  done<";
    assert!(html.contains(shown) && !html.contains("--- Output"), "{html}");
}

#[test]
fn the_page_of_a_task_says_that_its_agent_is_gone() {
    let mut extra = extra();
    let task = extra.task.as_mut().unwrap();
    task.row.status = "running".to_owned();
    task.row.agent_state = Some("gone".to_owned());
    let input = PageInput { snapshot: &snapshot(), extra: &extra };
    let html = page(&View::Task("task-ben".to_owned()), &input, &context());
    assert!(html.contains("gone"), "{html}");
    assert!(html.contains("its agent's process has ended"), "{html}");
}
