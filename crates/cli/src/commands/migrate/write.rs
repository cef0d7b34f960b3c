//! The way into Codex's own file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ostler_config::migrate::{
    BlockError, Entry, Overlay, Standing, Written, check_profile, permissions_entry, standing,
    take_out, write_block,
};
use toml::{Table, Value};

use super::config_file::ConfigToml;
use super::gather::gather;
use super::ledger::{self, Page};
use super::report::{Mode, Report, ServerState};
use super::trial::Told;
use super::{MigrateArguments, plugins, trial};
use crate::bench::Bench;
use crate::failure::{Exit, Failure};
use crate::overlay;
use crate::stored_secrets::{Of, StoredSecrets};

/// What earlier versions wrote unasked: Codex may write in the folder it works in.
const USUAL_PROFILE: &str = ":workspace";

/// What somebody says who wants none to be written.
const NO_PROFILE: &str = "none";

pub(super) async fn run(
    bench: &Bench,
    home: &Path,
    arguments: &MigrateArguments,
) -> Result<Report, Failure> {
    let gathered = gather(bench, home, arguments.wanted())?;
    let codex = bench.find().await?.path;
    // Held until the new text is there: others wait, and then read what we wrote.
    let file = match arguments.dry_run {
        true => ConfigToml::look(home)?,
        false => ConfigToml::hold(home).await?,
    };
    // What is no TOML is refused before Codex is asked.
    let stood = standing(file.text()).map_err(|error| refused(&file, &error))?;
    let mut report = Report::new(Mode::Write, arguments.dry_run, file.place.clone());
    let told = trial::look(bench, &codex, home, file.text()).await.map_err(|why| unfit(&why))?;
    let mut entries = Vec::new();
    let profile = profile(arguments.permissions.as_deref(), &stood, &mut report);
    if let Some(name) = &profile {
        entries.push(permissions(name, &file, &told)?);
    }
    entries.extend(
        gathered
            .servers
            .iter()
            .map(|found| Entry::new(&["mcp_servers", &found.name], found.table.clone())),
    );
    let own_home = bench.usual_codex_home();
    let is_usual = own_home.as_ref().is_none_or(|usual| same_folder(usual, home));
    entries.extend(match &own_home {
        Some(usual) if !is_usual => {
            plugins::of_another_home(bench, &codex, usual, &mut report).await
        }
        _ => plugins::entries(&told, file.text(), &mut report),
    });
    for folder in &arguments.trust {
        entries.push(trusted(folder)?);
    }
    // Those of an earlier run are trusted until they are taken back.
    let is_new = |entry: &Entry| !entries.iter().any(|other| other.path == entry.path);
    let earlier: Vec<Entry> = stood.trusted.into_iter().filter(is_new).collect();
    entries.extend(earlier);
    let written = write_block(file.text(), &entries).map_err(|error| refused(&file, &error))?;
    report.written = file.text.as_deref() != Some(&written.text);
    if report.written {
        let loaded = trial::load(bench, &codex, home, &written.text).await;
        loaded.map_err(|why| not_loaded(&file, &told, &why))?;
    }
    let theirs = written.theirs.iter().filter_map(|path| match path.as_slice() {
        [section, name] if section == "mcp_servers" => Some(name.clone()),
        _ => None,
    });
    let theirs: BTreeSet<String> = theirs.collect();
    let of = Of::File(&file.real);
    let mut stored = gathered.store(bench, of, |found| !theirs.contains(&found.name))?;
    if is_usual {
        stored.put(Of::Threads, BTreeMap::new());
    }
    let has_new_secrets = StoredSecrets::load(&bench.places)? != stored;
    // First, so that no server is told to take what is not there.
    if has_new_secrets && !arguments.dry_run {
        stored.save(&bench.places)?;
    }
    if report.written && !arguments.dry_run {
        report.backup = put(bench, &file, &written)?;
    }
    if is_usual && !arguments.dry_run {
        // What stands in the file need not be given with each thread; where it comes from is read again the next time.
        let version = Overlay::VERSION;
        let from = gathered.from.clone();
        overlay::save(&bench.places, &Overlay { version, from, servers: BTreeMap::new() })?;
    }
    tell(&written, profile, &mut report);
    let state = |name: &str| match theirs.contains(name) {
        true => ServerState::Theirs,
        false => ServerState::Migrated,
    };
    let is_stored = |server: &str, variable: &str| stored.has(of, server, variable);
    gathered.tell(bench, state, is_stored, &mut report);
    Ok(report)
}

/// The permission profile that is to be written: the one that is asked for, or that an earlier run has written. Nobody gets one
/// unasked: in Codex a profile wins over all that the user says of the sandbox, also on the command line.
fn profile(asked: Option<&str>, stood: &Standing, report: &mut Report) -> Option<String> {
    if let Some(asked) = asked {
        let wanted = Some(asked.to_owned()).filter(|name| name != NO_PROFILE);
        if let (Some(_), Some(own)) = (&wanted, &stood.sandbox) {
            report.notes.push(format!("default_permissions wins over your {own}"));
        }
        return wanted;
    }
    // The usual one may have been written by a run that did not look at this; any other was asked for.
    let kept = stood.permissions.clone();
    if let Some(own) = &stood.sandbox
        && kept.as_ref().is_none_or(|name| name == USUAL_PROFILE)
    {
        report.notes.push(format!(
            "{own} is yours, so no default_permissions is written, which would win over it; --permissions {USUAL_PROFILE} \
             would write it"
        ));
        return None;
    }
    kept
}

/// The entry for it, if this Codex knows it.
fn permissions(name: &str, file: &ConfigToml, told: &Told) -> Result<Entry, Failure> {
    let config: Table =
        toml::from_str(file.text().trim_start_matches('\u{feff}')).unwrap_or_default();
    let checked = check_profile(name, &told.version, told.profiles.as_deref(), &config);
    checked.map_err(|error| {
        Failure::new(Exit::Usage, error.to_string()).hint("nothing was changed")
    })?;
    Ok(permissions_entry(name))
}

fn trusted(folder: &Path) -> Result<Entry, Failure> {
    let unusable = |why: String| {
        Failure::new(Exit::Usage, format!("cannot trust {}: {why}", folder.display()))
    };
    let real = std::fs::canonicalize(folder).map_err(|error| unusable(error.to_string()))?;
    let name = real.to_str().ok_or_else(|| unusable("its name is no UTF-8 text".to_owned()))?;
    let table = Table::from_iter([("trust_level".to_owned(), Value::String("trusted".to_owned()))]);
    Ok(Entry::new(&["projects", name], table))
}

/// What was there is kept first. Gives its place.
fn put(
    bench: &Bench,
    file: &ConfigToml,
    written: &Written,
) -> Result<Option<std::path::PathBuf>, Failure> {
    let page = Page::of(&bench.places, &file.real)?;
    let known = page.before(file.text())?;
    // Whoever is killed between the book and the file leaves a file that is still as the earlier run left it.
    let replaces = known.as_ref().and(file.text.as_deref());
    let before = match known {
        Some(before) => before,
        // With a block of ours in it that we know nothing of, what is around it is what was there.
        None => match take_out(file.text()) {
            Ok(out) if out.was_there && !out.was_old => Some(out.text),
            _ => file.text.clone(),
        },
    };
    let entry = ledger::Entry::new(&file.real, before.is_some(), &written.text, replaces);
    page.keep(&bench.places, &entry, before.as_deref())?;
    file.replace(Some(&written.text))?;
    Ok(before.map(|_| page.backup))
}

fn tell(written: &Written, profile: Option<String>, report: &mut Report) {
    for plugin in &mut report.plugins {
        let path = ["plugins".to_owned(), plugin.id.clone()];
        plugin.carried = !written.theirs.iter().any(|theirs| theirs.as_slice() == path);
    }
    let is_theirs = |key: &str| {
        written.theirs.iter().any(|path| matches!(path.as_slice(), [only] if only == key))
    };
    match is_theirs("default_permissions") {
        true => report.notes.push("default_permissions is yours, and stays as it is".to_owned()),
        false => report.permissions = profile,
    }
    for path in &written.theirs {
        if let [section, name] = path.as_slice()
            && section == "projects"
        {
            report.notes.push(format!("[projects.{name:?}] is yours, and stays as it is"));
        }
    }
    if written.replaced_old {
        let gone: Vec<String> = written.gone.iter().map(|path| path.join(".")).collect();
        let gone = match gone.is_empty() {
            true => String::new(),
            false => format!("; of it, {} went", gone.join(", ")),
        };
        report.notes.push(format!("a block that another program had written was replaced{gone}"));
    }
}

pub(super) fn same_folder(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    real(one) == real(other)
}

fn refused(file: &ConfigToml, error: &BlockError) -> Failure {
    Failure::new(Exit::Failed, format!("{}: {error}", file.place.display())).hint(
        "nothing was changed; without --write, Codex gets the servers with each thread and the file may stay as it is",
    )
}

/// If Codex cannot load what is there either, that is what is to be mended.
fn not_loaded(file: &ConfigToml, told: &Told, why: &str) -> Failure {
    let place = file.place.display();
    match &told.loads {
        Err(why) => unfit(&format!("Codex cannot load {place}: {why}")),
        Ok(()) => unfit(&format!("Codex would not load the new {place}: {why}")),
    }
}

fn unfit(why: &str) -> Failure {
    Failure::new(Exit::Failed, why.to_owned()).hint("nothing was changed")
}
