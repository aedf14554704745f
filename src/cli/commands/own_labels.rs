//! What a session or a program that joins by itself says that it is in its team: the words that others find it by.

use clap::Args;

use crate::cli::Failure;
use crate::domain::limits;
use crate::domain::member::{Label, Traits};

/// The words by which the team finds a member.
#[derive(Clone, Debug, Args)]
pub(crate) struct LabelArguments {
    /// A role in a word, by which the team addresses this member (@reviewer); repeat for several.
    #[arg(long = "role", value_name = "WORD")]
    pub(crate) roles: Vec<Label>,
    /// What this member can do, in a word; repeat for several.
    #[arg(long = "capability", value_name = "WORD")]
    capabilities: Vec<Label>,
    /// The part of the work that this member does, in a word.
    #[arg(long, value_name = "WORD")]
    lane: Option<Label>,
    /// What this member wants to hear of, in a word; repeat for several.
    #[arg(long = "topic", value_name = "WORD")]
    topics: Vec<Label>,
}

impl LabelArguments {
    /// Refuses more labels than a member may have.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let Self { roles, capabilities, topics, .. } = self;
        let flags = [("--role", roles), ("--capability", capabilities), ("--topic", topics)];
        for (flag, words) in flags {
            if words.len() > limits::MEMBER_LABELS {
                let most = limits::MEMBER_LABELS;
                let count = words.len();
                return Err(format!("{flag} is there {count} times; the limit is {most}").into());
            }
        }
        Ok(())
    }

    /// Says whether there are none.
    pub(crate) fn are_none(&self) -> bool {
        self.roles.is_empty() && self.traits(None).are_none()
    }

    /// Returns all but the roles, with the program in which the member works.
    pub(crate) fn traits(&self, surface: Option<Label>) -> Traits {
        let Self { capabilities, lane, topics, .. } = self.clone();
        Traits { lane, capabilities, topics, surface }
    }
}
