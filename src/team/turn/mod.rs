//! One turn of an agent: how it begins, what is delivered in it, and what its end means.

pub(crate) mod begin_turn;
pub(crate) mod deliver_mid_turn;
pub(crate) mod end_turn;
pub(crate) mod outcome;
pub(crate) mod proof_of_reading;
pub(crate) mod receive_mail;
pub(crate) mod tool_answers;
pub(crate) mod transcript;
pub(crate) mod turn_record;
