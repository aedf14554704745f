//! The frame of every page: its head, the views, the search, the state of the connection, and the keys.

use maud::{DOCTYPE, Markup, html};

use super::page_body::{Body, Part, Parts};
use super::page_input::{PageContext, PageInput};
use super::view_path::View;
use crate::domain::text::visible_letters::one_line;
use crate::view::SpentBy;
use crate::web::BusState;
use crate::web::assets::{ICON_PATH, MANIFEST, PATHS};

/// Returns the views that the head names, in the order of their keys.
fn named_views() -> [(View, &'static str); 7] {
    [
        (View::Team, "Team"),
        (View::Conversation, "Conversation"),
        (View::Tasks, "Tasks"),
        (View::Requests, "Requests"),
        (View::Workflows, "Workflows"),
        (View::Timeline, "Timeline"),
        (View::Usage(SpentBy::Agent), "Usage"),
    ]
}

/// Returns the named view to which a view belongs.
fn home(view: &View) -> Option<View> {
    Some(match view {
        View::Team | View::Member(_) => View::Team,
        View::Conversation | View::Thread(_) | View::Sequence => View::Conversation,
        View::Tasks | View::Task(_) => View::Tasks,
        View::Requests => View::Requests,
        View::Workflows | View::Workflow(_) => View::Workflows,
        View::Timeline => View::Timeline,
        View::Usage(_) => View::Usage(SpentBy::Agent),
        View::Search(_) => return None,
    })
}

/// Returns the live parts of the frame: the title, the views with what needs the reader, and the state of the bus.
pub(super) fn frame_parts(
    view: &View,
    body: &Body,
    input: &PageInput<'_>,
    context: &PageContext<'_>,
) -> [Part; 3] {
    let needs = needs(input);
    let project = one_line(context.project);
    let count = if needs > 0 { format!("({needs}) ") } else { String::new() };
    let title = html! { title id="page-title" { (count) (body.heading) " · " (project) } };
    let own = home(view);
    let views = html! {
        ul id="views" {
            @for (at, (named, words)) in named_views().into_iter().enumerate() {
                li {
                    a href=(named.path()) aria-current=[(own.as_ref() == Some(&named)).then_some("page")] aria-keyshortcuts=((at + 1).to_string()) {
                        (words)
                        @if named == View::Team && needs > 0 { span.count { (needs) span.unseen { (if needs == 1 { " needs you" } else { " need you" }) } } }
                    }
                }
            }
        }
    };
    let state = state_words(&input.snapshot.bus);
    let state = html! {
        div id="bus-state" { @if let Some(words) = state { section.sheet { p.empty { (words) } } } }
    };
    [Part::live("page-title", title), Part::live("views", views), Part::live("bus-state", state)]
}

fn needs(input: &PageInput<'_>) -> usize {
    input.snapshot.board.as_ref().map_or(0, |board| board.needs_you.len())
}

/// Says why there is no team to show.
fn state_words(state: &BusState) -> Option<String> {
    match state {
        BusState::Open => None,
        BusState::Absent => Some(
            "There is no team in this project yet. This page shows it when it starts.".to_owned(),
        ),
        BusState::Removed => {
            Some("The bus was removed. This page shows the next one when it starts.".to_owned())
        }
        BusState::Unusable(words) => Some(one_line(words)),
    }
}

/// Renders a page.
pub(super) fn document(
    view: &View,
    body: &Body,
    input: &PageInput<'_>,
    context: &PageContext<'_>,
) -> Markup {
    let [title, views, state] = frame_parts(view, body, input, context);
    let words = if let View::Search(words) = view { one_line(words) } else { String::new() };
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(&title.html, true))
            body data-seq=(input.snapshot.seq()) data-live=[is_live(view, input).then_some("")] {
                a.skip href="#main" { "Skip to the content" }
                header.head {
                    a.project href=(View::Team.path()) { img src=(ICON_PATH) alt="" width="20" height="20"; (one_line(context.project)) }
                    nav.views aria-label="Views" { (views.html) }
                    form role="search" action=(View::Search(String::new()).path()) method="get" {
                        label.unseen for="q" { "Search everything that was said and done" }
                        input type="search" id="q" name="q" value=(words) placeholder="Search" maxlength="500" aria-keyshortcuts="/";
                    }
                }
                div.connection id="connection" role="status" { span { (as_of(view, input)) } }
                div.outcome id="outcome" role="status" { (context.notice.unwrap_or_default()) }
                main id="main" tabindex="-1" {
                    h1.unseen { (body.heading) }
                    (state.html)
                    @if body.side.is_empty() { (Parts(&body.parts)) }
                    @else { div.split { div { (Parts(&body.parts)) } div { (Parts(&body.side)) } } }
                }
                (foot(context))
            }
        }
    }
}

fn head(title: &Markup, is_page: bool) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            (title)
            link rel="stylesheet" href=(PATHS.style);
            link rel="icon" href=(ICON_PATH) type="image/svg+xml";
            @if is_page {
                link rel="manifest" href=(MANIFEST) crossorigin="use-credentials";
                script src=(PATHS.script) defer {}
            }
        }
    }
}

/// Results of a search and older messages stay as they are.
fn is_live(view: &View, input: &PageInput<'_>) -> bool {
    !matches!(view, View::Search(_)) && input.extra.older.is_none()
}

fn as_of(view: &View, input: &PageInput<'_>) -> &'static str {
    if is_live(view, input) {
        "As of when it was loaded. Load it again for news."
    } else {
        "These do not change by themselves."
    }
}

fn foot(context: &PageContext<'_>) -> Markup {
    html! {
        footer.foot {
            p {
                @match (context.can_write, context.can_answer) {
                    (true, true) => "Here you can write, end work, and answer questions.",
                    (true, false) => "Here you can write, answer what members ask you, and end work; permissions are given elsewhere.",
                    (false, true) => "Here you can answer what agents want permission for; otherwise this page only looks.",
                    (false, false) => "This page only looks.",
                }
                " Press " kbd { "?" } " for the keys."
            }
        }
        dialog id="keys" aria-labelledby="keys-heading" {
            h2 id="keys-heading" { "Keys" }
            dl.facts {
                @for (key, words) in KEYS { dt { kbd { (key) } } dd { (words) } }
            }
            form method="dialog" { button { "Close" } }
        }
    }
}

const KEYS: [(&str, &str); 5] = [
    ("/", "goes to the search"),
    ("1 … 7", "goes to that view"),
    ("j k", "goes to the next row, or the one before"),
    ("?", "shows these keys"),
    ("Esc", "closes them"),
];

/// Renders the page that leads on after signing in, for a browser that does not follow a redirect with its new cookie.
pub fn signed_in_page(to: &str) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="refresh" content={ "0;url=" (to) };
                title { "Signed in" }
            }
            body { main { p { a href=(to) { "Go on to the team" } } } }
        }
    };
    page.into_string()
}

/// Renders a page that only says something: why there is no page, and what to do. It shows nothing of the team.
pub fn message_page(title: &str, paragraphs: &[&str]) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(&html! { title { (title) } }, false))
            body {
                main id="main" {
                    section.sheet {
                        h1.empty { (title) }
                        @for words in paragraphs { p.empty { (words) } }
                    }
                }
            }
        }
    };
    page.into_string()
}
