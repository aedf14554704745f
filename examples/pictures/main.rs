//! Draws the pictures of the README and of the documents from real runs of this program with scripted agents. `docs/pictures/make`
//! runs it. Its argument is the directory of the pictures.

mod draw_demo;
mod draw_screen;
mod leader;
mod recorded_terminal;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use self::leader::Leader;
use self::recorded_terminal::RecordedTerminal;

pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

/// What the agents of the team in the window do: one asks for a permission, one waits, two work, and one is done.
const TEAM: &str = include_str!("team.script.toml");

/// What the agents of the workflow do. One of them is still at work when the picture is taken.
const WORKFLOW: &str = include_str!("workflow.script.toml");

/// The rows and columns of the window, and of the workflow.
const WINDOW: (u16, u16) = (24, 92);
const TREE: (u16, u16) = (9, 92);

fn main() -> Outcome<()> {
    let to = PathBuf::from(std::env::args_os().nth(1).ok_or("name the directory of the pictures")?);
    let program = program()?;
    let put = |name: &str, svg: String| fs::write(to.join(name), svg);
    put("demo.svg", demo(&program)?)?;
    put("top.svg", top(&program)?)?;
    put("run.svg", run(&program)?)?;
    Ok(())
}

/// Returns this program's main binary, which stands above the examples.
fn program() -> Outcome<PathBuf> {
    let own = std::env::current_exe()?;
    let folder = own.ancestors().nth(2).ok_or("this example is in no directory of cargo's")?;
    Ok(folder.join("cli-team-bridge"))
}

/// A temporary project with a home of its own, whose agents play a script.
struct Place {
    root: tempfile::TempDir,
    project: PathBuf,
}

impl Place {
    fn new(script: &str) -> Outcome<Self> {
        let root = tempfile::tempdir()?;
        let base = root.path().canonicalize()?;
        let project = base.join("parser");
        fs::create_dir_all(project.join(".claude"))?;
        fs::write(base.join("script.toml"), script)?;
        Ok(Self { root, project })
    }

    fn script(&self) -> PathBuf {
        self.root.path().join("script.toml")
    }

    fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("TERM", "xterm-256color")
            .env("HOME", self.root.path())
            .env("BRIDGE_SCRIPT", self.script())
            .current_dir(&self.project);
        command
    }
}

fn demo(program: &Path) -> Outcome<String> {
    let place = Place::new("")?;
    let output = place.command(program, &["demo"]).output()?;
    let said = String::from_utf8(output.stdout)?;
    Ok(draw_demo::draw(&said.lines().map(str::to_owned).collect::<Vec<_>>()))
}

fn top(program: &Path) -> Outcome<String> {
    let place = Place::new(TEAM)?;
    let mut lead = Leader::start(&mut place.command(program, &["orchestrator"]))?;
    let mut window = RecordedTerminal::run(&mut place.command(program, &["top"]), WINDOW)?;
    let mut start = |name: &str, prompt: &str, shows: &str| {
        let task =
            json!({ "agent": "scripted", "name": name, "prompt": prompt, "permissions": "ask" });
        lead.call("assign_task", &task)?;
        window.until_shows(shows)
    };
    start("fixer", "Resolve links before the paths are compared", "Needs you (1)")?;
    start("tester", "Write a test with a link that leads out of the project", "Working (1)")?;
    start("writer", "Say in the changelog what holds now", "Working (2)")?;
    start("reviewer", "Review what fixer changes", "waits for fixer")?;
    start("checker", "Look for other comparisons of paths", "Idle (2)")?;
    // The one that waits, with its messages below.
    for _ in 0..3 {
        window.press("j")?;
    }
    window.until_shows("── reviewer: messages")?;
    window.until_shows("the old test compared")?;
    let drawn = draw_screen::draw("cli-team-bridge top", window.screen());
    window.press("q")?;
    window.end()?;
    lead.end()?;
    Ok(drawn)
}

fn run(program: &Path) -> Outcome<String> {
    let place = Place::new(WORKFLOW)?;
    let plan = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/workflows/review.toml");
    let script = place.script();
    let script = script.to_str().ok_or("the temporary directory has an odd name")?;
    let arguments = ["run", plan, "--scripted", script, "--project", "."];
    let mut tree = RecordedTerminal::run(&mut place.command(program, &arguments), TREE)?;
    tree.until_shows("2 of 4")?;
    let drawn = draw_screen::draw("cli-team-bridge run review.toml", tree.screen());
    tree.interrupt()?;
    tree.end()?;
    Ok(drawn)
}
