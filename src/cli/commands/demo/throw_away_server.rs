//! A PostgreSQL for the demo alone: made in a temporary directory, reached by a socket in it, and removed with the demo, however that ends.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::ChildStdin;
use tokio::time::timeout;

use crate::cli::{Failure, with_hint};
use crate::supervisor::{self, ChildSpec, Supervised};
use crate::sys::process::find_program;
use crate::sys::random_ids;

/// Where Debian keeps its versions.
const DEBIAN: &str = "/usr/lib/postgresql";

/// Names the directory with the programs of a server, as PostgreSQL's own tools do it.
const PG_BIN: &str = "PG_BIN";

/// The time limit for making and starting it, which takes about two seconds.
const LIMIT: Duration = Duration::from_mins(1);

/// The time limit for its end.
const END: Duration = Duration::from_secs(10);

/// Makes a server and runs it until its stdin closes, as the end of the demo does, and then removes its directory. A server does not run as
/// root, who runs it as another user.
const RUN: &str = r#"
if [ "$(id -u)" = 0 ] && [ "$3" != again ]; then
  chown 65534:65534 "$2"
  exec setpriv --reuid=65534 --regid=65534 --clear-groups /bin/sh -c "$4" sh "$1" "$2" again
fi
cd /
trap 'rm -rf "$2"/*' EXIT
"$1/initdb" --no-sync --auth=trust --username=bridge --pgdata="$2/data" >&2 || exit 1
"$1/postgres" -D "$2/data" -k "$2" -p 5432 -c listen_addresses= >&2 &
server=$!
until "$1/pg_isready" --host="$2" --port=5432 >&2; do
  kill -0 $server || exit 1
  sleep 0.05
done
echo ready
read -r line
kill -QUIT $server
wait $server
"#;

/// A running server.
pub(super) struct ThrowAwayServer {
    directory: PathBuf,
    child: Supervised,
    /// It runs as long as this is open.
    stdin: ChildStdin,
}

impl ThrowAwayServer {
    /// Makes and starts it. Without the programs of a server, it says what to install.
    pub(super) async fn start() -> Result<Self, Failure> {
        let programs = programs().ok_or_else(|| {
            let hint = "install it (on Debian and Ubuntu: `apt install postgresql`), or name the directory of `initdb` in PG_BIN";
            with_hint("no PostgreSQL server is installed here, which this demo needs".to_owned(), hint)
        })?;
        // The path of a socket is short.
        let id = random_ids::session().to_string();
        let directory = std::env::temp_dir().join(format!("ctb-pg-{}", &id[id.len() - 12..]));
        DirBuilder::new().mode(0o700).create(&directory)?;
        let args: [OsString; 7] = [
            "-c".into(),
            RUN.into(),
            "sh".into(),
            programs.into(),
            directory.clone().into(),
            "first".into(),
            RUN.into(),
        ];
        let spec = ChildSpec {
            program: "/bin/sh".into(),
            args: args.into(),
            env: std::env::vars_os().collect(),
            cwd: directory.clone(),
            shim: None,
        };
        let (child, pipes) = supervisor::spawn(spec).await?;
        let mut said = String::new();
        let started = timeout(LIMIT, BufReader::new(pipes.stdout).read_line(&mut said)).await;
        let server = Self { directory, child, stdin: pipes.stdin };
        if matches!(started, Ok(Ok(_))) && said == "ready\n" {
            return Ok(server);
        }
        let why = server.child.stderr_tail();
        server.stop().await;
        Err(format!("the PostgreSQL of the demo did not start: {}", why.trim()).into())
    }

    /// Returns the address of its database.
    pub(super) fn address(&self) -> String {
        format!("host={} port=5432 user=bridge dbname=postgres", self.directory.display())
    }

    /// Ends it.
    pub(super) async fn stop(self) {
        drop(self.stdin);
        if timeout(END, self.child.exited()).await.is_err() {
            tracing::warn!("the PostgreSQL of the demo has not ended yet");
        }
        // Its contents are gone by now.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Finds the programs of a server: where `PG_BIN` says, on `PATH`, or the newest of Debian.
fn programs() -> Option<PathBuf> {
    let has_all = |directory: &PathBuf| {
        ["initdb", "postgres", "pg_isready"].iter().all(|name| directory.join(name).exists())
    };
    if let Some(named) = std::env::var_os(PG_BIN) {
        return Some(PathBuf::from(named)).filter(has_all);
    }
    let found = find_program(Path::new("initdb"), std::env::var_os("PATH").as_deref());
    let on_path = found.and_then(|found| Some(found.canonicalize().ok()?.parent()?.to_owned()));
    let of_debian = || {
        let versions = std::fs::read_dir(DEBIAN).ok()?;
        let versions = versions.flatten().map(|version| version.path().join("bin"));
        versions.filter(has_all).max()
    };
    on_path.filter(has_all).or_else(of_debian)
}
