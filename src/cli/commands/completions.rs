//! `completions`: a script that completes this program's commands and flags in a shell. It is generated from the same definitions as
//! the help, so the two never differ.

use clap::Args;
use clap::builder::PossibleValuesParser;
use clap_complete::{Shell, generate};

use crate::cli::output;
use crate::view::Topic;

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
pub(crate) fn run(arguments: &CompletionsArguments, program: clap::Command) {
    output::say(script(arguments.shell, program).trim_end());
}

fn script(shell: Shell, program: clap::Command) -> String {
    let name = program.get_name().to_owned();
    let mut program = with_words(program);
    let mut script = Vec::new();
    generate(shell, &mut program, &name, &mut script);
    let script = String::from_utf8_lossy(&script);
    if shell == Shell::Bash { for_bash(&script, &name) } else { script.into_owned() }
}

/// Gives the arguments their words whose own parsers do not name them.
fn with_words(program: clap::Command) -> clap::Command {
    let shown = program.get_subcommands().filter(|command| !command.is_hide_set());
    // A parser keeps its words for ever, and there are a few dozen.
    let commands = shown.map(|command| &*command.get_name().to_owned().leak());
    let words = PossibleValuesParser::new(commands.collect::<Vec<&'static str>>());
    let kinds = Topic::ALL.map(Topic::as_str);
    program
        .mut_subcommand("log", |log| log.mut_arg("kind", |kind| kind.value_parser(kinds)))
        .mut_subcommand("man", |man| {
            man.mut_arg("directory", |directory| directory.value_parser(words))
        })
}

/// Completes the names of files: one with a space is one word, and a directory is followed by `/`. Bash 3 has neither command for that.
const FILES: &str = r#"() {
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$1")
        compopt -o filenames 2> /dev/null
    else
        local IFS=$'\n'
        COMPREPLY=($(compgen -f -- "$1"))
    fi
}
"#;

/// Finds the flag before `=`, which bash takes for a word.
const FLAG: &str = r#"    if [[ "${cur}" == "=" ]]; then
        cur=""
    elif [[ "${prev}" == "=" && "${COMP_CWORD}" -ge 2 ]]; then
        prev="${COMP_WORDS[COMP_CWORD-2]}"
    fi
"#;

/// Mends the script for bash, which tears the name of a file at its spaces, and knows no flag before `=`. Where the program's name has
/// dashes, it also writes the names of its branches in two ways, and so finds no command's flags.
fn for_bash(script: &str, name: &str) -> String {
    let own = name.replace('-', "__");
    let files = format!("_{own}_files");
    let before = "    prev=\"$3\"\n";
    let script = script.replace(&name.replace('-', "__subcmd__"), &own);
    let script = script.replacen(before, &format!("{before}{FLAG}"), 1);
    let script =
        script.replace(r#"COMPREPLY=($(compgen -f "${cur}"))"#, &format!("{files} \"${{cur}}\""));
    format!("{files}{FILES}\n{script}")
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use clap::{Arg, value_parser};

    use super::*;

    /// A program with some of our commands.
    fn program() -> clap::Command {
        let flag = |name: &'static str| Arg::new(name).long(name);
        let commands = [
            clap::Command::new("setup")
                .arg(flag("client").value_parser(["claude-code", "codex"]))
                .arg(flag("project").value_parser(value_parser!(PathBuf))),
            clap::Command::new("log").arg(flag("kind")),
            clap::Command::new("man")
                .arg(Arg::new("directory").value_parser(value_parser!(PathBuf))),
            clap::Command::new("search"),
        ];
        clap::Command::new("cli-team-bridge").subcommands(commands)
    }

    /// Lets bash complete the last of these words, and returns what it would put there, a line each.
    fn completed(place: &Path, words: &[&str]) -> String {
        let ask = "source ./script; COMP_WORDS=(cli-team-bridge \"$@\"); COMP_CWORD=$#; \
                   _cli__team__bridge cli-team-bridge \"${COMP_WORDS[$#]}\" \"${COMP_WORDS[$#-1]}\"; \
                   printf '%s\\n' \"${COMPREPLY[@]}\"";
        let mut bash = Command::new("bash");
        let output = bash.args(["-c", ask, "bash"]).args(words).current_dir(place).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    }

    #[test]
    fn bash_completes_names_with_spaces_values_after_an_equals_sign_and_the_words_of_arguments() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("script"), script(Shell::Bash, program())).unwrap();
        std::fs::create_dir(place.path().join("my project")).unwrap();
        for (words, expected) in [
            (&["setup", "--project", "my"][..], "my project\n"),
            (&["setup", "--project", "=", "my"], "my project\n"),
            (&["setup", "--client", "=", "claude-c"], "claude-code\n"),
            (&["log", "--kind", "mes"], "message\n"),
            (&["man", "sea"], "search\n"),
        ] {
            assert_eq!(completed(place.path(), words), expected, "{words:?}");
        }
        let all = completed(place.path(), &["setup", "--client", "="]);
        assert!(all.starts_with("claude-code\ncodex\n"), "{all}");
    }

    #[test]
    fn zsh_and_fish_know_the_words_of_arguments() {
        for (shell, kinds) in [(Shell::Zsh, "(message receipt "), (Shell::Fish, "message\\t''\n")] {
            let script = script(shell, program());
            assert!(script.contains(kinds), "{script}");
        }
    }
}
