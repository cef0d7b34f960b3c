//! Attacks on the door over TCP, each tried for real and each refused.
//!
//! | attack | test |
//! |---|---|
//! | DNS rebinding, forged Host, absolute request target | `whoever_asks_for_another_name_is_refused` |
//! | a page of another site (Origin, `Sec-Fetch-Site`), also without CORS | `pages_of_others_are_refused` |
//! | a browser at the unix socket, by a forwarded port | `browsers_have_no_business_at_the_unix_socket` |
//! | no token, a wrong one, one in the URL, a cookie as a token and the other way round | `without_a_key_nothing_is_told` |
//! | CSRF: no Origin, no word, a wrong word | `a_cookie_alone_changes_nothing` |
//! | another port of this host, which browsers send our cookie to | `a_cookie_that_another_port_was_sent_shows_nothing` |
//! | a login code used twice, guessed, taken over TCP | `a_code_counts_once_and_is_given_out_in_the_house_only` |
//! | guessing | `guesses_are_few` |
//! | a scope too small, tokens that beget more than they are | `scopes_bound_what_a_token_does` |
//! | an agent that got hold of a token, or of a login code | `an_agent_with_a_token_decides_nothing` |
//! | a token that was removed or has ended, and what it had opened | `a_removed_token_ends_at_once`, `what_a_token_has_opened_ends_with_it` |
//! | the login of a lost browser | `a_login_is_listed_and_can_be_ended_by_others` |
//! | a stolen database | `the_store_knows_no_secret` |
//! | slowloris, half a TLS greeting, too many connections | `slow.rs` |
//! | oversized bodies, bodies that are no object, header injection | `bodies.rs` |
//! | paths that lead out, links, links that change meanwhile, pipes | `src/files/folder.rs`, `tests/api/files.rs` of the workspace |
//! | any of these, over and over, unseen | `audit.rs` |
//! | a request that two readers read differently: length and chunks, bare line feeds, headers twice, a NUL | `smuggling.rs` |
//! | names of files that end a header, pages among files | `src/files/name.rs`, `tests/api/files.rs` of the workspace |
//! | scripts in whatever Codex, a model or a user writes | `web/tests/text.test.mjs` of the workspace, in a browser |
//! | viewers that do not read | `tests/api/streams.rs`, `tests/api/wire.rs` of the workspace |
//! | an agent of real Codex with a token that may decide | `crates/cli/tests/daemon/street.rs` |
//! | all of these at `/mcp`, and clients that call themselves somebody else | `tests/mcp/attacks.rs` of the workspace |
//! | plain text where TLS is spoken, another machine without TLS | `tls.rs` |
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod again;
mod audit;
mod bodies;
mod house;
mod slow;
mod smuggling;
mod tls;

use std::sync::Arc;

use ostler_server::guard::Scope;
use ostler_server::{Standing, StopMode};
use serde_json::json;

use house::{Answer, House};

const SAFE: [(&str, &str); 4] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; \
         font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("x-frame-options", "DENY"),
];

fn kind(answer: &Answer) -> String {
    for (name, value) in SAFE {
        assert_eq!(answer.header(name), Some(value), "{answer:?}");
    }
    let kind = answer.json()["type"].as_str().unwrap_or_default().to_owned();
    kind.trim_start_matches("urn:ostler:problem:").to_owned()
}

#[tokio::test]
async fn whoever_asks_for_another_name_is_refused() {
    let house = House::open().await;
    let token = house.token(&Scope::ALL).await;
    let own = house.host();
    let port = house.address.port();
    let cases = [
        "GET /v1/health HTTP/1.1\r\nhost: rebound.example\r\n".to_owned(),
        format!("GET /v1/health HTTP/1.1\r\nhost: rebound.example:{port}\r\n"),
        "GET /v1/health HTTP/1.1\r\nhost: 127.0.0.1\r\n".to_owned(),
        format!("GET http://rebound.example/v1/health HTTP/1.1\r\nhost: {own}\r\n"),
        "GET /v1/health HTTP/1.0\r\n".to_owned(),
    ];
    for head in cases {
        let answer = house.raw(&format!("{head}authorization: Bearer {token}\r\n\r\n")).await;
        assert_eq!((answer.status, kind(&answer).as_str()), (403, "origin-refused"), "{head}");
    }
    for name in ["localhost", "127.0.0.1", "[::1]"] {
        let head = format!("GET /v1/health HTTP/1.1\r\nhost: {name}:{port}\r\n");
        let answer = house.raw(&format!("{head}authorization: Bearer {token}\r\n\r\n")).await;
        assert_eq!(answer.status, 200, "{name}");
    }
    house.close().await;
}

#[tokio::test]
async fn pages_of_others_are_refused() {
    let house = House::open().await;
    let token = house.token(&Scope::ALL).await;
    let bearer = format!("Bearer {token}");
    let foreign = [
        [("origin", "http://evil.example"), ("x-a", "b")],
        [("origin", "null"), ("x-a", "b")],
        [("origin", "http://127.0.0.1:1"), ("x-a", "b")],
        [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")],
        [("sec-fetch-site", "same-site"), ("sec-fetch-mode", "cors")],
        [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")],
    ];
    for headers in foreign {
        let headers = [&headers[..], &[("authorization", bearer.as_str())]].concat();
        let answer = house.ask("GET", "/v1/health", &headers, "").await;
        assert_eq!((answer.status, kind(&answer).as_str()), (403, "origin-refused"), "{headers:?}");
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
    // What a browser asks before it sends such a request: no word of consent.
    let asked = [("origin", "http://evil.example"), ("access-control-request-method", "POST")];
    let answer = house.ask("OPTIONS", "/v1/login", &asked, "").await;
    assert_eq!((answer.status, answer.header("access-control-allow-methods")), (403, None));
    house.close().await;
}

#[tokio::test]
async fn browsers_have_no_business_at_the_unix_socket() {
    let house = House::open().await;
    for header in ["origin: http://localhost:8137", "sec-fetch-site: same-origin"] {
        let answer = house
            .at_the_socket(&format!("GET /v1/health HTTP/1.1\r\nhost: x\r\n{header}\r\n\r\n"))
            .await;
        let problem = answer.json();
        assert_eq!(
            (answer.status, &problem["type"]),
            (403, &json!("urn:ostler:problem:origin-refused"))
        );
    }
    house.close().await;
}

#[tokio::test]
async fn without_a_key_nothing_is_told() {
    let house = House::open().await;
    let token = house.token(&Scope::ALL).await;
    let (cookie, _) = house.log_in().await;
    let wrong = format!("Bearer ostler_{}", "0".repeat(64));
    let half = format!("Bearer {}", &token[..token.len() - 1]);
    let swapped = [format!("Bearer {cookie}"), format!("{}={token}", house.cookie_name())];
    let cases: [&[(&str, &str)]; 8] = [
        &[],
        &[("authorization", &wrong)],
        &[("authorization", &half)],
        &[("authorization", &token)],
        &[("authorization", "Bearer ")],
        &[("authorization", "Basic b3N0bGVyOg==")],
        &[("authorization", &swapped[0])],
        &[("cookie", &swapped[1])],
    ];
    for headers in cases {
        let answer = house.ask("GET", "/v1/health", headers, "").await;
        assert_eq!((answer.status, kind(&answer).as_str()), (401, "unauthorized"), "{headers:?}");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }
    for place in ["token", "access_token", "authorization", "ostler_session"] {
        let answer = house.ask("GET", &format!("/v1/health?{place}={token}"), &[], "").await;
        assert_eq!(answer.status, 401, "{place}");
    }
    house.close().await;
}

#[tokio::test]
async fn a_cookie_alone_changes_nothing() {
    let house = House::open().await;
    let (cookie, csrf) = house.log_in().await;
    let (cookie, origin) =
        (format!("a=b; {}={cookie}", house.cookie_name()), format!("http://{}", house.host()));
    let all = [("cookie", cookie.as_str()), ("origin", &origin), ("x-ostler-csrf", &csrf)];
    let wrong = [all[0], all[1], ("x-ostler-csrf", "0000")];
    let cases: [&[(&str, &str)]; 4] = [&all[..1], &all[..2], &[all[0], all[2]], &wrong];
    for headers in cases {
        let answer = house.ask("POST", "/v1/echo", headers, "{}").await;
        assert_eq!((answer.status, kind(&answer).as_str()), (403, "csrf-refused"), "{headers:?}");
        let answer = house.ask("DELETE", "/v1/tokens/x", headers, "").await;
        assert_eq!(answer.status, 403, "{headers:?}");
    }
    assert_eq!(house.ask("POST", "/v1/echo", &all, "{}").await.status, 200);
    let session = house.ask("GET", "/v1/session", &all, "").await.json();
    let known: serde_json::Value = house.client().await.get("/v1/tokens").await.unwrap();
    let login = &known["logins"][0]["id"];
    let expected =
        json!({ "name": house::user(), "scopes": ["read", "operate", "decide"], "login": login });
    assert_eq!(session, expected);
    let out = house.ask("POST", "/v1/logout", &all, "{}").await;
    assert_eq!((out.status, out.header("set-cookie").unwrap().contains("Max-Age=0")), (200, true));
    assert_eq!(house.ask("GET", "/v1/session", &all, "").await.status, 401);
    house.close().await;
}

/// Cookies know no ports: whatever listens on another one of this host is sent ours, and can set one of our name.
#[tokio::test]
async fn a_cookie_that_another_port_was_sent_shows_nothing() {
    let house = House::open().await;
    let (cookie, csrf) = house.log_in().await;
    let (cookie, word) =
        (format!("{}={cookie}", house.cookie_name()), ("x-ostler-csrf", csrf.as_str()));
    let own = [("cookie", cookie.as_str()), ("sec-fetch-site", "same-origin")];
    let wrong = ("x-ostler-csrf", cookie.as_str());
    for path in ["/v1/health", "/v1/session", "/v1/tokens", "/v1/endless"] {
        for headers in [&own[..], &[own[0], own[1], wrong]] {
            let answer = house.ask("GET", path, headers, "").await;
            assert_eq!((answer.status, kind(&answer).as_str()), (401, "unauthorized"), "{path}");
            assert!(!String::from_utf8_lossy(&answer.body).contains(&csrf), "{path}");
        }
    }
    assert_eq!(house.ask("GET", "/v1/health", &[own[0], word], "").await.status, 200);
    // One of our name that somebody else has set hides ours neither before nor behind it, and one of another port is none.
    let name = house.cookie_name();
    for text in [format!("{name}=evil; {cookie}"), format!("{cookie}; {name}=evil")] {
        let answer = house.ask("GET", "/v1/health", &[("cookie", &text), word], "").await;
        assert_eq!(answer.status, 200, "{text}");
    }
    let other = cookie.replacen("ostler_session_", "ostler_session_1", 1);
    assert_eq!(house.ask("GET", "/v1/health", &[("cookie", &other), word], "").await.status, 401);
    house.close().await;
}

#[tokio::test]
async fn a_code_counts_once_and_is_given_out_in_the_house_only() {
    let house = House::open().await;
    let token = house.token(&Scope::ALL).await;
    let bearer = format!("Bearer {token}");
    let answer = house.ask("POST", "/v1/login-codes", &[("authorization", &bearer)], "{}").await;
    assert_eq!((answer.status, kind(&answer).as_str()), (403, "scope-missing"));
    let code = house.code().await;
    let url = format!("http://{}/login#{}", house.host(), code.code);
    assert_eq!(code.url.as_deref(), Some(url.as_str()));
    let body = json!({ "code": code.code }).to_string();
    // Also with a key by which other requests are given their answer again.
    let key = [("idempotency-key", "the same")];
    let answer = house.ask("POST", "/v1/login", &key, &body).await;
    assert_eq!(answer.status, 200);
    let cookie = answer.header("set-cookie").unwrap();
    for word in [&format!("{}=", house.cookie_name()), "; Path=/;", "HttpOnly", "SameSite=Strict"] {
        assert!(cookie.contains(word), "{cookie}");
    }
    assert!(!cookie.contains("Domain"), "{cookie}");
    let repeated: [(&[(&str, &str)], _); 2] =
        [(&key, (409, "conflict")), (&[], (401, "unauthorized"))];
    for (headers, expected) in repeated {
        let again = house.ask("POST", "/v1/login", headers, &body).await;
        assert_eq!((again.status, kind(&again).as_str()), expected);
        assert_eq!(again.header("set-cookie"), None);
    }
    let made = json!({ "name": "x", "scopes": ["read"] }).to_string();
    let headers = [key[0], ("authorization", bearer.as_str())];
    let first = house.ask("POST", "/v1/tokens", &headers, &made).await.json()["token"].clone();
    let again = house.ask("POST", "/v1/tokens", &headers, &made).await;
    assert_eq!((again.status, kind(&again).as_str()), (409, "conflict"));
    assert!(!again.json().to_string().contains(first.as_str().unwrap()));
    house.close().await;
}

#[tokio::test]
async fn guesses_are_few() {
    let house = House::open().await;
    let token = house.token(&[Scope::Read]).await;
    let code = house.code().await.code;
    // A program whose token has ended shows it over and over, and is told each time that it has.
    let stale = [("authorization", "Bearer ostler_stale")];
    for _ in 0..25 {
        assert_eq!(house.ask("GET", "/v1/health", &stale, "").await.status, 401);
    }
    let mut statuses = Vec::new();
    for guess in 0..25 {
        let guess = json!({ "code": format!("{guess:064}") }).to_string();
        statuses.push(house.ask("POST", "/v1/login", &[], &guess).await.status);
    }
    assert_eq!(statuses[..19], [401; 19]);
    assert_eq!(statuses[19..], [429; 6]);
    // A wrong token has to wait now. The right code and a right token have not: they are no guesses, and every program of this
    // machine shares the address.
    let right = json!({ "code": code }).to_string();
    assert_eq!(house.ask("POST", "/v1/login", &[], &right).await.status, 200);
    let wrong = [("authorization", "Bearer ostler_0")];
    let refused = house.ask("GET", "/v1/health", &wrong, "").await;
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!(refused.status == 429 && (1..=60).contains(&wait), "{wait}");
    assert_eq!(house.ask("GET", "/v1/health", &stale, "").await.status, 401);
    let bearer = format!("Bearer {token}");
    assert_eq!(house.ask("GET", "/v1/health", &[("authorization", &bearer)], "").await.status, 200);
    house.close().await;
}

#[tokio::test]
async fn scopes_bound_what_a_token_does() {
    let house = House::open().await;
    let routes = [
        ("GET", "/v1/health", "", [200, 200, 200]),
        ("POST", "/v1/echo", "{}", [403, 200, 403]),
        ("GET", "/v1/tokens", "", [403, 403, 200]),
        ("POST", "/v1/daemon/stop", "{\"mode\":\"maybe\"}", [403, 403, 400]),
        ("GET", "/v1/nowhere", "", [404, 404, 404]),
    ];
    for (at, scope) in Scope::ALL.into_iter().enumerate() {
        let bearer = format!("Bearer {}", house.token(&[scope]).await);
        for (method, path, body, expected) in routes {
            let answer = house.ask(method, path, &[("authorization", &bearer)], body).await;
            assert_eq!(answer.status, expected[at], "{scope:?} {path}: {answer:?}");
        }
    }
    let bearer = format!("Bearer {}", house.token(&[Scope::Decide]).await);
    let more = json!({ "name": "more", "scopes": ["operate"] }).to_string();
    let answer = house.ask("POST", "/v1/tokens", &[("authorization", &bearer)], &more).await;
    assert_eq!((answer.status, kind(&answer).as_str()), (403, "scope-missing"));
    house.close().await;
}

#[tokio::test]
async fn an_agent_with_a_token_decides_nothing() {
    let own = i32::try_from(std::process::id()).unwrap();
    let house = House::with(house::Inside {
        // The caller at the unix socket is a person; the same process over TCP is found by its socket, and is none.
        street: Arc::new(move |pid| match pid == own {
            true => Standing::agent("runs below keeper 0123abcd"),
            false => panic!("process {pid} is not at the other end"),
        }),
        ..house::Inside::default()
    })
    .await;
    let bearer = format!("Bearer {}", house.token(&Scope::ALL).await);
    let headers = [("authorization", bearer.as_str())];
    assert_eq!(house.ask("GET", "/v1/health", &headers, "").await.status, 200);
    assert_eq!(house.ask("POST", "/v1/echo", &headers, "{}").await.status, 200);
    let made = json!({ "name": "more", "scopes": ["decide"] }).to_string();
    for (path, body) in [("/v1/tokens", made.as_str()), ("/v1/daemon/stop", "{}")] {
        let answer = house.ask("POST", path, &headers, body).await;
        assert_eq!((answer.status, kind(&answer).as_str()), (403, "agent-refused"), "{path}");
        let detail = answer.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.ends_with(&format!("process {own} runs below keeper 0123abcd")), "{detail}");
    }
    // Nor does it log in by a code that it got hold of.
    let body = json!({ "code": house.code().await.code }).to_string();
    for _ in 0..2 {
        let answer = house.ask("POST", "/v1/login", &[], &body).await;
        assert_eq!((answer.status, kind(&answer).as_str()), (403, "agent-refused"));
    }
    house.close().await;
}

#[tokio::test]
async fn a_removed_token_ends_at_once() {
    let house = House::open().await;
    let (id, token) = house.new_token(&[Scope::Read]).await;
    let head = format!(
        "GET /v1/endless HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\n\r\n",
        house.host()
    );
    let mut stream = house.begin(&head).await;
    stream.read_until("\"number\":1").await;
    let gone: serde_json::Value =
        house.client().await.delete(&format!("/v1/tokens/{id}")).await.unwrap();
    assert_eq!(gone["id"], json!(id));
    stream.read_until("\r\n0\r\n\r\n").await;
    let bearer = format!("Bearer {token}");
    assert_eq!(house.ask("GET", "/v1/health", &[("authorization", &bearer)], "").await.status, 401);
    house.close().await;
}

#[tokio::test]
async fn what_a_token_has_opened_ends_with_it() {
    let house = House::open().await;
    let end = jiff::Timestamp::now().as_millisecond() + 3_000;
    let (_, token) = house.token_until(&[Scope::Read], Some(end)).await;
    let head = format!(
        "GET /v1/endless HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\n\r\n",
        house.host()
    );
    let mut stream = house.begin(&head).await;
    stream.read_until("\"number\":1").await;
    stream.read_until("\r\n0\r\n\r\n").await;
    assert!(jiff::Timestamp::now().as_millisecond() >= end);
    house.close().await;
}

#[tokio::test]
async fn a_login_is_listed_and_can_be_ended_by_others() {
    let house = House::open().await;
    let (cookie, csrf) = house.log_in().await;
    let cookie = format!("{}={cookie}", house.cookie_name());
    let head = format!(
        "GET /v1/endless HTTP/1.1\r\nhost: {}\r\ncookie: {cookie}\r\nx-ostler-csrf: {csrf}\r\n\r\n",
        house.host()
    );
    let mut stream = house.begin(&head).await;
    stream.read_until("\"number\":1").await;
    let mut client = house.client().await;
    let known: serde_json::Value = client.get("/v1/tokens").await.unwrap();
    let id = known["logins"][0]["id"].as_str().unwrap().to_owned();
    assert!(!known.to_string().contains("word"), "{known}");
    let gone: serde_json::Value = client.delete(&format!("/v1/tokens/{id}")).await.unwrap();
    assert_eq!((&gone["id"], &gone["kind"]), (&json!(id), &json!("login")));
    stream.read_until("\r\n0\r\n\r\n").await;
    let headers = [("cookie", cookie.as_str()), ("x-ostler-csrf", &csrf)];
    assert_eq!(house.ask("GET", "/v1/session", &headers, "").await.status, 401);
    house.close().await;
}

#[tokio::test]
async fn the_store_knows_no_secret() {
    let house = House::open().await;
    let token = house.token(&Scope::ALL).await;
    let (cookie, csrf) = house.log_in().await;
    let kept = house.close_and_keep(StopMode::Graceful).await;
    let mut seen = 0;
    for file in std::fs::read_dir(kept.path()).unwrap() {
        let path = file.unwrap().path();
        let Ok(bytes) = std::fs::read(&path) else { continue };
        seen += 1;
        for secret in [&token, &token[7..].to_owned(), &cookie, &csrf] {
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "{} holds a secret", path.display());
        }
    }
    assert!(seen > 0);
}

#[tokio::test]
async fn a_login_outlives_the_daemon() {
    let house = House::open().await;
    let token = house.token(&[Scope::Read]).await;
    let (cookie, csrf) = house.log_in().await;
    let kept = house.close_and_keep(StopMode::Graceful).await;
    let house = House::with(house::Inside { folder: Some(kept), ..house::Inside::default() }).await;
    let bearer = format!("Bearer {token}");
    assert_eq!(house.ask("GET", "/v1/health", &[("authorization", &bearer)], "").await.status, 200);
    // The port is another one, and so is the name under which its browser would have it.
    let cookie = format!("{}={cookie}", house.cookie_name());
    let headers = [("cookie", cookie.as_str()), ("x-ostler-csrf", &csrf)];
    assert_eq!(house.ask("GET", "/v1/session", &headers, "").await.status, 200);
    house.close().await;
}
