//! The source of a new agent: a profile, or an ended agent that is resumed.

use crate::acp::AcpSessionId;
use crate::bus::state::ResumeInfo;
use crate::domain::name::Name;

pub(crate) struct LaunchSource {
    /// The ended agent that is resumed; `None` for a new one.
    pub(crate) name: Option<Name>,
    /// Whether that name stays a generated one.
    pub(crate) is_generated: bool,
    pub(crate) profile: String,
    pub(crate) cwd: Option<String>,
    pub(crate) model: Option<String>,
    /// The conversation to resume.
    pub(crate) earlier: Option<AcpSessionId>,
}

impl LaunchSource {
    pub(crate) fn of_profile(profile: &str) -> Self {
        Self {
            name: None,
            is_generated: true,
            profile: profile.to_owned(),
            cwd: None,
            model: None,
            earlier: None,
        }
    }

    pub(crate) fn of_ended(name: Name, ended: &ResumeInfo, fresh: bool) -> Self {
        let earlier = ended.acp_session.as_deref().filter(|_| !fresh);
        Self {
            name: Some(name),
            is_generated: false,
            profile: ended.profile.clone(),
            cwd: Some(ended.cwd.clone()),
            model: ended.model.clone().filter(|_| !fresh),
            earlier: earlier.map(AcpSessionId::from),
        }
    }
}

pub(crate) fn resume_note(name: &Name, earlier: Option<&AcpSessionId>) -> String {
    let conversation = if earlier.is_some() {
        "`context` of its result says whether its conversation was restored"
    } else {
        "its conversation starts empty"
    };
    format!("`{name}` was restarted: {conversation}")
}
