//! Codex lets another program hold its login, and asks it for fresh tokens.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ostler_codex::account::TokenSource;
use ostler_codex::driver::DriverSettings;
use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::reply::TokenRefreshReply;
use ostler_codex::thread::{Notice, TurnInput};
use ostler_model::TurnEnd;
use ostler_scripted_model::{Answer, Fault};
use ostler_testkit::{Driven, Stage};
use rstest::rstest;
use serde_json::{Value, json};

use super::stage_of;
use crate::text;

const SOON: Duration = Duration::from_secs(60);
/// Must stand nowhere but on the wire.
const CANARY: &str = "canary-4711";

/// Keeps what is logged.
#[derive(Clone, Default)]
struct Logs(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Logs {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

type Refreshed<'a> = Pin<Box<dyn Future<Output = Result<TokenRefreshReply, String>> + Send + 'a>>;

#[derive(Debug)]
enum Source {
    Fresh,
    Empty,
    Panics,
}

impl TokenSource for Source {
    fn refresh(&self, account: Option<String>) -> Refreshed<'_> {
        Box::pin(async move {
            assert_eq!(account.as_deref(), Some("acc-1"));
            match self {
                Self::Fresh => Ok(TokenRefreshReply {
                    access_token: token(CANARY),
                    chatgpt_account_id: "acc-1".to_owned(),
                    chatgpt_plan_type: Some("plus".to_owned()),
                }),
                Self::Empty => Err("the login has expired".to_owned()),
                Self::Panics => panic!("with {CANARY}"),
            }
        })
    }
}

/// What Codex takes for an access token; it does not look at the signature, which here is the canary.
fn token(signature: &str) -> String {
    let part = |value: Value| base64_url(value.to_string().as_bytes());
    let account = json!({
        "chatgpt_account_id": "acc-1", "chatgpt_plan_type": "plus", "chatgpt_user_id": "ann",
    });
    // Far in the future, so that only the model's refusal makes it stale.
    let claims = json!({
        "email": "ann@example.test", "exp": 4_102_444_800u64, "https://api.openai.com/auth": account,
    });
    format!("{}.{}.{signature}", part(json!({ "alg": "none", "typ": "JWT" })), part(claims))
}

fn base64_url(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            let index = (bits >> (18 - 6 * place)) & 63;
            text.push(char::from(LETTERS[index as usize]));
        }
    }
    text
}

/// A world with a login that the model refuses once.
fn stage(version: &str) -> Stage {
    let fault = Fault::Status {
        status: 401,
        code: Some("token_expired".to_owned()),
        message: Some("token expired".to_owned()),
        retry_after_s: None,
        body: None,
    };
    let refused = Answer { fault: Some(fault), ..Answer::default() };
    let stage = stage_of(version, vec![("go on", vec![refused, text("Fresh again.")])]);
    let port = stage.model().port();
    stage
        .configure(|text| {
            format!(
                "chatgpt_base_url = \"http://127.0.0.1:{port}/backend-api\"\n\
                 {text}requires_openai_auth = true\n\n[features]\nplugins = false\napps = false\n"
            )
        })
        .unwrap();
    stage
}

fn with(tokens: Option<Arc<dyn TokenSource>>) -> DriverSettings {
    DriverSettings { tokens, ..DriverSettings::default() }
}

async fn log_in(driven: &Driven) {
    let login = json!({
        "type": "chatgptAuthTokens",
        "accessToken": token("stale"),
        "chatgptAccountId": "acc-1",
        "chatgptPlanType": "plus",
    });
    driven
        .driver
        .server()
        .await
        .unwrap()
        .peer()
        .request("account/login/start", &login, SOON)
        .await
        .unwrap();
}

/// How often the model was asked for an answer.
fn asked(stage: &Stage) -> usize {
    let requests = stage.model().requests();
    requests.iter().filter(|request| request.path.ends_with("/responses")).count()
}

#[rstest]
#[tokio::test]
async fn fresh_tokens_go_from_their_source_to_codex_and_nowhere_else(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    // All work of this test is done on its own thread, so this is all that is logged.
    let logs = Logs::default();
    let writer = logs.clone();
    let subscriber = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE);
    let subscriber = subscriber.with_writer(move || writer.clone()).finish();
    let _logging = tracing::subscriber::set_default(subscriber);
    tracing::trace!("logs are kept");
    let stage = stage(version);
    let codex = stage.codex().await.unwrap();
    let driven = stage.drive_with(&codex, with(Some(Arc::new(Source::Fresh)))).await.unwrap();
    log_in(&driven).await;
    let settings = stage.settings(crate::thread::workspace_write(), ApprovalPolicy::Never);
    let mut thread = driven.thread(settings, Default::default()).await.unwrap();

    let outcome = thread.run(TurnInput::text("go on")).await.unwrap();
    assert_eq!(outcome.result.end, TurnEnd::Completed);
    assert_eq!(outcome.result.final_answer.as_deref(), Some("Fresh again."));
    // The request was repeated with the new token; without one it would have been an error with a retry.
    assert_eq!((outcome.result.retries, asked(&stage)), (0, 2));
    assert!(!format!("{:?}", thread.seen).contains(CANARY), "{:?}", thread.seen);
    assert!(!format!("{:?}", token_reply()).contains(CANARY));
    let logged = String::from_utf8(logs.0.lock().unwrap().clone()).unwrap();
    assert!(logged.contains("logs are kept") && !logged.contains(CANARY), "{logged}");
}

fn token_reply() -> TokenRefreshReply {
    TokenRefreshReply {
        access_token: token(CANARY),
        chatgpt_account_id: "acc-1".to_owned(),
        chatgpt_plan_type: None,
    }
}

#[rstest]
#[case::nobody(
    None,
    "codex wants fresh tokens, and nobody here has them; log in again with `codex login`"
)]
#[case::empty(Some(Source::Empty), "no fresh tokens: the login has expired")]
#[case::panics(Some(Source::Panics), "no fresh tokens: their source panicked")]
#[tokio::test]
async fn without_fresh_tokens_codex_is_refused_and_people_are_warned(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
    #[case] source: Option<Source>,
    #[case] warning: &str,
) {
    let stage = stage(version);
    let codex = stage.codex().await.unwrap();
    let source = source.map(|source| Arc::new(source) as Arc<dyn TokenSource>);
    let driven = stage.drive_with(&codex, with(source)).await.unwrap();
    log_in(&driven).await;
    let settings = stage.settings(crate::thread::workspace_write(), ApprovalPolicy::Never);
    let mut thread = driven.thread(settings, Default::default()).await.unwrap();
    super::send(&thread, "go on").await;

    let warned = thread.notice("the warning", |notice| match notice {
        Notice::Warning { text } if text.contains("fresh tokens") => Some(text.clone()),
        _ => None,
    });
    assert_eq!(warned.await.unwrap(), warning);
    // Codex takes the refusal for a broken stream and tries once more; the model is content with anything now.
    let result = thread.turn_end().await.unwrap();
    assert_eq!(result.end, TurnEnd::Completed);
    assert_eq!(result.retries, 1);
    assert!(!format!("{:?}", thread.seen).contains(CANARY), "{:?}", thread.seen);
}
