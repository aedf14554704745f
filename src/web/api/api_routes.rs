//! The list of all paths of the API, of which the router is made.

use std::sync::LazyLock;

use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::Value;

use super::endpoint::Endpoint;
use super::events::{WhichEvents, events, message_events};
use super::names::{
    AckedSignal, AgentMessage, EmittedSignal, NamedSignal, NewSignal, RoleInbox, WhichPending,
    ack_signal, broadcast_agent_message, claim_signal, emit, inbox_of_agent, inbox_of_role,
    send_agent_message,
};
use super::open_api::document;
use super::read_answers::{
    Conflicts, Decisions, Hits, Lanes, Members, MessagePage, Permissions, Requests, Tasks, Thread,
    UsageSums, WhichMessages, WhichUsage, WhichWords, Workflows,
};
use super::read_routes::{
    conflicts, decisions, lanes, members, messages, permissions, requests, search, status, task,
    tasks, thread, usage, workflows,
};
use super::writing::{
    Acknowledged, AnsweredPermission, AssignedTask, ClaimedRequest, EndedWait, FollowedTopic,
    Inbox, LaneOwner, NewAcknowledgement, NewAssignment, NewBroadcast, NewClaimUpdate, NewMessage,
    NewRequest, NewWait, OpenedRequest, PermissionAnswer, SentBroadcast, SentMessage, UpdatedClaim,
    WhichUnread, acknowledge, answer_permission, assign, broadcast, claim, claim_lane,
    end_membership, follow_topic, inbox, leave_topic, open_request, release_lane, send,
    update_claim, wait,
};
use crate::domain::access_key::KeyScope;
use crate::reader::WholeTask;
use crate::view::{Board, Happening, MessageEvent};
use crate::web::problem::Problem;
use crate::web::server_state::ServerState;

/// Returns the routes, for the path `/api/v1`.
pub(in crate::web) fn api_routes(state: &ServerState) -> Router<ServerState> {
    let router =
        endpoints().into_iter().fold(Router::new(), |router, one| one.add_to(router, state));
    router.fallback(unknown_path).method_not_allowed_fallback(wrong_method)
}

/// Returns all paths, in the order in which they are described.
fn endpoints() -> Vec<Endpoint> {
    [reading(), writing(), names()].into_iter().flatten().collect()
}

fn reading() -> Vec<Endpoint> {
    vec![
        Endpoint::get::<Board>("/status", "All that stands on the bus", get(status)),
        Endpoint::get::<Members>("/members", "The members", get(members)),
        Endpoint::get::<Tasks>("/tasks", "The tasks, the newest first", get(tasks)),
        Endpoint::get::<WholeTask>("/tasks/{id}", "A task with its whole texts", get(task)),
        Endpoint::get::<Requests>("/requests", "The requests without an answer", get(requests)),
        Endpoint::get::<Lanes>("/lanes", "The lanes with their owners", get(lanes)),
        Endpoint::get::<Conflicts>(
            "/conflicts",
            "The disagreements between members",
            get(conflicts),
        ),
        Endpoint::get::<Decisions>(
            "/decisions",
            "What has been decided, the last first",
            get(decisions),
        ),
        Endpoint::get::<Permissions>(
            "/permissions",
            "The permission questions without an answer",
            get(permissions),
        ),
        Endpoint::get::<Workflows>("/workflows", "The workflows with their steps", get(workflows)),
        Endpoint::get::<MessagePage>(
            "/messages",
            "The last messages, or older ones",
            get(messages),
        )
        .asks::<WhichMessages>(),
        Endpoint::get::<Thread>(
            "/threads/{id}",
            "The messages of a thread, or about a request or a task",
            get(thread),
        ),
        Endpoint::get::<UsageSums>("/usage", "What agents have used", get(usage))
            .asks::<WhichUsage>(),
        Endpoint::get::<Hits>("/search", "Where words were said", get(search)).asks::<WhichWords>(),
        Endpoint::get::<Happening>("/events", "What happens, as it happens", get(events))
            .asks::<WhichEvents>()
            .streams(),
        Endpoint::get::<Value>("/openapi.json", "This description", get(describe)).for_every_key(),
    ]
}

fn writing() -> Vec<Endpoint> {
    let (write, assigning, answering) = (KeyScope::Write, KeyScope::Assign, KeyScope::Answer);
    vec![
        Endpoint::post::<SentMessage>(write, "/messages", "Writes to a member", post(send))
            .takes::<NewMessage>()
            .creates(),
        Endpoint::post::<SentBroadcast>(write, "/broadcast", "Writes to all", post(broadcast))
            .takes::<NewBroadcast>()
            .creates(),
        Endpoint::get::<Inbox>("/inbox", "The unread messages of the key's member", get(inbox))
            .needs(write)
            .asks::<WhichUnread>(),
        Endpoint::post::<Acknowledged>(
            write,
            "/messages/{id}/ack",
            "Acknowledges a message, which counts as read; or resolves it, or its thread",
            post(acknowledge),
        )
        .may_take::<NewAcknowledgement>(),
        Endpoint::post::<EndedWait>(
            write,
            "/wait",
            "Waits for a message, or for the answer to one",
            post(wait),
        )
        .may_take::<NewWait>(),
        Endpoint::post::<OpenedRequest>(
            write,
            "/requests",
            "Offers work to whoever is free",
            post(open_request),
        )
        .takes::<NewRequest>()
        .creates(),
        Endpoint::post::<ClaimedRequest>(
            write,
            "/requests/{id}/claim",
            "Takes offered work, if no other member was faster",
            post(claim),
        ),
        Endpoint::post::<UpdatedClaim>(
            write,
            "/requests/{id}/update",
            "Reports progress of claimed work, keeps, releases, hands over or ends it",
            post(update_claim),
        )
        .takes::<NewClaimUpdate>(),
        Endpoint::post::<LaneOwner>(
            write,
            "/lanes/{lane}/claim",
            "Takes a lane, if nobody owns it",
            post(claim_lane),
        ),
        Endpoint::post::<LaneOwner>(
            write,
            "/lanes/{lane}/release",
            "Gives up a lane",
            post(release_lane),
        ),
        Endpoint::post::<FollowedTopic>(
            write,
            "/topics/{topic}/follow",
            "Follows a topic",
            post(follow_topic),
        ),
        Endpoint::post::<FollowedTopic>(
            write,
            "/topics/{topic}/leave",
            "Follows a topic no longer",
            post(leave_topic),
        ),
        Endpoint::post::<()>(
            write,
            "/leave",
            "Has the key's member leave; what it has claimed is open again",
            post(end_membership),
        )
        .answers_nothing(),
        Endpoint::post::<AssignedTask>(
            assigning,
            "/tasks",
            "Assigns a task to a live agent",
            post(assign),
        )
        .takes::<NewAssignment>()
        .creates(),
        Endpoint::post::<AnsweredPermission>(
            answering,
            "/permissions/{id}",
            "Answers an agent that asks for permission, as its user",
            post(answer_permission),
        )
        .takes::<PermissionAnswer>(),
    ]
}

/// The paths of two specifications of others, for what is there anyway.
fn names() -> Vec<Endpoint> {
    let write = KeyScope::Write;
    vec![
        Endpoint::post::<EmittedSignal>(
            write,
            "/emit",
            "Emits a signal: a message or a request",
            post(emit),
        )
        .takes::<NewSignal>()
        .creates(),
        Endpoint::post::<ClaimedRequest>(
            write,
            "/claim",
            "Claims a task signal, which is a request",
            post(claim_signal),
        )
        .takes::<NamedSignal>(),
        Endpoint::post::<AckedSignal>(
            write,
            "/ack",
            "Acknowledges a message, or a claimed request, which that completes",
            post(ack_signal),
        )
        .takes::<NamedSignal>(),
        Endpoint::get::<Thread>("/thread/{id}", "The signals of a thread", get(thread)),
        Endpoint::get::<RoleInbox>("/inbox/{role}", "The pending signals", get(inbox_of_role))
            .needs(write)
            .asks::<WhichPending>(),
        Endpoint::post::<SentMessage>(
            write,
            "/messages/send",
            "Sends an agent message",
            post(send_agent_message),
        )
        .takes::<AgentMessage>()
        .creates(),
        Endpoint::post::<SentBroadcast>(
            write,
            "/messages/broadcast",
            "Sends an agent message to all",
            post(broadcast_agent_message),
        )
        .takes::<AgentMessage>()
        .creates(),
        Endpoint::get::<MessageEvent>(
            "/messages/events",
            "What happens to messages, conversations and disagreements, as it happens",
            get(message_events),
        )
        .asks::<WhichEvents>()
        .streams(),
        Endpoint::get::<Thread>(
            "/messages/conversation/{id}",
            "The messages of a conversation",
            get(thread),
        ),
        Endpoint::get::<Inbox>(
            "/messages/agent/{name}/inbox",
            "The messages of an agent's inbox",
            get(inbox_of_agent),
        )
        .needs(write)
        .asks::<WhichUnread>(),
    ]
}

async fn describe() -> Json<&'static Value> {
    static DOCUMENT: LazyLock<Value> = LazyLock::new(|| document(&endpoints()));
    Json(&DOCUMENT)
}

async fn unknown_path() -> Response {
    let problem = Problem::new(StatusCode::NOT_FOUND, "no-such-path", "The API has no such path");
    problem.with_hint("`/api/v1/openapi.json` lists the paths").into_response()
}

async fn wrong_method() -> Response {
    let title = "This path does not take that method";
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "wrong-method", title)
        .with_hint("`Allow` names those that it takes")
        .into_response()
}
