//! The local web server, asked with plain HTTP as any program of this machine could.

mod api;
mod http_client;
