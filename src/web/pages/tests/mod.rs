//! The pages as a whole: each view of a team of five, texts that mean harm, and teams without end.

mod decided_of_five;
mod hostile_texts;
mod task_pages;
mod team_of_five;
mod views_of_a_team;
