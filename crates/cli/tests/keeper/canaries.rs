//! No secret of the starter reaches Codex, an argument list, a record or a log.

use std::fs;

use crate::world::{Started, VERSIONS, World, json_of};

/// One of each kind, each with a value that occurs nowhere else.
const CANARIES: [(&str, &str); 24] = [
    ("OSTLER_API_TOKEN", "canary-own-5f1c"),
    ("SLACK_BOT_TOKEN", "canary-chat-5f1c"),
    ("GITHUB_TOKEN", "canary-hosting-5f1c"),
    ("AWS_SECRET_ACCESS_KEY", "canary-cloud-5f1c"),
    ("NPM_TOKEN", "canary-packages-5f1c"),
    ("DATABASE_URL", "canary-database-5f1c"),
    ("SSH_AUTH_SOCK", "canary-agent-5f1c"),
    ("ACTIONS_RUNTIME_TOKEN", "canary-ci-5f1c"),
    ("NOTIFY_SOCKET", "canary-manager-5f1c"),
    ("UNHEARD_OF_SECRET", "canary-generic-5f1c"),
    ("GH_PAT", "canary-gh-pat-5f1c"),
    ("MY_PAT", "canary-my-pat-5f1c"),
    ("SECRET_KEY_BASE", "canary-secret-key-base-5f1c"),
    ("WEBHOOK_URL", "canary-webhook-url-5f1c"),
    ("SSHPASS", "canary-sshpass-5f1c"),
    ("STRIPE_API_KEY_LIVE", "canary-stripe-api-key-live-5f1c"),
    ("JIRA_TOKEN_PROD", "canary-jira-token-prod-5f1c"),
    ("TOKEN_GITHUB", "canary-token-github-5f1c"),
    ("APIKEY", "canary-apikey-5f1c"),
    ("DB_CREDS", "canary-db-creds-5f1c"),
    ("AUTHORIZATION", "canary-authorization-5f1c"),
    ("BOT_JWT", "canary-bot-jwt-5f1c"),
    ("PRIVATE_KEY_PEM", "canary-private-key-pem-5f1c"),
    ("UNHEARD_OF_PLACE", "https://me:canary-url-5f1c@example.org/"),
];

const MARK_OF_CANARIES: &str = "-5f1c";

#[test]
fn no_secret_of_the_starter_reaches_codex() {
    for version in VERSIONS {
        let world = World::new();
        let output = world
            .command(env!("CARGO_BIN_EXE_ostler"))
            .args(world.start_arguments(version))
            .arg("--json")
            .envs(CANARIES)
            .env("OPENAI_API_KEY", "kept-for-the-provider")
            .env("PATTERN", "kept-because-harmless")
            .env("OSTLER_KEEPER", "ffffffff")
            .output()
            .unwrap();
        let keeper = Started::from(&json_of(&output));

        let codex = environment(&fs::read(format!("/proc/{}/environ", keeper.codex)).unwrap());
        let home = world.path("");
        let home = home.to_str().unwrap().trim_end_matches('/');
        let mut expected = [
            // With the git that looks into no submodule.
            format!(
                "PATH={}/bin:/usr/local/bin:/usr/bin:/bin",
                world.root().join(&keeper.id).display()
            ),
            format!("HOME={home}"),
            format!("OSTLER_HOME={home}"),
            "OPENAI_API_KEY=kept-for-the-provider".to_owned(),
            "PATTERN=kept-because-harmless".to_owned(),
            format!("CODEX_HOME={home}/codex-home"),
            "RUST_LOG=warn".to_owned(),
            format!("OSTLER_KEEPER={}", keeper.id),
            // Of a Codex that is named by its path nobody says that it is new enough to need none.
            "GIT_CONFIG_COUNT=2".to_owned(),
            "GIT_CONFIG_KEY_0=core.fsmonitor".to_owned(),
            "GIT_CONFIG_VALUE_0=false".to_owned(),
            "GIT_CONFIG_KEY_1=safe.bareRepository".to_owned(),
            "GIT_CONFIG_VALUE_1=explicit".to_owned(),
        ];
        expected.sort();
        assert_eq!(codex, expected, "{version}");

        let seen_by_a_command = world.in_codex(&keeper, "env");
        assert!(seen_by_a_command.contains(&format!("OSTLER_KEEPER={}", keeper.id)));
        let mut places = vec![("a command".to_owned(), seen_by_a_command)];
        for pid in [keeper.keeper, keeper.codex] {
            for file in ["environ", "cmdline"] {
                let path = format!("/proc/{pid}/{file}");
                places.push((path.clone(), lossy(&path)));
            }
        }
        world.json(&["keeper", "stop", "--now", &keeper.id]);
        for entry in fs::read_dir(world.root().join(&keeper.id)).unwrap() {
            let path = entry.unwrap().path();
            let path = if path.is_dir() { path.join("git") } else { path };
            let path = path.to_str().unwrap();
            places.push((path.to_owned(), lossy(path)));
        }
        assert_eq!(places.len(), 5 + 4, "{version}: record, two logs and our git");
        let leaks: Vec<_> =
            places.iter().filter(|(_, text)| text.contains(MARK_OF_CANARIES)).collect();
        assert!(leaks.is_empty(), "{version}: {leaks:?}");

        let mut withheld = CANARIES.map(|(name, _)| name).to_vec();
        withheld.sort_unstable();
        assert_eq!(keeper.record["withheld_variables"], serde_json::json!(withheld));
    }
}

fn environment(bytes: &[u8]) -> Vec<String> {
    let variables = bytes.split(|byte| *byte == 0).filter(|variable| !variable.is_empty());
    let mut variables: Vec<String> =
        variables.map(|variable| String::from_utf8_lossy(variable).into_owned()).collect();
    variables.sort();
    variables
}

fn lossy(path: &str) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned()
}
