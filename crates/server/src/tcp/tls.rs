//! TLS, from two files.

use std::path::PathBuf;
use std::sync::Arc;

use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("{} cannot be read as PEM: {source}", path.display())]
    File { path: PathBuf, source: pem::Error },
    #[error("{} has no certificate in it", .0.display())]
    NoCertificate(PathBuf),
    #[error("certificate and key cannot be used: {0}; is the key the one of the certificate?")]
    Unusable(#[from] tokio_rustls::rustls::Error),
}

impl TlsFiles {
    pub(super) fn configuration(&self) -> Result<ServerConfig, TlsError> {
        let failed = |path: &PathBuf| {
            let path = path.clone();
            move |source| TlsError::File { path, source }
        };
        let chain = CertificateDer::pem_file_iter(&self.certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(failed(&self.certificate))?;
        if chain.is_empty() {
            return Err(TlsError::NoCertificate(self.certificate.clone()));
        }
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(failed(&self.key))?;
        // Named here, because the process may have another provider for other talks.
        let provider = Arc::new(ring::default_provider());
        let mut configuration = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        configuration.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(configuration)
    }
}
