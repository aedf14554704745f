//! Copies a bus in files into a new team on a server, and a team from its server into files. The directory stays, with all that is in
//! it: the files of a bus are those of a mirror, too.

mod copy_bus;
mod history_to_copy;

pub use self::copy_bus::{Copied, Copying, NotCopied, to_files, to_server};
