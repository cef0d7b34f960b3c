//! A page reaches only what the guard allows, whatever it tries.

use serde_json::json;

use crate::inn::{Inn, named};

/// The same server by another name is private: only `localhost` with its port is allowed.
const PAGES: &[(&str, &str)] = &[
    (
        "/",
        "<title>Trap</title><img src=http://127.0.0.1:PORT/secret-image><iframe src=http://127.0.0.1:PORT/secret-frame></iframe>
        <link rel=stylesheet href=http://127.0.0.1:PORT/secret-style><a href=http://127.0.0.1:PORT/secret-link>Go</a>
        <script>fetch('http://127.0.0.1:PORT/secret-fetch', { mode: 'no-cors' }).catch(() => console.log('fetch failed'));
        new WebSocket('ws://127.0.0.1:PORT/secret-socket').onerror = () => console.log('socket failed');
        new Worker(URL.createObjectURL(new Blob([\"fetch('http://127.0.0.1:PORT/secret-worker', { mode: 'no-cors' })\"])));
        navigator.sendBeacon('http://127.0.0.1:PORT/secret-beacon');
        </script>",
    ),
    ("/lead", "HTTP/1.1 302 Found\nlocation: http://127.0.0.1:PORT/secret-redirect\n\n"),
    ("/chain", "HTTP/1.1 302 Found\nlocation: /lead\n\n"),
    ("/save", "HTTP/1.1 200 OK\ncontent-type: application/zip\ncontent-disposition: attachment; filename=x.zip\n\nPK"),
    ("/links", "<title>Links</title><a href=/save>Save</a>"),
];

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_is_not_public_is_refused_before_it_is_gone_to() {
    let inn = Inn::new(PAGES).await;
    let private = format!("http://127.0.0.1:{}/secret", inn.port);
    let cases = [
        (private.as_str(), "127.0.0.1 is refused: 127.0.0.1 is this machine"),
        ("http://169.254.169.254/latest/meta-data/", "where clouds keep their metadata"),
        ("http://[::1]/", "[::1] is refused"),
        ("http://0x7f.1/", "127.0.0.1 is refused"),
        ("http://localhost/", "localhost is refused"),
        ("file:///etc/passwd", "only http and https are fetched, not `file:`"),
        ("chrome://version", "not `chrome:`"),
        ("data:text/html,hello", "not `data:`"),
        ("javascript:alert(1)", "not `javascript:`"),
    ];
    for (url, wanted) in cases {
        let said = inn.failed("browser_navigate", json!({ "url": url })).await;
        assert!(said.contains(wanted), "{url}: {said}");
    }
    assert_eq!(inn.asked(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn redirects_and_everything_inside_of_a_page_are_judged_too() {
    let inn = Inn::new(PAGES).await;
    for path in ["/lead", "/chain"] {
        let said = inn.failed("browser_navigate", json!({ "url": inn.url(path) })).await;
        assert!(said.contains("was not loaded: 127.0.0.1 is refused"), "{said}");
    }
    let seen = inn.said("browser_navigate", json!({ "url": inn.url("/") })).await;
    assert!(seen.contains("title: Trap\n"), "{seen}");
    assert!(
        seen.contains("note: a part of the page was not loaded: 127.0.0.1 is refused"),
        "{seen}"
    );
    // Both have tried and were told no.
    let waited = "new Promise(done => { const look = () => document.readyState === 'complete' ? done(1) : setTimeout(look, 20); look() })";
    inn.said("browser_console", json!({ "expression": waited })).await;
    let link = named(&seen, "- link \"Go\"");
    let clicked = inn.said("browser_click", json!({ "ref": link })).await;
    assert!(
        clicked.contains("127.0.0.1 is refused") || clicked.contains("chrome-error://"),
        "{clicked}"
    );

    let asked = inn.asked();
    assert!(!asked.iter().any(|it| it.contains("secret")), "{asked:?}");
    assert!(asked.contains(&format!("localhost:{}/", inn.port)), "{asked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn downloads_are_refused() {
    let inn = Inn::new(PAGES).await;
    let said = inn.failed("browser_navigate", json!({ "url": inn.url("/save") })).await;
    assert!(said.contains("download"), "{said}");
    let seen = inn.said("browser_navigate", json!({ "url": inn.url("/links") })).await;
    let save = named(&seen, "- link \"Save\"");
    let clicked = inn.said("browser_click", json!({ "ref": save })).await;
    let later = inn.said("browser_snapshot", json!({})).await;
    let both = format!("{clicked}{later}");
    assert!(both.contains("note: a download was refused: \"x.zip\""), "{both}");
    assert!(both.contains("title: Links\n"), "{both}");
}
