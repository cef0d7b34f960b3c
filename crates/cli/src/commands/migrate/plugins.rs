//! Plugins that are installed: each has a table in a `config.toml`, and none of it is to be lost.

use std::path::Path;

use ostler_config::migrate::Entry;
use toml::{Table, Value};

use super::config_file::ConfigToml;
use super::report::{PluginShown, Report};
use super::trial::{self, Told};
use crate::bench::Bench;

/// Tables for the plugins that Codex has told of: as they stand in the text, whoever wrote them there.
pub(super) fn entries(told: &Told, text: &str, report: &mut Report) -> Vec<Entry> {
    let ids = match &told.plugins {
        Ok(ids) => ids,
        Err(why) => {
            report.plugin_note = Some(why.clone());
            return Vec::new();
        }
    };
    let config: Table = toml::from_str(text.trim_start_matches('\u{feff}')).unwrap_or_default();
    let table = |section: &str, name: &str| -> Option<Table> {
        config.get(section)?.get(name)?.as_table().cloned()
    };
    let mut entries = Vec::new();
    for id in ids {
        let usual = || Table::from_iter([("enabled".to_owned(), Value::Boolean(true))]);
        entries.push(Entry::new(&["plugins", id], table("plugins", id).unwrap_or_else(usual)));
        let market = id.rsplit_once('@').map_or("", |(_, market)| market);
        let path = ["marketplaces", market];
        if let Some(market) = table("marketplaces", market)
            && !entries.iter().any(|entry: &Entry| entry.path == path)
        {
            entries.push(Entry::new(&path, market));
        }
        report.plugins.push(PluginShown { id: id.clone(), carried: false });
    }
    entries
}

/// Those of the home that Codex usually has, for another one.
pub(super) async fn of_another_home(
    bench: &Bench,
    codex: &Path,
    home: &Path,
    report: &mut Report,
) -> Vec<Entry> {
    let text = match ConfigToml::look(home) {
        Ok(file) => file.text().to_owned(),
        Err(failure) => {
            report.plugin_note = Some(failure.message);
            return Vec::new();
        }
    };
    match trial::look(bench, codex, home, &text).await {
        Ok(told) => {
            let entries = entries(&told, &text, report);
            if !entries.is_empty() {
                let note =
                    "the files of a plugin stay where they are: install it in the other home, too";
                report.notes.push(note.to_owned());
            }
            entries
        }
        Err(why) => {
            report.plugin_note = Some(why);
            Vec::new()
        }
    }
}
