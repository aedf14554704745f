//! The file log on real directories and on a simulated disk.

mod blobs;
mod bus_files;
mod cut_off;
mod damage;
mod failed;
mod formats;
mod log_fixture;
mod origin;
mod power;
mod retention;
mod retried;
mod shared_log;
mod unlocked;
mod versions;
