//! Our own words for whoever looks for a fault: `OSTLER_LOG=debug ostler …`, on stderr. Nothing is logged without it.

use std::io;

use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::failure::{Exit, Failure};
use crate::places;

const VARIABLE: &str = "OSTLER_LOG";

pub(crate) fn start() -> Result<(), Failure> {
    let Some(wanted) = places::variable(VARIABLE) else { return Ok(()) };
    let targets: Targets = wanted.to_string_lossy().parse().map_err(|error| {
        Failure::new(Exit::Usage, format!("{VARIABLE} cannot be read: {error}"))
            .hint("use a level such as debug, or targets such as ostler_codex::peer=trace")
    })?;
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(false)
        // It would tell of a stderr that cannot be written on that very stderr, and panic.
        .log_internal_errors(false);
    tracing_subscriber::registry().with(lines).with(targets).init();
    Ok(())
}
