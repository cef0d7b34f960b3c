//! Our tables in somebody's `config.toml`, between markers; every byte outside of them stays.

use thiserror::Error;
use toml::{Table, Value};
use toml_edit::{Array, Document, InlineTable, Item};

use super::layout::Layout;
use super::markers::{self, Holds, PERMISSIONS};
use super::removal::{not_toml, split_bom, without_blocks};
use crate::problem::Problem;

/// Something that is to stand in the block: a table, or a value above all tables.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub path: Vec<String>,
    pub value: Value,
}

impl Entry {
    pub fn new(path: &[&str], value: impl Into<Value>) -> Self {
        Self { path: path.iter().map(|part| (*part).to_owned()).collect(), value: value.into() }
    }
}

/// A text with the block in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    pub text: String,
    /// The text without any block: what taking it out gives.
    pub base: String,
    /// What the user has under the same name, which stays.
    pub theirs: Vec<Vec<String>>,
    /// Whether a block of the format before ours was replaced.
    pub replaced_old: bool,
    /// The tables of that block that nothing was written for again.
    pub gone: Vec<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BlockError {
    #[error("{0}")]
    NotToml(Problem),
    #[error(
        "{0} is written there as one value, to which no table can be added; write it as [{0}.NAME]"
    )]
    OneValue(String),
    #[error(
        "with [{0}] written into it, the file would mean something else than it should; nothing was changed"
    )]
    Mistaken(String),
}

/// Puts the entries into the text, in place of those of an earlier block. What the user has of them wins.
pub fn write_block(text: &str, entries: &[Entry]) -> Result<Written, BlockError> {
    let (bom, body) = split_bom(text);
    let stays: Vec<&[String]> = entries.iter().map(|entry| entry.path.as_slice()).collect();
    let (out, held) = without_blocks(body, &stays)?;
    let base = out.text;
    let document = Document::parse(base.as_str()).map_err(|error| not_toml(&base, &error))?;
    let config: Table = toml::from_str(&base).unwrap_or_default();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for entry in entries {
        match is_theirs(document.as_item(), &entry.path)? {
            true => theirs.push(entry.path.clone()),
            false => ours.push(beside(entry, &config)),
        }
    }
    let written = if ours.is_empty() { base.clone() } else { insert(&base, &ours, &held)? };
    check(&base, &written, &ours)?;
    let (text, base) = (format!("{bom}{written}"), format!("{bom}{base}"));
    let is_written = |path: &Vec<String>| entries.iter().any(|entry| path.starts_with(&entry.path));
    let gone = out.gone.into_iter().filter(|path| !is_written(path)).collect();
    Ok(Written { text, base, theirs, replaced_old: out.was_old, gone })
}

/// What stands below the table already, such as a tool that Codex was allowed, stays there and is not written a second time.
fn beside(entry: &Entry, config: &Table) -> Entry {
    let mut entry = entry.clone();
    let there = look_up(config, &entry.path).and_then(Value::as_table);
    if let (Some(there), Value::Table(table)) = (there, &mut entry.value) {
        table.retain(|key, _| !there.contains_key(key));
    }
    entry
}

fn look_up<'t>(config: &'t Table, path: &[String]) -> Option<&'t Value> {
    let (first, below) = path.split_first()?;
    below.iter().try_fold(config.get(first)?, |found, part| found.get(part))
}

/// Whether the user has this already. A table that is there only because of those below it is nobody's.
fn is_theirs(root: &Item, path: &[String]) -> Result<bool, BlockError> {
    let mut found = root;
    for (depth, part) in path.iter().enumerate() {
        let Some(next) = found.as_table_like().and_then(|table| table.get(part)) else {
            return Ok(false);
        };
        let is_last = depth + 1 == path.len();
        match next {
            Item::Value(_) if is_last => return Ok(true),
            Item::Value(inline) => {
                // An inline table holds what it holds; nothing can be added from elsewhere.
                let holds = inline.as_inline_table().is_some_and(|table| {
                    path.get(depth + 1).is_some_and(|below| table.contains_key(below))
                });
                let name = path.get(..=depth).unwrap_or_default().join(".");
                return if holds { Ok(true) } else { Err(BlockError::OneValue(name)) };
            }
            Item::ArrayOfTables(_) if is_last => return Ok(true),
            Item::ArrayOfTables(_) => {
                return Err(BlockError::OneValue(path.get(..=depth).unwrap_or_default().join(".")));
            }
            Item::Table(table) if is_last => return Ok(!table.is_implicit() || table.is_dotted()),
            _ => found = next,
        }
    }
    Ok(false)
}

fn insert(base: &str, entries: &[Entry], held: &[Holds]) -> Result<String, BlockError> {
    let layout = Layout::of(base).map_err(|error| not_toml(base, &error))?;
    let first = layout.headers.first();
    let at = first.map_or(base.len(), |header| layout.begins(header, |_| true));
    let (before, after) = base.split_at(at);
    let eol = match base.find('\n') {
        Some(end) if base.get(..end).is_some_and(|line| line.ends_with('\r')) => "\r\n",
        _ => "\n",
    };
    let joined = !before.is_empty() && !before.ends_with('\n');
    let holds = Holds {
        holds: entries.iter().map(|entry| entry.path.clone()).collect(),
        joined,
        beside: users_below(&layout, entries, held),
    };
    let gap = if joined { eol } else { "" };
    Ok(format!("{before}{gap}{}{after}", markers::wrap(&body(entries), &holds, eol)))
}

/// The user's own tables below ours. What has come below one since we wrote it is Codex's, and goes with it.
fn users_below(layout: &Layout<'_>, entries: &[Entry], held: &[Holds]) -> Vec<Vec<String>> {
    let is_users = |path: &&Vec<String>| {
        entries.iter().any(|entry| {
            let was_ours = held.iter().any(|holds| holds.holds.contains(&entry.path));
            let is_below = entry.path.len() < path.len() && path.starts_with(&entry.path);
            is_below && (!was_ours || held.iter().any(|holds| holds.beside.contains(path)))
        })
    };
    layout.headers.iter().map(|header| &header.path).filter(is_users).cloned().collect()
}

/// Values first: below a header they would belong to its table.
fn body(entries: &[Entry]) -> String {
    let mut text = String::new();
    for entry in entries.iter().filter(|entry| !entry.value.is_table()) {
        text.push_str(&format!("{} = {}\n", dotted(&entry.path), toml_value(&entry.value)));
    }
    for entry in entries {
        let Value::Table(table) = &entry.value else { continue };
        let gap = if text.is_empty() { "" } else { "\n" };
        text.push_str(&format!("{gap}[{}]\n", dotted(&entry.path)));
        for (key, value) in table {
            text.push_str(&format!(
                "{} = {}\n",
                dotted(std::slice::from_ref(key)),
                toml_value(value)
            ));
        }
    }
    text
}

fn dotted(path: &[String]) -> String {
    let parts: Vec<String> =
        path.iter().map(|part| toml_edit::Key::new(part).display_repr().into_owned()).collect();
    parts.join(".")
}

fn toml_value(value: &Value) -> toml_edit::Value {
    match value {
        Value::String(text) => text.as_str().into(),
        Value::Integer(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::Boolean(is_so) => (*is_so).into(),
        Value::Datetime(time) => (*time).into(),
        Value::Array(values) => {
            toml_edit::Value::Array(values.iter().map(toml_value).collect::<Array>())
        }
        Value::Table(table) => {
            let pairs = table.iter().map(|(key, value)| (key.as_str(), toml_value(value)));
            toml_edit::Value::InlineTable(pairs.collect::<InlineTable>())
        }
    }
}

/// Reads what was written once more: it must be what was there and what is ours, and nothing else.
fn check(base: &str, written: &str, entries: &[Entry]) -> Result<(), BlockError> {
    let read = |text: &str| toml::from_str::<Table>(text).ok();
    let is_read_alone = |entry: &&Entry| {
        let alone = insert(base, std::slice::from_ref(*entry), &[]).ok();
        alone.is_some_and(|text| read(&text).is_some())
    };
    let (Some(mut expected), Some(found)) = (read(base), read(written)) else {
        return Err(mistaken(entries.iter().find(|entry| !is_read_alone(entry))));
    };
    for entry in entries {
        put(&mut expected, entry).ok_or_else(|| mistaken(Some(entry)))?;
    }
    if expected == found {
        return Ok(());
    }
    let differs = |entry: &&Entry| look_up(&expected, &entry.path) != look_up(&found, &entry.path);
    Err(mistaken(entries.iter().find(differs)))
}

fn mistaken(entry: Option<&Entry>) -> BlockError {
    BlockError::Mistaken(entry.map_or_else(|| "ours".to_owned(), |entry| dotted(&entry.path)))
}

/// None if there is no table to put it into.
fn put(config: &mut Table, entry: &Entry) -> Option<()> {
    let (last, above) = entry.path.split_last()?;
    let mut table = config;
    for part in above {
        let next = table.entry(part).or_insert_with(|| Value::Table(Table::new()));
        table = next.as_table_mut()?;
    }
    match (table.get_mut(last), &entry.value) {
        // What Codex has put below a table of ours stays in it.
        (Some(Value::Table(there)), Value::Table(ours)) => there.extend(ours.clone()),
        _ => {
            table.insert(last.clone(), entry.value.clone());
        }
    }
    Some(())
}

/// The name of the permission profile that holds for those who say nothing.
pub fn permissions_entry(profile: &str) -> Entry {
    Entry::new(&[PERMISSIONS], profile)
}
