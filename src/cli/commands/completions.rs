//! `completions`: a script that completes this program's commands and flags in a shell. It is generated from the same definitions as
//! the help, so the two never differ.

use clap::Args;
use clap_complete::{Shell, generate};

use crate::cli::output;

/// The arguments of `completions`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge completions bash > ~/.local/share/bash-completion/completions/cli-team-bridge
  cli-team-bridge completions zsh > ~/.zfunc/_cli-team-bridge
  cli-team-bridge completions fish > ~/.config/fish/completions/cli-team-bridge.fish")]
pub(crate) struct CompletionsArguments {
    /// The shell.
    shell: Shell,
}

/// Prints the script for a program with these commands.
pub(crate) fn run(arguments: &CompletionsArguments, mut program: clap::Command) {
    let name = program.get_name().to_owned();
    let mut script = Vec::new();
    generate(arguments.shell, &mut program, &name, &mut script);
    let script = String::from_utf8_lossy(&script);
    if arguments.shell == Shell::Bash {
        output::say(with_one_name(&script, &name).trim_end());
    } else {
        output::say(script.trim_end());
    }
}

/// Gives the branches of a script for bash the name by which it looks for them: where the program's name has dashes, it writes them in
/// two ways, and finds no command's flags.
fn with_one_name(script: &str, name: &str) -> String {
    script.replace(&name.replace('-', "__subcmd__"), &name.replace('-', "__"))
}
