//! The bus as the rest of the program uses it: the handle, memberships, tool calls, and message texts.

mod answer_outcome;
pub(crate) mod answer_receipt;
pub mod bus;
pub mod call;
pub(crate) mod history;
pub(crate) mod hook_deliveries;
pub mod membership;
pub mod message_text;
pub(crate) mod readable;
mod release_claims;
pub(crate) mod retry_pauses;
#[cfg(test)]
mod test_members;
pub(crate) mod unheard_claims;
