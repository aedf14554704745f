//! What members say to each other: messages, their addresses, how they are delivered, and requests, which are work on offer.

mod acknowledgement;
mod address;
mod attachment;
mod conflict;
mod delivery_method;
mod elsewhere;
mod mentions;
mod message;
mod payload_shape;
mod request;
mod signal;
mod urgency;
mod wait_circle;

pub use acknowledgement::Acknowledgement;
pub use address::{Address, AddressError, Group, is_same_word};
pub use attachment::{
    Attached, AttachedFile, Attachment, AttachmentError, AttachmentKind, check_attachments,
};
pub use conflict::{Arbiter, ArbiterError, ConflictEnd, ConflictStep};
pub use delivery_method::DeliveryMethod;
pub use elsewhere::{
    DirectoryMark, Elsewhere, ElsewhereError, HeldWhy, ListedProjects, MemberElsewhere,
    MessageOrigin, OriginPlace, ReceiptElsewhere, StateElsewhere,
};
pub use mentions::mentioned;
pub use message::{Audience, Author, MessageKind, Priority};
pub use payload_shape::{ShapeError, check_payload};
pub use request::RequestStatus;
pub use signal::{MAX_SIGNAL_BYTES, Signal, SignalClass, SignalError};
pub use urgency::{Urgency, scaled};
pub use wait_circle::chain_of_waits;
