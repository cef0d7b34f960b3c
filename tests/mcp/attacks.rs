//! Attacks on `/mcp`, each tried on a real daemon and each refused, in words that every door here uses.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::world::{World, word};
use crate::{LEAVES_A_LINE, NEWEST, PROMPT, command, conversation, text};

struct Street {
    world: World,
    address: String,
    token: String,
}

#[derive(Debug)]
struct Said {
    status: u16,
    head: String,
    body: String,
}

impl Street {
    fn open(more: &str) -> Self {
        Self::with("", more)
    }

    /// With this in the `[tasks]` section, and this behind all.
    fn with(tasks: &str, more: &str) -> Self {
        let server = format!("{tasks}\n[server]\nlisten = \"127.0.0.1:0\"\n{more}");
        let answers = vec![command(LEAVES_A_LINE), text("Done.")];
        let world = World::with(NEWEST, vec![conversation(PROMPT, answers)], &server);
        let made = ["token", "new", "test", "--scope", "operate", "--scope", "decide"];
        let token = world.json(&made)["token"].as_str().unwrap().to_owned();
        let status = world.json(&["daemon", "status"]);
        let address = status["listens"]["address"].as_str().unwrap().to_owned();
        Self { world, address, token }
    }

    fn bearer(&self) -> String {
        format!("authorization: Bearer {}\r\n", self.token)
    }

    /// A call of a tool with these lines in the head, and the host that it is for.
    fn call(&self, host: &str, head: &str, tool: &str, arguments: &Value) -> Said {
        let params = json!({ "name": tool, "arguments": arguments });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        self.send("POST", host, head, body.to_string().as_bytes())
    }

    fn send(&self, method: &str, host: &str, head: &str, body: &[u8]) -> Said {
        let length = body.len();
        let head = format!(
            "{method} /mcp HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{head}content-type: application/json\r\n\
             accept: application/json, text/event-stream\r\ncontent-length: {length}\r\n\r\n"
        );
        self.raw(&[head.as_bytes(), body].concat())
    }

    fn post(&self, path: &str, head: &str, body: &Value) -> Said {
        let (own, body) = (&self.address, body.to_string());
        let head = format!("POST {path} HTTP/1.1\r\nhost: {own}\r\nconnection: close\r\n{head}");
        self.raw(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes())
    }

    fn raw(&self, bytes: &[u8]) -> Said {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        // Who is refused early is not read to the end.
        let sent = stream.write_all(bytes);
        let mut said = Vec::new();
        let read = stream.read_to_end(&mut said);
        let said = String::from_utf8_lossy(&said).into_owned();
        let (head, body) =
            said.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{sent:?} {read:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Said { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }
}

impl Said {
    /// What is wrong, as every route says it.
    fn problem(&self) -> (u16, String) {
        assert!(self.head.contains("content-type: application/problem+json"), "{self:?}");
        assert!(self.head.contains("x-content-type-options: nosniff"), "{self:?}");
        let problem: Value = serde_json::from_str(&self.body).unwrap();
        let kind = problem["type"].as_str().unwrap().trim_start_matches("urn:ostler:problem:");
        (self.status, kind.to_owned())
    }
}

#[test]
fn whoever_is_nobody_or_comes_from_elsewhere_is_refused() {
    let street = Street::open("");
    let (own, bearer) = (street.address.clone(), street.bearer());
    let list = |host: &str, head: &str| street.call(host, head, "codex_list", &json!({}));
    let well = list(&own, &bearer);
    assert_eq!(well.status, 200, "{well:?}");
    assert!(well.body.contains("\"isError\":false"), "{well:?}");

    let wrong = format!("authorization: Bearer ostler_{}\r\n", "0".repeat(64));
    let nobody = [
        String::new(),
        wrong,
        format!("authorization: Basic {}\r\n", street.token),
        format!("cookie: ostler_session_0={}\r\n", street.token),
    ];
    for head in nobody {
        assert_eq!(list(&own, &head).problem(), (401, "unauthorized".to_owned()), "{head}");
    }
    let elsewhere = [
        ("rebound.example".to_owned(), String::new()),
        (format!("rebound.example:{}", own.rsplit_once(':').unwrap().1), String::new()),
        (own.clone(), "origin: http://evil.example\r\n".to_owned()),
        (own.clone(), "origin: null\r\n".to_owned()),
        (own.clone(), "sec-fetch-site: cross-site\r\n".to_owned()),
    ];
    for (host, head) in elsewhere {
        let said = list(&host, &format!("{bearer}{head}"));
        assert_eq!(said.problem(), (403, "origin-refused".to_owned()), "{host} {head}");
        assert!(!said.head.contains("access-control-allow-origin"));
    }
    for twice in ["host: 127.0.0.1\r\n", &bearer] {
        let said = list(&own, &format!("{bearer}{twice}"));
        assert_eq!(said.problem(), (400, "bad-request".to_owned()), "{twice}");
    }
    // A page of our own has a login, which is a person's: programs have tokens.
    let page = format!("origin: http://{own}\r\n{bearer}");
    assert_eq!(list(&own, &page).status, 200);
}

#[test]
fn bodies_are_bounded_and_read_as_what_they_are() {
    let street = Street::open("");
    let (own, bearer) = (street.address.clone(), street.bearer());
    let large = json!({ "a": "x".repeat(9 * 1024 * 1024) }).to_string();
    let said = street.send("POST", &own, &bearer, large.as_bytes());
    assert_eq!(said.problem(), (413, "too-large".to_owned()));
    // The same without a length.
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {own}\r\nconnection: close\r\n{bearer}content-type: application/json\r\n\
         accept: application/json, text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n",
        large.len()
    );
    let chunks = [head.as_bytes(), large.as_bytes(), b"\r\n0\r\n\r\n"].concat();
    assert_eq!(street.raw(&chunks).problem(), (413, "too-large".to_owned()));

    for body in ["", "{", "null", "[]", "{\"jsonrpc\":\"1.0\"}", "\u{0}"] {
        let said = street.send("POST", &own, &bearer, body.as_bytes());
        assert!((400..500).contains(&said.status), "{body:?} {said:?}");
        said.problem();
    }
    for method in ["GET", "DELETE", "PUT"] {
        let said = street.send(method, &own, &bearer, b"");
        assert_eq!(said.problem(), (405, "method-not-allowed".to_owned()));
    }
    // It has taken no harm.
    assert_eq!(street.call(&own, &bearer, "codex_list", &json!({})).status, 200);
}

/// To say that one comes by MCP only takes rights away, and no name that a client gives itself is a token's.
#[test]
fn nobody_gains_by_what_they_call_themselves() {
    let street = Street::open("\n[mcp]\nmay_decide = [\"token groom\", \"groom\"]\n");
    let (_, ask) = street.world.start_asking();
    let (own, bearer) = (street.address.clone(), street.bearer());
    let answer = |client: &str| {
        let body = json!({ "decision": "Once" }).to_string();
        let text = format!(
            "POST /v1/asks/{ask}/answer HTTP/1.1\r\nhost: {own}\r\nconnection: close\r\n{bearer}{client}content-length: {}\r\n\r\n{body}",
            body.len()
        );
        street.raw(text.as_bytes())
    };
    for client in ["groom", "token groom", "", "token test"] {
        let said = answer(&format!("ostler-mcp-client: {client}\r\n"));
        assert_eq!(said.problem(), (403, "agent-refused".to_owned()), "{client}");
        assert!(said.body.contains(&format!("ostler answer {ask}")), "{said:?}");
    }
    let respond = json!({ "request_id": ask, "decision": "accept" });
    let head = format!("{bearer}ostler-mcp-client: groom\r\n");
    let said = street.call(&own, &head, "codex_respond", &respond);
    assert!(said.body.contains("\"isError\":true"), "{said:?}");
    assert_eq!(street.world.lines("ran.log"), 0);
    // The same token as a program of a person's own, not by MCP.
    assert_eq!(answer("").status, 200);
}

/// An MCP program could have what Codex read sent to anybody. Only the operator's targets are told by programs, and by tokens that may
/// not decide.
#[test]
fn programs_name_no_address_of_their_own() {
    let street = Street::open("");
    let (own, bearer) = (street.address.clone(), street.bearer());
    let elsewhere = "https://collector.invalid/a";
    let start = json!({ "prompt": "feed the horse", "cwd": street.world.path("inn"), "notify_target": elsewhere });
    let mut by_action = start.clone();
    by_action["action"] = json!("start");
    let is_refused = |said: &Said| {
        assert!(
            said.body.contains("collector.invalid") && said.body.contains("[notify.NAME]"),
            "{said:?}"
        );
    };
    for (tool, arguments) in [("codex_start", &start), ("codex_bridge", &by_action)] {
        let said = street.call(&own, &bearer, tool, arguments);
        assert!(said.body.contains("\"isError\":true"), "{said:?}");
        is_refused(&said);
    }
    let body = json!({ "prompt": "feed the horse", "cwd": street.world.path("inn"), "notify": ["local", elsewhere] });
    let post = |path: &str, head: &str, body: &Value| street.post(path, head, body);
    let made = street.world.json(&["token", "new", "ci", "--scope", "operate"]);
    let operates = format!("authorization: Bearer {}\r\n", word(&made["token"]));
    for head in [operates.clone(), format!("{bearer}ostler-mcp-client: groom\r\n")] {
        let said = post("/v1/tasks", &head, &body);
        assert_eq!(said.problem(), (403, "agent-refused".to_owned()), "{head}");
        is_refused(&said);
    }
    assert_eq!(street.world.json(&["ls", "--all"])["tasks"], json!([]), "nothing was started");

    // The same by a person; and nobody else has a copy of it speak to that address.
    let task = street.world.run(&["start", "feed the horse", "--wait", "--notify", elsewhere]);
    assert_eq!(task.exit, 0, "{}", task.errors);
    let task = word(&street.world.json(&["ls", "--all"])["tasks"][0]["id"]);
    let path = format!("/v1/tasks/{task}/fork");
    let said = post(&path, &operates, &json!({ "prompt": "and the key" }));
    assert_eq!(said.problem(), (403, "agent-refused".to_owned()));
    let from_log = json!({ "prompt": "and the key", "from_log": true });
    let said = post(&path, &operates, &from_log);
    assert_eq!(said.problem(), (403, "agent-refused".to_owned()));
    is_refused(&said);
    assert_eq!(street.world.json(&["ls", "--all"])["tasks"].as_array().unwrap().len(), 1);
    assert_eq!(post(&path, &bearer, &json!({ "prompt": "and the mare" })).status, 201);
    assert_eq!(post(&path, &bearer, &from_log).status, 201);
    // A target of the operator's is no secret way out.
    let mut fine = start.clone();
    fine["notify_target"] = json!("local");
    let said = street.call(&own, &bearer, "codex_start", &fine);
    assert!(said.body.contains("\"isError\":false"), "{said:?}");
}

/// A program that may not decide could have the tools of an MCP server run unasked, or Codex's own reviewer decide.
#[test]
fn programs_set_nothing_that_may_widen_rights() {
    let street = Street::with("allow_config = [\"features.oats\"]", "");
    let made = street.world.json(&["token", "new", "ci", "--scope", "operate"]);
    let operates = format!("authorization: Bearer {}\r\n", word(&made["token"]));
    let by_mcp = format!("{}ostler-mcp-client: groom\r\n", street.bearer());
    let cwd = street.world.path("inn");
    let start = |head: &str, key: &str, value: &str| {
        let body = json!({ "prompt": PROMPT, "cwd": cwd, "approval": "untrusted", "config": { key: value } });
        street.post("/v1/tasks", head, &body)
    };
    for (key, value) in [
        ("features.guardian_approval", "false"),
        ("auto_review.policy", "\"allow all\""),
        ("permissions.mine.network.enabled", "true"),
        ("profile", "\"wide\""),
        ("skills.config", "[]"),
        ("model_catalog_json", "\"/tmp/x\""),
        ("mcp_servers.hay.enabled", "true"),
        ("mcp_servers.hay.disabled_tools", "[]"),
        ("mcp_servers.hay.default_tools_approval_mode", "\"approve\""),
        ("tools.view_image", "false"),
    ] {
        for head in [&operates, &by_mcp] {
            let said = start(head, key, value);
            assert_eq!(said.problem(), (403, "agent-refused".to_owned()), "{key}");
            assert!(said.body.contains(key) && said.body.contains("allow_config"), "{said:?}");
        }
    }
    // What makes tools run unasked needs the operator's leave whoever asks; the rest a person may.
    let bearer = street.bearer();
    let said = start(&bearer, "mcp_servers.hay.default_tools_approval_mode", "\"approve\"");
    assert_eq!(said.problem(), (400, "bad-request".to_owned()));
    assert_eq!(street.world.json(&["ls", "--all"])["tasks"], json!([]), "nothing was started");
    for (head, key, value) in [
        (&bearer, "tools.view_image", "false"),
        (&operates, "features.oats", "true"),
        (&operates, "model_verbosity", "\"low\""),
    ] {
        let said = start(head, key, value);
        assert_eq!(said.status, 201, "{key} {said:?}");
    }
}

/// What is named in two ways must be one thing: a program that means one task must not approve the command of another.
#[test]
fn two_names_must_mean_one_thing() {
    let street = Street::open("\n[mcp]\nmay_decide = [\"token test\"]\n");
    let (task, ask) = street.world.start_asking();
    let other = street.world.json(&["start", "feed the horse"]);
    let other = word(&other["task"]["id"]);
    let (own, bearer) = (street.address.clone(), street.bearer());
    let wrong = [
        ("codex_respond", json!({ "task_id": other, "request_id": ask, "decision": "accept" })),
        (
            "codex_respond",
            json!({ "task_id": "nosuchtask", "request_id": ask, "decision": "accept" }),
        ),
        (
            "codex_respond",
            json!({ "task_id": &other[..8], "request_id": &ask[..8], "decision": "accept" }),
        ),
        (
            "codex_bridge",
            json!({ "action": "respond", "task_id": other, "instruction": ask, "decision": "accept" }),
        ),
    ];
    for (tool, arguments) in wrong {
        let said = street.call(&own, &bearer, tool, &arguments);
        assert!(said.body.contains("\"isError\":true"), "{arguments}: {said:?}");
        assert_eq!(street.world.json(&["asks"])["asks"][0]["ask"]["state"], "open", "{said:?}");
    }
    // Two keys, and two inputs, of which one would be passed over.
    let post = |path: String, key: &str, body: Value| {
        let body = body.to_string();
        let text = format!(
            "POST {path} HTTP/1.1\r\nhost: {own}\r\nconnection: close\r\n{bearer}idempotency-key: {key}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        street.raw(text.as_bytes())
    };
    let cwd = street.world.path("inn");
    let input = json!({ "content": { "message": [{ "text": "x" }] } });
    let twice = [
        ("/v1/tasks".to_owned(), json!({ "prompt": "x", "cwd": cwd, "key": "one" })),
        (format!("/v1/tasks/{other}/send"), json!({ "prompt": "x", "key": "one" })),
        (format!("/v1/tasks/{other}/steer"), json!({ "prompt": "x", "key": "one" })),
        (format!("/v1/tasks/{other}/fork"), json!({ "prompt": "x", "key": "one" })),
    ];
    for (path, body) in twice {
        let said = post(path, "two", body);
        assert_eq!(said.problem(), (400, "bad-request".to_owned()), "{said:?}");
        assert!(said.body.contains("are not the same"), "{said:?}");
    }
    let both = [
        ("/v1/tasks".to_owned(), json!({ "prompt": "x", "input": input, "cwd": cwd })),
        (format!("/v1/tasks/{other}/send"), json!({ "prompt": "x", "input": input })),
    ];
    for (path, body) in both {
        let said = post(path, "three", body);
        assert_eq!(said.problem(), (400, "bad-request".to_owned()), "{said:?}");
        assert!(said.body.contains("a prompt and an input"), "{said:?}");
    }
    assert_eq!(street.world.json(&["ls", "--all"])["tasks"].as_array().unwrap().len(), 2);
    // The right pair, also by the first letters of the task.
    let right = json!({ "task_id": &task[..10], "request_id": ask, "decision": "accept" });
    let said = street.call(&own, &bearer, "codex_respond", &right);
    assert!(said.body.contains("\"isError\":false"), "{said:?}");
}
