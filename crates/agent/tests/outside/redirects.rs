//! Where a page may lead, and that the address that was judged is the one that is spoken to.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ostler_agent::tools::{Fetcher, Guard, Lookup};
use rstest::rstest;
use serde_json::json;

use crate::server::{Answer, Asked, Said, Server};
use crate::set::Set;

#[tokio::test]
async fn five_redirects_are_followed_and_a_sixth_is_not() {
    let server = Server::new(|asked| match asked.path.trim_start_matches('/').parse::<u32>() {
        Ok(0) => Said::page("text/plain", "arrived"),
        Ok(left) => Said::to(format!("/{}", left - 1)),
        Err(_) => Said::to("/round"),
    })
    .await;
    let set = Set::reaching(&[&server.host()]);

    let found = set.said("web_extract", json!({ "urls": [server.url("/5")] })).await;
    assert_eq!(found, format!("source: {}\n\narrived", server.url("/0")));
    for path in ["/6", "/round"] {
        let found = set.failed("web_extract", json!({ "urls": [server.url(path)] })).await;
        assert!(found.contains("led to another place more than 5 times"), "{found}");
    }
}

#[rstest]
#[case::address("http://127.0.0.1:PORT/inside", "127.0.0.1 is refused: 127.0.0.1 is this machine")]
#[case::decimal("http://2130706433:PORT/inside", "127.0.0.1 is refused")]
#[case::without_host("//[::1]:PORT/inside", "[::1] is refused")]
#[case::metadata("http://169.254.169.254/latest/", "where clouds keep their metadata")]
#[case::file("file:///etc/passwd", "only http and https are fetched, not `file:`")]
#[case::password("http://a:b@example.org/", "a name and a password")]
#[tokio::test]
async fn a_redirect_is_judged_like_the_first_address(#[case] to: &str, #[case] wanted: &str) {
    let port = Arc::new(Mutex::new(0));
    let (known, to) = (port.clone(), to.to_owned());
    let server = Server::new(move |asked| match asked.path.as_str() {
        "/" => Said::to(to.replace("PORT", &known.lock().unwrap().to_string())),
        _ => Said::page("text/plain", "the inside"),
    })
    .await;
    *port.lock().unwrap() = server.address.port();
    let set = Set::reaching(&[&server.host()]);

    let found = set.failed("web_extract", json!({ "urls": [server.url("/")] })).await;

    assert!(found.contains(wanted), "{found}");
    assert_eq!(server.asked().len(), 1, "only the redirect itself was asked for");
}

/// Two machines at the same port of two addresses, and a name that means one after the other.
#[tokio::test]
async fn a_name_whose_answer_changes_leads_to_the_address_that_was_judged() {
    let saying = |word: &'static str| -> Answer {
        Arc::new(move |asked: Asked| {
            let said = match asked.path.as_str() {
                "/again" => Said::to("/"),
                _ => Said::page("text/plain", word),
            };
            Box::pin(async move { said })
        })
    };
    let first = Server::at(SocketAddr::from(([127, 0, 0, 1], 0)), saying("first")).await;
    let port = first.address.port();
    let second = Server::at(SocketAddr::from(([127, 0, 0, 2], port)), saying("second")).await;
    let looks = Arc::new(AtomicUsize::new(0));
    let counted = looks.clone();
    let lookup: Lookup = Arc::new(move |_| {
        let number = counted.fetch_add(1, Ordering::SeqCst);
        let address: IpAddr = if number == 0 { [127, 0, 0, 1] } else { [127, 0, 0, 2] }.into();
        Box::pin(async move { Ok(vec![address]) })
    });
    let guard = Arc::new(Guard::with_lookup(&["changing.example".to_owned()], lookup));
    let fetcher = Fetcher::new(guard.clone(), Duration::from_secs(20));
    let url = |path: &str| guard.parse(&format!("http://changing.example:{port}{path}")).unwrap();

    fetcher.fetch(&url("/"), 100).await.unwrap();
    assert_eq!(
        (first.asked().len(), second.asked().len(), looks.load(Ordering::SeqCst)),
        (1, 0, 1)
    );
    // Each hop is looked up and judged anew.
    fetcher.fetch(&url("/again"), 100).await.unwrap();
    assert_eq!(
        (first.asked().len(), second.asked().len(), looks.load(Ordering::SeqCst)),
        (1, 2, 3)
    );
}

#[tokio::test]
async fn a_name_that_turns_private_is_refused_at_the_next_hop() {
    let server = Server::new(|_| Said::to("http://changing.example/inside")).await;
    let port = server.address.port();
    let lookup: Lookup = Arc::new(|name| {
        let address: IpAddr = match name.as_str() {
            "localhost" => [127, 0, 0, 1].into(),
            _ => [10, 0, 0, 7].into(),
        };
        Box::pin(async move { Ok(vec![address]) })
    });
    let guard = Arc::new(Guard::with_lookup(&[format!("localhost:{port}")], lookup));
    let fetcher = Fetcher::new(guard.clone(), Duration::from_secs(20));
    let url = guard.parse(&format!("http://localhost:{port}/")).unwrap();

    let refused = fetcher.fetch(&url, 100).await.unwrap_err();

    assert!(
        refused.to_string().starts_with("changing.example is refused: 10.0.0.7 is"),
        "{refused}"
    );
}
