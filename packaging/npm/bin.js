#!/usr/bin/env node
// Becomes the native program of this platform, which npm installs as a package of its own. Where Node.js cannot replace its process
// (before 22.15), it starts the program and behaves as the program does: the same streams, signals and exit code.
"use strict";

const { spawn } = require("node:child_process");
const { optionalDependencies: builds, version } = require("./package.json");

const PROGRAM = "cli-team-bridge";
const platform = `${process.platform}-${process.arch}`;
const build = `${PROGRAM}-${platform}`;

function fail(error, hint) {
  process.stderr.write(`error: ${error}\nhint: ${hint}\n`);
  process.exit(1);
}

function findProgram() {
  if (!builds[build]) {
    const platforms = Object.keys(builds).map((name) => name.slice(PROGRAM.length + 1));
    fail(
      `${PROGRAM} ${version} has no build for ${platform}, only for ${platforms.join(", ")}`,
      `build it from source with \`cargo install ${PROGRAM}\``,
    );
  }
  try {
    return require.resolve(`${build}/bin/${PROGRAM}`);
  } catch {
    fail(
      `the package ${build} (${builds[build]}) is not installed`,
      "npm leaves it out with `--omit=optional`, or if `node_modules` comes from another platform: " +
        `run \`npm install ${PROGRAM}@${version} --include=optional\` here, with \`-g\` if it is installed globally`,
    );
  }
}

// A terminal sends these to the program as well, and the program ends its agents by force at the second signal it gets.
const TERMINAL_SIGNALS = ["SIGINT", "SIGHUP", "SIGQUIT"];

function run(program, words) {
  const hasTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
  let child;
  // Before the program starts: a signal that arrives earlier would end this process alone.
  for (const signal of ["SIGTERM", ...TERMINAL_SIGNALS]) {
    process.on(signal, () => {
      if (!hasTerminal || !TERMINAL_SIGNALS.includes(signal)) child.kill(signal);
    });
  }
  child = spawn(program, words, { stdio: "inherit" });
  child.on("error", (error) => cannotStart(program, error));
  child.on("exit", (code, signal) => {
    if (signal) {
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    } else {
      process.exit(code);
    }
  });
}

function cannotStart(program, error) {
  fail(`cannot start ${program}: ${error.message}`, `install ${PROGRAM} again`);
}

const program = findProgram();
const words = process.argv.slice(2);
if (process.execve) {
  // It warns that it is experimental. The program's stderr is no place for that.
  process.removeAllListeners("warning");
  try {
    process.execve(program, [program, ...words]);
  } catch (error) {
    cannotStart(program, error);
  }
}
run(program, words);
