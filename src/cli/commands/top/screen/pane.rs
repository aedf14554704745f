//! The panes of the window, and how the team is grouped.

/// A pane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::cli::commands::top) enum Pane {
    #[default]
    Team,
    Messages,
    Tasks,
    Requests,
    Workflows,
    Events,
}

impl Pane {
    /// All panes, in the order of their numbers.
    pub(in crate::cli::commands::top) const ALL: [Self; 6] =
        [Self::Team, Self::Messages, Self::Tasks, Self::Requests, Self::Workflows, Self::Events];

    /// Returns its heading.
    pub(in crate::cli::commands::top) fn heading(self) -> &'static str {
        match self {
            Self::Team => "Team",
            Self::Messages => "Messages",
            Self::Tasks => "Tasks",
            Self::Requests => "Requests",
            Self::Workflows => "Workflows",
            Self::Events => "Events",
        }
    }

    /// Returns its place among all.
    pub(in crate::cli::commands::top) fn index(self) -> usize {
        Self::ALL.iter().position(|pane| *pane == self).expect("all panes are listed")
    }

    /// Returns the pane some places further, around the end.
    pub(super) fn step(self, places: usize) -> Self {
        Self::ALL[(self.index() + places) % Self::ALL.len()]
    }

    /// Says whether its newest rows are at its end, so that it begins there.
    pub(in crate::cli::commands::top) fn ends_with_news(self) -> bool {
        matches!(self, Self::Messages | Self::Events)
    }
}

/// How the members are grouped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::cli::commands::top) enum Grouping {
    #[default]
    State,
    Profile,
    None,
}

impl Grouping {
    pub(super) fn next(self) -> Self {
        match self {
            Self::State => Self::Profile,
            Self::Profile => Self::None,
            Self::None => Self::State,
        }
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::State => "The team is grouped by state.",
            Self::Profile => "The team is grouped by profile.",
            Self::None => "The team is one list, by name.",
        }
    }
}
