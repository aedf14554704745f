//! Child processes: this program again, in a role, which exchange lines with the benchmark.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::Outcome;

/// The prefix of the argument that names a role.
pub(crate) const ROLE: &str = "role:";

/// A child process. Dropping it kills it.
pub(crate) struct ChildProcess {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl ChildProcess {
    /// Starts this program in a role, and waits until it says that it is ready.
    pub(crate) fn start(role: &str, arguments: &[&str]) -> Outcome<Self> {
        let mut child = Self::spawn(
            Command::new(std::env::current_exe()?).arg(format!("{ROLE}{role}")).args(arguments),
        )?;
        match child.hear()?.as_str() {
            "ready" => Ok(child),
            line => Err(format!("the {role} said `{line}` instead of `ready`").into()),
        }
    }

    /// Starts a program.
    pub(crate) fn spawn(command: &mut Command) -> Outcome<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take().ok_or("the child has no stdin")?;
        let output = child.stdout.take().ok_or("the child has no stdout")?;
        Ok(Self { child, input, output: BufReader::new(output) })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes a line to its stdin.
    pub(crate) fn say(&mut self, line: &str) -> Outcome {
        self.input.write_all(format!("{line}\n").as_bytes())?;
        Ok(self.input.flush()?)
    }

    /// Reads the next line from its stdout; empty when it has ended.
    pub(crate) fn hear(&mut self) -> Outcome<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// In a role: writes a line to the parent process.
pub(crate) fn reply(line: &str) -> Outcome {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// In a role: waits for a line from the parent process.
pub(crate) fn listen() -> Outcome<String> {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}
