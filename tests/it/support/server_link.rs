//! The way of one machine to a server: a socket of its own before the server's, on which words are lost as in a broken network.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

/// The name of a server's socket at its usual port.
const SOCKET: &str = ".s.PGSQL.5432";

/// What is lost.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lost {
    Nothing,
    Answers,
    All,
    /// Connections are closed, and no new ones are taken.
    Connections,
}

pub(crate) struct Link {
    directory: tempfile::TempDir,
    lost: Arc<watch::Sender<Lost>>,
    _accepting: AbortOnDropHandle<()>,
}

impl Link {
    /// Opens a way to the server whose socket is in a directory.
    pub(crate) fn to(server: &Path) -> Self {
        let directory = tempfile::tempdir_in("/tmp").unwrap();
        let everybody = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(directory.path(), everybody).unwrap();
        let listener = UnixListener::bind(directory.path().join(SOCKET)).unwrap();
        let lost = Arc::new(watch::channel(Lost::Nothing).0);
        let accepting = accept(listener, server.join(SOCKET), Arc::clone(&lost));
        Self { directory, lost, _accepting: AbortOnDropHandle::new(tokio::spawn(accepting)) }
    }

    pub(crate) fn address(&self) -> String {
        format!("host={} user=bridge dbname=postgres", self.directory.path().display())
    }

    /// Loses everything from now on, without closing a connection.
    pub(crate) fn cut(&self) {
        self.lost.send_replace(Lost::All);
    }

    /// Loses only what the server answers.
    pub(crate) fn lose_answers(&self) {
        self.lost.send_replace(Lost::Answers);
    }

    /// Closes all connections, and takes no new ones.
    pub(crate) fn refuse(&self) {
        self.lost.send_replace(Lost::Connections);
    }

    /// Closes the connections on which something may have been lost, and carries new ones again.
    pub(crate) fn heal(&self) {
        self.lost.send_replace(Lost::Nothing);
    }
}

async fn accept(listener: UnixListener, server: PathBuf, lost: Arc<watch::Sender<Lost>>) {
    while let Ok((client, _)) = listener.accept().await {
        tokio::spawn(carry(client, server.clone(), lost.subscribe()));
    }
}

/// Carries a connection until one of its ends closes it, or until the way is whole again after it was not.
async fn carry(client: UnixStream, server: PathBuf, lost: watch::Receiver<Lost>) {
    if *lost.borrow() == Lost::Connections {
        return;
    }
    let Ok(server) = UnixStream::connect(server).await else { return };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let healed = async {
        let mut lost = lost.clone();
        let _ = lost.wait_for(|lost| *lost != Lost::Nothing).await;
        let _ = lost.wait_for(|lost| *lost == Lost::Nothing).await;
    };
    let refused = async {
        let _ = lost.clone().wait_for(|lost| *lost == Lost::Connections).await;
    };
    let questions =
        pump(from_client, to_server, || matches!(*lost.borrow(), Lost::Nothing | Lost::Answers));
    let answers = pump(from_server, to_client, || *lost.borrow() == Lost::Nothing);
    tokio::select! {
        () = questions => {}
        () = answers => {}
        () = healed => {}
        () = refused => {}
    }
}

/// Passes on what may pass. Does not tell of an end while nothing may.
async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    passes: impl Fn() -> bool,
) {
    let mut bytes = [0; 8192];
    loop {
        let read = from.read(&mut bytes).await.unwrap_or(0);
        if !passes() {
            if read == 0 {
                return std::future::pending().await;
            }
            continue;
        }
        if read == 0 || to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
    }
}
