//! Messages from a client's point of view: sent, read, waited for, and what becomes of them.

mod attached;
mod groups;
mod messages;
mod pushes;
mod receipts;
mod signals;
mod threads;
mod waiting;
