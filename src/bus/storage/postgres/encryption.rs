//! Encrypted connections. The server must prove its name with a certificate that the system trusts, or that the user has named.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Returns what encrypts connections. An error says why there is none.
pub(super) fn connector() -> Result<MakeRustlsConnect, String> {
    let named = std::env::var_os("PGSSLROOTCERT").map(PathBuf::from);
    let roots = roots(named)?;
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let config = config.with_root_certificates(roots).with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

/// Returns the certificates that are trusted: those of a file, as `PGSSLROOTCERT` names it for `psql`, else the system's.
fn roots(named: Option<PathBuf>) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    let Some(file) = named else {
        let found = rustls_native_certs::load_native_certs();
        let (usable, _) = roots.add_parsable_certificates(found.certs);
        if usable == 0 {
            return Err("this machine has no certificates that it trusts: name those of the server in PGSSLROOTCERT".to_owned());
        }
        return Ok(roots);
    };
    let failed = |why: String| {
        format!("PGSSLROOTCERT names `{}`, which has no usable certificate: {why}", file.display())
    };
    let certificates =
        CertificateDer::pem_file_iter(&file).map_err(|error| failed(error.to_string()))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| failed(error.to_string()))?;
        roots.add(certificate).map_err(|error| failed(error.to_string()))?;
    }
    if roots.is_empty() { Err(failed("it is empty".to_owned())) } else { Ok(roots) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_certificate_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let refused = roots(Some(file.path().to_owned())).unwrap_err();
        assert!(refused.contains("PGSSLROOTCERT") && refused.contains("empty"), "{refused}");
        assert!(roots(Some("/nowhere/root.crt".into())).is_err());
    }
}
