//! Wherever a secret stands in another program's file, and however it looks, it is in nothing that comes out.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::{Value, json};

use ostler_config::migrate::{InUse, read_source, translate};

/// All that comes out of a file with this one server: its table, its notes, its variables, or why there is none.
fn comes_out(server: &Value) -> String {
    let file = json!({ "mcpServers": { "a": server } }).to_string();
    let declared = read_source(&file).unwrap().servers.remove(0);
    let mut in_use = InUse::default();
    in_use.note_references(&declared);
    match translate(&declared, &mut in_use, &|_| false) {
        Ok(server) => format!("{server:?} {}", toml::to_string(&server.table).unwrap()),
        Err(why) => why.to_string(),
    }
}

fn with(key: &str, value: &Value) -> Value {
    let mut server = match ["url", "headers"].contains(&key) {
        true => json!({ "url": "https://x.example/mcp" }),
        false => json!({ "command": "x" }),
    };
    server.as_object_mut().unwrap().insert(key.to_owned(), value.clone());
    server
}

/// The letters that must not come out, and how they are written: secrets that are known by their look.
const LOOKS: [(&str, &str); 15] = [
    ("4f1d9c7b2a8e6d3c5b0f1e2d", "4f1d9c7b2a8e6d3c5b0f1e2d"),
    ("oats-and-hay", "Bearer oats-and-hay"),
    ("oats-and-hay", "https://ana:oats-and-hay@x.example/"),
    ("oats-and-hay", "https://oats-and-hay@x.example/mcp"),
    ("oats-and-hay", "postgres://ana:oats-and-hay@x.example/db"),
    ("oats-and-hay", "https://x.example/mcp?api_key=oats-and-hay"),
    ("oats-and-hay", "https://x.example/mcp?page=2&token=oats-and-hay#top"),
    ("NTZk8a1b2c3d4e5f6a7b8c9d0e1f", "https://mcp.example/api/s/NTZk8a1b2c3d4e5f6a7b8c9d0e1f/mcp"),
    ("7Hq3rT9xK2mN5pL8vB4wZ6yD", "https://x.example/7Hq3rT9xK2mN5pL8vB4wZ6yD"),
    ("oatsandhayandoats", "https://hooks.slack.com/services/T00HAY/B00OATS/oatsandhayandoats"),
    ("oatsandhayandoats", "https://discord.com/api/webhooks/123456789/oatsandhayandoats"),
    ("oats-and-hay", "Server=x;User=ana;Password=oats-and-hay;"),
    ("oats-and-hay", "{\"env\":{\"apiKey\" :  \"oats-and-hay\"}}"),
    ("oats-and-hay", "run --quiet --api-key oats-and-hay serve"),
    ("aGF5/b2F0cw9K3p7Tq1Z/c3RyYXc4Yw2Xn6Lm0Rv5B", "aGF5/b2F0cw9K3p7Tq1Z/c3RyYXc4Yw2Xn6Lm0Rv5B"),
];

/// The same with placeholders of the environment around it, in it, and in its place.
fn mixed(written: &str) -> Vec<String> {
    let mut all = vec![
        written.to_owned(),
        format!("${{X}} {written}"),
        format!("{written} ${{X}}"),
        format!("${{X:-{written}}}"),
        format!("plain ${{X:-{written}}} plain"),
        format!("${{HOME}}/x {written}"),
    ];
    // The name of a user or of a host may come from the environment while the password does not.
    for (plain, varies) in [("ana:", "${DB_USER}:"), ("@x.example", "@${HOST}"), ("api", "${PART}")]
    {
        if written.contains(plain) {
            all.push(written.replacen(plain, varies, 1));
        }
    }
    all
}

#[test]
fn no_place_lets_a_secret_through_that_looks_like_one() {
    for (secret, written) in LOOKS {
        for text in mixed(written) {
            for (key, value) in [
                ("command", json!(text)),
                ("cwd", json!(text)),
                ("args", json!(text)),
                ("args", json!([text])),
                ("args", json!(["-y", "mcp-remote", text, "--quiet"])),
                ("args", json!(["--header", format!("Authorization: {text}")])),
                ("args", json!([format!("--token={text}")])),
                ("args", json!([format!("--plain={text}")])),
                ("args", json!(["--plain", text])),
                ("args", json!(["-c", format!("export TOKEN={text}; run")])),
                ("env", json!({ "PLAIN": text })),
                ("env", json!({ "PLAIN_URL": text })),
                ("env", json!({ "HEADERS": format!("{{\"Authorization\": \"{text}\"}}") })),
                ("env", json!({ "TOKEN": text })),
                ("env_vars", json!([text])),
                ("url", json!(text)),
                ("url", json!(format!("https://x.example/{text}"))),
                ("url", json!(format!("https://x.example/?q={text}"))),
                ("headers", json!({ "X-Plain": text })),
                ("headers", json!({ "Authorization": text })),
                ("headers", json!({ "Authorization": format!("Bearer {text}") })),
                ("bearer_token_env_var", json!(text)),
                ("description", json!(text)),
            ] {
                let came = comes_out(&with(key, &value));
                assert!(!came.contains(secret), "{key} {value}: {came}");
            }
        }
    }
}

/// Those that are known by what they are called alone, and could be anything.
#[test]
fn no_place_lets_a_secret_through_that_is_called_one() {
    let secrets =
        ["hunter2", "hay/stack", "/hay/stack", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "90210"];
    for secret in secrets {
        let mixed = [
            secret.to_owned(),
            format!("${{PREFIX}}{secret}"),
            format!("{secret}${{X}}"),
            format!("a{secret}${{X}}b"),
            format!("${{X:-{secret}}}"),
            format!("${{DB_USER:-ana}}:{secret}"),
        ];
        for text in mixed {
            for (key, value) in [
                ("args", json!(["--password", text])),
                ("args", json!(["--access-token", text])),
                ("args", json!([format!("--password={text}")])),
                ("args", json!([format!("--db-password={text}"), "--plain"])),
                ("env", json!({ "POSTGRES_PASSWORD": text })),
                ("env", json!({ "githubToken": text })),
                ("headers", json!({ "X-Auth-Token": text })),
                ("headers", json!({ "Authorization": text })),
            ] {
                let came = comes_out(&with(key, &value));
                assert!(!came.contains(secret), "{key} {value}: {came}");
            }
        }
        for (key, value) in [
            ("args", json!(["--name", format!("${{API_TOKEN:-{secret}}}")])),
            ("env", json!({ "NAME": format!("${{API_TOKEN:-{secret}}}") })),
            ("cwd", json!(format!("/srv/${{API_TOKEN:-{secret}}}"))),
            ("command", json!(format!("${{API_TOKEN:-{secret}}}"))),
            ("args", json!([format!("postgres://ana:${{P:-{secret}}}@x.example/db")])),
            ("env", json!({ "DB": format!("postgres://ana:${{P:-{secret}}}@x.example/db") })),
        ] {
            let came = comes_out(&with(key, &value));
            assert!(!came.contains(secret), "{key} {value}: {came}");
        }
    }
    for (key, value) in [
        ("args", json!(["--secret-key", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"])),
        ("args", json!(["--secret-key", "/alrXU1nFE2I3K7MDE4G/bPxRfiCYEXAMPLEKEY"])),
        ("env", json!({ "SLACK_WEBHOOK_URL": "https://x.example/EXAMPLEKEY" })),
        ("env", json!({ "AUTH_HEADER": "EXAMPLEKEY" })),
    ] {
        let came = comes_out(&with(key, &value));
        assert!(!came.contains("EXAMPLEKEY"), "{key} {value}: {came}");
    }
}

/// What only refers to the environment needs nothing else, and what is plainly none stays as it is.
#[test]
fn nobody_is_asked_to_set_what_is_no_secret() {
    for (key, value) in [
        ("args", json!(["--header", "Authorization:${AUTH_HEADER}"])),
        ("args", json!(["--header", "Authorization: Bearer ${TOKEN} https://x.example"])),
        ("args", json!(["--api-key", "${API_KEY}", "serve"])),
        ("args", json!(["--api-key=${API_KEY}", "serve"])),
        ("args", json!(["--api-key", "${API_KEY:-}"])),
        ("args", json!(["postgres://${DB_USER}:${DB_PASSWORD}@${HOST:-localhost}/db"])),
        ("args", json!(["--key", "/etc/hay/key.pem", "--key", "keys/mine.pem"])),
        (
            "args",
            json!([
                "--from",
                "git+https://github.com/x/y@3f9a1c77b0e24d5f8a6b1c2d3f9a1c77b0e24d5f"
            ]),
        ),
        ("args", json!(["run", "ghcr.io/x/y@sha256:3f9a1c77b0e24d5f8a6b1c2d3f9a1c77b0e24d5f"])),
        ("args", json!(["${HOME}/nix/3f9a1c77b0e24d5f8a6b1c2d-x/bin"])),
        ("command", json!("/nix/store/3f9a1c77b0e24d5f8a6b1c2d-x/bin/x")),
        ("env", json!({ "TOKEN_URL": "https://x.example/oauth/token", "AUTH": "${USER}:${PASS}" })),
        ("env", json!({ "API_KEY": "Bearer ${TOKEN}", "MAX_TOKENS": "4096", "AUTH_TIMEOUT": 30 })),
        ("url", json!("https://x.example/v1/servers/files/mcp?page=2")),
    ] {
        let came = comes_out(&with(key, &value));
        assert!(!came.contains("holds: Some") && came.contains("table"), "{key} {value}: {came}");
    }
}

/// What is to be stored of a file with these servers, by server: the variable, and its value.
fn stored(servers: &Value) -> Vec<(String, String, String)> {
    let file = json!({ "mcpServers": servers }).to_string();
    let declared = read_source(&file).unwrap().servers;
    let mut in_use = InUse::storing(|name| !name.starts_with("OPENAI_"));
    declared.iter().for_each(|server| in_use.note_references(server));
    let mut all = Vec::new();
    for server in &declared {
        let done = translate(server, &mut in_use, &|_| false).unwrap();
        let shown = format!("{done:?} {}", toml::to_string(&done.table).unwrap());
        for (name, value) in &done.secrets {
            assert!(!shown.contains(value.expose()), "{shown}");
            let is_told = done.keys.iter().filter_map(|key| key.note.as_ref());
            let is_told = is_told.chain([&String::new()]).any(|note| note.contains("stored as"));
            let is_argument = done.variables.iter().any(|it| {
                it.name == *name && it.holds.as_ref().is_some_and(|holds| holds.starts_with("args"))
            });
            assert!(is_told || is_argument, "{shown}");
            all.push((done.name.clone(), name.clone(), value.expose().to_owned()));
        }
    }
    all
}

#[test]
fn values_are_given_apart_for_whoever_stores_them() {
    let found = stored(&json!({
        "hay": {
            "command": "x",
            "args": ["--token", "oats-and-hay-1", "${ARGUMENT_KEY:-oats-and-hay-2}"],
            "env": {
                "HAY_TOKEN": "oats-and-hay-3",
                // Codex would take it for its own.
                "OPENAI_API_KEY": "oats-and-hay-4",
                "LOG": "debug",
            },
        },
        "oats": {
            "url": "https://x.example/mcp",
            "headers": {"Authorization": "Bearer oats-and-hay-5", "X-Api-Key": "oats-and-hay-6"},
        },
        "straw": {"url": "https://x.example/mcp", "headers": {"X-Api-Key": "${STRAW_KEY:-oats-and-hay-7}"}},
    }));
    let expected = [
        ("hay", "ARGUMENT_KEY", "oats-and-hay-2"),
        // The argument has HAY_TOKEN already.
        ("hay", "HAY_HAY_TOKEN", "oats-and-hay-3"),
        ("hay", "HAY_OPENAI_API_KEY", "oats-and-hay-4"),
        ("hay", "HAY_TOKEN", "oats-and-hay-1"),
        ("oats", "OATS_TOKEN", "oats-and-hay-5"),
        ("oats", "OATS_X_API_KEY", "oats-and-hay-6"),
        ("straw", "STRAW_KEY", "oats-and-hay-7"),
    ];
    let expected: Vec<_> = expected
        .iter()
        .map(|(server, name, value)| (server.to_string(), name.to_string(), value.to_string()))
        .collect();
    assert_eq!(found, expected);
}

/// A part of it is only known where the program runs; or another server would get it; or no variable can hold it.
#[test]
fn what_is_not_one_s_own_whole_secret_is_left_to_the_person() {
    let server = |env: Value| json!({ "command": "x", "env": env });
    for servers in [
        json!({ "a": server(json!({ "DB": "postgres://${DB_USER}:oats-and-hay@x.example/db" })) }),
        json!({
            "a": server(json!({ "A_TOKEN": "${A_TOKEN:-oats-and-hay}" })),
            "b": server(json!({ "A_TOKEN": "${A_TOKEN}" })),
        }),
        json!({ "a": server(json!({ "A_TOKEN": "oats-and\0-hay" })) }),
        json!({ "a": server(json!({ "A_TOKEN": "o".repeat(65_537) })) }),
        json!({ "a": server(json!({ "A_TOKEN": "${A_TOKEN}" })) }),
    ] {
        assert_eq!(stored(&servers), []);
    }
}
