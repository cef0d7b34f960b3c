//! What a turn came to.

use std::fmt::Write as _;

use ostler_model::usage::Usage;

use super::super::shown::{ErrorShown, ResultShown, TurnShown};
use super::style::{BOLD, DIM, GREEN, RED, YELLOW};
use crate::terminal::safe;

/// Lines of Codex's stderr; the keeper's log has them all.
const EVIDENCE_LINES: usize = 8;

pub(super) fn usage(out: &mut String, turn: &TurnShown) -> std::fmt::Result {
    let Usage { turn: tokens, last_call, calls, context_window, .. } = &turn.usage;
    if *calls == 0 {
        return Ok(());
    }
    let cached = percent(tokens.cached_input, tokens.input);
    let (input, output) = (tokens.input, tokens.output);
    write!(out, "{DIM}tokens: {input} in ({cached} % cached), {output} out")?;
    if let Some(window) = context_window {
        write!(out, "; context {} % full", percent(last_call.total(), *window))?;
    }
    writeln!(out, "; {} s{DIM:#}", turn.elapsed_ms.div_ceil(1000))
}

pub(super) fn result(out: &mut String, result: &ResultShown) -> std::fmt::Result {
    let text = safe(&result.text);
    let (style, mark) = match result.status.as_str() {
        _ if result.ok => (GREEN, "✓"),
        "interrupted" => (YELLOW, "■"),
        "detached" => (YELLOW, "⇢"),
        _ => (RED, "✗"),
    };
    writeln!(out, "\n{style}{BOLD}{mark}{BOLD:#}{style:#} {BOLD}{text}{BOLD:#}")?;
    match &result.error {
        Some(error) => explain(out, error),
        None => Ok(()),
    }
}

fn explain(out: &mut String, error: &ErrorShown) -> std::fmt::Result {
    if let Some(details) = &error.details {
        writeln!(out, "  {}", safe(details).trim_end().replace('\n', "\n  "))?;
    }
    if let Some(at) = error.resets_at.and_then(|at| jiff::Timestamp::from_second(at).ok()) {
        writeln!(out, "  the allowance comes back at {at}")?;
    }
    writeln!(out, "  {}", safe(&error.advice))?;
    // In other failures the model's server or Codex has said why, and its log only distracts.
    let may_tell = ["server_gone", "unknown", "sandbox"].contains(&error.class.as_str());
    if let Some(evidence) = error.evidence.as_ref().filter(|_| may_tell) {
        writeln!(out, "  {DIM}the last that Codex wrote to stderr:{DIM:#}")?;
        let skipped = evidence.lines().count().saturating_sub(EVIDENCE_LINES);
        for line in evidence.lines().skip(skipped) {
            writeln!(out, "  {DIM}│ {}{DIM:#}", safe(line))?;
        }
    }
    Ok(())
}

/// Whole percent; nothing of nothing is nothing.
fn percent(part: u64, whole: u64) -> u64 {
    part.saturating_mul(100).checked_div(whole).unwrap_or_default()
}
