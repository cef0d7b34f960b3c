//! The routes of a task and of the house, each once with real Codex, held against the document that describes them.

use std::thread::sleep;
use std::time::{Duration, Instant};

use ostler_scripted_model::Conversation;
use serde_json::{Value, json};

use crate::caller::{Caller, NEWEST, world};
use crate::world::World;
use crate::{LEAVES_A_LINE, PROMPT, command, text};

/// Whether a value is what a schema of the document says; gives the first place where it is not.
fn misfit(document: &Value, schema: &Value, value: &Value, place: &str) -> Option<String> {
    if let Some(name) = schema["$ref"].as_str() {
        let schema = document.pointer(name.trim_start_matches('#')).unwrap();
        return misfit(document, schema, value, place);
    }
    if let Some(any) = schema["anyOf"].as_array() {
        let fits = any.iter().any(|schema| misfit(document, schema, value, place).is_none());
        return (!fits).then(|| format!("{place}: {value} is none of it"));
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.contains(value)
    {
        return Some(format!("{place}: {value} is no word of {words:?}"));
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let fits = match &schema["type"] {
        Value::Null => true,
        Value::String(own) => own == kind,
        kinds => kinds.as_array().unwrap().contains(&json!(kind)),
    };
    if !fits {
        return Some(format!("{place}: {value} is {kind}, not {}", schema["type"]));
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        if value.is_object() && value.get(name.as_str().unwrap()).is_none() {
            return Some(format!("{place}: {name} is missing"));
        }
    }
    let fields = value.as_object().into_iter().flatten();
    let own =
        fields.filter_map(|(name, inner)| Some((name, schema["properties"].get(name)?, inner)));
    for (name, schema, inner) in own {
        if let Some(found) = misfit(document, schema, inner, &format!("{place}.{name}")) {
            return Some(found);
        }
    }
    let items = value.as_array().into_iter().flatten();
    items
        .enumerate()
        .find_map(|(at, item)| misfit(document, &schema["items"], item, &format!("{place}[{at}]")))
}

#[test]
fn every_answer_is_as_the_document_says() {
    let world = world(NEWEST, vec![command(LEAVES_A_LINE), text("The horse is harnessed.")]);
    let (task, ask) = world.start_asking();
    let caller = Caller::of(&world);
    let said = caller.call("GET", "/openapi.json", &[], b"");
    let document = said.json();
    assert_eq!(document["openapi"], "3.1.0");
    let check = |method: &str, path: &str, described: &str, body: &[u8]| {
        let said = caller.call(method, path, &[], body);
        let operation = &document["paths"][described][method.to_ascii_lowercase()];
        let response = &operation["responses"][said.status.to_string()];
        assert!(
            response.is_object(),
            "{method} {path}: {} {:?}",
            said.status,
            String::from_utf8_lossy(&said.body)
        );
        let schema = &response["content"]["application/json"]["schema"];
        let value = said.json();
        if let Some(place) = misfit(&document, schema, &value, described) {
            panic!("{place} in {value}");
        }
        value
    };
    let own = |rest: &str| format!("/v1/tasks/{task}{rest}");
    let listed = check("GET", "/v1/tasks?q=HARNESS&state=waiting_for_approval", "/v1/tasks", b"");
    assert_eq!(listed["tasks"][0]["id"], json!(task));
    assert_eq!(check("GET", "/v1/tasks?q=unheard-of", "/v1/tasks", b"")["tasks"], json!([]));
    check("GET", "/v1/asks", "/v1/asks", b"");
    check("GET", &format!("/v1/asks/{ask}"), "/v1/asks/{ask}", b"");
    check("GET", &own(""), "/v1/tasks/{task}", b"");
    let sent = json!({ "prompt": "gently" }).to_string();
    check("POST", &own("/steer"), "/v1/tasks/{task}/steer", sent.as_bytes());
    let answer = json!({ "decision": "Once", "surface": "terminal" }).to_string();
    let path = format!("/v1/asks/{ask}/answer");
    let answered = check("POST", &path, "/v1/asks/{ask}/answer", answer.as_bytes());
    // By which door it came is not for the request to say.
    assert_eq!(answered["decision"]["by"]["surface"], "api", "{answered}");
    assert_eq!(world.run(&["wait", &task]).exit, 0);
    let items = check("GET", &own("/items?limit=2"), "/v1/tasks/{task}/items", b"");
    assert_eq!(items["items"].as_array().unwrap().len(), 2);
    let rest = check(
        "GET",
        &own(&format!("/items?after={}", items["next"])),
        "/v1/tasks/{task}/items",
        b"",
    );
    let last = rest["items"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["item"]["body"]["text"], "The horse is harnessed.");
    let turns = check("GET", &own("/turns"), "/v1/tasks/{task}/turns", b"");
    let turn = turns["turns"][0]["turn"].as_str().unwrap();
    let of_turn = check("GET", &own(&format!("/items?turn={turn}")), "/v1/tasks/{task}/items", b"");
    assert_eq!(of_turn["items"].as_array().unwrap().last(), Some(&last));
    for rest in ["messages", "receipts", "why", "diff", "files", "notifications/preview"] {
        check("GET", &own(&format!("/{rest}")), &format!("/v1/tasks/{{task}}/{rest}"), b"");
    }
    // The command line has started it, and this is a token: neither is it the token's, nor is there an end to be told.
    assert_eq!(check("GET", "/v1/tasks?mine=true", "/v1/tasks", b"")["tasks"], json!([]));
    assert_eq!(check("GET", "/v1/ends", "/v1/ends", b"")["tasks"], json!([]));
    let told = json!({ "ends": [{ "task": task, "ended_at": 1 }] }).to_string();
    check("POST", "/v1/ends/told", "/v1/ends/told", told.as_bytes());
    for path in [
        "/v1/health",
        "/v1/ready",
        "/v1/session",
        "/v1/tokens",
        "/v1/worktrees",
        "/v1/rules",
        "/v1/app-servers",
        "/v1/limits",
    ] {
        check("GET", path, path, b"");
    }
    let told = check("GET", "/v1/notifications?state=no_target", "/v1/notifications", b"");
    let first = told["notifications"][0]["id"].as_str().unwrap().to_owned();
    let shown = format!("/v1/notifications/{first}");
    let shown = check("GET", &shown, "/v1/notifications/{notification}", b"");
    assert_eq!(shown, told["notifications"][0]);
    let read = json!({ "up_to": told["newest"] }).to_string();
    check("POST", "/v1/notifications/read", "/v1/notifications/read", read.as_bytes());
    let rule = json!({
        "version": "1", "id": "r1", "effect": "deny", "matcher": { "host": "example.com" }, "cwd": null,
        "scope": "everywhere", "expires_at": null, "made_by": "somebody else", "made_at": 1, "from_ask": null,
    });
    let made = check("POST", "/v1/rules", "/v1/rules", rule.to_string().as_bytes());
    assert_eq!(made["made_by"], check("GET", "/v1/session", "/v1/session", b"")["name"]);
    assert_eq!(check("GET", "/v1/rules", "/v1/rules", b""), json!([made]));
    check("DELETE", "/v1/rules/r1", "/v1/rules/{rule}", b"");
    let kind =
        json!({ "Command": { "command": "touch a", "cwd": null, "writes_to_running": false } });
    let wanted = json!({
        "key": "k", "owner": "chat 1", "cwd": world.path("inn"),
        "content": { "kind": kind, "offers": ["Once", "Deny"], "reason": "a host tool asks" },
    });
    let asked = check("POST", "/v1/host-asks", "/v1/host-asks", wanted.to_string().as_bytes());
    let asks = check("GET", "/v1/asks", "/v1/asks", b"");
    assert_eq!((&asks["asks"][0]["ask"], &asks["asks"][0]["host"]), (&asked, &json!(true)));
    let ask = asked["id"].as_str().unwrap();
    let decision = format!("/v1/host-asks/{ask}/decision");
    assert_eq!(check("GET", &decision, "/v1/host-asks/{ask}/decision", b""), asked);
    let decided = check(
        "POST",
        &format!("/v1/asks/{ask}/answer"),
        "/v1/asks/{ask}/answer",
        json!({ "decision": "Once" }).to_string().as_bytes(),
    );
    let waited = format!("{decision}?wait_s=60");
    assert_eq!(check("GET", &waited, "/v1/host-asks/{ask}/decision", b""), decided);
    let own_ask = format!("/v1/host-asks/{ask}");
    assert_eq!(check("DELETE", &own_ask, "/v1/host-asks/{ask}", b""), decided);
    let models = check("GET", "/v1/models", "/v1/models", b"");
    assert!(
        models["models"].as_array().unwrap().iter().any(|model| model["is_default"] == true),
        "{models}"
    );
    let defaults = check("GET", "/v1/defaults", "/v1/defaults", b"");
    assert_eq!(
        (&defaults["models"], &defaults["cwds"][0]),
        (&models["models"], &json!(world.path("inn")))
    );
    // Nobody waits for it.
    let given = json!({ "call": "c1", "by": "ann", "result": "fed", "succeeded": true });
    let gone = caller.call("POST", &own("/tool-calls/finish"), &[], given.to_string().as_bytes());
    let wanted = json!({ "call": "c1", "by": "ann" }).to_string();
    let unknown = caller.call("POST", &own("/tool-calls/take"), &[], wanted.as_bytes());
    assert_eq!((gone.status, unknown.status), (404, 404));
    // Nothing runs that could be steered or ended.
    let sent = json!({ "prompt": "again" }).to_string();
    for (rest, body) in [("/interrupt", ""), ("/steer", sent.as_str())] {
        let refused = caller.call("POST", &own(rest), &[], body.as_bytes());
        assert_eq!(refused.status, 409, "{rest}: {}", refused.json());
    }
    check("POST", &own("/release"), "/v1/tasks/{task}/release", b"");
    check("DELETE", &own(""), "/v1/tasks/{task}", b"");
    check("POST", "/v1/gc", "/v1/gc", b"");

    let metrics = caller.call("GET", "/metrics", &[], b"");
    let page = String::from_utf8(metrics.body.clone()).unwrap();
    assert_eq!(metrics.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    for line in [
        "# TYPE ostler_tasks gauge",
        "ostler_tasks{state=\"completed\"} 0",
        "ostler_store_failing 0",
    ] {
        assert!(page.lines().any(|own| own == line), "{line:?} is not in {page}");
    }
    let docs = caller.call("GET", "/docs", &[], b"");
    assert_eq!((docs.status, docs.header("content-type")), (200, Some("text/html; charset=utf-8")));
}

#[test]
fn a_rule_of_the_file_is_changed_in_the_file_alone() {
    let conversation = Conversation { prompt: PROMPT.to_owned(), answers: vec![text("Done.")] };
    let config = "[server]\nlisten = \"127.0.0.1:0\"\n[[policy]]\ndecision = \"deny\"\nhost = \"example.com\"\n";
    let world = World::with(NEWEST, vec![conversation], config);
    assert_eq!(world.run(&["daemon", "start"]).exit, 0);
    let caller = Caller::of(&world);
    let before = caller.get("/v1/rules");
    assert_eq!(before[0]["id"], "config-1", "{before}");

    let removed = caller.call("DELETE", "/v1/rules/config-1", &[], b"");
    assert_eq!(removed.status, 409, "{}", removed.json());
    let detail = removed.json()["detail"].to_string();
    assert!(detail.contains("stands in the configuration"), "{detail}");
    // Also not one that the file may have some day: it would stand beside it.
    for id in ["config-1", "config-9"] {
        let rule = json!({
            "version": "1", "id": id, "effect": "allow", "matcher": { "host": "example.com" }, "cwd": null,
            "scope": "everywhere", "expires_at": null, "made_by": "", "made_at": 1, "from_ask": null,
        });
        let said = caller.call("POST", "/v1/rules", &[], rule.to_string().as_bytes());
        assert_eq!(said.status, 409, "{id}: {}", said.json());
    }
    assert_eq!(caller.get("/v1/rules"), before);
}

#[test]
fn what_the_configuration_says_can_be_left_out() {
    let conversation = Conversation { prompt: PROMPT.to_owned(), answers: vec![text("Done.")] };
    let config = "model = \"mare\"\neffort = \"high\"\nbudget_turns = 3\nbudget_tokens = 90000\n\
                  [server]\nlisten = \"127.0.0.1:0\"\n";
    let world = World::with(NEWEST, vec![conversation], config);
    assert_eq!(world.run(&["daemon", "start"]).exit, 0);
    let caller = Caller::of(&world);
    let start = |more: Value| {
        let mut request = json!({ "prompt": PROMPT, "cwd": world.path("inn") });
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let settings = caller.post("/v1/tasks", &request)["task"]["settings"].clone();
        let budget = &settings["budget"];
        json!([settings["model"], settings["effort"], budget["turns"], budget["tokens"]])
    };

    // What is not said, or null, is as the configuration says.
    assert_eq!(start(json!({ "model": null })), json!(["mare", "high", 3, 90000]));
    let without = json!({ "unset": ["model", "budget_turns"] });
    assert_eq!(start(without), json!([null, "high", null, 90000]));
    // What is said counts in any case.
    let other = json!({ "unset": ["budget_tokens"], "budget_tokens": 5, "model": "foal" });
    assert_eq!(start(other), json!(["foal", "high", 3, 5]));
    let wrong = json!({ "prompt": PROMPT, "cwd": world.path("inn"), "unset": ["sandbox"] });
    let said = caller.call("POST", "/v1/tasks", &[], wrong.to_string().as_bytes());
    assert_eq!(said.status, 400, "{}", said.json());
}

#[test]
fn the_same_key_is_the_same_request() {
    let world = world(NEWEST, vec![text("Once.")]);
    world.run(&["daemon", "start"]);
    let caller = Caller::of(&world);
    let wanted = json!({ "prompt": PROMPT, "cwd": world.path("inn") });
    let start = |key: &str, wanted: &Value| {
        caller.call("POST", "/v1/tasks", &[("idempotency-key", key)], wanted.to_string().as_bytes())
    };
    let (first, second) = (start("a", &wanted), start("a", &wanted));
    assert_eq!((first.status, second.status), (201, 201));
    assert_eq!(first.body, second.body);
    assert_eq!(
        (first.header("idempotent-replayed"), second.header("idempotent-replayed")),
        (None, Some("true"))
    );
    // Also after a restart: the store knows it.
    world.json(&["daemon", "restart"]);
    let caller = Caller::of(&world);
    let third = caller.call(
        "POST",
        "/v1/tasks",
        &[("idempotency-key", "a")],
        wanted.to_string().as_bytes(),
    );
    let third = third.json();
    assert_eq!(
        (&third["known"], &third["task"]["id"]),
        (&json!(true), &first.json()["task"]["id"])
    );
    let other = json!({ "prompt": "another", "cwd": world.path("inn") });
    let key = [("idempotency-key", "a")];
    assert_eq!(caller.call("POST", "/v1/tasks", &key, other.to_string().as_bytes()).status, 409);
    // What is not remembered by the store is remembered by the door.
    let replayed = |path: &str, key: &str, body: &str| {
        let said = caller.call("POST", path, &[("idempotency-key", key)], body.as_bytes());
        assert!((200..300).contains(&said.status), "{said:?}");
        said.header("idempotent-replayed").is_some()
    };
    let read = |key: &str| replayed("/v1/notifications/read", key, "{\"up_to\":0}");
    assert_eq!([read("r"), read("r"), read("s")], [false, true, false]);
    // What makes a secret is done once, and tells it once.
    let token = |key: &str| {
        let wanted = b"{\"name\":\"one\",\"scopes\":[\"read\"]}";
        caller.call("POST", "/v1/tokens", &[("idempotency-key", key)], wanted)
    };
    let said = [token("t"), token("t"), token("u")];
    assert_eq!(said.each_ref().map(|said| said.status), [201, 409, 201], "{said:?}");
    assert!(!said[1].json()["detail"].as_str().unwrap().contains("ostler_"));
    assert_eq!(caller.get("/v1/tasks")["tasks"].as_array().unwrap().len(), 1);
}

/// The process behind the token is a person's, so it may what is for people, and is looked at where only a part of a request is.
#[test]
fn a_person_with_a_token_names_an_address_and_offers_tools() {
    let world = world(NEWEST, vec![text("Done.")]);
    world.run(&["daemon", "start"]);
    let caller = Caller::of(&world);
    let wanted = json!({
        "prompt": PROMPT, "cwd": world.path("inn"), "notify": ["https://hooks.example.com/inn"],
        "tools": [{ "name": "feed", "description": "feeds the horse", "schema": "{\"type\":\"object\"}" }],
    });
    let started = caller.call("POST", "/v1/tasks", &[], wanted.to_string().as_bytes());
    assert_eq!(started.status, 201, "{started:?}");
    let settings = &started.json()["task"]["settings"];
    assert_eq!(settings["notify"], json!(["https://hooks.example.com/inn"]));
    assert_eq!(settings["tools"][0]["name"], "feed");
}

/// The provider decides where the prompt and the key of the login are sent.
#[test]
fn a_provider_of_the_caller_s_own_needs_a_person() {
    let world = world(NEWEST, vec![text("Done.")]);
    world.run(&["daemon", "start"]);
    let start = |caller: &Caller, provider: Value| {
        let wanted =
            json!({ "prompt": PROMPT, "cwd": world.path("inn"), "model_provider": provider });
        caller.call("POST", "/v1/tasks", &[], wanted.to_string().as_bytes())
    };
    let program = Caller::with_scopes(&world, &["operate"]);
    let refused = start(&program, json!("ollama"));
    assert_eq!(refused.status, 403, "{refused:?}");
    let detail = refused.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("has not the scope decide") && detail.contains("model_provider"));
    assert_eq!(start(&program, Value::Null).status, 201);
    assert_eq!(start(&Caller::of(&world), json!("ollama")).status, 201);
}

/// A command of a task can close its end at once, so that it is not found. It must not pass for a program in a container.
#[test]
fn whoever_leaves_before_it_is_looked_at_gets_what_agents_get() {
    let world = world(NEWEST, vec![command(LEAVES_A_LINE), text("Done.")]);
    let (task, _) = world.start_asking();
    let program = Caller::with_scopes(&world, &["operate"]);
    let elsewhere = world.path("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let wanted = json!({ "prompt": PROMPT, "cwd": elsewhere }).to_string();
    let deadline = Instant::now() + Duration::from_secs(60);
    // Which of them is heard before its end is noticed is a matter of microseconds.
    let refused = (0..500).cycle().find_map(|micros| {
        assert!(Instant::now() < deadline, "none was heard");
        let connection = program.open("POST", "/v1/tasks", &[], wanted.as_bytes());
        sleep(Duration::from_micros(micros));
        drop(connection);
        let tasks = Caller::of(&world).get("/v1/tasks")["tasks"].clone();
        assert_eq!(tasks.as_array().unwrap().len(), 1, "{tasks:#?}");
        let refused = world.json(&["audit", "--refusals"])["entries"].clone();
        refused.get(0).cloned()
    });
    let why = refused.unwrap()["why"].as_str().unwrap().to_owned();
    let expected = format!("to work in {}, whose repository may be made by", elsewhere.display());
    assert!(why.contains(&expected) && why.contains("cannot be looked at"), "{why}");
    world.run(&["interrupt", &task]);
}
