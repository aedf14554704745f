//! A gate in front of the protocol library, which would end the connection if the very first message is not a request.
//!
//! Until a client has begun one of the two lifecycles, it drops all other messages.

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, GetMeta, ProtocolVersion, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;

/// The versions of MCP that are served: those that the library knows, except 2025-03-26, which requires a server to accept batches. A
/// client that asks for that one gets another version, as the protocol provides.
pub(super) static VERSIONS: [ProtocolVersion; 4] = [
    ProtocolVersion::V_2024_11_05,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2026_07_28,
];

/// The versions that begin with `initialize`: clients show no pushes in the other lifecycle.
pub(super) static SESSION_VERSIONS: [ProtocolVersion; 3] =
    [ProtocolVersion::V_2024_11_05, ProtocolVersion::V_2025_06_18, ProtocolVersion::V_2025_11_25];

/// A transport that tolerates any first message.
pub(crate) struct Opening<T> {
    inner: T,
    begun: bool,
    versions: &'static [ProtocolVersion],
}

impl<T> Opening<T> {
    /// Puts the gate in front of a transport.
    pub(crate) fn new(inner: T, versions: &'static [ProtocolVersion]) -> Self {
        Self { inner, begun: false, versions }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Opening<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let message = self.inner.receive().await?;
            if self.begun {
                return Some(message);
            }
            if let ClientJsonRpcMessage::Request(request) = &message {
                self.begun = begins(&request.request, self.versions);
                return Some(message);
            }
            tracing::debug!("ignored a message before the first request");
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}

/// Says whether the library accepts this request as the first one: `initialize`, or one that brings all metadata with it.
fn begins(request: &ClientRequest, versions: &[ProtocolVersion]) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        request => {
            let meta = request.get_meta();
            let is_served =
                meta.protocol_version().is_some_and(|version| versions.contains(&version));
            is_served && meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
        }
    }
}

/// Reads a line as a client's message, and says whether it may open a conversation.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn opens(line: &[u8]) -> bool {
    match serde_json::from_slice(line) {
        Ok(ClientJsonRpcMessage::Request(request)) => begins(&request.request, &VERSIONS),
        _ => false,
    }
}
