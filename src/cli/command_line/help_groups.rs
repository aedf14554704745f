//! The help of the program: its commands in four groups, those for people first.
//!
//! clap lists all subcommands in one group. This list has the same lines, each with clap's own text.

use clap::Command;

/// The groups, and the commands of each in the order of the help.
const GROUPS: [(&str, &[&str]); 4] = [
    (
        "For you",
        &["setup", "doctor", "run", "host", "trust", "notify", "key", "demo", "completions", "man"],
    ),
    (
        "To see your team",
        &[
            "top",
            "web",
            "status",
            "log",
            "messages",
            "tasks",
            "task",
            "trace",
            "workflows",
            "usage",
            "search",
            "bus",
        ],
    ),
    ("To act on your team", &["send", "allow", "deny", "cancel", "stop", "kill"]),
    (
        "For clients and agents",
        &["orchestrator", "peer", "agent", "watch", "hook", "scripted-agent"],
    ),
];

/// The examples below the help and in the manual page.
pub(super) const EXAMPLES: &str = "\
Examples:
  cli-team-bridge setup                     connect your clients
  cli-team-bridge doctor                    check that your agents start
  cli-team-bridge run plan.toml --dry-run   check a plan, and run nothing
  cli-team-bridge run --resume              list the interrupted workflows

`cli-team-bridge COMMAND --help` shows the options of a command.";

/// Groups the commands in the help of a program.
pub(super) fn grouped(program: Command) -> Command {
    let width = program.get_subcommands().map(|command| command.get_name().len()).max();
    let width = width.unwrap_or_default();
    let line = |name: &&str| {
        let about = program.find_subcommand(name)?.get_about()?;
        Some(format!("  {name:<width$}  {about}\n"))
    };
    let group = |(title, names): &(&str, &[&str])| {
        let lines: String = names.iter().filter_map(line).collect();
        format!("{title}:\n{lines}\n")
    };
    let listed: String = GROUPS.iter().map(group).collect();
    program.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{listed}Options:\n{{options}}{{after-help}}"
    ))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::command_line::list_of_commands::Arguments;

    #[test]
    fn each_visible_command_is_in_exactly_one_group() {
        let program = Arguments::command();
        let visible = program.get_subcommands().filter(|command| !command.is_hide_set());
        let mut visible: Vec<_> = visible.map(Command::get_name).collect();
        let mut listed: Vec<_> =
            GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        visible.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, visible);
    }

    /// Collects the help of a command and of all below it.
    fn helps(mut command: Command, found: &mut Vec<String>) {
        found.push(command.render_long_help().to_string());
        for below in command.get_subcommands() {
            helps(below.clone(), found);
        }
    }

    #[test]
    fn no_line_of_a_help_is_wider_than_100_columns() {
        let mut found = Vec::new();
        let mut program = grouped(Arguments::command());
        program.build();
        helps(program, &mut found);
        assert!(found.len() > 10, "{}", found.len());
        for line in found.iter().flat_map(|help| help.lines()) {
            assert!(line.chars().count() <= 100, "{line}");
        }
        // clap does not wrap the list of commands.
        for line in found[0].lines().skip(1) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
