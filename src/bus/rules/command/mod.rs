//! The operations of the bus, and their inputs.

mod crossing;
mod operation;
mod inputs;

pub use self::crossing::{Arriving, Crossing, NotRelayed};
pub use self::inputs::{
    Approval, AskedFirst, Broken, ClaimUpdate, DeadSession, Description, Ending, HumanWish,
    NameChoice, NewAgent, NewItems, NewKey, NewMember, NewPlacement, NewQuestion, NewTask,
    NewWorkflow, PermissionReply, Pick,
};
pub use self::operation::{Command, Operation};
