//! The names by which the server may be asked: a page of others that is rebound to this machine has another.

use axum::http::{HeaderMap, Uri, header};

/// The names of the server, each with its port.
#[derive(Clone, Debug)]
pub(in crate::web) struct AllowedHosts {
    names: [String; 3],
}

impl AllowedHosts {
    /// Allows the names of loopback, with a port.
    pub(in crate::web) fn of_port(port: u16) -> Self {
        Self { names: ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}")) }
    }

    /// Returns the name by which a request asks, if it is one of the list: one `Host`, and no other name in its target.
    pub(in crate::web) fn asked<'a>(
        &self,
        headers: &'a HeaderMap,
        target: &Uri,
    ) -> Option<&'a str> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next()?.to_str().ok()?;
        let is_alone = hosts.next().is_none();
        let is_same = target.authority().is_none_or(|named| named.as_str() == host);
        let is_known = self.names.iter().any(|name| name.eq_ignore_ascii_case(host));
        (is_alone && is_same && is_known).then_some(host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_with_the_port_is_a_name_of_the_server() {
        let hosts = AllowedHosts::of_port(8123);
        let asked = |hosts_given: &[&str], target: &str| {
            let mut headers = HeaderMap::new();
            for host in hosts_given {
                headers.append(header::HOST, host.parse().unwrap());
            }
            hosts.asked(&headers, &target.parse().unwrap()).is_some()
        };
        for good in ["127.0.0.1:8123", "localhost:8123", "LOCALHOST:8123", "[::1]:8123"] {
            assert!(asked(&[good], "/"), "{good}");
        }
        for bad in
            ["127.0.0.1", "127.0.0.1:80", "0.0.0.0:8123", "evil.example:8123", "a@localhost:8123"]
        {
            assert!(!asked(&[bad], "/"), "{bad}");
        }
        assert!(!asked(&[], "/"));
        assert!(!asked(&["localhost:8123", "localhost:8123"], "/"));
        assert!(!asked(&["localhost:8123"], "http://evil.example/"));
        assert!(asked(&["localhost:8123"], "http://localhost:8123/"));
    }
}
