//! The way that leaves Codex's file alone: what was migrated is given to Codex with each thread.

use std::collections::BTreeSet;
use std::path::Path;

use ostler_codex::binary::resolve;
use ostler_config::migrate::{Overlay, take_out};
use toml::Table;

use super::config_file::ConfigToml;
use super::gather::{Wanted, gather};
use super::report::{Mode, Report, ServerState};
use super::{plugins, trial};
use crate::bench::Bench;
use crate::failure::Failure;
use crate::overlay;
use crate::stored_secrets::{Of, StoredSecrets, codex_file};

pub(crate) async fn run(
    bench: &Bench,
    home: &Path,
    wanted: Wanted<'_>,
    dry_run: bool,
) -> Result<Report, Failure> {
    let gathered = gather(bench, home, wanted)?;
    let mut report = Report::new(Mode::Overlay, dry_run, home.join("config.toml"));
    let text = match ConfigToml::look(home) {
        Ok(file) => {
            discover(bench, home, file.text(), &mut report).await;
            file.text().to_owned()
        }
        // Codex will say the same, and more loudly.
        Err(failure) => {
            report.notes.push(failure.message);
            String::new()
        }
    };
    let there = servers_in(&text);
    let theirs = servers_in(&take_out(&text).map_or_else(|_| text.clone(), |out| out.text));
    let ours = gathered.servers.iter().filter(|found| !there.contains(&found.name));
    let servers = ours.map(|found| {
        let table = serde_json::to_value(&found.table).unwrap_or_default();
        (found.name.clone(), table)
    });
    let new = Overlay {
        version: Overlay::VERSION,
        from: gathered.from.clone(),
        servers: servers.collect(),
    };
    let stored = gathered.store(bench, Of::Threads, |found| !there.contains(&found.name))?;
    let is_new = overlay::load(&bench.places)?.as_ref() != Some(&new);
    let has_new_secrets = StoredSecrets::load(&bench.places)? != stored;
    report.written = is_new || has_new_secrets;
    // First, so that no server is told to take what is not there.
    if has_new_secrets && !dry_run {
        stored.save(&bench.places)?;
    }
    if is_new && !dry_run {
        overlay::save(&bench.places, &new)?;
    }
    let state = |name: &str| match (theirs.contains(name), there.contains(name)) {
        (true, _) => ServerState::Theirs,
        (false, true) => ServerState::Written,
        (false, false) => ServerState::Migrated,
    };
    let file = codex_file(home);
    let is_stored = |server: &str, variable: &str| {
        let of = if there.contains(server) { Of::File(&file) } else { Of::Threads };
        stored.has(of, server, variable)
    };
    gathered.tell(bench, state, is_stored, &mut report);
    Ok(report)
}

/// The plugins of the home are there for every thread anyway; the person is told which.
async fn discover(bench: &Bench, home: &Path, text: &str, report: &mut Report) {
    let found = resolve(&bench.settings(), &bench.cache, &bench.environment).await;
    let told = match found {
        Ok(found) => trial::look(bench, &found.path, home, text).await,
        Err(error) => Err(Failure::from(error).message),
    };
    match told {
        Ok(told) => drop(plugins::entries(&told, text, report)),
        Err(why) => report.plugin_note = Some(why),
    }
}

/// The names of the servers in Codex's own file.
fn servers_in(text: &str) -> BTreeSet<String> {
    let config: Table = toml::from_str(text.trim_start_matches('\u{feff}')).unwrap_or_default();
    let servers = config.get("mcp_servers").and_then(toml::Value::as_table);
    servers.map(|servers| servers.keys().cloned().collect()).unwrap_or_default()
}
