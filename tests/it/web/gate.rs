//! The gate: who gets in, in which form, and what is answered to all others. Requests are raw bytes, as of any program of this machine.

use cli_team_bridge::supervisor::Shim;
use serde_json::json;

use super::http_client::{Answer, WebServer};
use crate::support::Stage;

const SCRIPT: &str = r#"
[[agents.default.turns]]
when = "Your task: ask"
steps = [
  { ask_permission = "make all", kind = "execute", on_reject = "go_on", save = "answer" },
  { say = "{{answer.option}}" },
]
[[agents.default.turns]]
steps = [{ say = "done" }]
"#;

/// What every answer has, whatever it is.
fn check_headers(answer: &Answer) {
    for header in [
        "content-security-policy: default-src 'none'; script-src 'self';",
        "x-content-type-options: nosniff",
        "x-frame-options: deny",
        "referrer-policy: same-origin",
        "cross-origin-resource-policy: same-origin",
    ] {
        assert!(answer.head.contains(header), "{header}: {answer:?}");
    }
    assert!(!answer.head.contains("access-control-"), "{answer:?}");
}

/// A browser that has signed in.
pub(crate) struct Browser {
    /// The header with the cookie.
    pub(crate) cookie: String,
    /// The base path of the pages.
    pub(crate) base: String,
}

impl Browser {
    /// Returns the path of a page.
    pub(crate) fn at(&self, page: &str) -> String {
        format!("{}{page}", self.base)
    }
}

/// Signs in by the printed URL.
pub(crate) async fn sign_in(web: &WebServer) -> Browser {
    let answer = web.get(&web.sign_in, "").await;
    assert_eq!(answer.status, 303, "{answer:?}");
    check_headers(&answer);
    let cookie = answer.cookie.unwrap();
    let name = format!("cli-team-bridge-{}=", web.port);
    assert!(cookie.starts_with(&name), "{cookie}");
    let (_, base) = answer.head.split_once("\r\nlocation: ").unwrap();
    let base = base.lines().next().unwrap().to_owned();
    assert!(base.len() > 30 && base.ends_with('/'), "the pages stand at a secret path: {base}");
    assert!(cookie.ends_with(&format!("; HttpOnly; SameSite=Strict; Path={base}")), "{cookie}");
    Browser { cookie: format!("Cookie: {}\r\n", cookie.split(';').next().unwrap()), base }
}

/// Posts a form as the page of the server would.
async fn post(web: &WebServer, path: &str, headers: &str, form: &str) -> Answer {
    let port = web.port;
    let length = form.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n{headers}\r\n{form}"
    );
    web.send(&request).await
}

/// Returns the secret that the forms of a page send back.
async fn form_token(web: &WebServer, browser: &Browser) -> String {
    let page = web.get(&browser.base, &browser.cookie).await;
    assert_eq!(page.status, 200, "{page:?}");
    let (_, rest) = page.body.split_once("name=\"form_token\" value=\"").unwrap();
    rest.split('"').next().unwrap().to_owned()
}

#[tokio::test]
async fn the_url_signs_in_once_and_nothing_is_shown_without_its_cookie() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    lead.start_and_wait("ann", "paint the fence").await;
    let web = WebServer::start(&stage, &[]).await;
    for path in ["/", "/tasks", "/nothing", "/live?view=", "/member-ann"] {
        let answer = web.get(path, "").await;
        assert_eq!(answer.status, 401, "{path}");
        assert!(!answer.body.contains("ann"), "{answer:?}");
        check_headers(&answer);
    }
    let browser = sign_in(&web).await;
    let cookie = &browser.cookie;
    for path in ["", "tasks", "nothing", "live?view=", "member-ann", "act/send"] {
        let answer = web.get(&browser.at(path), "").await;
        assert_eq!(answer.status, 401, "{path}");
        assert!(!answer.body.contains("ann"), "{answer:?}");
    }
    // A browser sends no cookie there, and it would not count.
    for path in ["/", "/tasks", "/live?view=", "/api/v1/status"] {
        assert_eq!(web.get(path, cookie).await.status, 401, "{path}");
    }
    let again = web.get(&web.sign_in, "").await;
    assert_eq!(again.status, 403, "{again:?}");
    assert!(again.body.contains("can be used once") && !again.head.contains("set-cookie"));
    let page = web.get(&browser.base, cookie).await;
    assert_eq!(page.status, 200);
    assert!(page.body.contains("ann"), "{page:?}");
    check_headers(&page);
    for path in ["member-ann", "conversation", "sequence", "timeline", "tasks", "workflows"] {
        assert_eq!(web.get(&browser.at(path), cookie).await.status, 200, "{path}");
    }
    for path in ["usage?by=day", "search?q=fence", "manifest.webmanifest"] {
        assert_eq!(web.get(&browser.at(path), cookie).await.status, 200, "{path}");
    }
    assert_eq!(web.get(&browser.at("nothing"), cookie).await.status, 404);
    web.end().await;
    lead.close().await;
}

#[tokio::test]
async fn other_names_origins_and_paths_get_nothing() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let web = WebServer::start(&stage, &[]).await;
    let (browser, port) = (sign_in(&web).await, web.port);
    let Browser { cookie, base } = &browser;
    let hosts =
        ["evil.example", "127.0.0.1:1", "127.0.0.2", "localhost.evil.example", "0.0.0.0", ""];
    for host in hosts {
        let host = if host.contains(':') { host.to_owned() } else { format!("{host}:{port}") };
        let answer = web
            .send(&format!(
                "GET {base} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{cookie}\r\n"
            ))
            .await;
        assert!(matches!(answer.status, 400 | 403), "{host}: {answer:?}");
    }
    for host in [format!("localhost:{port}"), format!("[::1]:{port}"), format!("127.0.0.1:{port}")]
    {
        let request =
            format!("GET {base} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{cookie}\r\n");
        assert_eq!(web.send(&request).await.status, 200, "{host}");
    }
    for origin in ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1"] {
        let answer = web.get(base, &format!("{cookie}Origin: {origin}\r\n")).await;
        assert_eq!(answer.status, 403, "{origin}");
        check_headers(&answer);
    }
    // A link of another page leads here; what that page loads or frames gets nothing.
    for site in ["cross-site", "same-site"] {
        let from = format!("{cookie}Sec-Fetch-Site: {site}\r\n");
        for destination in ["image", "iframe", "script", "empty", "embed"] {
            let headers = format!("{from}Sec-Fetch-Dest: {destination}\r\n");
            assert_eq!(web.get(base, &headers).await.status, 403, "{destination}");
        }
        let opened = format!("{from}Sec-Fetch-Dest: document\r\n");
        assert_eq!(web.get(base, &opened).await.status, 200);
    }
    for path in ["../etc/passwd", "member-..%2f..%2fetc", "/", "%00", "task-%ff", "../assets/../x"]
    {
        let answer = web.get(&browser.at(path), cookie).await;
        assert!((200..500).contains(&answer.status) && !answer.body.contains("root:"), "{path}");
    }
    for method in ["OPTIONS", "TRACE", "PUT", "DELETE", "POST"] {
        let request = format!(
            "{method} {base} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nContent-Length: 0\r\n{cookie}\r\n"
        );
        assert_eq!(web.send(&request).await.status, 405, "{method}");
    }
    web.end().await;
    lead.close().await;
}

#[tokio::test]
async fn after_many_wrong_tokens_nobody_signs_in_and_who_is_in_stays() {
    let stage = Stage::new(SCRIPT);
    let web = WebServer::start(&stage, &[]).await;
    let Browser { cookie, base } = sign_in(&web).await;
    for _ in 0..100 {
        // A page of the web locks nobody out.
        let headers = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Dest: document\r\n";
        assert_eq!(web.get("/sign-in?token=wrong", headers).await.status, 403);
    }
    for _ in 0..100 {
        let status = web.get("/sign-in?token=wrong", "").await.status;
        assert!(matches!(status, 403 | 429), "{status}");
    }
    let answer = web.get(&web.sign_in, "").await;
    assert_eq!(answer.status, 429);
    assert!(answer.head.contains("retry-after: "), "{answer:?}");
    assert_eq!(web.get(&base, &cookie).await.status, 200);
    assert!(!stage.bus().exists(), "looking makes no bus");
    web.end().await;
}

#[tokio::test]
async fn a_page_acts_only_from_itself_and_only_as_it_is_allowed_to() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    lead.start_and_wait("ann", "paint the fence").await;
    let ask = json!({ "agent": "scripted", "name": "ben", "prompt": "ask", "permissions": "ask" });
    lead.call("assign_task", ask).await;
    crate::support::until("it asks", || !stage.events_of("permission_asked").is_empty()).await;
    let asked = stage.events_of("permission_asked").pop().unwrap();
    let question = asked["id"].as_str().unwrap();

    let web = WebServer::start(&stage, &["--write"]).await;
    let browser = sign_in(&web).await;
    let token = form_token(&web, &browser).await;
    let Browser { cookie, base } = browser;
    let own = format!("{cookie}Origin: http://127.0.0.1:{}\r\n", web.port);
    let form = format!("form_token={token}&to=ann&text=hello+from+the+page");
    for (headers, form) in [
        (cookie.clone(), form.clone()),
        (format!("{cookie}Origin: http://evil.example\r\n"), form.clone()),
        (format!("{own}Sec-Fetch-Site: cross-site\r\n"), form.clone()),
        (own.clone(), "to=ann&text=forged".to_owned()),
        (own.replace("Cookie", "Other"), form.clone()),
    ] {
        let answer = post(&web, &format!("{base}act/send"), &headers, &form).await;
        assert!(matches!(answer.status, 401 | 403), "{headers}{form}: {answer:?}");
    }
    let answer = format!("form_token={token}&id={question}&decision=allow_once");
    post(&web, &format!("{base}act/answer"), &own, &answer).await;
    assert_eq!(stage.events_of("permission_answered").len(), 0, "that is a switch of its own");
    let sent = post(&web, &format!("{base}act/send"), &own, &form).await;
    assert_eq!(sent.status, 303, "{sent:?}");
    let from_human: Vec<_> = stage.events_of("message_sent").into_iter().collect();
    let from_human = from_human.iter().filter(|sent| sent["from"] == "human");
    assert_eq!(from_human.count(), 1, "only the last of all these was sent");
    let long = format!("form_token={token}&to=ann&text={}", "x".repeat(70_000));
    assert_eq!(post(&web, &format!("{base}act/send"), &own, &long).await.status, 413);
    let shows = format!("{own}Accept: text/html,*/*;q=0.8\r\n");
    let page = post(&web, &format!("{base}act/send"), &shows, "to=ann&text=forged").await;
    assert_eq!(page.status, 403);
    assert!(page.body.contains(">Load the page again.</p>"), "{page:?}");
    web.end().await;

    let web = WebServer::start(&stage, &["--answer"]).await;
    let browser = sign_in(&web).await;
    let token = form_token(&web, &browser).await;
    let Browser { cookie, base } = browser;
    let own = format!("{cookie}Origin: http://127.0.0.1:{}\r\n", web.port);
    let form = format!("form_token={token}&to=ann&text=no");
    post(&web, &format!("{base}act/send"), &own, &form).await;
    let answer = format!("form_token={token}&id={question}&decision=allow_once");
    assert_eq!(post(&web, &format!("{base}act/answer"), &own, &answer).await.status, 303);
    let answers = stage.events_of("permission_answered");
    assert_eq!((answers.len(), &answers[0]["decision"]), (1, &json!("allow_once")), "{answers:?}");
    let sent = stage.events_of("message_sent");
    assert_eq!(sent.iter().filter(|sent| sent["from"] == "human").count(), 1);
    // Whoever answers once more is told that this changes nothing.
    assert_eq!(post(&web, &format!("{base}act/answer"), &own, &answer).await.status, 303);
    let page = web.get(&base, &cookie).await;
    let said = format!("nothing was done: the question `{question}` was already answered");
    assert!(page.body.contains(&said), "{page:?}");
    web.end().await;
    lead.close().await;
}

#[tokio::test]
async fn no_agent_serves_the_pages_of_its_user() {
    let stage = Stage::new(SCRIPT);
    let shim = Shim { binary: env!("CARGO_BIN_EXE_cli-team-bridge").into(), presence: None };
    let (exit, said) = stage.ended(&["web", "--no-open"], Some(shim)).await;
    assert_eq!(exit.code, Some(1), "{said}");
    assert!(said.contains("an agent cannot serve its team's pages"), "{said}");
}
