//! The list of everything that can be asked of a bus; `inputs` has what the operations are given.

mod operation;
mod inputs;

pub use self::inputs::{
    Approval, AskedFirst, Broken, Ending, NameChoice, NewAgent, NewItems, NewMember, NewQuestion,
    NewTask, NewWorkflow, PermissionReply, Pick,
};
pub use self::operation::{Command, Operation};
