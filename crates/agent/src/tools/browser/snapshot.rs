//! A page as a model reads it: the tree that screen readers get, with a name for all that can be acted on. Pure.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;

/// What can be clicked or typed into.
const ACTED_ON: [&str; 20] = [
    "button",
    "link",
    "textbox",
    "searchbox",
    "combobox",
    "checkbox",
    "radio",
    "switch",
    "slider",
    "spinbutton",
    "menuitem",
    "menuitemcheckbox",
    "menuitemradio",
    "option",
    "tab",
    "treeitem",
    "listbox",
    "ColorWell",
    "Date",
    "DateTime",
];

/// Shown also in the short view: they say where one is.
const SIGNPOSTS: [&str; 12] = [
    "heading",
    "alert",
    "status",
    "dialog",
    "alertdialog",
    "form",
    "navigation",
    "main",
    "search",
    "table",
    "image",
    "Iframe",
];

/// Boxes that say nothing.
const SILENT: [&str; 9] = [
    "none",
    "generic",
    "InlineTextBox",
    "LineBreak",
    "ListMarker",
    "presentation",
    "GenericContainer",
    "RootWebArea",
    "WebArea",
];

/// Names that were given to elements: the same element keeps its name for as long as its document is shown, and none is ever
/// given twice.
#[derive(Debug, Default)]
pub(super) struct Refs {
    last: u64,
    by_node: HashMap<i64, String>,
    by_ref: BTreeMap<String, Element>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Element {
    /// As Chromium knows it.
    pub(super) node: i64,
    pub(super) role: String,
    pub(super) name: String,
}

impl Refs {
    /// Another document is shown.
    pub(super) fn forget(&mut self) {
        self.by_node.clear();
        self.by_ref.clear();
    }

    /// `@e12` or `e12`.
    pub(super) fn element(&self, written: &str) -> Option<Element> {
        self.by_ref.get(written.trim().trim_start_matches('@')).cloned()
    }

    pub(super) fn all(&self) -> Vec<(String, Element)> {
        self.by_ref.iter().map(|(name, element)| (name.clone(), element.clone())).collect()
    }

    fn name(&mut self, element: Element) -> String {
        if let Some(known) = self.by_node.get(&element.node) {
            let known = known.clone();
            self.by_ref.insert(known.clone(), element);
            return known;
        }
        self.last += 1;
        let name = format!("e{}", self.last);
        self.by_node.insert(element.node, name.clone());
        self.by_ref.insert(name.clone(), element);
        name
    }
}

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    /// What can be acted on, and what says where one is.
    Short,
    Full,
}

impl View {
    /// The full one is a little less than the toolbox lets through.
    fn most_characters(self) -> usize {
        match self {
            Self::Short => 12_000,
            Self::Full => 40_000,
        }
    }
}

/// Deeper pages are flattened there: nobody reads forty levels.
const DEEPEST: usize = 40;

/// Longer names are texts; the full view has them.
const NAME: usize = 160;
const VALUE: usize = 300;

/// The trees of all frames of a page, the page's own first.
pub(super) fn snapshot(frames: &[Value], view: View, refs: &mut Refs) -> String {
    let mut writing = Writing { view, refs, text: String::new(), written: 0, left_out: 0 };
    for (index, frame) in frames.iter().enumerate() {
        let nodes = frame.get("nodes").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let by_id: HashMap<&str, &Value> =
            nodes.iter().filter_map(|node| Some((text(node, "nodeId")?, node))).collect();
        if index > 0 {
            writing.line(0, "- frame:");
        }
        if let Some(root) = nodes.first() {
            let depth = usize::from(index > 0);
            writing.node(root, &by_id, depth, &mut HashSet::new());
        }
    }
    let (mut text, left_out) = (writing.text, writing.left_out);
    if text.is_empty() {
        text.push_str("(nothing to see on this page)\n");
    }
    if left_out > 0 {
        let more = match view {
            View::Short => "scroll, or take a full snapshot",
            View::Full => "read the page with web_extract, or look at parts with browser_console",
        };
        text.push_str(&format!("[… {left_out} lines were left out here; {more} …]\n"));
    }
    text
}

struct Writing<'r> {
    view: View,
    refs: &'r mut Refs,
    text: String,
    written: usize,
    left_out: usize,
}

impl Writing<'_> {
    fn line(&mut self, depth: usize, line: &str) {
        self.written += line.chars().count() + 2 * depth + 1;
        if self.written > self.view.most_characters() {
            self.left_out += 1;
            return;
        }
        self.text.push_str(&"  ".repeat(depth));
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// On a stack of its own: pages nest deeper than a thread's.
    fn node<'v>(
        &mut self,
        root: &'v Value,
        by_id: &HashMap<&str, &'v Value>,
        depth: usize,
        seen: &mut HashSet<&'v str>,
    ) {
        let mut left = vec![(root, depth)];
        while let Some((node, depth)) = left.pop() {
            if let Some(id) = text(node, "nodeId")
                && !seen.insert(id)
            {
                continue;
            }
            let shown = self.shown(node);
            let below = match &shown {
                Some(_) => (depth + 1).min(DEEPEST),
                None => depth,
            };
            if let Some(line) = &shown {
                self.line(depth, line);
            }
            if is_whole(node) && shown.is_some() {
                continue;
            }
            let children = node.get("childIds").and_then(Value::as_array).into_iter().flatten();
            let children = children.filter_map(|id| by_id.get(id.as_str()?));
            let children: Vec<_> = children.map(|child| (*child, below)).collect();
            left.extend(children.into_iter().rev());
        }
    }

    fn shown(&mut self, node: &Value) -> Option<String> {
        if node.get("ignored").and_then(Value::as_bool) == Some(true) {
            return None;
        }
        let role = value(node, "role").unwrap_or_default();
        let name = value(node, "name").unwrap_or_default();
        let name: String = name.split_whitespace().collect::<Vec<_>>().join(" ");
        let is_acted_on = ACTED_ON.contains(&role.as_str()) || is_editable(node);
        if !is_acted_on {
            if SILENT.contains(&role.as_str()) || role.is_empty() {
                return None;
            }
            if role == "StaticText" {
                let is_shown = self.view == View::Full && !name.is_empty();
                return is_shown.then(|| format!("- {}", cut(&name, 2000)));
            }
            if self.view == View::Short && !SIGNPOSTS.contains(&role.as_str()) {
                return None;
            }
            if name.is_empty() && matches!(role.as_str(), "image" | "paragraph") {
                return None;
            }
        }
        let mut line = format!("- {role}");
        if !name.is_empty() {
            line.push_str(&format!(" {:?}", cut(&name, NAME)));
        }
        if is_acted_on && let Some(node) = node.get("backendDOMNodeId").and_then(Value::as_i64) {
            let element = Element { node, role: role.clone(), name: cut(&name, NAME) };
            line.push_str(&format!(" @{}", self.refs.name(element)));
        }
        for (property, shown) in states(node) {
            line.push_str(&format!(" [{property}{shown}]"));
        }
        if let Some(held) = value(node, "value").filter(|held| !held.is_empty() && *held != name) {
            line.push_str(&format!(": {}", cut(&held, VALUE)));
        }
        Some(line)
    }
}

/// Its name says all that is below.
fn is_whole(node: &Value) -> bool {
    let role = value(node, "role").unwrap_or_default();
    let has_name = value(node, "name").is_some_and(|name| !name.trim().is_empty());
    has_name
        && matches!(role.as_str(), "button" | "link" | "heading" | "option" | "tab" | "StaticText")
        || matches!(role.as_str(), "textbox" | "searchbox")
}

fn is_editable(node: &Value) -> bool {
    property(node, "editable").is_some() && property(node, "focusable").is_some()
}

/// What is worth saying of an element besides its name.
fn states(node: &Value) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    for name in
        ["checked", "pressed", "expanded", "selected", "disabled", "required", "invalid", "focused"]
    {
        match property(node, name) {
            Some(Value::Bool(true)) => all.push((name, String::new())),
            Some(Value::String(word)) if word == "true" => all.push((name, String::new())),
            Some(Value::String(word)) if word == "mixed" => all.push((name, "=mixed".to_owned())),
            Some(Value::Bool(false)) if name == "expanded" => all.push((name, "=false".to_owned())),
            _ => {}
        }
    }
    if let Some(level) = property(node, "level").and_then(Value::as_i64) {
        all.push(("level", format!("={level}")));
    }
    all
}

fn property<'v>(node: &'v Value, name: &str) -> Option<&'v Value> {
    let all = node.get("properties").and_then(Value::as_array)?;
    let found = all.iter().find(|it| text(it, "name") == Some(name))?;
    found.get("value")?.get("value")
}

fn text<'v>(node: &'v Value, field: &str) -> Option<&'v str> {
    node.get(field).and_then(Value::as_str)
}

/// Numbers and texts alike.
fn value(node: &Value, field: &str) -> Option<String> {
    match node.get(field)?.get("value")? {
        Value::String(text) => Some(text.clone()),
        Value::Null => None,
        other => Some(other.to_string()),
    }
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

#[cfg(test)]
#[path = "snapshot_tests.rs"]
mod tests;
