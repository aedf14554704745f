//! The inbox of a role: what waits for it, the most urgent first, in pages. A page is of the messages that were there when the first of its
//! pages was read; what has come since then follows those. So a cursor skips nothing, however urgent it is.

use axum::Json;
use axum::extract::{Extension, State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::named_member::{check_own_name, own_word};
use crate::bus::state::Message;
use crate::bus::{BusError, Membership};
use crate::domain::messaging::{Group, is_same_word};
use crate::web::api::read_request::{Asked, Named, wrong_query};
use crate::web::api::writing::{UnreadMessage, as_member, checked_limit, page_of, why_not};
use crate::web::problem::Problem;
use crate::web::programs::Program;
use crate::web::server_state::ServerState;

/// Which pending signals to return.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::web::api) struct WhichPending {
    /// Those after the ones that an answer with this `next_cursor` has shown.
    cursor: Option<String>,
    /// At most so many, 1 to 500; 20 if it is missing.
    limit: Option<usize>,
}

/// Pending signals.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::web::api) struct RoleInbox {
    /// The most urgent first, and then the oldest, of those that were there when the first page was read.
    messages: Vec<UnreadMessage>,
    /// The `cursor` of what comes after them.
    next_cursor: String,
    /// Whether there is more now.
    has_more: bool,
}

/// How far an inbox was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cursor {
    /// The messages of these pages have a seq above this one,
    above: u64,
    /// and at most this one.
    up_to: u64,
    /// The last one that was read, by its place.
    last: (u16, u64),
}

/// Where a message stands: first the most urgent, then the oldest.
fn place(message: &Message) -> (u16, u64) {
    (1_000 - message.urgency().thousandths().min(1_000), message.seq)
}

impl Cursor {
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split('-').map(|number| number.parse::<u64>().ok());
        let mut next = || numbers.next().flatten();
        let (above, up_to, urgency, seq) = (next()?, next()?, next()?, next()?);
        let last = (u16::try_from(urgency).ok()?, seq);
        numbers.next().is_none().then_some(Self { above, up_to, last })
    }

    fn text(self) -> String {
        let (urgency, seq) = self.last;
        format!("{}-{}-{urgency}-{seq}", self.above, self.up_to)
    }

    /// Begins with what is there, behind what was there before.
    fn of_now(above: u64, unread: &[Message]) -> Self {
        let newest = unread.iter().map(|message| message.seq).max();
        Self { above, up_to: newest.unwrap_or(above).max(above), last: (0, 0) }
    }

    fn is_before(&self, message: &Message) -> bool {
        self.is_before_place(place(message))
    }

    fn is_before_place(&self, place: (u16, u64)) -> bool {
        let (_, seq) = place;
        self.above < seq && seq <= self.up_to && place > self.last
    }

    /// Goes on behind what is there, once all of it was read.
    fn turned(self, unread: &[Message]) -> Self {
        let has_next = unread.iter().any(|message| self.is_before(message));
        if has_next { self } else { Self::of_now(self.up_to, unread) }
    }
}

/// Returns what waits for a role: all of the key's own name, and of a lane, a role or a capability of its member what came to that.
pub(in crate::web::api) async fn inbox_of_role(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    Named(role): Named,
    Asked(which): Asked<WhichPending>,
) -> Result<Json<RoleInbox>, Problem> {
    let limit = checked_limit(which.limit)?;
    let cursor = which
        .cursor
        .as_deref()
        .map(|text| Cursor::parse(text).ok_or_else(|| wrong_query("`cursor` is a `next_cursor`")));
    let cursor = cursor.transpose()?;
    let me = as_member(&state, &program).await?;
    let to = group_of(&me, &role)?;
    let read = move || pending(&me, cursor, limit, to.as_ref());
    let read = tokio::task::spawn_blocking(read).await.unwrap_or(Err(BusError::Closed));
    Ok(Json(read.map_err(|error| why_not(&error))?))
}

/// Returns the lane, role or capability of the member that a role is; none if it is its own name. Nobody reads for others.
fn group_of(me: &Membership, role: &str) -> Result<Option<Group>, Problem> {
    if is_same_word(me.name().as_str(), role) {
        return Ok(None);
    }
    match own_word(me, role) {
        Some(word) => Ok(Some(Group::Word(word))),
        None => check_own_name(me.name(), role).map(|()| None),
    }
}

fn pending(
    me: &Membership,
    cursor: Option<Cursor>,
    limit: usize,
    to: Option<&Group>,
) -> Result<RoleInbox, BusError> {
    let bus = me.bus();
    bus.refresh()?;
    let mut unread: Vec<Message> = bus.look(|state| {
        let unread = state.unread(me.name());
        let of_role = |message: &&Message| to.is_none_or(|to| message.audience.is_to(to));
        unread.filter(of_role).cloned().collect()
    });
    let cursor = cursor.unwrap_or_else(|| Cursor::of_now(0, &unread)).turned(&unread);
    unread.retain(|message| message.seq > cursor.up_to || cursor.is_before(message));
    unread.sort_by_key(place);
    let all = unread.len();
    let next: Vec<_> = unread.into_iter().filter(|message| cursor.is_before(message)).collect();
    let places: Vec<_> = next.iter().map(place).collect();
    let messages = page_of(me, next.into_iter().take(limit))?;
    let last = messages.len().checked_sub(1).and_then(|last| places.get(last));
    let next_cursor = Cursor { last: last.copied().unwrap_or(cursor.last), ..cursor }.text();
    let has_more = messages.len() < all;
    Ok(RoleInbox { messages, next_cursor, has_more })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_of_any_numbers_is_a_place() {
        let cursor = Cursor::parse(&format!("{0}-{0}-0-0", u64::MAX)).unwrap();
        assert!(!cursor.is_before_place((500, 1)));
        let all = Cursor::parse(&format!("0-{}-0-0", u64::MAX)).unwrap();
        assert!(all.is_before_place((500, u64::MAX)));
    }

    #[test]
    fn a_cursor_reads_back_and_nothing_else_does() {
        let cursor = Cursor { above: 3, up_to: 17, last: (500, 12) };
        assert_eq!(cursor.text(), "3-17-500-12");
        assert_eq!(Cursor::parse("3-17-500-12"), Some(cursor));
        for wrong in ["", "17", "3-17-500", "3-17-500-12-1", "3-17-70000-12", "a-b-c-d", "3--17-5"]
        {
            assert_eq!(Cursor::parse(wrong), None, "{wrong}");
        }
    }
}
