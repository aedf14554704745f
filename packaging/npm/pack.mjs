// Makes what is published: the npm packages, and `server.json` for the MCP registry. Version, description, license and repository come
// from Cargo.toml.
//
//   node packaging/npm/pack.mjs OUT linux-x64=PATH/TO/cli-team-bridge linux-arm64=PATH/TO/cli-team-bridge
//
// The package of a platform is a version of the same npm name (`cli-team-bridge@1.2.3-linux-x64`), so one name is all there is to own.
// The launcher asks for the builds that are given here, each under an alias. Prints the tarballs in the order in which to publish them.

import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const PLATFORMS = { "linux-x64": ["linux", "x64"], "linux-arm64": ["linux", "arm64"] };
const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "..", "..");

function fail(error, hint) {
  console.error(`error: ${error}\nhint: ${hint}`);
  process.exit(1);
}

/** Returns the `key = "value"` lines of Cargo.toml's `[package]`. */
function cargoPackage() {
  const [, table] = readFileSync(join(root, "Cargo.toml"), "utf8").split(/^\[package\]$/m);
  const lines = table.split(/^\[/m)[0].matchAll(/^(\w+) = "(.*)"$/gm);
  return Object.fromEntries([...lines].map(([, key, value]) => [key, value]));
}

/** Returns the registry's name for a server of this repository: `io.github.OWNER/NAME`. */
function serverName(repository) {
  const [, owner, name] = repository.match(/^https:\/\/github\.com\/([^/]+)\/([^/]+)$/) ?? [];
  if (!owner) fail(`cannot name the server after ${repository}`, "set `repository` in Cargo.toml to https://github.com/OWNER/NAME");
  return `io.github.${owner}/${name}`;
}

function builds(words) {
  return words.map((word) => {
    const [, platform, program] = word.match(/^([^=]+)=(.+)$/) ?? [];
    if (!PLATFORMS[platform]) fail(`cannot pack ${word}`, `name a build as PLATFORM=PATH; platforms: ${Object.keys(PLATFORMS).join(", ")}`);
    return { platform, program };
  });
}

const [folder, ...words] = process.argv.slice(2);
if (!folder || words.length === 0) fail("nothing to pack", "call it as pack.mjs OUT PLATFORM=PATH…");

const out = resolve(folder);
const cargo = cargoPackage();
const { name, version } = cargo;
const given = builds(words);
const common = {
  name,
  description: cargo.description,
  license: cargo.license,
  repository: { type: "git", url: `git+${cargo.repository}.git` },
};
const launcher = {
  ...common,
  version,
  mcpName: serverName(cargo.repository),
  keywords: ["mcp", "acp", "agents", "claude-code", "codex", "gemini-cli"],
  bin: { [name]: "bin.js" },
  files: ["bin.js"],
  engines: { node: ">=18" },
  optionalDependencies: Object.fromEntries(
    given.map(({ platform }) => [`${name}-${platform}`, `npm:${name}@${version}-${platform}`]),
  ),
};
const server = {
  $schema: "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
  name: launcher.mcpName,
  title: name,
  description: cargo.description,
  version,
  repository: { url: cargo.repository, source: "github" },
  packages: [
    {
      registryType: "npm",
      identifier: name,
      version,
      runtimeHint: "npx",
      transport: { type: "stdio" },
      packageArguments: [{ type: "positional", value: "orchestrator" }],
    },
  ],
};

/** Packs a folder made of a manifest and files, each named by where it goes and where it comes from. */
function pack(manifest, files) {
  const folder = mkdtempSync(join(tmpdir(), `${name}-`));
  try {
    writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
    for (const [to, from] of Object.entries({ LICENSE: join(root, "LICENSE"), ...files })) {
      mkdirSync(dirname(join(folder, to)), { recursive: true });
      copyFileSync(from, join(folder, to));
      if (to.startsWith("bin")) chmodSync(join(folder, to), 0o755);
    }
    const packed = execFileSync("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", out], { cwd: folder });
    return JSON.parse(packed)[0].filename;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

mkdirSync(out, { recursive: true });
for (const { platform, program } of given) {
  const [os, cpu] = PLATFORMS[platform];
  const manifest = { ...common, version: `${version}-${platform}`, os: [os], cpu: [cpu], files: ["bin"] };
  console.log(pack(manifest, { [`bin/${name}`]: program }));
}
console.log(pack(launcher, { "bin.js": join(here, "bin.js"), "README.md": join(root, "README.md") }));
writeFileSync(join(out, "server.json"), `${JSON.stringify(server, null, 2)}\n`);
