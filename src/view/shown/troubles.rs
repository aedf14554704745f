//! The ways in which a member can be stuck: the word for each, what it means, and what a person can do about it. One table for all
//! windows.

/// A way in which a member is stuck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// An agent is silent in its turn.
    Stalled,
    /// An agent does not end a turn that was cancelled.
    Stuck,
    /// The bridge of an agent is silent.
    SilentBridge,
    /// The process of an orchestrator or a peer is silent.
    SilentProcess,
    /// A process has ended, and no session has recorded that yet.
    Gone,
}

/// What a person can do about a trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WayOut {
    /// Look at its last words, and cancel its task.
    Cancel,
    /// Look at its last words, and stop it: it has no task.
    Stop,
    Kill,
    /// Continue its process, or end it.
    Process,
    /// Nothing: it goes on with its bridge, or another session records its end.
    Wait,
}

impl Trouble {
    /// Returns the trouble of a member of this kind in this state, if it is in one.
    pub fn of(state: &str, kind: &str) -> Option<Self> {
        Some(match state {
            "stalled" => Self::Stalled,
            "stuck" => Self::Stuck,
            "hung" if kind == "agent" => Self::SilentBridge,
            "hung" => Self::SilentProcess,
            "gone" => Self::Gone,
            _ => return None,
        })
    }

    /// Returns its word, which is that of the member's state.
    pub fn word(self) -> &'static str {
        match self {
            Self::Stalled => "stalled",
            Self::Stuck => "stuck",
            Self::SilentBridge | Self::SilentProcess => "hung",
            Self::Gone => "gone",
        }
    }

    /// Says what that means, in half a sentence about the member.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Stalled => "silent in its turn; a tool or its model may hang",
            Self::Stuck => "does not end a cancelled turn",
            Self::SilentBridge => "its bridge does not respond",
            Self::SilentProcess => "its process does not respond",
            Self::Gone => "its process has ended; the next session will record that",
        }
    }

    /// Says what that means for a member of which it is known in what it is silent.
    pub fn meaning_for(self, silent_in: Option<&str>) -> String {
        match (self, silent_in) {
            (Self::Stalled, Some(what)) => format!("silent in its turn; {what} may hang"),
            _ => self.meaning().to_owned(),
        }
    }

    /// Returns what a person can do about it.
    pub fn way_out(self, has_task: bool) -> WayOut {
        match self {
            Self::Stalled if has_task => WayOut::Cancel,
            Self::Stalled => WayOut::Stop,
            Self::Stuck => WayOut::Kill,
            Self::SilentProcess => WayOut::Process,
            Self::SilentBridge | Self::Gone => WayOut::Wait,
        }
    }
}

impl WayOut {
    /// Says what to do.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Cancel => "Look at its last words; if it does not go on, cancel its task.",
            Self::Stop => "Look at its last words; if it does not go on, stop it.",
            Self::Kill => "Kill it. Work for its name resumes it with what it knows.",
            Self::Process => {
                "If you have suspended it, continue it. Else end its process: another session then takes its work over."
            }
            Self::Wait => "It goes on, or its end is recorded, without you.",
        }
    }

    /// Returns the command that does it to this member, whose task has this id.
    pub fn command(self, name: &str, task: Option<&str>) -> Option<String> {
        let program = "cli-team-bridge";
        match self {
            Self::Cancel => task.map(|id| format!("{program} cancel {id}")),
            Self::Stop => Some(format!("{program} stop {name}")),
            Self::Kill => Some(format!("{program} kill {name}")),
            Self::Process | Self::Wait => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_trouble_means_something_else_and_says_what_to_do() {
        let of = Trouble::of;
        assert_eq!(of("running", "agent"), None);
        let all = [
            of("stalled", "agent"),
            of("stuck", "agent"),
            of("hung", "agent"),
            of("hung", "peer"),
            of("gone", "peer"),
        ];
        let meanings: BTreeSet<_> = all.iter().map(|one| one.unwrap().meaning()).collect();
        assert_eq!(meanings.len(), all.len());
        let commands = all.map(|one| {
            let way_out = one.unwrap().way_out(true);
            way_out.command("ann", Some("task-1")).unwrap_or_default()
        });
        let expected = ["cli-team-bridge cancel task-1", "cli-team-bridge kill ann", "", "", ""];
        assert_eq!(commands, expected);
        let stalled = Trouble::Stalled;
        assert_eq!(stalled.meaning_for(None), stalled.meaning());
        assert_eq!(
            stalled.meaning_for(Some("its model")),
            "silent in its turn; its model may hang"
        );
        let idle = Trouble::Stalled.way_out(false);
        assert_eq!(idle.command("ann", None).as_deref(), Some("cli-team-bridge stop ann"));
    }
}
