//! The member that a filter names.

use crate::bus::rules::known_member;
use crate::domain::messaging::Elsewhere;
use crate::domain::name::Name;
use crate::mcp::{Caller, ToolError};

/// Finds the sender to filter by: a known member, or one that has left and has unread messages here.
pub(crate) fn sender(caller: &Caller, text: &str) -> Result<Name, ToolError> {
    if text.eq_ignore_ascii_case("bridge") {
        let problem = "`bridge` is the bus itself and no member: leave the filter out to read its \
            notices with the other messages";
        return Err(ToolError::Arguments(problem.to_owned()));
    }
    if text.eq_ignore_ascii_case("human") {
        let problem = "`human` is your user at the command line and no member: leave the filter \
            out to read what they wrote with the other messages";
        return Err(ToolError::Arguments(problem.to_owned()));
    }
    if Elsewhere::is_one(text) {
        let problem = format!(
            "`{text}` is in another project, and a filter names a member of this one: leave it out; \
             wait_for_message with the id of your message as `reply_to` waits for the answer to it"
        );
        return Err(ToolError::Arguments(problem));
    }
    caller.bus().refresh()?;
    let me = caller.membership().name();
    caller.bus().look(|state| {
        let named = Name::parse(text).ok();
        let wrote =
            |name: &Name| state.unread(me).any(|message| message.from.member() == Some(name));
        match named.filter(wrote) {
            Some(name) => Ok(name),
            None => Ok(known_member(state, text)?.clone()),
        }
    })
}
