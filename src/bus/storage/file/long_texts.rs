//! Texts beside the log: long bodies, which are durable, and transcripts and the view of members, on which nothing depends.

use std::fs;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use uuid::Uuid;

use super::io_failure::failed;
use crate::bus::storage::LogError;
use crate::domain::limits;
use crate::sys::fs::bounded_file;
use crate::sys::fs::disk::{self, Disk, Writes};
use crate::sys::random_ids;

/// How much of a transcript is read at once, unless a line is longer.
const LINES_AT_ONCE: u64 = 256 * 1024;

/// The longest line of a transcript that is read: several times the longest message of an agent.
const LONGEST_LINE: u64 = 8 * 1024 * 1024;

/// Stores a long text. When this returns, the text is whole, and survives a power cut.
///
/// An earlier crash leaves at max a temporary file or a text that no event names.
pub(crate) fn put_blob(
    disk: &dyn Disk,
    directory: &Path,
    id: Uuid,
    text: &str,
) -> Result<(), LogError> {
    let path = directory.join(id.to_string());
    let temporary = directory.join(format!(".{}.tmp", random_ids::blob()));
    let write = || -> io::Result<()> {
        let file = disk.create_new(&temporary)?;
        file.append_all(text.as_bytes())?;
        file.sync()?;
        disk.rename(&temporary, &path)?;
        disk.sync_directory(directory)
    };
    write().map_err(|error| {
        // Otherwise it would stay for ever. If this fails too, the file is harmless.
        let _ = disk.unlink(&temporary);
        failed("store a text in", &path, error)
    })
}

/// The longest text that is read: the output of a task, which comes from its transcript, is the longest that the bridge writes.
const LONGEST_TEXT: u64 = limits::TRANSCRIPT_BYTES;

/// Reads a long text. Another program may have made its file longer; then it is not read.
pub(crate) fn read(disk: &dyn Disk, path: &Path) -> Result<String, LogError> {
    as_text(disk.read_at_most(path, LONGEST_TEXT), path)
}

/// The outcome of adding a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Added {
    Whole,
    /// The file has reached its limit. A line that says so is there instead.
    Full,
}

/// Adds a line to a transcript, which grows to at max `max` bytes.
pub(crate) fn add_line(path: &Path, line: &str, max: u64) -> Result<Added, LogError> {
    let write = || -> io::Result<Added> {
        let mut file = disk::open_or_create_private(path, Writes::AtTheEnd)?;
        let line = line.trim_end_matches('\n');
        if file.metadata()?.len() + line.len() as u64 <= max {
            file.write_all(format!("{line}\n").as_bytes())?;
            return Ok(Added::Whole);
        }
        let notice =
            format!("the transcript reached its limit of {max} bytes; the rest is not recorded");
        let last = serde_json::json!({ "kind": "full", "told": notice });
        file.write_all(format!("{last}\n").as_bytes())?;
        Ok(Added::Full)
    };
    write().map_err(|error| failed("write to", path, error))
}

/// Reads the last whole lines of a file that is not durable, at most `most` bytes.
pub(crate) fn read_last_lines(path: &Path, most: u64) -> Result<String, LogError> {
    let mut is_cut = false;
    let bytes = bounded_file::read_end(path, most).map(|(bytes, cut)| {
        is_cut = cut;
        bytes
    });
    let text = as_text(bytes, path)?;
    let whole = text.split_once('\n').filter(|_| is_cut).map(|(_, rest)| rest.to_owned());
    Ok(whole.unwrap_or(text))
}

/// Reads whole lines of a transcript from an offset on, at least one if there is one. Returns them, and the offset after them. A line
/// that is still being written is left for later.
///
/// Another program may have written the file. In place of a line that is too long to be the bridge's, and of all that is beyond the length
/// of a transcript, there is a line that says so; nothing comes after the latter.
pub(crate) fn lines_after(path: &Path, from: u64) -> Result<(String, u64), LogError> {
    match read_lines(path, from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(LogError::Gone),
        outcome => outcome.map_err(|error| failed("read", path, error)),
    }
}

fn read_lines(path: &Path, from: u64) -> io::Result<(String, u64)> {
    let mut file = bounded_file::open_no_link(path)?;
    // The last line of the bridge itself may be a notice of the limit.
    let most = limits::TRANSCRIPT_BYTES + LONGEST_LINE;
    if from >= most {
        return Ok((String::new(), from));
    }
    file.seek(SeekFrom::Start(from))?;
    let (mut bytes, mut passed) = (Vec::new(), 0);
    loop {
        if from + passed + bytes.len() as u64 >= most {
            let end = file.metadata()?.len().max(most);
            return Ok((left_out(end - from, "at its end"), end));
        }
        let before = bytes.len();
        (&mut file).take(LINES_AT_ONCE).read_to_end(&mut bytes)?;
        let is_at_end = bytes.len() == before;
        if let Some(newline) = memchr::memrchr(b'\n', &bytes[before..]).filter(|_| passed == 0) {
            bytes.truncate(before + newline + 1);
            let read = bytes.len() as u64;
            return Ok((String::from_utf8_lossy(&bytes).into_owned(), from + read));
        }
        if let Some(newline) = memchr::memchr(b'\n', &bytes[before..]).filter(|_| passed > 0) {
            let long = passed + newline as u64;
            return Ok((left_out(long, "in one line"), from + long + 1));
        }
        if is_at_end {
            return Ok((String::new(), from));
        }
        if passed > 0 || bytes.len() as u64 > LONGEST_LINE {
            passed += bytes.len() as u64;
            bytes.clear();
        }
    }
}

/// Returns a line of a transcript in place of others that are left out.
fn left_out(bytes: u64, place: &str) -> String {
    let text = format!("\n[{bytes} bytes of the transcript {place} are left out]\n");
    format!("{}\n", serde_json::json!({ "kind": "text", "text": text }))
}

/// Reads a whole transcript, as far as the bridge may have written it.
pub(crate) fn read_transcript(path: &Path) -> Result<String, LogError> {
    let (mut whole, mut from) = (String::new(), 0);
    loop {
        let (lines, next) = lines_after(path, from)?;
        if lines.is_empty() {
            return Ok(whole);
        }
        whole.push_str(&lines);
        from = next;
    }
}

/// Replaces a file that is not durable. A reader finds the whole old file or the whole new one.
pub(crate) fn put_view(path: &Path, text: &str) -> Result<(), LogError> {
    let temporary = path.with_extension(format!("{}.tmp", random_ids::blob()));
    let write = || -> io::Result<()> {
        disk::create_private(&temporary, Writes::AtTheEnd)?.write_all(text.as_bytes())?;
        fs::rename(&temporary, path)
    };
    write().map_err(|error| {
        // As above.
        let _ = fs::remove_file(&temporary);
        failed("write", path, error)
    })
}

fn as_text(bytes: io::Result<Vec<u8>>, path: &Path) -> Result<String, LogError> {
    match bytes {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(LogError::Gone),
        Err(error) => Err(failed("read", path, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fs::disk::RealDisk;

    #[test]
    fn a_transcript_says_that_it_reached_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("task.jsonl");
        assert_eq!(add_line(&path, "12345678", 20).unwrap(), Added::Whole);
        assert_eq!(add_line(&path, "1234567890\n", 20).unwrap(), Added::Whole);
        assert_eq!(add_line(&path, "1", 20).unwrap(), Added::Full);
        let text = read_transcript(&path).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[..2], ["12345678", "1234567890"]);
        assert!(lines[2].contains("reached its limit of 20 bytes"), "{text}");
    }

    /// An agent can make a file of any length that takes no space.
    #[test]
    fn a_text_whose_file_has_grown_without_end_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        fs::write(&path, "long ago").unwrap();
        assert_eq!(read(&RealDisk, &path).unwrap(), "long ago");
        fs::File::options().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
        let error = read(&RealDisk, &path).unwrap_err().to_string();
        assert!(error.contains("1099511627776 bytes, more than the bridge writes"), "{error}");
    }

    #[test]
    fn the_last_lines_of_a_transcript_are_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("task.jsonl");
        assert!(matches!(read_last_lines(&path, 5), Err(LogError::Gone)));
        fs::write(&path, "12\n45\n78\n").unwrap();
        assert_eq!(read_last_lines(&path, 9).unwrap(), "12\n45\n78\n");
        assert_eq!(read_last_lines(&path, 7).unwrap(), "45\n78\n");
        assert_eq!(read_last_lines(&path, 5).unwrap(), "78\n");
    }

    /// Another program may make a transcript of any length.
    #[test]
    fn a_line_that_is_too_long_and_a_transcript_without_an_end_are_left_out_visibly() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("task.jsonl");
        let long = "x".repeat(usize::try_from(LONGEST_LINE).unwrap() * 2);
        fs::write(&path, format!("one\n{long}\nlast\n")).unwrap();
        let whole = read_transcript(&path).unwrap();
        let lines: Vec<_> = whole.lines().collect();
        assert_eq!((lines[0], lines[2]), ("one", "last"));
        let says = format!("[{} bytes of the transcript in one line are left out]", long.len());
        assert!(lines[1].contains(&says), "{}", lines[1]);

        let file = fs::File::create(&path).unwrap();
        (&file).write_all(b"one\n").unwrap();
        file.set_len(3 * 1024 * 1024 * 1024).unwrap();
        let whole = read_transcript(&path).unwrap();
        assert!(whole.starts_with("one\n") && whole.len() < 200, "{whole}");
        assert!(whole.contains("bytes of the transcript at its end are left out"), "{whole}");
        let end = file.metadata().unwrap().len();
        assert_eq!(lines_after(&path, end).unwrap(), (String::new(), end));
    }

    #[test]
    fn the_lines_after_an_offset_are_whole_and_read_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("task.jsonl");
        assert!(matches!(lines_after(&path, 0), Err(LogError::Gone)));
        fs::write(&path, "one\ntwo\nhal").unwrap();
        assert_eq!(lines_after(&path, 0).unwrap(), ("one\ntwo\n".to_owned(), 8));
        assert_eq!(lines_after(&path, 8).unwrap(), (String::new(), 8));
        let long = "x".repeat(3 * usize::try_from(LINES_AT_ONCE).unwrap());
        fs::write(&path, format!("one\ntwo\nhalf\n{long}\nlast\n")).unwrap();
        let (half, at) = lines_after(&path, 8).unwrap();
        assert_eq!(half, "half\n", "a long line comes by itself");
        let (line, at) = lines_after(&path, at).unwrap();
        let (last, at) = if line.len() == long.len() + 1 {
            lines_after(&path, at).unwrap()
        } else {
            (line[long.len() + 1..].to_owned(), at)
        };
        assert_eq!((&line[..=long.len()], &last[..]), (&format!("{long}\n")[..], "last\n"));
        assert_eq!(lines_after(&path, at).unwrap().0, "");
        assert_eq!(lines_after(&path, at + 100).unwrap().0, "", "a shorter file than before");
    }
}
