//! The API as a document (OpenAPI 3.1), and as a page for people.
//!
//! The paths and what each needs are those of the table of routes itself; [`described`] adds what each is for and what goes in
//! and out. A test holds that every route is described and nothing else.

mod described;
mod page;
mod parameters;
mod schemas;

use std::sync::LazyLock;

use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use crate::guard::Need;
use crate::routes::table;
use crate::table::{Routes, Row};
use described::{Answer, Body, Described, described};
use parameters::parameters;

/// Made once; the routes do not change while a daemon runs.
static DOCUMENT: LazyLock<Value> = LazyLock::new(document);
static SCHEMAS: LazyLock<Value> = LazyLock::new(schemas::schemas);
static TEXT: LazyLock<String> = LazyLock::new(|| DOCUMENT.to_string());
static PAGE: LazyLock<String> = LazyLock::new(|| page::page(&DOCUMENT));

pub(crate) fn reference_table<S: Clone + Send + Sync + 'static>() -> Routes<S> {
    Routes::new().get("/openapi.json", Need::Open, openapi).get("/docs", Need::Open, docs).get(
        "/docs/style.css",
        Need::Open,
        style,
    )
}

async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], TEXT.as_str()).into_response()
}

async fn docs() -> Response {
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], PAGE.as_str()).into_response()
}

async fn style() -> Response {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], page::STYLE).into_response()
}

fn document() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for row in table() {
        let Some(about) = described(row.method, row.path) else { continue };
        // OpenAPI has no word for a rest of a path; slashes in it are written as they are.
        let path = row.path.replace("{*", "{");
        let item = paths.entry(path).or_insert_with(|| json!({}));
        if let Some(item) = item.as_object_mut() {
            item.insert(row.method.to_ascii_lowercase(), operation(&row, &about));
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Ostler",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Keeps OpenAI Codex at work. Errors are RFC 9457 problems: `detail` says what is wrong, `hint` what to do. \
                Every POST takes an `Idempotency-Key`; only answers that hold a secret are not remembered.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "paths": paths,
        "components": {
            "schemas": *SCHEMAS,
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer" },
                "login": {
                    "type": "apiKey", "in": "cookie", "name": "ostler_session_PORT",
                    "description": "of the browser; PORT is the one that the daemon listens on",
                },
                "word": {
                    "type": "apiKey", "in": "header", "name": "x-ostler-csrf",
                    "description": "what POST /v1/login told with the cookie",
                },
            },
        },
    })
}

fn operation(row: &Row, about: &Described) -> Value {
    let mut operation = json!({
        "operationId": operation_id(row),
        "summary": about.summary,
        "description": needs(row.need),
        "parameters": parameters(row, about),
        "responses": responses(row, about),
        "x-ostler-needs": word(row.need),
    });
    let Some(fields) = operation.as_object_mut() else { return operation };
    let security = match row.need {
        Need::Open => json!([]),
        _ => json!([{ "token": [] }, { "login": [], "word": [] }]),
    };
    fields.insert("security".to_owned(), security);
    let content = match about.body {
        Body::None => None,
        Body::Json(schema) => Some(json!({ "application/json": { "schema": reference(schema) } })),
        Body::File => Some(json!({ "application/octet-stream": { "schema": {} } })),
    };
    if let Some(content) = content {
        let is_required = match about.body {
            // No body is an empty object, which is enough unless something has to be in it.
            Body::Json(schema) => SCHEMAS.get(schema).is_some_and(|schema| {
                schema.get("required").or_else(|| schema.get("anyOf")).is_some()
            }),
            Body::File | Body::None => true,
        };
        fields.insert(
            "requestBody".to_owned(),
            json!({ "content": content, "required": is_required }),
        );
    }
    operation
}

fn responses(row: &Row, about: &Described) -> Value {
    let problem = json!({ "application/problem+json": { "schema": reference("Problem") } });
    let content = match about.answer {
        Answer::Json(schema) => json!({ "application/json": { "schema": reference(schema) } }),
        Answer::Stream(schema) => json!({
            "application/x-ndjson": { "schema": reference(schema) },
            "text/event-stream": { "schema": frame(schema) },
        }),
        Answer::Lines(schema) => json!({ "application/x-ndjson": { "schema": reference(schema) } }),
        Answer::Text(kind) => json!({ kind: { "schema": { "type": "string" } } }),
        Answer::File => json!({ "application/octet-stream": {}, "image/*": {} }),
        Answer::Part => {
            json!({ "text/javascript": {}, "text/css": {}, "font/*": {}, "image/*": {} })
        }
        Answer::Mcp => json!({ "application/json": {}, "text/event-stream": {} }),
    };
    let mut responses = Map::new();
    for status in about.statuses {
        responses.insert(status.to_string(), json!({ "description": "done", "content": content }));
    }
    // Whoever is let in by what they show can also be refused for it.
    if row.need != Need::Open || row.path == "/v1/login" {
        let refused = |text: &str| json!({ "description": text, "content": problem });
        responses.insert("401".to_owned(), refused("nobody is logged in, or no longer"));
        responses.insert("403".to_owned(), refused("what was shown is not good for this"));
        let too_many = json!({
            "description": "too many tokens or codes were tried that are none",
            "headers": { "Retry-After": { "schema": { "type": "integer", "minimum": 1 } } },
            "content": problem,
        });
        responses.insert("429".to_owned(), too_many);
    }
    responses
        .insert("default".to_owned(), json!({ "description": "a problem", "content": problem }));
    Value::Object(responses)
}

/// One server-sent event.
fn frame(schema: &str) -> Value {
    json!({
        "type": "object",
        "properties": {
            "event": { "type": "string", "description": "the `line` of the data" },
            "id": { "type": "string", "description": "of an event of the log: its seq" },
            "data": { "type": "string", "contentMediaType": "application/json", "contentSchema": reference(schema) },
        },
    })
}

fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

/// `get /v1/tasks/{task}/events` is `get_tasks_task_events`.
fn operation_id(row: &Row) -> String {
    let words = row.path.split(['/', '-', '.']).map(|word| word.trim_matches(['{', '}', '*']));
    let words = words.filter(|word| !word.is_empty() && *word != "v1");
    let words: Vec<&str> = std::iter::once(row.method).chain(words).collect();
    words.join("_").to_ascii_lowercase()
}

fn word(need: Need) -> &'static str {
    match need {
        Need::Open => "nothing",
        Need::Login => "login",
        Need::Read => "read",
        Need::Operate => "operate",
        Need::OperateAsPerson => "operate, person",
        Need::Decide | Need::DecideNoted => "decide, person",
        Need::House => "unix socket, person",
    }
}

fn needs(need: Need) -> &'static str {
    match need {
        Need::Open => "Needs nothing.",
        Need::Login => "Needs a login or any token.",
        Need::Read => "Needs the scope `read`.",
        Need::Operate => "Needs the scope `operate`.",
        Need::OperateAsPerson => "Needs the scope `operate`; refused to agents.",
        Need::Decide | Need::DecideNoted => "Needs the scope `decide`; refused to agents.",
        Need::House => "Only on the daemon's unix socket; refused to agents.",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_route_is_described_and_nothing_else() {
        let routes: BTreeSet<_> = table().iter().map(|row| (row.method, row.path)).collect();
        assert_eq!(routes.len(), table().len(), "no route stands there twice");
        assert_eq!(described::all().collect::<BTreeSet<_>>(), routes);
    }

    #[test]
    fn every_schema_that_is_named_is_there() {
        let text = DOCUMENT.to_string();
        let known = DOCUMENT["components"]["schemas"].as_object().unwrap();
        let mut named = BTreeSet::new();
        for part in text.split("#/components/schemas/").skip(1) {
            named.insert(part.split('"').next().unwrap().to_owned());
        }
        let known: BTreeSet<String> = known.keys().cloned().collect();
        assert_eq!(named, known);
    }

    #[test]
    fn the_page_needs_no_script_and_no_style_of_its_own() {
        for word in ["<script", "style=", "onclick", "javascript:"] {
            assert!(!PAGE.contains(word), "{word}");
        }
        assert!(PAGE.contains("/v1/tasks/{task}/events"));
    }
}
