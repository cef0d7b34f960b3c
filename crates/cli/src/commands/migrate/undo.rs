//! The way back.

use std::collections::BTreeMap;
use std::path::Path;

use ostler_config::migrate::{has_block, take_out};

use super::config_file::ConfigToml;
use super::ledger::Page;
use super::report::{Mode, Report};
use crate::bench::Bench;
use crate::failure::{Exit, Failure};
use crate::overlay;
use crate::stored_secrets::{Of, StoredSecrets, codex_file};

/// Whether what is given with each thread is taken back as well: it belongs to no home but the usual one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Threads {
    Too,
    Left,
}

pub(super) async fn run(
    bench: &Bench,
    home: &Path,
    threads: Threads,
    dry_run: bool,
) -> Result<Report, Failure> {
    let mut report = Report::new(Mode::Undo, dry_run, home.join("config.toml"));
    // Afterwards it may have another name, or none.
    let file = codex_file(home);
    let taken_back = match is_written(bench, home)? {
        true => take_back(bench, home, dry_run, &mut report).await,
        false => Ok(()),
    };
    let kept = overlay::load(&bench.places)?.unwrap_or_default();
    let had_overlay = threads == Threads::Too && !kept.servers.is_empty();
    match (taken_back, had_overlay) {
        (Ok(()), _) => {}
        (Err(failure), false) => return Err(failure),
        // The threads have nothing to do with that file.
        (Err(failure), true) => report.errors.push(failure.message),
    }
    if threads == Threads::Too && !dry_run {
        overlay::remove(&bench.places)?;
    }
    let mut stored = StoredSecrets::load(&bench.places)?;
    if threads == Threads::Too {
        stored.put(Of::Threads, BTreeMap::new());
    }
    // A file that is not taken back still refers to them.
    if report.errors.is_empty() {
        stored.put(Of::File(&file), BTreeMap::new());
    }
    if StoredSecrets::load(&bench.places)? != stored {
        report.notes.push("the secrets that were stored are removed".to_owned());
        report.written = true;
        if !dry_run {
            stored.save(&bench.places)?;
        }
    }
    if had_overlay {
        report.notes.push("Codex gets no MCP servers with its threads any more".to_owned());
    }
    report.written |= had_overlay;
    Ok(report)
}

/// Whether anything of ours may be in Codex's file. One that cannot be written or is no TOML is nobody's fault if there is not.
fn is_written(bench: &Bench, home: &Path) -> Result<bool, Failure> {
    // Without a home there is nothing in it.
    if !home.is_dir() {
        return Ok(false);
    }
    let Ok(file) = ConfigToml::look(home) else {
        // It cannot even be read, so what our books say counts.
        return Ok(Page::of(&bench.places, &ConfigToml::place_in(home))?.entry.is_some());
    };
    let is_known = Page::of(&bench.places, &file.real)?.entry.is_some();
    Ok(is_known || has_block(file.text()))
}

async fn take_back(
    bench: &Bench,
    home: &Path,
    dry_run: bool,
    report: &mut Report,
) -> Result<(), Failure> {
    let file = if dry_run { ConfigToml::look(home)? } else { ConfigToml::hold(home).await? };
    let page = Page::of(&bench.places, &file.real)?;
    let Some(text) = &file.text else {
        return if dry_run { Ok(()) } else { page.forget(false) };
    };
    // As we left it: byte for byte what it was. Otherwise somebody has worked on it, and only our part goes.
    if let Some(before) = page.before(text)? {
        report.written = true;
        if !dry_run {
            file.replace(before.as_deref())?;
            page.forget(true)?;
        }
        return Ok(());
    }
    let out = take_out(text).map_err(|error| {
        let failure = Failure::new(Exit::Failed, format!("{}: {error}", file.place.display()));
        match page.entry.is_some() {
            true => failure.hint(format!(
                "nothing was changed; what the file was before is in {}",
                page.backup.display()
            )),
            false => failure.hint("nothing was changed"),
        }
    })?;
    // We may have been killed before anything was written, and a block of the older format is not ours to take back.
    if !out.was_ours {
        return Ok(());
    }
    report.written = true;
    report
        .notes
        .push("the file was changed since, so only what was migrated is taken out".to_owned());
    if !dry_run {
        file.replace(Some(&out.text))?;
        page.forget(false)?;
        report.backup = page.backup.exists().then_some(page.backup);
    }
    Ok(())
}
