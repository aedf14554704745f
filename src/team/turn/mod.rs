//! One turn of an agent: its beginning, the messages delivered in it, and the meaning of its end.

pub(crate) mod begin_turn;
pub(crate) mod conversation;
pub(crate) mod deliver_mid_turn;
pub(crate) mod doing_now;
pub(crate) mod end_turn;
pub(crate) mod joined_words;
pub(crate) mod outcome;
pub(crate) mod proof_of_reading;
pub(crate) mod receive_mail;
mod send_prompt;
pub(crate) mod tool_answers;
pub(crate) mod transcript;
pub(crate) mod turn_record;
