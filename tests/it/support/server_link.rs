//! The way of one machine to a server: a socket of its own before the server's, whose traffic can be cut off as by a broken network.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

/// The name of a server's socket at its usual port.
const SOCKET: &str = ".s.PGSQL.5432";

pub(crate) struct Link {
    directory: tempfile::TempDir,
    is_cut: Arc<watch::Sender<bool>>,
    _accepting: AbortOnDropHandle<()>,
}

impl Link {
    /// Opens a way to the server whose socket is in a directory.
    pub(crate) fn to(server: &Path) -> Self {
        let directory = tempfile::tempdir_in("/tmp").unwrap();
        let everybody = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(directory.path(), everybody).unwrap();
        let listener = UnixListener::bind(directory.path().join(SOCKET)).unwrap();
        let is_cut = Arc::new(watch::channel(false).0);
        let accepting = accept(listener, server.join(SOCKET), Arc::clone(&is_cut));
        Self { directory, is_cut, _accepting: AbortOnDropHandle::new(tokio::spawn(accepting)) }
    }

    pub(crate) fn address(&self) -> String {
        format!("host={} user=bridge dbname=postgres", self.directory.path().display())
    }

    /// Loses everything that is sent from now on, without closing a connection.
    pub(crate) fn cut(&self) {
        self.is_cut.send_replace(true);
    }

    /// Closes what was cut, and carries new connections again.
    pub(crate) fn heal(&self) {
        self.is_cut.send_replace(false);
    }
}

async fn accept(listener: UnixListener, server: PathBuf, is_cut: Arc<watch::Sender<bool>>) {
    while let Ok((client, _)) = listener.accept().await {
        tokio::spawn(carry(client, server.clone(), is_cut.subscribe()));
    }
}

/// Carries a connection until it is cut, and then keeps both its ends open until the way is there again.
async fn carry(mut client: UnixStream, server: PathBuf, mut is_cut: watch::Receiver<bool>) {
    let mut behind = None;
    if !*is_cut.borrow() {
        let Ok(mut server) = UnixStream::connect(server).await else { return };
        tokio::select! {
            _ = tokio::io::copy_bidirectional(&mut client, &mut server) => return,
            _ = is_cut.wait_for(|is_cut| *is_cut) => {}
        }
        behind = Some(server);
    }
    let _ = is_cut.wait_for(|is_cut| !is_cut).await;
    drop((client, behind));
}
