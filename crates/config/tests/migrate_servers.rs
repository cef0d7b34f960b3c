//! Servers of other programs, as their files have them, in Codex's words.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use ostler_config::migrate::{InUse, SourceError, Translation, read_source, translate};

/// All servers of a file as TOML, or why not.
fn translated(file: &str) -> Vec<Result<Translation, String>> {
    let mut in_use = InUse::default();
    let source = read_source(file).unwrap();
    source.servers.iter().for_each(|server| in_use.note_references(server));
    let servers = source.servers.iter();
    servers
        .map(|server| {
            translate(server, &mut in_use, &|_| false)
                .map_err(|refusal| format!("{} {refusal}", server.name))
        })
        .collect()
}

fn only(file: &str) -> Translation {
    let mut all = translated(file);
    assert_eq!(all.len(), 1);
    all.remove(0).unwrap()
}

fn table(text: &str) -> toml::Table {
    toml::from_str(text).unwrap()
}

fn notes(translation: &Translation) -> Vec<String> {
    let keys = translation.keys.iter();
    keys.map(|key| {
        let note = key.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
        format!("{} → {}{note}", key.key, key.became.unwrap_or("-"))
    })
    .collect()
}

fn variables(translation: &Translation) -> Vec<(&str, Option<&str>)> {
    translation.variables.iter().map(|it| (it.name.as_str(), it.holds.as_deref())).collect()
}

#[test]
fn a_host_agents_yaml_is_read_whole() {
    let file = "
model: x
mcp_servers:
  files:
    command: npx
    args: [-y, server-files, 8080, true]
    env: {LOG: debug, GITHUB_TOKEN: ghp_hayandoats}
    cwd: /srv
    timeout: 30
    connect_timeout: '12.5'
    enabled: false
    sampling: {model: x}
    description: files
    tools: {include: [read], exclude: [write]}
    hay: 1
";
    let server = only(file);
    assert_eq!(
        server.table,
        table(
            "command = 'npx'\nargs = ['-y', 'server-files', '8080', 'true']\ncwd = '/srv'\nenv = { LOG = 'debug' }\n\
             env_vars = ['GITHUB_TOKEN']\ntool_timeout_sec = 30.0\nstartup_timeout_sec = 12.5\nenabled = false\n\
             enabled_tools = ['read']\ndisabled_tools = ['write']"
        )
    );
    assert_eq!(
        notes(&server),
        [
            "args → args",
            "command → command",
            "connect_timeout → startup_timeout_sec",
            "cwd → cwd",
            "description → - (Codex has no such key)",
            "enabled → enabled",
            "env.GITHUB_TOKEN → env_vars (set GITHUB_TOKEN)",
            "env.LOG → env",
            "hay → - (Codex has no such key)",
            "sampling → - (Codex has no equivalent)",
            "timeout → tool_timeout_sec",
            "tools.exclude → disabled_tools",
            "tools.include → enabled_tools",
        ]
    );
    assert_eq!(variables(&server), [("GITHUB_TOKEN", Some("env.GITHUB_TOKEN"))]);
    assert!(!format!("{server:?}").contains("ghp_hayandoats"));
}

#[test]
fn files_of_other_programs_come_to_the_same() {
    let stdio = table("command = 'npx'\nargs = ['-y', 'x']\nenv = { LOG = 'debug' }");
    let http = table("url = 'https://x.example/mcp'");
    let table = [
        // Claude Desktop, Cursor, Windsurf, Cline
        (
            r#"{"mcpServers": {"a": {"command": "npx", "args": ["-y", "x"], "env": {"LOG": "debug"}}}}"#,
            &stdio,
        ),
        (r#"{"mcpServers": {"a": {"serverUrl": "https://x.example/mcp"}}}"#, &http),
        (
            r#"{"mcpServers": {"a": {"type": "streamableHttp", "url": "https://x.example/mcp", "disabled": false, "alwaysAllow": ["x"]}}}"#,
            &http,
        ),
        // Claude Code
        (
            r#"{"projects": {"/work": {"mcpServers": {"a": {"type": "http", "url": "https://x.example/mcp"}}}}}"#,
            &http,
        ),
        // VS Code
        (
            "// mine\n{\"servers\": {\"a\": {\"type\": \"stdio\", \"command\": \"npx\", \"args\": [\"-y\", \"x\",], \"env\": {\"LOG\": \"debug\"}}}, \"inputs\": [],}",
            &stdio,
        ),
        (r#"{"editor.x": 1, "mcp": {"servers": {"a": {"url": "https://x.example/mcp"}}}}"#, &http),
        // Zed
        (
            r#"{"context_servers": {"a": {"source": "custom", "command": {"path": "npx", "args": ["-y", "x"], "env": {"LOG": "debug"}}, "settings": {}}}}"#,
            &stdio,
        ),
        (
            r#"{"context_servers": {"a": {"command": "npx", "args": ["-y", "x"], "env": {"LOG": "debug"}}}}"#,
            &stdio,
        ),
        // opencode
        (
            r#"{"mcp": {"a": {"type": "local", "command": ["npx", "-y", "x"], "environment": {"LOG": "debug"}}}}"#,
            &stdio,
        ),
        (
            r#"{"mcp": {"a": {"type": "remote", "url": "https://x.example/mcp", "enabled": true}}}"#,
            &http,
        ),
        // Gemini
        (r#"{"mcpServers": {"a": {"httpUrl": "https://x.example/mcp", "trust": true}}}"#, &http),
        // Amp
        (r#"{"amp.mcpServers": {"a": {"url": "https://x.example/mcp"}}}"#, &http),
        // Goose
        (
            "extensions:\n  dev: {type: builtin, enabled: true}\n  a:\n    type: stdio\n    cmd: npx\n    args: [-y, x]\n    envs: {LOG: debug}\n",
            &stdio,
        ),
        // Continue
        (
            "mcpServers:\n  - name: a\n    command: npx\n    args: [-y, x]\n    env: {LOG: debug}\n",
            &stdio,
        ),
    ];
    for (file, expected) in table {
        let server = only(file);
        assert_eq!((server.name.as_str(), &server.table), ("a", expected), "{file}");
    }
}

#[test]
fn secrets_of_headers_become_variables() {
    let file = r#"{"mcpServers": {"my hay": {"url": "https://x.example/mcp", "timeout": 45000, "transport": "sse",
        "headers": {"Authorization": "Bearer oats-oats", "X-Api-Key": "barley", "X-Team": "horses", "X-Mixed": "v ${HAY}"}}}}"#;
    let server = only(file);
    assert_eq!((server.name.as_str(), server.renamed_from.as_deref()), ("my-hay", Some("my hay")));
    assert_eq!(
        server.table,
        table(
            "url = 'https://x.example/mcp'\nbearer_token_env_var = 'MY_HAY_TOKEN'\nhttp_headers = { X-Team = 'horses' }\n\
             env_http_headers = { X-Api-Key = 'MY_HAY_X_API_KEY', X-Mixed = 'MY_HAY_X_MIXED' }\ntool_timeout_sec = 45.0"
        )
    );
    assert_eq!(
        notes(&server),
        [
            "headers.Authorization → bearer_token_env_var (set MY_HAY_TOKEN to what stands behind `Bearer`)",
            "headers.X-Api-Key → env_http_headers (set MY_HAY_X_API_KEY to the whole header)",
            "headers.X-Mixed → env_http_headers (set MY_HAY_X_MIXED to the whole header)",
            "headers.X-Team → http_headers",
            "timeout → tool_timeout_sec (45000 is taken for milliseconds)",
            "transport → - (Codex speaks streamable HTTP alone: the server works if it speaks that as well)",
            "url → url",
        ]
    );
    let text = toml::to_string(&server.table).unwrap();
    assert!(!text.contains("oats") && !text.contains("barley"));

    let file = r#"{"servers": {"a": {"url": "https://x.example/mcp", "headers": {
        "Authorization": "Bearer ${env:HAY}", "X-Key": "${input:my-key}", "X-Other": "$BALE"}}}}"#;
    let server = only(file);
    assert_eq!(
        server.table,
        table(
            "url = 'https://x.example/mcp'\nbearer_token_env_var = 'HAY'\nenv_http_headers = { X-Key = 'MY_KEY', X-Other = 'BALE' }"
        )
    );
    assert_eq!(variables(&server), [("BALE", None), ("HAY", None), ("MY_KEY", None)]);
}

#[test]
fn placeholders_reach_a_process_through_a_shell() {
    let file = "
mcp_servers:
  a:
    command: ~/bin/serve
    args: [--token, oats-and-hay, '--root=${ROOT}', --key-file, /run/key]
    env: {SAME: '${SAME}', OTHER: '${HAY}', URL: 'http://${HOST:-localhost}/'}
    cwd: ${ROOT}/x
";
    let server = only(file);
    assert_eq!(
        server.table,
        table(
            r#"
command = "/bin/sh"
args = ["-c", '''cd -- "${ROOT:?set it where Codex is started}/x" && export OTHER="${HAY:?set it where Codex is started}" && export URL="http://${HOST:-localhost}/" && exec "${HOME:?set it where Codex is started}/bin/serve" "--token" "${A_TOKEN:?set it where Codex is started}" "--root=${ROOT:?set it where Codex is started}" "--key-file" "/run/key"''']
env_vars = ["A_TOKEN", "HAY", "HOST", "ROOT", "SAME"]
"#
        )
    );
    let holds: Vec<_> = variables(&server).into_iter().filter_map(|(_, holds)| holds).collect();
    assert_eq!(holds, ["args[1]"]);
}

#[test]
fn two_secrets_never_share_a_variable() {
    let file = "
mcp_servers:
  a: {command: x, env: {API_KEY: hay}}
  b: {command: x, env: {API_KEY: oats}}
  c: {command: x, env: {API_KEY: hay}}
";
    let all: Vec<Translation> = translated(file).into_iter().map(Result::unwrap).collect();
    let names: Vec<_> = all.iter().map(|server| variables(server)[0].0).collect();
    assert_eq!(names, ["API_KEY", "B_API_KEY", "API_KEY"]);
    assert_eq!(
        all[1].table,
        table(
            "command = '/bin/sh'\nargs = ['-c', 'export API_KEY=\"${B_API_KEY:?set it where Codex is started}\" && exec \"x\"']\nenv_vars = ['B_API_KEY']"
        )
    );
}

/// What one file holds is not given to a server that asks for the user's own of that name.
#[test]
fn a_secret_takes_no_name_that_another_server_reads() {
    let file = "
mcp_servers:
  a: {command: x, env: {GITHUB_TOKEN: hay}}
  b: {command: x, env: {GITHUB_TOKEN: '${GITHUB_TOKEN}'}}
  c: {command: x, env: {OATS_TOKEN: '${OATS_TOKEN:-oats}'}}
  d: {url: 'https://x.example/mcp', bearer_token_env_var: BALE_TOKEN}
  e: {command: x, env: {BALE_TOKEN: straw}}
";
    let all: Vec<Translation> = translated(file).into_iter().map(Result::unwrap).collect();
    let names: Vec<_> = all.iter().map(|server| variables(server)[0]).collect();
    assert_eq!(
        names,
        [
            ("A_GITHUB_TOKEN", Some("env.GITHUB_TOKEN")),
            ("GITHUB_TOKEN", None),
            ("OATS_TOKEN", Some("env.OATS_TOKEN")),
            ("BALE_TOKEN", None),
            ("E_BALE_TOKEN", Some("env.BALE_TOKEN")),
        ]
    );
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let file = r#"{"mcpServers": {
        "both": {"command": "x", "url": "https://x.example"},
        "none": {"args": ["x"]},
        "list": {"command": 3},
        "env": {"command": "x", "env": ["A=1"]},
        "editor": {"command": "x", "args": ["${workspaceFolder}/a"]},
        "password": {"url": "https://ana:hay@x.example/mcp"},
        "query": {"url": "https://x.example/mcp?api_key=hayhayhay"},
        "varies": {"url": "https://${HOST}/mcp"},
        "a.b": {"command": "x"},
        "a b": {"command": "x"},
        "…": {"command": "x"}
    }}"#;
    let outcomes: Vec<String> = translated(file)
        .into_iter()
        .map(|outcome| outcome.map_or_else(|why| why, |server| server.name))
        .collect();
    assert_eq!(
        outcomes,
        [
            "a-b",
            "a.b Codex would call it a-b, and there is one of that name; give it another",
            "both",
            "editor args has ${workspaceFolder}, which only the program knows that the file belongs to; write what it stands for",
            "env env must be a table of texts",
            "list command must be a text",
            "none has neither a command nor a url; give it one",
            "password its address holds a secret, and Codex takes none from the environment there; give it as a header",
            "query its address holds a secret, and Codex takes none from the environment there; give it as a header",
            "varies its address has a placeholder, and Codex takes none there; write what it stands for",
            "… its name has no letter or digit that Codex takes; give it another",
        ]
    );
}

#[test]
fn files_that_hold_no_servers_are_told() {
    let table = [
        ("", SourceError::NotATable),
        ("- a\n- b\n", SourceError::NotATable),
        ("{\"mcpServers\": ", SourceError::Json("line 1, column 15".to_owned())),
        ("model: x\n", SourceError::NoServers),
        ("{\"mcp\": {\"x\": 1}}", SourceError::NoServers),
        ("mcp_servers: 3\n", SourceError::NotServers("mcp_servers".to_owned())),
    ];
    for (file, error) in table {
        assert_eq!(read_source(file), Err(error), "{file}");
    }
    assert!(matches!(read_source("a: [\n"), Err(SourceError::Yaml(_))));
    assert_eq!(read_source("mcp_servers:\n").unwrap().servers.len(), 0);
    let notes = read_source("mcp_servers: {a: 1}\nmcpServers: [{command: x}]\n").unwrap().notes;
    assert_eq!(notes, ["mcp_servers.a: is no table", "mcpServers: a server without a name"]);
}

#[test]
fn seconds_stay_seconds_and_only_where_programs_count_milliseconds_a_large_number_is_taken_for_them()
 {
    let (tool, start) = ("tool_timeout_sec", "startup_timeout_sec");
    let cases = [
        ("mcp_servers: {a: {command: x, timeout: 1800}}", tool, 1800.0),
        ("mcp_servers: {a: {command: x, connect_timeout: 1200}}", start, 1200.0),
        ("mcp_servers: {a: {command: x, tool_timeout_sec: 3600}}", tool, 3600.0),
        ("extensions: {a: {cmd: x, type: stdio, timeout: 3000}}", tool, 3000.0),
        (r#"{"mcpServers": {"a": {"command": "x", "tool_timeout_sec": 3600}}}"#, tool, 3600.0),
        (r#"{"mcpServers": {"a": {"command": "x", "startup_timeout_sec": 1000}}}"#, start, 1000.0),
        (r#"{"servers": {"a": {"command": "x", "timeout": 5000}}}"#, tool, 5000.0),
        (r#"{"mcpServers": {"a": {"command": "x", "timeout": 60}}}"#, tool, 60.0),
        (r#"{"mcpServers": {"a": {"command": "x", "timeout": 600000}}}"#, tool, 600.0),
        (r#"{"mcp": {"a": {"command": ["x"], "timeout": 5000}}}"#, tool, 5.0),
        (r#"{"context_servers": {"a": {"command": "x", "timeout": 60000}}}"#, tool, 60.0),
    ];
    for (file, key, seconds) in cases {
        let server = only(file);
        assert_eq!(server.table.get(key), Some(&toml::Value::Float(seconds)), "{file}");
    }
}
