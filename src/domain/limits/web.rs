//! The caps of the web server, its pages and its API.

use super::MAX_CONTENT_BYTES;

/// The most bytes of a request's body: a message of a person, with its escapes.
pub const WEB_BODY_BYTES: usize = 64 * 1024;

/// The most bytes of a request's headers.
pub const WEB_HEADER_BYTES: usize = 32 * 1024;

/// The most event streams of the web server: a browser has one a page.
pub const WEB_STREAMS: usize = 32;

/// The most connections of the web server besides event streams: a browser has at most six.
pub const WEB_CONNECTIONS: usize = 64;

/// The most requests a second, on average over a few seconds. A page loads with four.
pub const WEB_REQUESTS_PER_SECOND: u32 = 200;

/// The wrong tokens after which nobody signs in for a while.
pub const WEB_WRONG_TOKENS: u32 = 5;

/// The newest messages that a page gets again when it reconnects, because their receipts may have changed.
pub const WEB_ROWS_AGAIN: usize = 200;
/// The messages of a page of older ones.
pub const WEB_OLDER: usize = 200;

/// The files whose differences a page shows: git is asked once for each.
pub const DIFF_FILES: usize = 30;
/// Bytes of one file's difference: some screens of it.
pub const DIFF_BYTES: usize = 48 * 1024;
/// Lines of one file's difference.
pub const DIFF_LINES: usize = 1_000;
/// Bytes of all differences of a page.
pub const DIFFS_BYTES: usize = 512 * 1024;
/// Bytes of a file from which on git does not compare it line by line.
pub const DIFF_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// The hits of a search on a page.
pub const WEB_HITS: usize = 50;
/// The most bytes of a body that a program sends: the longest text, with a JSON escape for every second letter.
pub const API_BODY_BYTES: usize = 2 * MAX_CONTENT_BYTES;

/// The bytes of text in an answer with messages, after its first one.
pub const API_PAGE_BYTES: usize = MAX_CONTENT_BYTES;

/// What one member may ask for through the API in a second, on average over a few seconds: more than a script that works does, and less
/// than would keep the others from writing.
pub const API_WRITES_PER_SECOND: u32 = 20;
/// Answers of one key that are kept for requests that are repeated with their `Idempotency-Key`: those of some minutes of work.
pub const IDEMPOTENT_ANSWERS: usize = 256;
/// Bytes of these answers before the last one: most have some hundred.
pub const IDEMPOTENT_BYTES: usize = 1024 * 1024;
