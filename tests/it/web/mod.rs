//! The local web server, asked with plain HTTP as any program of this machine could.

mod api;
mod gate;
mod http_client;
