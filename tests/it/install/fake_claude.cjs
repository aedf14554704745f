#!/usr/bin/env node
// Stands for Claude Code's print mode, which is outside of this project: `claude -p TASK` starts the server `bridge` by the user's
// entry, gives TASK to the agent `worker`, runs the user's hooks after the call, and prints the result. Like Claude Code, it refuses
// a tool that the user's settings do not allow, because in print mode it can ask nobody.
"use strict";

const { spawn, spawnSync } = require("node:child_process");
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { createInterface } = require("node:readline");

function fail(why) {
  process.stderr.write(`fake claude: ${why}\n`);
  process.exit(1);
}

const [flag, task] = process.argv.slice(2);
if (flag !== "-p" || !task) fail("it knows only `claude -p TASK`");
const read = (file) => JSON.parse(readFileSync(join(process.env.HOME, file), "utf8"));
const entry = read(".claude.json").mcpServers?.bridge;
if (!entry) fail("no server is called `bridge`");
const settings = read(".claude/settings.json");
if (!settings.permissions.allow.includes("mcp__bridge")) fail("the tools of `bridge` are not allowed");

const server = spawn(entry.command, entry.args, { stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, ...entry.env } });
server.on("error", (error) => fail(`${entry.command}: ${error.message}`));
const ended = new Promise((resolve) => server.on("exit", resolve));
const waiting = new Map();
createInterface({ input: server.stdout }).on("line", (line) => {
  const { id, method, result, error } = JSON.parse(line);
  if (!method && waiting.has(id)) error ? fail(JSON.stringify(error)) : waiting.get(id)(result);
});

function say(message) {
  server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

function request(method, params) {
  const id = waiting.size + 1;
  return new Promise((resolve) => {
    waiting.set(id, resolve);
    say({ id, method, params });
  });
}

function runHooks() {
  const input = JSON.stringify({
    session_id: "fake",
    cwd: process.cwd(),
    hook_event_name: "PostToolUse",
    tool_name: "mcp__bridge__assign_task",
  });
  for (const { hooks } of settings.hooks.PostToolUse) {
    for (const { command } of hooks) {
      const { status, stderr } = spawnSync("/bin/sh", ["-c", command], { input });
      if (status !== 0) fail(`the hook ${command} failed: ${stderr}`);
    }
  }
}

async function main() {
  const clientInfo = { name: "claude-code", version: "0" };
  await request("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
  say({ method: "notifications/initialized" });
  const work = { agent: "worker", prompt: task, wait: true, timeout_seconds: 60 };
  const { content, isError } = await request("tools/call", { name: "assign_task", arguments: work });
  runHooks();
  server.stdin.end();
  const code = await ended;
  if (isError || code !== 0) fail(`the call or its server failed (${code}): ${JSON.stringify(content)}`);
  console.log(content.map(({ text }) => text).join("\n"));
}

main().catch((error) => fail(error.stack));
