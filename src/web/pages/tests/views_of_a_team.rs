//! Each view of the team of five: kept as it is rendered, and held to what every page promises.
//!
//! `BRIDGE_KEEP_PAGES=1 cargo test --lib every_view_is_rendered_as_it_was` keeps the pages anew.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::team_of_five::{context, extra, letter, snapshot};
use crate::view::{
    Board, CUT_SHORT, ConflictRow, DIED, Letter, Moment, NOT_TAKEN, Need, NeedKind, PartyRow,
    REFUSED, SpentBy, Stretch, StretchKind, Trouble, UserQuestion,
};
use crate::web::Snapshot;
use crate::web::assets::PATHS;
use crate::web::pages::drawings::sequence_drawing;
use crate::web::pages::{
    Extra, PageContext, PageInput, View, fragments, message_page, page, rows_of_letters,
};

/// Returns all views, each with the name of its kept page.
pub(super) fn views() -> Vec<(&'static str, View)> {
    let text = str::to_owned;
    vec![
        ("team", View::Team),
        ("member", View::Member(text("ben"))),
        ("conversation", View::Conversation),
        ("thread", View::Thread(text("msg-1"))),
        ("sequence", View::Sequence),
        ("timeline", View::Timeline),
        ("tasks", View::Tasks),
        ("task", View::Task(text("task-ben"))),
        ("requests", View::Requests),
        ("workflows", View::Workflows),
        ("workflow", View::Workflow(text("wf-1"))),
        ("usage", View::Usage(SpentBy::Agent)),
        ("search", View::Search(text("leases"))),
    ]
}

fn rendered(view: &View, context: &PageContext<'_>) -> String {
    page(view, &PageInput { snapshot: &snapshot(), extra: &extra() }, context)
}

/// One element a line, so that a change shows as a change of a few lines.
fn readable(html: &str) -> String {
    let html = html.replace(&PATHS.style, "STYLE").replace(&PATHS.script, "SCRIPT");
    html.replace("><", ">\n<") + "\n"
}

#[test]
fn every_view_is_rendered_as_it_was() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/web/pages/tests/kept_pages");
    let keeps = std::env::var_os("BRIDGE_KEEP_PAGES").is_some();
    for (name, view) in views() {
        let html = readable(&rendered(&view, &context()));
        let file = folder.join(format!("{name}.html"));
        if keeps {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&file, &html).unwrap();
        }
        let kept = std::fs::read_to_string(&file).unwrap_or_default();
        let same = kept.lines().zip(html.lines()).take_while(|(kept, now)| kept == now).count();
        assert!(
            kept == html,
            "{name} differs from line {} on: {:?}",
            same + 1,
            html.lines().nth(same)
        );
    }
}

#[test]
fn every_page_says_what_it_is_and_where_its_parts_are() {
    for (name, view) in views() {
        let html = rendered(&view, &context());
        for part in [
            "<html lang=\"en\">",
            "<main id=\"main\"",
            "<header",
            "<footer",
            "class=\"skip\"",
            "role=\"search\"",
            "id=\"connection\" role=\"status\"",
        ] {
            assert_eq!(html.matches(part).count(), 1, "{name}: {part}");
        }
        assert_eq!(html.matches("<h1").count(), 1, "{name}");
        assert!(html.contains("<title id=\"page-title\">(2) "), "{name}");
        // The policy of the server forbids them.
        for forbidden in [" style=", "<style", " onclick=", " onload=", "javascript:", "<iframe"] {
            assert!(!html.contains(forbidden), "{name}: {forbidden}");
        }
        let ids: Vec<_> =
            html.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        let different: BTreeSet<_> = ids.iter().collect();
        assert_eq!(ids.len(), different.len(), "{name}: {ids:?}");
        for label in
            html.split("aria-labelledby=\"").skip(1).map(|rest| rest.split('"').next().unwrap())
        {
            assert!(ids.contains(&label), "{name}: {label}");
        }
    }
}

#[test]
fn the_live_parts_of_a_page_are_parts_of_it() {
    let (snapshot, extra) = (snapshot(), extra());
    let input = PageInput { snapshot: &snapshot, extra: &extra };
    for (name, view) in views() {
        let html = page(&view, &input, &context());
        let parts = fragments(&view, &input, &context());
        assert!(parts.iter().any(|part| part.id == "page-title"), "{name}");
        for part in parts {
            assert!(part.html.contains(&format!(" id=\"{}\"", part.id)), "{name}: {}", part.id);
            assert!(html.contains(&part.html), "{name}: {}", part.id);
        }
    }
    let rows = rows_of_letters(&snapshot.letters, &context());
    let html = page(&View::Conversation, &input, &context());
    assert_eq!(rows[0].id, "letter-1");
    assert!(rows.iter().all(|row| html.contains(&row.html)));
}

#[test]
fn a_row_of_a_message_stays_as_it_is_while_time_goes_on() {
    let later = PageContext { now: Moment(i64::MAX), ..context() };
    let letters = snapshot().letters;
    assert_eq!(rows_of_letters(&letters, &context()), rows_of_letters(&letters, &later));
}

#[test]
fn only_what_is_allowed_has_a_form() {
    let posts = |html: &str| html.matches(" method=\"post\"").count();
    let looks_only = PageContext { can_write: false, can_answer: false, ..context() };
    for (name, view) in views() {
        assert_eq!(posts(&rendered(&view, &looks_only)), 0, "{name}");
        let html = rendered(&view, &context());
        assert_eq!(
            posts(&html),
            html.matches("name=\"form_token\" value=\"form-token\"").count(),
            "{name}"
        );
    }
    let answers = PageContext { can_write: false, ..context() };
    let html = rendered(&View::Team, &answers);
    assert!(html.contains("action=\"act/answer\"") && !html.contains("action=\"act/send\""));
    assert!(html.find("value=\"reject\"").unwrap() < html.find("value=\"allow_once\"").unwrap());
    let writes = PageContext { can_answer: false, ..context() };
    let html = rendered(&View::Team, &writes);
    assert!(html.contains("action=\"act/send\"") && !html.contains("action=\"act/answer\""));
    assert!(html.contains("cli-team-bridge allow perm-1"));
}

#[test]
fn a_member_that_is_stuck_has_what_helps_beside_it() {
    let mut snapshot = snapshot();
    let mut board = snapshot.board.as_deref().unwrap().clone();
    board.needs_you = vec![Need {
        kind: NeedKind::Stuck,
        state: Some("stalled".to_owned()),
        trouble: Some(Trouble::Stalled),
        who: "ben".to_owned(),
        id: Some("task-ben2".to_owned()),
        words: Trouble::Stalled.meaning().to_owned(),
        since: None,
        until: None,
        behind: 0,
    }];
    let mut rendered = |board: &Board, context: &PageContext<'_>| {
        snapshot.board = Some(Arc::new(board.clone()));
        page(&View::Team, &PageInput { snapshot: &snapshot, extra: &extra() }, context)
    };
    let html = rendered(&board, &context());
    assert!(html.contains("</a> is stalled</h3>") && html.contains("Cancel its task"), "{html}");
    assert!(html.contains("action=\"act/cancel\""));
    let looks_only = PageContext { can_write: false, ..context() };
    let html = rendered(&board, &looks_only);
    assert!(html.contains("<code>cli-team-bridge cancel task-ben2</code>"), "{html}");
    board.needs_you[0].trouble = Some(Trouble::Stuck);
    let html = rendered(&board, &context());
    let (before, after) = html.split_once("Kill it now").unwrap();
    assert!(before.rfind("<details").unwrap() > before.rfind("</details>").unwrap_or(0), "{html}");
    assert!(after.find("</details>").is_some(), "the first click only opens: {html}");
}

#[test]
fn a_question_is_answered_beside_it_or_by_the_command_that_it_names() {
    let mut snapshot = snapshot();
    let mut board = snapshot.board.as_deref().unwrap().clone();
    board.needs_you = vec![Need {
        kind: NeedKind::Question,
        state: None,
        trouble: None,
        who: "ben".to_owned(),
        id: Some("msg-7".to_owned()),
        words: "\"<b>deploy?\"".to_owned(),
        since: None,
        until: None,
        behind: 0,
    }];
    snapshot.board = Some(Arc::new(board));
    let (extra, looks_only) = (extra(), PageContext { can_write: false, ..context() });
    let input = PageInput { snapshot: &snapshot, extra: &extra };
    let html = page(&View::Team, &input, &context());
    assert!(html.contains("</a> asks you</h3>") && html.contains("&lt;b&gt;deploy?"), "{html}");
    assert!(html.contains("name=\"reply_to\" value=\"msg-7\""), "{html}");
    assert!(html.contains(">Answer</button>") && !html.contains(">Decide</button>"), "{html}");
    let html = page(&View::Team, &input, &looks_only);
    assert!(html.contains("<code>cli-team-bridge send ben TEXT --reply-to msg-7</code>"), "{html}");
    assert!(!html.contains("value=\"msg-7\""), "{html}");
    let mut board = snapshot.board.as_deref().unwrap().clone();
    board.needs_you[0].kind = NeedKind::Decision;
    board.needs_you[0].who = "ben and cay".to_owned();
    snapshot.board = Some(Arc::new(board));
    let html = page(&View::Team, &PageInput { snapshot: &snapshot, extra: &extra }, &context());
    assert!(html.contains("binds both") && html.contains(">Decide</button>"), "{html}");
}

#[test]
fn a_question_to_the_user_leads_to_its_thread_and_then_to_its_answer() {
    let mut asked = letter(7, "ben", "human", "Deploy?");
    asked.asks_you = Some(UserQuestion::Open);
    let row = |letter: &Letter| rows_of_letters(std::slice::from_ref(letter), &context());
    let html = row(&asked)[0].html.clone();
    assert!(html.contains("answers <a class=\"id\" href=\"thread-msg-1#msg-1\">"), "{html}");
    assert!(html.contains("<a href=\"thread-msg-1\">answer it in its thread</a>"), "{html}");
    asked.asks_you = Some(UserQuestion::Answered);
    asked.answered_in = Some("msg-8".to_owned());
    let html = row(&asked)[0].html.clone();
    assert!(html.contains("answered in <a class=\"id\" href=\"thread-msg-1#msg-8\">"), "{html}");
    assert!(!html.contains("open:"), "{html}");
}

#[test]
fn a_thread_in_disagreement_and_the_team_say_how_that_stands() {
    let mut snapshot = snapshot();
    let mut board = (**snapshot.board.as_ref().unwrap()).clone();
    let party = |name: &str| PartyRow {
        name: name.to_owned(),
        position: "msg-2".to_owned(),
        words: Some(format!("as {name} <says>")),
    };
    board.conflicts = vec![ConflictRow {
        thread: "msg-1".to_owned(),
        about: None,
        first_words: None,
        parties: vec![party("ben"), party("cay")],
        status: "negotiation",
        round: Some(2),
        arbiter: None,
        by: None,
        decision: None,
        decision_words: None,
        since: Moment(0),
    }];
    snapshot.board = Some(Arc::new(board));
    let input = PageInput { snapshot: &snapshot, extra: &extra() };
    let html = page(&View::Thread("msg-1".to_owned()), &input, &context());
    assert!(html.contains("Disagreement of ben and cay: </b>round 2 of 3"), "{html}");
    let html = page(&View::Team, &input, &context());
    let (_, open) = html.split_once("id=\"disagreements-heading\"").unwrap();
    let open = open.split("</section>").next().unwrap();
    assert!(open.contains("cay</a></b>: round 2 of 3; they disagree; ben: "), "{open}");
    assert!(
        open.contains("as cay &lt;says&gt;") && open.contains("href=\"thread-msg-1\""),
        "{open}"
    );
}

#[test]
fn a_disagreement_that_needs_the_reader_says_what_it_is_about_and_who_stands_for_what() {
    let mut snapshot = snapshot();
    let mut board = (**snapshot.board.as_ref().unwrap()).clone();
    let party = |name: &str, words: &str| PartyRow {
        name: name.to_owned(),
        position: format!("msg-{name}"),
        words: Some(words.to_owned()),
    };
    board.conflicts = vec![ConflictRow {
        thread: "msg-1".to_owned(),
        about: None,
        first_words: Some("How many <logs>?".to_owned()),
        parties: vec![party("ben", "Two."), party("cay", "One.")],
        status: "human",
        round: None,
        arbiter: None,
        by: None,
        decision: None,
        decision_words: None,
        since: Moment(0),
    }];
    board.needs_you = vec![Need {
        kind: NeedKind::Decision,
        who: "ben and cay".to_owned(),
        id: Some("msg-1".to_owned()),
        ..board.needs_you[0].clone()
    }];
    snapshot.board = Some(Arc::new(board));
    let input = PageInput { snapshot: &snapshot, extra: &extra() };
    let html = page(&View::Team, &input, &context());
    assert!(html.contains("About: How many &lt;logs&gt;?"), "{html}");
    assert!(html.contains("cay</a></b>: One.</li>"), "{html}");
}

#[test]
fn the_team_begins_with_what_needs_the_reader_and_folds_the_members_that_have_ended() {
    let (snapshot, extra) = (snapshot(), extra());
    let input = PageInput { snapshot: &snapshot, extra: &extra };
    let html = page(&View::Team, &input, &context());
    let place = |words: &str| html.find(words).unwrap_or_else(|| panic!("{words}: {html}"));
    let places = [
        "id=\"needs\"",
        "id=\"totals\"",
        "id=\"members\"",
        "<details id=\"ended-members\"><summary>Ended (1)",
        "id=\"decided\"",
        "id=\"happenings\"",
    ]
    .map(place);
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn what_was_decided_stands_beside_the_team_and_above_the_conversation() {
    let (snapshot, extra) = (snapshot(), extra());
    let input = PageInput { snapshot: &snapshot, extra: &extra };
    for (view, folded) in [(View::Team, 4), (View::Conversation, 2)] {
        let html = page(&view, &input, &context());
        let (_, decided) = html.split_once("id=\"decided\"").unwrap();
        let decided = decided.split("</section>").next().unwrap();
        assert!(decided.contains("cay</a></b> agreed with ben"), "{decided}");
        assert!(
            decided.contains("Two &amp; no more.") && decided.contains("about: One &lt;log&gt;?")
        );
        assert!(decided.contains("<a href=\"thread-msg-1\">its thread</a>"), "{decided}");
        assert!(decided.contains("<b>the user</b> allowed ann"), "{decided}");
        assert!(
            decided.contains("execute &quot;make 0&quot;") && decided.contains("task-ann"),
            "{decided}"
        );
        assert!(decided.contains(&format!("{folded} older decisions")), "{decided}");
    }
    let mut none = snapshot;
    none.decided = Arc::default();
    let input = PageInput { snapshot: &none, extra: &extra };
    assert!(!page(&View::Team, &input, &context()).contains("decided-heading"));
}

#[test]
fn work_at_a_task_that_the_board_has_no_more_still_has_its_words_in_the_timeline() {
    let mut snapshot = snapshot();
    let mut board = (**snapshot.board.as_ref().unwrap()).clone();
    board.tasks.clear();
    snapshot.board = Some(Arc::new(board));
    let input = PageInput { snapshot: &snapshot, extra: &extra() };
    let html = page(&View::Timeline, &input, &context());
    let (_, words) = html.split_once("id=\"timeline-words\"").unwrap();
    assert!(words.contains("ben worked at &quot;Draft the outline"), "{words}");
}

#[test]
fn in_a_large_team_every_arrow_of_the_sequence_begins_and_ends_at_a_line() {
    let sequence = |senders: u64| {
        let letters = (1..=senders).map(|n| Letter {
            urgent: false,
            ..letter(n, &format!("member-{n}"), "cay", "Hello.")
        });
        sequence_drawing(&letters.collect::<Vec<_>>()).into_string()
    };
    let arrows_from_nowhere = |html: &str| html.matches(r#"class="l-flow" x1="90""#).count();
    let large = sequence(20);
    assert!(large.contains(">9 others<"), "{large}");
    assert!(large.contains("The last 20 messages of 21 members"));
    assert_eq!(arrows_from_nowhere(&large), 0);
    let small = sequence(12);
    assert!(!small.contains("others"), "thirteen members have a line each");
    assert!(small.contains(">member-12<"));
}

#[test]
fn a_turn_for_messages_that_ended_halfway_has_its_mark_in_the_timeline() {
    let html = |ended| {
        let mut snapshot = snapshot();
        let mut stretches = (*snapshot.stretches).clone();
        let is_reading = |one: &&mut Stretch| matches!(one.kind, StretchKind::Reading { .. });
        let reading = stretches.iter_mut().find(is_reading).unwrap();
        (reading.from, reading.until) = (Moment(reading.from.0 - 200_000), Some(reading.from));
        reading.ended = ended;
        snapshot.stretches = Arc::new(stretches);
        let html =
            page(&View::Timeline, &PageInput { snapshot: &snapshot, extra: &extra() }, &context());
        let (_, link) = html.split_once("href=\"task-task-cay\"").unwrap();
        link.split_once("</a>").unwrap().0.to_owned()
    };
    let has =
        |html: &str, mark: &str| html.contains(&format!("aria-hidden=\"true\">{mark}</text>"));
    let failed = html(Some(CUT_SHORT));
    assert!(has(&failed, "✗") && failed.contains("and then its turn failed"), "{failed}");
    assert!(has(&html(Some(REFUSED)), "✗"));
    let died = html(Some(DIED));
    assert!(has(&died, "✗") && died.contains("until its process died"), "{died}");
    assert!(has(&html(Some(NOT_TAKEN)), "-"));
    assert!(!html(None).contains("</text>"));
}

#[test]
fn each_number_of_a_table_has_its_label_where_a_phone_shows_no_headings() {
    for (name, view) in views() {
        let html = rendered(&view, &context());
        for cell in html.split("<td class=\"number\"").skip(1) {
            let (attributes, rest) = cell.split_once('>').unwrap();
            let has_unit =
                attributes.contains("data-unit=\"") && !attributes.contains("data-unit=\"\"");
            let is_labelled = has_unit || attributes.contains("data-label=\"");
            assert!(is_labelled || rest.starts_with("</td>"), "{name}: {cell}");
        }
    }
}

#[test]
fn without_a_team_every_view_says_so() {
    let (snapshot, extra) = (Snapshot::default(), Extra::default());
    for (name, view) in views() {
        let html = page(&view, &PageInput { snapshot: &snapshot, extra: &extra }, &context());
        assert!(html.contains("There is no team in this project yet."), "{name}");
        assert!(html.contains("<title id=\"page-title\">") && !html.contains("(0)"), "{name}");
    }
    let html = message_page("Not signed in", &["Open the address that <web> printed."]);
    assert!(html.contains("&lt;web&gt;") && html.contains("<h1"));
}

#[test]
fn the_page_of_a_member_of_another_project_says_where_it_is_and_writes_there() {
    let view = View::Member("web:alice".to_owned());
    let html = rendered(&view, &context());
    assert!(html.contains("<b>web:alice</b> is in another project."), "{html}");
    assert!(html.contains("Write to web:alice"), "{html}");
}
