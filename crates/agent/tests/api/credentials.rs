//! Keys: fetched when they are needed, once more when they are refused, and shown to nobody.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ostler_agent::api::{KeySource, Secret, Wire};
use ostler_model::FailureClass;
use rstest::rstest;

use crate::stage::{Stage, answer, calm};

/// Gives one key after the other, and the last one for ever.
fn keys(keys: &'static [&'static str]) -> (KeySource, Arc<AtomicU32>) {
    let count = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&count);
    let fetch = Arc::new(move || {
        let place = counted.fetch_add(1, Ordering::SeqCst) as usize;
        Some(Secret::new(keys[place.min(keys.len() - 1)]))
    });
    (KeySource::Given { name: "MY_KEY".to_owned(), fetch }, count)
}

fn stage(wire: Wire, key: KeySource) -> Stage {
    let stage = Stage::with(wire, &answer("text = \"in\"\nrepeat = true"), calm(), key);
    stage.model.demand_key("right");
    stage
}

#[rstest]
#[case::at_once(&["right"], 1, 1)]
#[case::after_a_refresh(&["old", "right"], 2, 2)]
#[tokio::test]
async fn a_key_is_kept_until_it_is_refused(
    #[case] given: &'static [&'static str],
    #[case] fetched: u32,
    #[case] requests: usize,
    #[values(Wire::Responses, Wire::Chat)] wire: Wire,
) {
    let (source, count) = keys(given);
    let stage = stage(wire, source);
    assert_eq!(stage.go().await.answer.unwrap().text, "in");
    assert_eq!((count.load(Ordering::SeqCst), stage.requests().len()), (fetched, requests));
    assert_eq!(stage.go().await.answer.unwrap().text, "in");
    assert_eq!((count.load(Ordering::SeqCst), stage.requests().len()), (fetched, requests + 1));
}

#[rstest]
#[tokio::test]
async fn a_wrong_key_is_tried_twice_and_never_shown(
    #[values(Wire::Responses, Wire::Chat)] wire: Wire,
) {
    let (source, count) = keys(&["sk-wrong-key"]);
    let stage = stage(wire, source);
    let asked = stage.go().await;
    assert_eq!(asked.failure(), (FailureClass::Auth, Some("invalid_api_key"), None));
    assert_eq!((count.load(Ordering::SeqCst), stage.requests().len()), (2, 2));
    assert!(asked.message().ends_with("(look at MY_KEY)"), "{}", asked.message());
    // The next question fetches it anew.
    stage.go().await.answer.unwrap_err();
    assert_eq!(count.load(Ordering::SeqCst), 4);
}

/// Some providers repeat the key when they refuse it.
#[tokio::test]
async fn a_key_in_a_providers_words_is_hidden() {
    let (source, _) = keys(&["sk-my-key"]);
    let fault = "fault = { kind = \"status\", status = 400, message = \"bad key sk-my-key here\" }";
    let asked = Stage::with(Wire::Chat, &answer(fault), calm(), source).go().await;
    assert_eq!(asked.message(), "bad key [key] here");
    assert!(!format!("{asked:?}").contains("sk-my-key"), "{asked:?}");
}

#[tokio::test]
async fn without_a_key_nothing_is_sent() {
    let source = KeySource::Given { name: "MY_KEY".to_owned(), fetch: Arc::new(|| None) };
    let stage = stage(Wire::Chat, source);
    let asked = stage.go().await;
    assert_eq!(asked.failure(), (FailureClass::Auth, None, None));
    assert_eq!(asked.message(), "MY_KEY is not set; set it to the provider's key");
    assert_eq!(stage.requests(), []);
}

fn login(home: &Path, token: &str) {
    let text = format!(
        r#"{{"OPENAI_API_KEY":null,"tokens":{{"access_token":"{token}","refresh_token":"never","account_id":"acc"}}}}"#
    );
    std::fs::write(home.join("auth.json"), text).unwrap();
}

/// Codex renews its login by itself; the file is read again, and its refresh token is never redeemed.
#[tokio::test]
async fn the_login_of_codex_is_read_again_when_it_is_refused() {
    let home = tempfile::tempdir().unwrap();
    login(home.path(), "right");
    let source = KeySource::CodexLogin { codex_home: home.path().to_owned() };
    let stage = stage(Wire::Responses, source);
    assert_eq!(stage.go().await.answer.unwrap().text, "in");
    assert_eq!(stage.requests().remove(0).header("chatgpt-account-id"), Some("acc"));

    stage.model.demand_key("renewed");
    let expired = stage.go().await;
    let advice = format!("(run `CODEX_HOME={} codex login`)", home.path().display());
    assert!(expired.message().ends_with(&advice), "{}", expired.message());

    login(home.path(), "renewed");
    assert_eq!(stage.go().await.answer.unwrap().text, "in");
    let paths = stage.requests().into_iter().map(|request| request.path);
    assert!(paths.clone().all(|path| path == "/v1/responses"), "{:?}", paths.collect::<Vec<_>>());
}
