//! Where others can listen, only TLS is spoken.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use ostler_server::Limits;
use ostler_server::guard::Scope;
use ostler_server::tcp::{TcpDoor, TcpError, TcpSettings, TlsFiles};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::house::{House, Inside, Talk};

/// A certificate for localhost, signed by itself.
fn certificate() -> (TempDir, TlsFiles) {
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (certificate, key) = (folder.path().join("c.pem"), folder.path().join("k.pem"));
    fs::write(&certificate, made.cert.pem()).unwrap();
    fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    (folder, TlsFiles::new(certificate, key))
}

#[tokio::test]
async fn another_machine_is_not_listened_to_without_tls() {
    let (folder, tls) = certificate();
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let settings = TcpSettings { address: address.parse().unwrap(), tls: None };
        assert!(matches!(TcpDoor::open(&settings), Err(TcpError::NeedsTls(_))), "{address}");
    }
    let settings = TcpSettings { address: "0.0.0.0:0".parse().unwrap(), tls: Some(tls) };
    assert_ne!(TcpDoor::open(&settings).unwrap().address().port(), 0);
    // A key that is not the certificate's, and files that are not there.
    let (other, _) = certificate();
    let (certificate, key) = (folder.path().join("c.pem"), other.path().join("k.pem"));
    for tls in
        [TlsFiles::new(certificate.clone(), key), TlsFiles::new(certificate, "/nowhere".into())]
    {
        let settings = TcpSettings { address: "127.0.0.1:0".parse().unwrap(), tls: Some(tls) };
        assert!(matches!(TcpDoor::open(&settings), Err(TcpError::Tls(_))));
    }
}

#[tokio::test]
async fn plain_words_are_not_answered_where_tls_is_spoken() {
    let (folder, tls) = certificate();
    let short = Duration::from_secs(10);
    let limits = Limits { head_deadline: short, ..Limits::default() };
    let house = House::with(Inside { tls: Some(tls), limits, ..Inside::default() }).await;
    let token = house.token(&Scope::ALL).await;
    let request = format!(
        "GET /v1/health HTTP/1.1\r\nhost: localhost:{}\r\nauthorization: Bearer {token}\r\n\r\n",
        house.address.port()
    );
    let said = house.begin(&request).await.read_to_end().await;
    assert!(!said.contains("HTTP"), "{said}");
    // Half a greeting is not waited for either.
    house.begin("\u{16}\u{3}\u{1}").await.read_to_end().await;

    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(folder.path().join("c.pem")).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(house.address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let answer = Talk { stream, read: Vec::new() }.answer().await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json()["listens"]["tls"], true);
    house.close().await;
}
