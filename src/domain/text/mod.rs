//! Text that is shown or stored: counting, hiding secrets, quoting what others wrote, and suggesting a known word for an unknown one.

pub mod content_hash;
pub mod counted;
pub mod exactly;
pub mod listed;
pub mod redact;
pub mod shell_word;
pub mod shown_path;
pub mod suggest;
pub mod visible_letters;
