//! What the model needs of a log: processes that use it, and a clock to move.

use crate::bus::error::BusError;
use crate::bus::event::Entry;
use crate::bus::replica::Replica;
use crate::bus::rules::Command;
use crate::domain::time::Now;

/// A log that several processes share.
pub(in crate::bus::model) trait Engine {
    /// Starts a process, or starts it anew.
    fn open(&self, number: usize) -> Box<dyn Process>;

    /// Starts a process that has never read the log.
    fn open_anew(&self) -> Box<dyn Process>;

    /// Lets time pass by the clock for deadlines.
    fn let_pass(&self, ms: u64);

    /// Lets time pass by all clocks until the process, which is up to date then, finds something due. False if nothing ever is.
    fn let_pass_until_due(&self, process: &mut dyn Process) -> bool;
}

/// A process that uses the log.
pub(in crate::bus::model) trait Process {
    /// Appends what the rules decide about a command. Returns the new line; none if there is none.
    fn append(&mut self, command: &Command) -> Result<Option<Entry>, BusError>;

    /// Reads what other processes have appended.
    fn catch_up(&mut self);

    /// Returns the state as this process knows it.
    fn replica(&self) -> &Replica;

    /// Returns the time by which this process decides.
    fn now(&self) -> Now;

    /// Starts the machine of this process anew.
    fn boot(&mut self);
}
