//! Whoever is refused leaves a trace, and none that fills the disk.

use std::sync::Arc;

use ostler_model::AuditKind;
use ostler_server::Standing;
use ostler_server::guard::Scope;
use serde_json::json;

use crate::house::{House, Inside, user};

#[tokio::test]
async fn whoever_is_refused_is_written_down() {
    let house = House::open().await;
    let reader = format!("Bearer {}", house.token(&[Scope::Read]).await);
    let own = house.host();
    // One after the other: another name, another page, a key that is none, one in the wrong place, one too weak.
    house.raw("GET /v1/health?token=s3cret HTTP/1.1\r\nhost: rebound.example\r\n\r\n").await;
    house.ask("GET", "/v1/health", &[("origin", "http://evil.example")], "").await;
    house.ask("GET", "/v1/health", &[("authorization", "Bearer ostler_wrong")], "").await;
    let (cookie, _) = house.log_in().await;
    let cookie = format!("{}={cookie}", house.cookie_name());
    let origin = format!("http://{own}");
    house.ask("POST", "/v1/echo", &[("cookie", &cookie), ("origin", &origin)], "{}").await;
    // A key by which others are given their answer again hides nothing.
    let keyed = [("authorization", reader.as_str()), ("idempotency-key", "k")];
    house.ask("POST", "/v1/tokens", &keyed, "{}").await;
    for guess in 0..25 {
        let guess = json!({ "code": format!("{guess:064}") }).to_string();
        house.ask("POST", "/v1/login", &[("idempotency-key", "g")], &guess).await;
    }
    // Nobody who is only not logged in.
    house.ask("GET", "/v1/health", &[], "").await;

    let said = house.refusals().await;
    let kinds: Vec<(AuditKind, &str, &str)> =
        said.iter().map(|it| (it.kind, it.who.as_str(), it.what.as_str())).collect();
    assert_eq!(
        kinds[..5],
        [
            (AuditKind::HostRefused, "nobody", "GET /v1/health"),
            (AuditKind::OriginRefused, "nobody", "GET /v1/health"),
            (AuditKind::KeyRefused, "nobody", "GET /v1/health"),
            (AuditKind::CsrfRefused, "nobody", "POST /v1/echo"),
            (AuditKind::ScopeRefused, "token test", "POST /v1/tokens"),
        ]
    );
    assert!(said[0].why.as_ref().unwrap().contains("rebound.example"), "{:?}", said[0]);
    assert!(said[1].why.as_ref().unwrap().contains("evil.example"), "{:?}", said[1]);
    assert!(said.iter().all(|it| it.place.starts_with("127.0.0.1:") && it.at > 0), "{said:?}");
    let of = |kind| said.iter().filter(|it| it.kind == kind).count();
    // One is of the token; the rest are codes, as many as an origin has a minute.
    assert_eq!((of(AuditKind::KeyRefused), of(AuditKind::Guessing)), (10, 6));
    assert!(!format!("{said:?}").contains("s3cret"));
    house.close().await;
}

#[tokio::test]
async fn keys_are_written_down_with_the_key() {
    let house = House::open().await;
    let (id, token) = house.new_token(&[Scope::Decide]).await;
    house.log_in().await;
    let bearer = format!("Bearer {token}");
    house.ask("DELETE", &format!("/v1/tokens/{id}"), &[("authorization", &bearer)], "").await;
    let made = house.entries(AuditKind::TokenMade).await;
    assert_eq!(made.len(), 1);
    assert_eq!(
        (made[0].who.as_str(), made[0].what.as_str()),
        (user().as_str(), format!("token test ({id}) may read, decide").as_str())
    );
    assert!(made[0].place.starts_with("socket, process "), "{made:?}");
    let login = house.entries(AuditKind::LoggedIn).await;
    assert_eq!((login.len(), login[0].who.as_str()), (1, user().as_str()));
    let gone = house.entries(AuditKind::KeyRemoved).await;
    assert_eq!((gone.len(), gone[0].who.as_str()), (1, "token test"));
    let all = format!("{made:?}{login:?}{gone:?}");
    assert!(!all.contains(&token[8..]), "{all}");
    house.close().await;
}

#[tokio::test]
async fn an_agent_that_would_make_a_token_is_written_down() {
    let street: ostler_server::Look = Arc::new(|_| Standing::agent("runs below keeper 0123abcd"));
    let house = House::with(Inside { street, ..Inside::default() }).await;
    let token = house.token(&Scope::ALL).await;
    let bearer = format!("Bearer {token}");
    let wanted = json!({ "name": "mine", "scopes": ["decide"] }).to_string();
    let refused = house.ask("POST", "/v1/tokens", &[("authorization", &bearer)], &wanted).await;
    assert_eq!(refused.status, 403);
    let said = house.refusals().await;
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!((said[0].kind, said[0].what.as_str()), (AuditKind::AgentRefused, "POST /v1/tokens"));
    assert!(said[0].why.as_ref().unwrap().contains("runs below keeper 0123abcd"), "{said:?}");
    house.close().await;
}

/// A loop of requests leaves ten entries, and the number of the rest.
#[tokio::test]
async fn an_attacker_in_a_loop_fills_no_disk() {
    let house = House::open().await;
    for number in 0..200 {
        house.raw(&format!("GET /{number} HTTP/1.1\r\nhost: rebound.example\r\n\r\n")).await;
    }
    house.ask("GET", "/", &[("origin", "http://evil.example")], "").await;
    let said = house.refusals().await;
    let of = |kind| said.iter().filter(|it| it.kind == kind).count();
    assert_eq!((of(AuditKind::HostRefused), of(AuditKind::OriginRefused)), (10, 1));
    assert_eq!(house.audit.suppressed(), 190);
    house.audit.end().await;
    let said = house.refusals().await;
    let told: Vec<u64> = said.iter().map(|it| it.suppressed).filter(|it| *it > 0).collect();
    assert_eq!(told, [190]);
    house.close().await;
}
