use super::*;

fn judged(name: &str, value: &str) -> bool {
    is_secret(name, value, &|_| false)
}

#[test]
fn secrets_are_known_by_name_or_form() {
    for (name, value) in [
        ("GITHUB_TOKEN", "oats"),
        ("apiKey", "oats"),
        ("X-API-Key", "oats"),
        ("Authorization", "Bearer oats"),
        ("DB", "postgres://ana:hay@host/db"),
        ("ENDPOINT", "https://x.example/mcp?api_key=oats"),
        ("X", "3f9a1c77b0e24d5f8a6b1c2d"),
        ("SLACK_WEBHOOK", "https://hooks.example/T1"),
        ("accesstoken", "oats"),
        ("header", "Authorization: Bearer oats"),
        ("HEADERS", r#"{"Authorization": "Bearer oats", "X": "1"}"#),
        ("HEADERS", r#"{"apiKey" : "oats"}"#),
        ("CONNECT", "Server=x;User=ana;Password=oats;"),
        ("SLACK_WEBHOOK_URL", "https://x.example/T1"),
        ("POSTGRES_PASSWORD", "1234"),
        ("AUTH_HEADER", "oats"),
        ("REMOTE", "https://mcp.example/api/mcp/s/NTZk8a1b2c3d4e5f6a7b8c9d0e1f/mcp"),
        ("HOOK", "https://hooks.slack.com/services/T1/B1/oatsandhayandoats"),
        ("CONNECT", "host=x password  =  oats"),
    ] {
        assert!(judged(name, value), "{name}={value}");
    }
    for (name, value) in [
        ("LOG_LEVEL", "debug"),
        ("MAX_TOKENS", "100000000"),
        ("TOKEN_FILE", "/run/token"),
        ("AUTH", "true"),
        ("AUTH_MODE", "basic"),
        ("PORT", "8080"),
        ("HOST", "https://x.example/mcp?page=2"),
        ("NAME", "a-very-long-name-with-version-2"),
        ("PACKAGE", "@modelcontextprotocol/server-filesystem"),
        ("TOKEN", ""),
        ("IMAGE", "mcp-server-2024.12.31-4.5.6-rc1"),
        ("header", "Accept: text/plain"),
        ("SORT", "key:1,name:asc"),
        ("ABOUT", "the basics of its use"),
        ("TOKEN_URL", "https://x.example/oauth/token"),
        ("REPOSITORY", "ssh://git@x.example/hay"),
        ("PAGE", "http://localhost:3000/@scope/package"),
        ("FILE", "https://x.example/releases/v1.2.3/hay-1.2.3-x86_64-unknown-linux-gnu.tar.gz"),
    ] {
        assert!(!judged(name, value), "{name}={value}");
    }
    assert!(is_secret("X", "known", &|value| value == "known"));
}
