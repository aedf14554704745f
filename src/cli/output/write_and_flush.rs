//! Writes text to a stream of this process at once.

use std::io::Write;

pub(super) fn write(to: &mut dyn Write, text: &str) {
    // An error means that the stream has no reader, and there is no other place to report that.
    let _ = to.write_all(text.as_bytes()).and_then(|()| to.flush());
}
