//! The parts that several pages share: marks, times, links, forms, messages, tables.

mod act_forms;
mod decided_list;
mod letter_row;
mod member_table;
mod need_card;
mod request_table;
mod small_parts;
mod task_table;

pub(super) use self::act_forms::{cancel_form, end_forms, send_form};
pub(super) use self::decided_list::decided_list;
pub(super) use self::letter_row::{LetterRows, letter_row};
pub(super) use self::member_table::member_table;
pub(super) use self::need_card::need_card;
pub(super) use self::request_table::request_table;
pub(super) use self::small_parts::{
    MOST_ROWS, ago, clock, left_out, mark, member_link, shown_text, task_link, tone, with_commands,
    workflow_link,
};
pub(super) use self::task_table::task_table;
