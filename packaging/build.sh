#!/usr/bin/env bash
# Builds one target as it is released, and packs it with its manual pages and completions:
#   packaging/build.sh x86_64-unknown-linux-musl OUT
# makes OUT/cli-team-bridge-x86_64-unknown-linux-musl-v1.2.3.tar.gz, a name that cargo-binstall finds. The program has to run on this
# machine: it writes its own pages and completions.
set -euo pipefail
target=${1:?name a target, such as x86_64-unknown-linux-musl}
mkdir -p "${2:?name a folder for the archive}"
out=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."

rustup target add "$target"
# SQLite is compiled with a C compiler for the target.
case $target in *-musl) export "CC_${target//-/_}=${MUSL_CC:-musl-gcc}" ;; esac
cargo build --locked --profile dist --target "$target"
built=${CARGO_TARGET_DIR:-target}/$target/dist/cli-team-bridge
version=$("$built" --version)
name=cli-team-bridge-$target-v${version#* }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/$name/completions"
cp "$built" README.md LICENSE "$folder/$name"
"$built" man "$folder/$name/man/man1"
for shell in bash zsh fish; do
  "$built" completions "$shell" >"$folder/$name/completions/cli-team-bridge.$shell"
done
tar czf "$out/$name.tar.gz" -C "$folder" "$name"
echo "$out/$name.tar.gz"
