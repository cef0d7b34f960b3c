//! `web_search` by each kind of provider.

use std::time::Duration;

use ostler_agent::api::{KeySource, ThroughProxy};
use ostler_agent::tools::{SearchKind, SearchSettings};
use serde_json::{Value, json};

use crate::server::{Asked, Said, Server};
use crate::set::{KEY, Set, key};

fn set(kind: SearchKind, base_url: Option<String>, key: KeySource) -> Set {
    let timeout = Duration::from_secs(20);
    Set::new(|settings| {
        // Nobody answers there; what is on this machine is asked without it.
        let (url, not_for) = ("http://127.0.0.1:9".to_owned(), String::new());
        let proxy = Some(ThroughProxy { url, not_for });
        settings.web.search = Some(SearchSettings { kind, base_url, key, proxy, timeout });
    })
}

fn hit(number: usize) -> Value {
    json!({ "title": format!("Horse {number}"), "url": format!("https://horse.example/{number}"), "content": "a  horse" })
}

fn json_page(value: &Value) -> Said {
    Said::page("application/json", value.to_string())
}

#[tokio::test]
async fn without_a_provider_a_call_says_what_to_configure() {
    let set = Set::new(|_| {});
    let said = set.failed("web_search", json!({ "query": "oats" })).await;
    for part in ["`search` in [web]", "searxng", "brave", "tavily", "search_key_env", "web_extract"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    for (limit, wanted) in [(0, "at least 1, not 0"), (101, "at most 100, not 101")] {
        let said = set.failed("web_search", json!({ "query": "oats", "limit": limit })).await;
        assert!(said.contains(wanted), "{said}");
    }
}

#[tokio::test]
async fn searxng_is_asked_page_by_page_until_there_is_enough() {
    let server = Server::new(|asked| {
        let page: usize = asked.path.rsplit("pageno=").next().unwrap().parse().unwrap();
        let hits: Vec<Value> = (0..10).map(|it| hit(page * 10 + it)).collect();
        json_page(&json!({ "results": if page < 3 { hits } else { vec![] } }))
    })
    .await;
    let set = set(SearchKind::Searxng, Some(server.url("")), KeySource::None);

    let five = set.said("web_search", json!({ "query": "a & b" })).await;
    assert_eq!(five.lines().count(), 15, "{five}");
    assert!(
        five.starts_with("1. Horse 10\n   https://horse.example/10\n   a horse\n2. Horse 11"),
        "{five}"
    );
    assert_eq!(server.asked()[0].path, "/search?q=a+%26+b&format=json&pageno=1");
    assert_eq!(server.asked()[0].header("authorization"), None);

    let all = set.said("web_search", json!({ "query": "x", "limit": 100 })).await;
    assert_eq!(all.lines().count(), 60, "two pages and no more");
    assert_eq!(server.asked().len(), 4);
}

#[tokio::test]
async fn brave_tavily_and_others_are_asked_in_their_own_way() {
    let answer = |asked: &Asked| {
        let hits = vec![json!({ "name": "Bess", "link": "https://b.example/", "snippet": "grey" })];
        match asked.path.starts_with("/web/search") {
            true => json_page(&json!({ "web": { "results": hits } })),
            false => json_page(&json!({ "items": hits })),
        }
    };
    let cases = [
        (
            SearchKind::Brave,
            "GET",
            "/web/search?q=mare&count=3&offset=0&text_decorations=false",
            "x-subscription-token",
            KEY.to_owned(),
        ),
        (SearchKind::Tavily, "POST", "/search", "authorization", format!("Bearer {KEY}")),
        (SearchKind::Json, "GET", "/?q=mare&limit=3", "authorization", format!("Bearer {KEY}")),
    ];
    for (kind, method, path, header, value) in cases {
        let server = Server::new(answer).await;
        let set = set(kind, Some(server.url("")), key());
        let said = set.said("web_search", json!({ "query": "mare", "limit": 3 })).await;
        assert_eq!(said, "1. Bess\n   https://b.example/\n   grey", "{kind:?}");
        let asked = server.asked().remove(0);
        assert_eq!((asked.method.as_str(), asked.path.as_str()), (method, path));
        assert_eq!(asked.header(header), Some(value.as_str()));
        assert!(!asked.path.contains(KEY));
        if kind == SearchKind::Tavily {
            assert_eq!(asked.json(), json!({ "query": "mare", "max_results": 3 }));
        }
    }
}

#[tokio::test]
async fn what_goes_wrong_is_told_without_the_key() {
    let refused = |_: &Asked| Said(401, Vec::new(), format!("bad key {KEY}").into_bytes());
    let server = Server::new(refused).await;
    let set_up = set(SearchKind::Brave, Some(server.url("")), key());
    let said = set_up.failed("web_search", json!({ "query": "mare" })).await;
    assert_eq!(said, "the search answered 401 Unauthorized (look at MY_KEY): bad key [key]");

    let server = Server::new(|_| Said::page("text/html", "<p>hello")).await;
    let set_up = set(SearchKind::Searxng, Some(server.url("")), KeySource::None);
    let said = set_up.failed("web_search", json!({ "query": "mare" })).await;
    assert!(said.contains("SearXNG needs `json` among its formats"), "{said}");

    let set_up = set(SearchKind::Searxng, None, KeySource::None);
    let said = set_up.failed("web_search", json!({ "query": "mare" })).await;
    assert!(said.contains("as search_url in [web]"), "{said}");

    // A key is not carried to where somebody else points.
    let elsewhere = Server::new(|_| json_page(&json!({ "results": [hit(1)] }))).await;
    let to = elsewhere.url("/");
    let server = Server::new(move |_| Said::to(to.clone())).await;
    let set_up = set(SearchKind::Json, Some(server.url("")), key());
    let said = set_up.failed("web_search", json!({ "query": "mare" })).await;
    assert!(said.starts_with("the search answered 302"), "{said}");
    assert_eq!(elsewhere.asked().len(), 0);
}
