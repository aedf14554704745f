//! Attachments, as the tools take, show and read them.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::mcp::tests::fixture::{Client, Team};
use crate::mcp::tools::endpoint_tools;
use crate::mcp::{LazyMembership, Pushing};

/// Two members, in a project with a file.
struct Stage {
    place: tempfile::TempDir,
    ann: Client,
    bob: Client,
}

impl Stage {
    async fn new() -> Self {
        let (team, place) = (Team::new(), tempfile::tempdir().unwrap());
        fs::create_dir_all(place.path().join("project/src")).unwrap();
        fs::write(place.path().join("project/src/a.rs"), "fn a() {}\n").unwrap();
        fs::write(place.path().join("secret"), "s").unwrap();
        let (ann, bob) = (member(&team, &place, "ann").await, member(&team, &place, "bob").await);
        Self { place, ann, bob }
    }

    fn file(&self, path: &str) -> std::path::PathBuf {
        self.place.path().join("project").join(path)
    }

    /// Sends a message with attachments to bob, and returns its id.
    async fn attach(&mut self, attachments: Value) -> String {
        let sent = self.ann.call("send_message", attaching(&attachments)).await;
        sent["message_id"].as_str().unwrap().to_owned()
    }

    async fn read(&mut self, id: &str) -> Value {
        self.bob.call("check_messages", json!({ "id": id })).await["messages"][0].clone()
    }
}

async fn member(team: &Team, place: &tempfile::TempDir, name: &str) -> Client {
    let membership = LazyMembership::taken(team.membership(name).await);
    let project = place.path().join("project");
    let mut client =
        Client::of(endpoint_tools::server_of_peer(membership, &project, Pushing::Never));
    client.initialize().await;
    client
}

fn attaching(attachments: &Value) -> Value {
    json!({ "to": "bob", "content": "look", "more": { "attachments": attachments } })
}

#[tokio::test]
async fn a_text_a_file_and_a_name_are_attached_shown_and_read() {
    let mut stage = Stage::new().await;
    let id = stage
        .attach(json!([
            { "name": "notes.md", "type": "document", "mime_type": "text/markdown", "content": "# N" },
            { "name": "the parser", "type": "Code", "path": "src/a.rs" },
            { "name": "RFC 9457", "type": "reference" },
            { "path": "src/../src/a.rs" },
        ]))
        .await;
    let unread = stage.bob.call("check_messages", json!({})).await;
    let expected = json!([
        { "name": "notes.md", "id": format!("{id}/1"), "type": "document", "mime_type": "text/markdown",
          "bytes": 3, "content": "# N" },
        { "name": "the parser", "id": format!("{id}/2"), "type": "code", "bytes": 10, "path": "src/a.rs" },
        { "name": "RFC 9457", "type": "reference" },
        { "name": "a.rs", "id": format!("{id}/4"), "bytes": 10, "path": "src/a.rs" },
    ]);
    assert_eq!(unread["messages"][0]["attachments"], expected);
    assert_eq!(stage.read(&format!("{id}/1")).await["content"], "# N");
    let file = stage.read(&format!("{id}/2")).await;
    assert_eq!((&file["content"], &file["id"]), (&json!("fn a() {}\n"), &json!(format!("{id}/2"))));
    assert_eq!(file["attachments"], json!([expected[1]]));
    let name = stage.read(&format!("{id}/3")).await;
    assert_eq!((&name["content"], name["lost"].is_string()), (&json!(""), true), "{name}");
    for (wrong, expected) in [
        ("5", "has 4 attachments: `"),
        ("0", "has 4 attachments: `"),
        ("-1", "only `payload` or the number of an attachment can stand"),
        ("payload", "has no payload"),
    ] {
        let asked = json!({ "id": format!("{id}/{wrong}") });
        let refused = stage.bob.refused("check_messages", asked).await;
        assert!(refused.contains(expected), "{wrong}: {refused}");
    }
    let bare = stage.ann.call("send_message", json!({ "to": "bob", "content": "bare" })).await;
    let bare = bare["message_id"].as_str().unwrap();
    let refused = stage.bob.refused("check_messages", json!({ "id": format!("{bare}/1") })).await;
    assert!(refused.ends_with(&format!("`{bare}` has no attachments")), "{refused}");
}

#[tokio::test]
async fn the_reader_is_told_what_became_of_an_attached_file() {
    let mut stage = Stage::new().await;
    let attached = json!([{ "name": "a", "path": "src/a.rs", "mime_type": "text/x-rust" }]);
    let id = stage.attach(attached).await;
    let of_file = format!("{id}/1");
    assert_eq!(stage.read(&id).await["attachments"][0].get("changed"), None);
    fs::write(stage.file("src/a.rs"), "fn b() {}\n").unwrap();
    assert_eq!(stage.read(&id).await["attachments"][0]["changed"], true);
    let now = stage.read(&of_file).await;
    assert_eq!(
        (&now["content"], &now["attachments"][0]["changed"]),
        (&json!("fn b() {}\n"), &json!(true))
    );

    fs::write(stage.file("src/a.rs"), [0xff, 0xfe]).unwrap();
    let no_text =
        "the file at \"src/a.rs\" (text/x-rust, 10 bytes) is not shown: it is not UTF-8 text";
    assert_eq!(stage.read(&of_file).await["lost"], no_text);
    fs::remove_file(stage.file("src/a.rs")).unwrap();
    let gone = stage.read(&of_file).await;
    assert!(
        gone["lost"].as_str().unwrap().ends_with("is not shown: there is no such file"),
        "{gone}"
    );
    assert_eq!(gone["attachments"][0]["changed"], true);
    std::os::unix::fs::symlink("../../secret", stage.file("src/a.rs")).unwrap();
    let out = stage.read(&of_file).await;
    assert!(
        out["lost"].as_str().unwrap().ends_with("is not shown: it leads out of the project"),
        "{out}"
    );
    assert_eq!(out["content"], "");
}

#[tokio::test]
async fn a_long_attachment_is_read_in_parts_and_not_shown_with_its_message() {
    let mut stage = Stage::new().await;
    let (inline, long) = ("x".repeat(60_000), "y\n".repeat(50_000));
    fs::write(stage.file("long"), &long).unwrap();
    let attached = json!([{ "name": "inline", "content": inline }, { "path": "long" }]);
    let id = stage.attach(attached).await;
    let unread = stage.bob.call("check_messages", json!({})).await;
    assert_eq!(unread["messages"][0]["attachments"][0].get("content"), None);
    for (number, expected) in [(1, inline), (2, long)] {
        let (mut whole, mut offset) = (String::new(), json!(0));
        while !offset.is_null() {
            let asked = json!({ "id": format!("{id}/{number}"), "offset": offset });
            let part = stage.bob.call("check_messages", asked).await["messages"][0].clone();
            assert_eq!(part["content_bytes"], expected.len());
            whole.push_str(part["content"].as_str().unwrap());
            offset = part["next_offset"].clone();
        }
        assert!(whole == expected, "attachment {number}");
    }
}

#[tokio::test]
async fn only_who_may_read_a_message_reads_what_is_attached_to_it() {
    let mut stage = Stage::new().await;
    let team = Team::new();
    let mut stranger = member(&team, &stage.place, "eve").await;
    let id = stage.attach(json!([{ "path": "src/a.rs" }])).await;
    let refused = stranger.refused("check_messages", json!({ "id": format!("{id}/1") })).await;
    assert!(refused.contains(&id), "{refused}");
    let its_sender = stage.ann.call("check_messages", json!({ "id": format!("{id}/1") })).await;
    assert_eq!(its_sender["messages"][0]["content"], "fn a() {}\n");
    let alone = json!({ "id": format!("{id}/1"), "agent_id": "bob" });
    let refused = stage.ann.refused("check_messages", alone).await;
    assert_eq!(refused, "with the id of a payload or an attachment, leave out agent_id");
}

#[tokio::test]
async fn wrong_attachments_are_refused_with_what_to_do_and_nothing_is_sent() {
    let mut stage = Stage::new().await;
    std::os::unix::fs::symlink("../secret", stage.file("out")).unwrap();
    let pipe = stage.file("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let secret = stage.place.path().join("secret");
    let one = |attachment: Value| json!([attachment]);
    for (attachments, expected) in [
        (
            one(json!({ "name": "a", "content": "x", "path": "src/a.rs" })),
            "attachment 1 has content and path: give one",
        ),
        (one(json!({ "name": "a" })), "attachment 1 has neither content nor path"),
        (one(json!({ "content": "x" })), "attachment 1 has no `name`"),
        (
            one(json!({ "name": "a", "content": "x", "size": 1 })),
            "attachment 1 has no `size`: its fields are name, ",
        ),
        (one(json!({ "name": 1, "content": "x" })), "`name` of attachment 1 must be a text"),
        (
            one(json!({ "name": "a", "content": "x", "type": "picture" })),
            "\"picture\" is not the type",
        ),
        (
            one(json!({ "name": "a", "content": "x", "mime_type": "text" })),
            "the mime_type of attachment 1",
        ),
        (
            one(json!({ "name": "a\nb", "content": "x" })),
            "the name of attachment 1 must be one line",
        ),
        (
            one(json!({ "name": "a", "content": "x".repeat(65_536) })),
            "the contents of attachments are 65538 bytes",
        ),
        (
            json!(vec![json!({ "name": "a", "content": "x" }); 9]),
            "a message has at most 8 attachments, not 9",
        ),
        (
            one(json!({ "path": "out" })),
            "the path of attachment 1 cannot be attached: it leads out of the project.",
        ),
        (one(json!({ "path": "../secret" })), "it leads out of the project"),
        (one(json!({ "path": secret })), "it leads out of the project"),
        (one(json!({ "path": "src" })), "it is not a regular file"),
        (one(json!({ "path": "pipe" })), "it is not a regular file"),
        (one(json!({ "path": "none" })), "there is no such file"),
        (json!("x"), "`attachments` of `more` must be an array"),
    ] {
        let refused = stage.ann.refused("send_message", attaching(&attachments)).await;
        assert!(refused.contains(expected), "{attachments}: {refused}");
    }
    assert_eq!(stage.bob.call("check_messages", json!({})).await["messages"], json!([]));
    let mut work = attaching(&json!([{ "path": "src/a.rs" }]));
    (work["to"], work["signal"]) = (json!("all"), json!("task"));
    let refused = stage.ann.refused("send_message", work).await;
    assert!(
        refused.starts_with("work for a group opens a request, which has no `attachments`"),
        "{refused}"
    );
    // A server that knows no project attaches texts alone.
    let team = Team::new();
    let (mut ann, _bob) = (team.member("ann").await, team.member("bob").await);
    let refused = ann.refused("send_message", attaching(&json!([{ "path": "src/a.rs" }]))).await;
    assert_eq!(refused, "no file can be attached by its path here: give its content");
}

#[tokio::test]
async fn the_files_of_a_message_have_a_limit_together() {
    let mut stage = Stage::new().await;
    for name in ["one", "two"] {
        let file = fs::File::create(stage.file(name)).unwrap();
        file.set_len(33 << 20).unwrap();
    }
    stage.attach(json!([{ "path": "one" }])).await;
    let both = attaching(&json!([{ "path": "one" }, { "path": "two" }]));
    let refused = stage.ann.refused("send_message", both).await;
    let why = "attachment 2 cannot be attached: with it, the files of the message are longer than 64 MiB \
               together";
    assert!(refused.ends_with(why), "{refused}");
    assert!(Path::new(&stage.file("two")).exists());
}
