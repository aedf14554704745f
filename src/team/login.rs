//! What a user is told who has not logged in to an agent.

use crate::acp::AcpError;
use crate::config::Profile;

/// Returns how to log in, ready to append to an error that is about that; nothing for another error.
pub(super) fn hint(error: &AcpError, profile: &Profile) -> String {
    match &profile.login {
        Some(login) if error.wants_login() => format!("; to log in, {}", login.value),
        _ => String::new(),
    }
}
