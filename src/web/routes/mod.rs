//! What the server answers at each path.

mod act_route;
mod page_routes;
mod read_act;
mod sign_in_route;

pub(super) use self::act_route::do_act;
pub(super) use self::page_routes::{found, pairs, show_page, unreadable, view_of};
pub(super) use self::sign_in_route::sign_in;
