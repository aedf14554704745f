//! The npm packages: packed from this binary, installed offline and without scripts into a fresh home, and run.
//!
//! These tests are skipped, and say so, where Node.js or npm is missing, and on platforms without a package.

use std::path::Path;
use std::process::{Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::support::npm::{PLATFORM, Packages, checked};
use crate::support::{DEADLINE, Stage, until};

/// Returns the packages, or prints why there are none.
pub(super) fn packages() -> Option<&'static Packages> {
    let packages = Packages::of_this_binary();
    if packages.is_none() {
        println!("skipped: it takes Node.js and npm, and a platform that has a package");
    }
    packages
}

fn version() -> String {
    format!("cli-team-bridge {}\n", env!("CARGO_PKG_VERSION"))
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_packages_install_offline_without_scripts_and_run() {
    let Some(packages) = packages() else { return };
    let launcher = packages.launcher();
    assert_eq!(checked(packages.command(launcher.to_str().unwrap()).arg("--version")), version());
}

#[test]
fn npx_runs_the_package_of_a_registry_without_scripts() {
    let Some(packages) = packages() else { return };
    let registry = packages.registry();
    let place = packages.project("npx");
    let mut npx = packages.command("npx");
    npx.args(["--yes", "--ignore-scripts", "cli-team-bridge", "--version"]);
    npx.env("npm_config_registry", registry).env("HOME", &place).current_dir(&place);
    assert_eq!(checked(&mut npx), version());
}

#[test]
fn no_package_has_scripts_and_each_build_is_for_its_platform() {
    let Some(packages) = packages() else { return };
    let platform = PLATFORM.unwrap();
    let (os, cpu) = platform.split_once('-').unwrap();
    let own = env!("CARGO_PKG_VERSION");
    let launcher = packages.manifest("cli-team-bridge");
    let alias = format!("cli-team-bridge-{platform}");
    assert_eq!(launcher["version"], own);
    let expected = format!("npm:cli-team-bridge@{own}-{platform}");
    assert_eq!(launcher["optionalDependencies"][&alias], expected);
    assert_eq!(launcher["dependencies"], Value::Null);
    let build = packages.manifest(&alias);
    assert_eq!(build["name"], "cli-team-bridge");
    assert_eq!(build["version"], format!("{own}-{platform}"));
    assert_eq!((&build["os"][0], &build["cpu"][0]), (&os.into(), &cpu.into()));
    for manifest in [&launcher, &build] {
        assert_eq!(manifest["scripts"], Value::Null);
        assert_eq!(manifest["license"], env!("CARGO_PKG_LICENSE"));
        let url = manifest["repository"]["url"].as_str().unwrap();
        assert_eq!(url, format!("git+{}.git", env!("CARGO_PKG_REPOSITORY")));
    }
}

/// Checks what the registry would refuse: a long description, and names that do not match.
#[test]
fn the_entry_of_the_mcp_registry_starts_the_orchestrator_by_the_same_package() {
    let Some(packages) = packages() else { return };
    let text = std::fs::read_to_string(packages.packed("server.json")).unwrap();
    let server: Value = serde_json::from_str(&text).unwrap();
    let repository = env!("CARGO_PKG_REPOSITORY");
    let place = repository.strip_prefix("https://github.com/").unwrap();
    assert_eq!(server["name"], format!("io.github.{place}"));
    assert_eq!(server["name"], packages.manifest("cli-team-bridge")["mcpName"]);
    assert_eq!(server["repository"]["url"], repository);
    assert_eq!(server["version"], env!("CARGO_PKG_VERSION"));
    let description = server["description"].as_str().unwrap();
    assert_eq!(description, env!("CARGO_PKG_DESCRIPTION"));
    assert!(description.len() <= 100, "{} bytes", description.len());
    let package = &server["packages"][0];
    assert_eq!(package["identifier"], "cli-team-bridge");
    assert_eq!(package["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(package["transport"]["type"], "stdio");
    assert_eq!(package["packageArguments"][0]["value"], "orchestrator");
}

#[test]
fn exit_codes_are_passed_through() {
    let Some(packages) = packages() else { return };
    let without_execve = packages.folder.join("without_execve.cjs");
    for required in [None, Some(&without_execve)] {
        let mut node = packages.command("node");
        node.args(required.iter().flat_map(|file| [Path::new("--require"), file.as_path()]));
        let output = node.arg(packages.launcher()).arg("stop").output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(said(&output).starts_with("error: the following required arguments"), "{output:?}");
    }
}

#[tokio::test]
async fn signals_are_passed_through_once_and_end_the_launcher_too() {
    let Some(packages) = packages() else { return };
    let without_execve = packages.folder.join("without_execve.cjs");
    for required in [None, Some(&without_execve)] {
        for (signal, code) in [
            (Signal::SIGTERM, Some(0)),
            (Signal::SIGINT, Some(0)),
            (Signal::SIGHUP, Some(0)),
            (Signal::SIGKILL, None),
        ] {
            let stage = Stage::new("");
            let ann = stage.peer("ann").await;
            let mut node = tokio::process::Command::new("node");
            node.args(required.iter().flat_map(|file| [Path::new("--require"), file.as_path()]))
                .arg(packages.launcher())
                .args(["watch", "--name", "bob", "--project"])
                .arg(stage.project())
                .env_clear()
                .envs(stage.environment())
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .kill_on_drop(true);
            let mut watch = node.spawn().unwrap();
            let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
            let bob = stage.peer("bob").await;
            ann.send("bob", "hello").await;
            let line = tokio::time::timeout(DEADLINE, lines.next_line()).await.unwrap().unwrap();
            assert!(line.is_some_and(|line| line.contains("hello")));

            // Signals go to the launcher, except SIGKILL, which it cannot pass on: that goes to the program.
            let launcher = watch.id().unwrap();
            let program = stage.running("watch").into_iter().max().unwrap();
            let to = if signal == Signal::SIGKILL { program } else { launcher };
            kill(Pid::from_raw(i32::try_from(to).unwrap()), signal).unwrap();
            let status = tokio::time::timeout(DEADLINE, watch.wait()).await.unwrap().unwrap();
            assert_eq!(status.code(), code, "{signal}: {status}");
            until("the program is gone", || stage.running("watch").is_empty()).await;
            bob.close().await;
            ann.close().await;
        }
    }
}

#[test]
fn a_missing_build_is_named_with_a_remedy() {
    let Some(packages) = packages() else { return };
    let installed = packages.folder.join("installed/node_modules/cli-team-bridge");
    let alone = packages.project("alone").join("cli-team-bridge");
    std::fs::create_dir(&alone).unwrap();
    for file in ["bin.js", "package.json"] {
        std::fs::copy(installed.join(file), alone.join(file)).unwrap();
    }
    let run = || packages.command("node").arg(alone.join("bin.js")).output().unwrap();
    let output = run();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let stderr = said(&output);
    let build = format!("cli-team-bridge-{}", PLATFORM.unwrap());
    assert!(stderr.starts_with(&format!("error: the package {build} (")), "{stderr}");
    assert!(stderr.contains("--include=optional"), "{stderr}");

    // The same on a platform without a build.
    let manifest = std::fs::read_to_string(alone.join("package.json")).unwrap();
    let other = manifest.replace(&build, "cli-team-bridge-beos-ppc");
    std::fs::write(alone.join("package.json"), other).unwrap();
    let stderr = said(&run());
    let expected = format!("has no build for {}, only for beos-ppc\n", PLATFORM.unwrap());
    assert!(stderr.contains(&expected) && stderr.contains("cargo install"), "{stderr}");
}
