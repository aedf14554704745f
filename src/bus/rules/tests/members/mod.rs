//! Members: joining and leaving, and the summary for the next session.

mod join_and_leave;
mod rates;
mod session_summary;
mod who_is_here;
