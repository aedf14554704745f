//! Threads: reading one as a whole, and resolving it.

use serde_json::{Value, json};

use crate::mcp::tests::fixture::{Client, Team};

fn contents(result: &Value) -> Vec<&str> {
    let messages = result["messages"].as_array().unwrap().iter();
    messages.map(|message| message["content"].as_str().unwrap()).collect()
}

async fn says(client: &mut Client, to: &str, content: &str, reply_to: Option<&str>) -> String {
    let message = json!({ "to": to, "content": content, "reply_to": reply_to });
    client.call("send_message", message).await["message_id"].as_str().unwrap().to_owned()
}

async fn thread(client: &mut Client, id: &str) -> Value {
    client.call("check_messages", json!({ "thread": id })).await
}

#[tokio::test]
async fn any_message_of_a_thread_shows_what_its_reader_sent_or_got_of_it_oldest_first() {
    let team = Team::new();
    let (mut ann, mut bob, mut cay) =
        (team.member("ann").await, team.member("bob").await, team.member("cay").await);
    let first = says(&mut ann, "bob", "which colour?", None).await;
    says(&mut ann, "bob", "something else", None).await;
    let second = says(&mut bob, "ann", "green", Some(&first)).await;
    let third = says(&mut ann, "cay", "paint it green", Some(&second)).await;
    let fourth = says(&mut cay, "ann", "done", Some(&third)).await;

    for id in [&first, &second, &third, &fourth] {
        let all = thread(&mut ann, id).await;
        assert_eq!(contents(&all), ["which colour?", "green", "paint it green", "done"]);
        assert_eq!(contents(&thread(&mut bob, id).await), ["which colour?", "green"]);
        assert_eq!(contents(&thread(&mut cay, id).await), ["paint it green", "done"]);
    }
}

#[tokio::test]
async fn a_request_names_its_thread_to_those_who_have_sent_or_got_something_of_it() {
    let team = Team::new();
    let (mut ann, mut bob, mut eve) =
        (team.member("ann").await, team.member("bob").await, team.member("eve").await);
    let asked = json!({ "description": "which colour?", "to": "bob" });
    let request = ann.call("request_task", asked).await["request_id"].clone();
    let request = request.as_str().unwrap();
    bob.call("claim_request", json!({ "request_id": request })).await;
    says(&mut bob, "ann", "green", Some(request)).await;
    for client in [&mut ann, &mut bob] {
        let shown = thread(client, request).await;
        let contents = contents(&shown);
        assert_eq!((contents[0], contents.last()), ("which colour?", Some(&"green")), "{shown}");
    }
    let unknown = "req-aaaaaaaaaaaa";
    let mut asked = async |id: &str| {
        eve.refused("check_messages", json!({ "thread": id })).await.replace(id, "ID")
    };
    assert_eq!(asked(request).await, asked(unknown).await);
}

#[tokio::test]
async fn reading_a_thread_leaves_its_messages_unread() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    let first = says(&mut ann, "bob", "which colour?", None).await;
    assert_eq!(contents(&thread(&mut bob, &first).await), ["which colour?"]);
    let unread = bob.call("check_messages", json!({})).await;
    assert_eq!(contents(&unread), ["which colour?"]);
}

#[tokio::test]
async fn a_long_thread_is_read_page_by_page() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    let first = says(&mut ann, "bob", "0", None).await;
    for number in 1..7 {
        says(&mut ann, "bob", "aside", None).await;
        says(&mut bob, "ann", &number.to_string(), Some(&first)).await;
    }
    let (mut read, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let ask = json!({ "thread": first, "limit": 2, "cursor": cursor });
        let page = ann.call("check_messages", ask).await;
        assert!(contents(&page).len() <= 2, "{page}");
        read.extend(contents(&page).into_iter().map(str::to_owned));
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(read, ["0", "1", "2", "3", "4", "5", "6"]);
}

#[tokio::test]
async fn a_thread_of_others_is_as_if_unknown() {
    let team = Team::new();
    let (mut ann, mut bob, mut eve) =
        (team.member("ann").await, team.member("bob").await, team.member("eve").await);
    let secret = says(&mut ann, "bob", "secret", None).await;
    says(&mut bob, "ann", "secret, too", Some(&secret)).await;
    let unknown = "msg-aaaaaaaaaaaa";
    for cursor in [Value::Null, json!("0")] {
        let mut asked = async |id: &str| {
            let ask = json!({ "thread": id, "cursor": cursor });
            eve.refused("check_messages", ask).await.replace(id, "ID")
        };
        assert_eq!(asked(&secret).await, asked(unknown).await);
    }
    let both = "give id or thread, not both";
    let with = "with thread, give only limit and cursor: leave out agent_id and to";
    for (ask, expected) in [
        (json!({ "thread": secret, "id": secret }), both),
        (json!({ "thread": secret, "agent_id": "bob" }), with),
        (json!({ "thread": secret, "to": "#news" }), with),
    ] {
        assert_eq!(ann.refused("check_messages", ask).await, expected);
    }
    ann.refused("check_messages", json!({ "thread": "secret" })).await;
}

#[tokio::test]
async fn a_thread_that_another_member_has_resolved_is_resolved_by_nobody_else() {
    let team = Team::new();
    let (mut ann, mut bob, mut cay) =
        (team.member("ann").await, team.member("bob").await, team.member("cay").await);
    let first = says(&mut ann, "all", "which colour?", None).await;
    let resolve = |note: &str| json!({ "ids": [first], "status": "resolved", "note": note });
    bob.call("acknowledge", resolve("it is green")).await;
    let refused = cay.refused("acknowledge", resolve("it is blue")).await;
    let expected = format!(
        "the thread of `{first}` is resolved by `bob` (\"it is green\"): a new message in it reopens it"
    );
    assert_eq!(refused, expected);
    // It says of its own copy what it likes.
    let own = json!({ "ids": [first], "status": "resolved" });
    assert_eq!(cay.call("acknowledge", own).await["receipts"][0]["changed"], true);
    assert_eq!(thread(&mut ann, &first).await["summary"], "it is green");
    says(&mut cay, "ann", "rather blue", Some(&first)).await;
    cay.call("acknowledge", resolve("it is blue")).await;
    let shown = thread(&mut ann, &first).await;
    assert_eq!((&shown["resolved_by"], &shown["summary"]), (&json!("cay"), &json!("it is blue")));
}

#[tokio::test]
async fn a_thread_is_resolved_with_a_summary_until_the_next_message_in_it() {
    let team = Team::new();
    let (mut ann, mut bob, mut cay) =
        (team.member("ann").await, team.member("bob").await, team.member("cay").await);
    let first = says(&mut ann, "bob", "which colour?", None).await;
    let answer = says(&mut bob, "ann", "green", Some(&first)).await;
    let aside = says(&mut ann, "cay", "green, it seems", Some(&answer)).await;
    let open = thread(&mut ann, &answer).await;
    assert_eq!((&open["resolved"], open.get("summary")), (&json!(false), None));

    let resolve = |note: &str| json!({ "ids": [first], "status": "resolved", "note": note });
    bob.call("acknowledge", resolve("it is\u{202e} green")).await;
    for client in [&mut ann, &mut bob] {
        let shown = thread(client, &answer).await;
        assert_eq!(shown["resolved"], true);
        assert_eq!(shown["resolved_by"], "bob");
        assert_eq!(shown["summary"], "it is\u{fffd} green");
    }
    // Its first message did not go to everybody.
    let shown = thread(&mut cay, &aside).await;
    assert_eq!((&shown["resolved"], &shown["resolved_by"]), (&json!(true), &json!("bob")));
    assert_eq!(shown["summary"], "it is\u{fffd} green");
    let again = bob.call("acknowledge", resolve("it is green")).await;
    assert_eq!(again["receipts"][0]["changed"], true, "it corrects itself");
    assert_eq!(thread(&mut cay, &aside).await["summary"], "it is green");
    let own = ann.call("check_messages", json!({ "id": first })).await;
    assert_eq!(own["receipts"][0]["note"], "it is green", "{own}");

    says(&mut ann, "bob", "are you sure?", Some(&answer)).await;
    assert_eq!(thread(&mut bob, &first).await["resolved"], false);
    let again = bob.call("acknowledge", resolve("blue")).await;
    assert_eq!(again["receipts"][0]["changed"], true);
    assert_eq!(thread(&mut ann, &first).await["summary"], "blue");
    let own = ann.call("check_messages", json!({ "id": first })).await;
    assert_eq!(own["receipts"][0]["note"], "blue");
}

#[tokio::test]
async fn a_thread_shows_what_two_disagree_about_in_it_and_how_that_ended() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    let first = says(&mut ann, "bob", "let us use a queue", None).await;
    let disagree = json!({
        "to": "ann", "content": "a log is simpler", "reply_to": first, "signal": "disagree_with",
    });
    let against = bob.call("send_message", disagree).await;
    let against = against["message_id"].as_str().unwrap();
    let conflict = thread(&mut ann, &first).await["conflict"].clone();
    assert_eq!((&conflict["status"], &conflict["round"]), (&json!("negotiation"), &json!(1)));
    assert_eq!(
        conflict["parties"],
        json!([{ "name": "bob", "position": against }, { "name": "ann", "position": first }])
    );
    let agree =
        json!({ "to": "bob", "content": "yes", "reply_to": against, "signal": "agree_with" });
    ann.call("send_message", agree).await;
    let conflict = thread(&mut bob, &first).await["conflict"].clone();
    assert_eq!(conflict["status"], "agreed");
    assert_eq!((&conflict["by"], &conflict["decision"]), (&json!("ann"), &json!(against)));
}
