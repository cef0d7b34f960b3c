//! Trees as Chromium gives them, cut down to what is read.

use serde_json::{Value, json};

use super::{Refs, View, snapshot};

fn node(id: &str, role: &str, name: &str, children: &[&str]) -> Value {
    json!({
        "nodeId": id,
        "ignored": false,
        "role": { "value": role },
        "name": { "value": name },
        "childIds": children,
        "backendDOMNodeId": id.parse::<i64>().unwrap() + 100,
    })
}

fn with(mut node: Value, fields: &Value) -> Value {
    for (name, value) in fields.as_object().unwrap() {
        node[name] = value.clone();
    }
    node
}

fn page() -> Value {
    json!({ "nodes": [
        node("1", "RootWebArea", "Inn", &["2", "3", "5", "8"]),
        with(node("2", "heading", "Rooms", &["9"]), &json!({
            "properties": [{ "name": "level", "value": { "value": 1 } }],
        })),
        node("3", "generic", "", &["4"]),
        node("4", "StaticText", "All stables are warm.", &[]),
        node("5", "form", "", &["6", "7"]),
        with(node("6", "textbox", "Your name", &["10"]), &json!({ "value": { "value": "Ada" } })),
        with(node("7", "checkbox", "Oats", &[]), &json!({
            "properties": [{ "name": "checked", "value": { "value": "true" } }],
        })),
        with(node("8", "button", "Book", &[]), &json!({ "ignored": true })),
        node("9", "StaticText", "Rooms", &[]),
        node("10", "StaticText", "Ada", &[]),
    ] })
}

#[test]
fn the_short_view_has_what_can_be_acted_on() {
    let mut refs = Refs::default();
    let short = snapshot(&[page()], View::Short, &mut refs);
    assert_eq!(
        short,
        "- heading \"Rooms\" [level=1]\n- form\n  - textbox \"Your name\" @e1: Ada\n  - checkbox \"Oats\" @e2 [checked]\n"
    );
    assert_eq!(refs.element("@e2").unwrap().node, 107);
    assert_eq!(refs.element("e1").unwrap().role, "textbox");
    assert_eq!(refs.element("@e3"), None);
}

#[test]
fn the_full_view_has_the_text_and_the_same_names() {
    let mut refs = Refs::default();
    snapshot(&[page()], View::Short, &mut refs);
    let full = snapshot(&[page()], View::Full, &mut refs);
    assert_eq!(
        full,
        "- heading \"Rooms\" [level=1]\n- All stables are warm.\n- form\n  - textbox \"Your name\" @e1: Ada\n  - checkbox \"Oats\" @e2 [checked]\n"
    );
}

#[test]
fn a_name_is_never_given_twice() {
    let mut refs = Refs::default();
    snapshot(&[page()], View::Short, &mut refs);
    refs.forget();
    assert_eq!(refs.element("@e1"), None);
    snapshot(&[page()], View::Short, &mut refs);
    assert_eq!(refs.element("@e1"), None);
    assert_eq!(refs.element("@e3").unwrap().name, "Your name");
}

#[test]
fn what_is_too_much_is_counted_and_loops_end() {
    let count = 5000;
    let ids: Vec<String> = (2..count).map(|id| id.to_string()).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut nodes = vec![node("1", "RootWebArea", "", &ids)];
    nodes.extend(ids.iter().map(|id| node(id, "button", "press", &["1", id])));
    let text = snapshot(&[json!({ "nodes": nodes })], View::Short, &mut Refs::default());
    assert!(text.chars().count() < 12_200, "{}", text.chars().count());
    let lines = text.lines().count() - 1;
    let wanted = format!(
        "[… {} lines were left out here; scroll, or take a full snapshot …]",
        count - 2 - lines
    );
    assert_eq!(text.lines().last().unwrap(), wanted);
}

#[test]
fn frames_are_told_apart_and_an_empty_page_says_so() {
    let frame = json!({ "nodes": [
        node("1", "RootWebArea", "", &["2"]), node("2", "link", "inside", &[]),
    ] });
    let mut refs = Refs::default();
    let empty = json!({ "nodes": [node("1", "RootWebArea", "", &[])] });
    assert_eq!(
        snapshot(&[empty.clone(), frame], View::Short, &mut refs),
        "- frame:\n  - link \"inside\" @e1\n"
    );
    assert_eq!(snapshot(&[empty], View::Full, &mut refs), "(nothing to see on this page)\n");
}
