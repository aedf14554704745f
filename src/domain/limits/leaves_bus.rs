//! The limits of what leaves a bus: to webhooks, and to other projects.

/// Webhooks of one user: each is looked after on its own.
pub const WEBHOOKS: usize = 16;
/// The webhooks of which a bus knows how far they are. Of more, the one that is behind all others is forgotten, and begins anew.
pub const WEBHOOK_PLACES: usize = 64;
/// Bytes of a message's text in a webhook's request.
pub const WEBHOOK_TEXT_BYTES: usize = 16 * 1024;

/// The projects that one user names: more than anybody has open at a time. Each costs a bus that is opened when there is something for it.
pub const PROJECTS: usize = 32;

/// Bytes of a project's directory in the configuration: what file systems take.
pub const PROJECT_DIRECTORY_BYTES: usize = 4096;

/// The messages to other projects whose receipts are kept, those on their way not counted. Of more, the oldest is forgotten.
pub const KEPT_CROSSED: usize = 256;

/// The messages of one project that are remembered, so that none of them arrives twice. Each says which is the oldest of its project
/// that was still on its way: none before that comes again. Those from it on are remembered however old they are, and while there are so
/// many of them, no later one is taken but that oldest one.
pub const KEPT_ARRIVED: usize = 64;

/// Recipients of one message in another project whose receipts come back; the others are counted in no receipt.
pub const RECEIPTS_FROM_ELSEWHERE: usize = 64;

/// The bytes of the notes that come with the receipts of one message from another project: eight of the longest. The notes of further
/// recipients stay there.
pub const NOTES_FROM_ELSEWHERE_BYTES: usize = 16_000;

/// Unread messages from other projects in an inbox: a tenth of what it holds by default, so that none of them keeps the members here out.
pub const UNREAD_FROM_ELSEWHERE: usize = 1_000;

/// Members of another project that a notice names to who has written to an unknown one.
pub const NAMED_ELSEWHERE: usize = 8;

/// Messages that a courier takes across before it looks at its own bus again.
pub const TAKEN_AT_ONCE: usize = 32;
