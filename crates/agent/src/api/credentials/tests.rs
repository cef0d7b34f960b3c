use std::sync::atomic::{AtomicU32, Ordering};

use rstest::rstest;

use super::*;

fn key(text: &str) -> Credential {
    Credential { key: Some(Secret::new(text)), account: None }
}

fn command(script: &str) -> KeySource {
    KeySource::Command(["sh", "-c", script].map(str::to_owned).to_vec())
}

#[tokio::test]
async fn each_source_gives_its_key_and_gives_it_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    std::fs::write(&path, " one\n").unwrap();
    let file = KeySource::File(path.clone());
    assert_eq!(file.fetch().await.unwrap(), key("one"));
    std::fs::write(&path, "two").unwrap();
    assert_eq!(file.fetch().await.unwrap(), key("two"));

    let count = Arc::new(AtomicU32::new(0));
    let fetch: FetchSecret =
        Arc::new(move || Some(Secret::new(format!("key{}", count.fetch_add(1, Ordering::SeqCst)))));
    let given = KeySource::Given { name: "KEY".to_owned(), fetch };
    assert_eq!(given.fetch().await.unwrap(), key("key0"));
    assert_eq!(given.fetch().await.unwrap(), key("key1"));

    assert_eq!(command("echo printed; echo noise >&2").fetch().await.unwrap(), key("printed"));
    assert_eq!(KeySource::None.fetch().await.unwrap(), Credential::default());
}

#[tokio::test]
async fn without_a_key_the_message_says_where_one_was_looked_for() {
    let said = |source: KeySource| async move { source.fetch().await.unwrap_err().to_string() };
    let given = KeySource::Given { name: "MY_KEY".to_owned(), fetch: Arc::new(|| None) };
    assert_eq!(said(given).await, "MY_KEY is not set; set it to the provider's key");
    let missing = said(KeySource::File(PathBuf::from("/nowhere/key"))).await;
    assert!(missing.starts_with("cannot read the key in /nowhere/key: "), "{missing}");
    assert_eq!(said(command("true")).await, "the output of sh has no key in it");
    let two = said(command("echo hidden words")).await;
    assert_eq!(two, "the output of sh has more than a key in it, or characters that no key has");
    let failed = said(command("echo secret >&2; exit 3")).await;
    assert_eq!(failed, "sh, which prints the key, failed with exit status: 3");
    assert_eq!(
        said(KeySource::Command(Vec::new())).await,
        "no command is named that prints the key"
    );
}

#[tokio::test]
async fn a_command_that_hangs_is_given_up() {
    let argv = ["sleep", "600"].map(str::to_owned);
    let within = Duration::from_millis(20);
    let error = command::output(&argv, within).await.unwrap_err();
    assert_eq!(error.to_string(), "sleep, which prints the key, did not end within 20ms");
}

#[rstest]
#[case::chatgpt(r#"{"OPENAI_API_KEY":null,"tokens":{"access_token":"at","refresh_token":"rt","account_id":"acc"}}"#, Some(("at", Some("acc"))))]
#[case::by_mode(r#"{"auth_mode":"chatgpt","OPENAI_API_KEY":"sk","tokens":{"access_token":"at","account_id":"acc"}}"#, Some(("at", Some("acc"))))]
#[case::key(r#"{"OPENAI_API_KEY":"sk"}"#, Some(("sk", None)))]
#[case::key_by_mode(r#"{"auth_mode":"apikey","OPENAI_API_KEY":"sk","tokens":{"access_token":"at"}}"#, Some(("sk", None)))]
#[case::key_before_tokens(r#"{"OPENAI_API_KEY":"sk","tokens":{"access_token":"at"}}"#, Some(("sk", None)))]
#[case::logged_out("{}", None)]
#[case::no_token(r#"{"tokens":{"refresh_token":"rt"}}"#, None)]
#[tokio::test]
async fn the_login_of_codex_is_read_as_codex_reads_it(
    #[case] text: &str,
    #[case] expected: Option<(&str, Option<&str>)>,
) {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("auth.json"), text).unwrap();
    let read = KeySource::CodexLogin { codex_home: home.path().to_owned() }.fetch().await;
    let expected = expected.map(|(token, account)| Credential {
        key: Some(Secret::new(token)),
        account: account.map(str::to_owned),
    });
    match expected {
        Some(expected) => assert_eq!(read.unwrap(), expected),
        None => {
            let said = read.unwrap_err().to_string();
            assert!(said.ends_with("run `codex login`"), "{said}");
        }
    }
}

#[tokio::test]
async fn without_a_login_codex_login_is_the_advice() {
    let home = tempfile::tempdir().unwrap();
    let source = KeySource::CodexLogin { codex_home: home.path().to_owned() };
    let said = source.fetch().await.unwrap_err().to_string();
    let expected =
        format!("nobody is logged in to Codex in {}; run `codex login`", home.path().display());
    assert_eq!(said, expected);
}

#[tokio::test]
async fn a_secret_is_never_shown() {
    let secret = Secret::new("sk-very-secret");
    let credential = Credential { key: Some(secret.clone()), account: None };
    let command = command("echo sk-very-secret");
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("auth.json"), r#"{"OPENAI_API_KEY": sk-very-secret}"#).unwrap();
    let broken = KeySource::CodexLogin { codex_home: home.path().to_owned() }.fetch().await;
    let broken = broken.unwrap_err();
    for shown in [format!("{secret:?} {credential:?} {command:?}"), format!("{broken} {broken:?}")]
    {
        assert!(!shown.contains("very-secret"), "{shown}");
    }
    assert_eq!(secret.hide_in("wrong key: sk-very-secret."), "wrong key: [key].");
}
