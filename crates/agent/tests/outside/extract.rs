//! `web_extract` on small pages of every kind.

use std::sync::Arc;
use std::time::Duration;

use rstest::rstest;
use serde_json::json;
use tokio::sync::Barrier;

use crate::server::{Asked, Said, Server};
use crate::set::Set;

fn corpus(asked: &Asked) -> Said {
    match asked.path.as_str() {
        "/article" => Said::page(
            "text/html; charset=utf-8",
            "<title>Inn</title><nav>Menu</nav><main><h1>Oats</h1><p>Good <a href='/hay'>hay</a>.</main>",
        ),
        "/latin" => Said::page("text/html; charset=iso-8859-1", b"<p>Stra\xdfe".to_vec()),
        "/meta" => Said::page("text/html", b"<meta charset=shift_jis><p>\x94n".to_vec()),
        "/guessed" => Said(200, Vec::new(), b"<!doctype html><p>no type".to_vec()),
        "/json" => Said::page("application/json", r#"{"horse":"Bess"}"#),
        "/text" => Said::page("text/plain", "one\n  two"),
        "/feed" => Said::page("application/rss+xml", "<rss><title>x</title></rss>"),
        "/pdf" => Said::page("application/pdf", b"%PDF-1.7\0".to_vec()),
        "/png" => Said::page("image/png", b"\x89PNG\r\n".to_vec()),
        "/untyped" => Said(200, Vec::new(), vec![0, 1, 2]),
        "/empty" => Said::page("text/html", "<div id=app></div><script src=x.js></script>"),
        "/packed" => Said(
            200,
            vec![("content-type", "text/html".into()), ("content-encoding", "gzip".into())],
            vec![0x1f, 0x8b],
        ),
        "/long" => Said::page("text/html", format!("<p>{}", "oats ".repeat(100_000))),
        "/many" => Said::page("text/plain", "m".repeat(20_000)),
        _ => Said(404, vec![("content-type", "text/html".into())], b"<p>gone".to_vec()),
    }
}

#[rstest]
#[case("/article", "source: URL\ntitle: Inn\n\n# Oats\n\nGood [hay](HOST/hay).")]
#[case("/latin", "source: URL\n\nStraße")]
#[case("/meta", "source: URL\n\n馬")]
#[case("/guessed", "source: URL\n\nno type")]
#[case("/json", "source: URL\n\n{\"horse\":\"Bess\"}")]
#[case("/text", "source: URL\n\none\n  two")]
#[case("/feed", "source: URL\n\n<rss><title>x</title></rss>")]
#[case("/pdf", "source: URL\nnot read: it is no text but application/pdf (9 bytes)")]
#[case(
    "/png",
    "source: URL\nnot read: it is no text but image/png (6 bytes); look at it with `vision_analyze`"
)]
#[case("/untyped", "source: URL\nnot read: it is no text but of no known kind (3 bytes)")]
#[case(
    "/empty",
    "source: URL\nnot read: there is no text in it; a page that scripts fill in can be read with `browser_navigate`"
)]
#[case("/packed", "source: URL\nnot read: it came packed as gzip, which was not asked for")]
#[case("/long", "source: URL\nnot read: it is longer than 200000 bytes")]
#[case("/nowhere", "source: URL\nnot read: the server answered 404 Not Found")]
#[tokio::test]
async fn each_kind_of_page_is_read_or_refused_by_name(#[case] path: &str, #[case] wanted: &str) {
    let server = Server::new(corpus).await;
    let set = Set::reaching(&[&server.host()]);
    let found = set.call("web_extract", json!({ "urls": [server.url(path)] })).await;
    let wanted = wanted.replace("URL", &server.url(path)).replace("HOST", &server.url(""));
    assert_eq!(found.content, wanted);
    assert_eq!(found.is_error, wanted.contains("not read: "));
}

#[tokio::test]
async fn a_long_page_is_cut_where_it_was_wanted_and_says_so() {
    let server = Server::new(corpus).await;
    let set = Set::reaching(&[&server.host()]);
    let url = server.url("/many");
    for (limit, characters) in [(None, 15_000), (Some(2_000), 2_000), (Some(18_000), 18_000)] {
        let found = set.said("web_extract", json!({ "urls": [url], "char_limit": limit })).await;
        let left = 20_000 - characters;
        let wanted = format!(
            "source: {url}\n\n{}\n[… {left} of 20000 characters were cut here …]",
            "m".repeat(characters)
        );
        assert!(found == wanted, "{limit:?}: {} characters", found.len());
    }
    let refused = set.failed("web_extract", json!({ "urls": [url], "char_limit": 1999 })).await;
    assert_eq!(refused, "`web_extract` was not run: `char_limit` must be at least 2000, not 1999");
}

#[tokio::test]
async fn pages_are_fetched_beside_each_other_and_one_that_fails_does_not_hide_the_others() {
    // Nobody is answered before all have come.
    let together = Arc::new(Barrier::new(4));
    let server = Server::slow(Arc::new(move |asked: Asked| {
        let together = together.clone();
        Box::pin(async move {
            together.wait().await;
            Said::page("text/plain", asked.path)
        })
    }))
    .await;
    let set = Set::reaching(&[&server.host()]);
    let urls: Vec<String> = ["/a", "/b", "/c", "/d"].map(|path| server.url(path)).into();
    let mut all = urls.clone();
    all.insert(1, "http://127.0.0.1:1/".to_owned());

    let found = set.said("web_extract", json!({ "urls": all })).await;

    let parts: Vec<&str> = found.split("\n\n---\n\n").collect();
    assert_eq!(parts.len(), 5, "{found}");
    assert!(parts[1].contains("not read: 127.0.0.1 is refused"), "{found}");
    assert_eq!(parts[4], format!("source: {}\n\n/d", urls[3]));

    let six = set.failed("web_extract", json!({ "urls": [1, 2, 3, 4, 5, 6] })).await;
    assert!(six.contains("`urls` must have at most 5 items, not 6"), "{six}");
}

#[tokio::test]
async fn a_server_that_never_answers_is_not_waited_for() {
    let server = Server::slow(Arc::new(|_| Box::pin(std::future::pending()))).await;
    let host = server.host();
    let set = Set::new(|settings| {
        settings.web.allowed_hosts = vec![host];
        settings.web.timeout = Duration::from_secs(1);
    });
    let found = set.failed("web_extract", json!({ "urls": [server.url("/")] })).await;
    assert_eq!(found, format!("source: {}\nnot read: it took longer than 1 s", server.url("/")));
}
