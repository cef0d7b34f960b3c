//! `ostler audit`: who was refused what, who decided what, and who got a key.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;
use ostler_engine::PlacedAudit;
use ostler_model::{AuditKind, TaskState};
use ostler_server::api::{AuditList, AuditRead};
use tokio::time::sleep;

use crate::daemon::ReachArguments;
use crate::failure::Failure;
use crate::running::block_on;
use crate::tasks::table::{Cell, cut, table};
use crate::tasks::{Desk, id, query, time, words};
use crate::terminal::{Output, width};

/// New entries are looked for this often: a person who watches sees them at once.
const FOLLOW_EVERY: Duration = Duration::from_secs(1);

/// Entries that are read at once while following.
const AT_ONCE: usize = 500;

#[derive(Debug, Args)]
#[command(after_help = "\
Refusals of one kind and origin are written down ten times a minute at most, and an entry says how many more there were.
Entries are kept as long as [retention] keeps tasks, and of each kind the newest 10,000 (100,000 decisions).
Agents can neither read the log nor change it.")]
pub(crate) struct AuditArguments {
    /// Only entries of this kind
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(AuditKind::ALL.map(AuditKind::name)))]
    kind: Option<String>,
    /// Only refusals
    #[arg(long)]
    refusals: bool,
    /// Only entries about this task; the first letters of its id are enough
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Only entries of whoever has this in their name
    #[arg(long, value_name = "TEXT")]
    who: Option<String>,
    /// Only entries not older than this: 30m, 2h, 7d
    #[arg(long, value_name = "DURATION", value_parser = time::duration)]
    since: Option<Duration>,
    /// Show so many entries, the newest
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=500))]
    limit: u16,
    /// Go on with new entries as they come
    #[arg(long, short = 'f')]
    follow: bool,
    #[command(flatten)]
    reach: ReachArguments,
}

pub(crate) fn run(arguments: &AuditArguments, output: Output) -> Result<ExitCode, Failure> {
    block_on(async {
        let mut desk = Desk::open(output, &arguments.reach).await?;
        show(&mut desk, arguments).await?;
        Ok(ExitCode::SUCCESS)
    })
}

async fn show(desk: &mut Desk<'_>, arguments: &AuditArguments) -> Result<(), Failure> {
    let filter = filter(arguments)?;
    let path = format!("/v1/audit?limit={}{filter}", arguments.limit);
    let list: AuditList = desk.get(&path).await?;
    let output = desk.output;
    let mut newest = list.newest;
    if arguments.follow {
        let oldest_first: Vec<PlacedAudit> = list.entries.into_iter().rev().collect();
        tell(&oldest_first, output);
        loop {
            note_seen(desk, list.unseen, newest).await;
            sleep(FOLLOW_EVERY).await;
            let path = format!("/v1/audit?limit={AT_ONCE}&after={newest}{filter}");
            let more: AuditList = desk.get(&path).await?;
            tell(&more.entries, output);
            newest = more.next.unwrap_or(newest);
        }
    }
    output.emit(&list);
    match list.entries.is_empty() {
        true => output.say("nothing in the audit log fits"),
        false => output.say_styled(&rows(&list.entries, true)),
    }
    if list.suppressed > 0 {
        let suppressed = list.suppressed;
        output.say(&format!(
            "{suppressed} more came within the last minute and are not written down"
        ));
    }
    note_seen(desk, list.unseen, newest).await;
    Ok(())
}

/// Whoever may not say so has still seen them.
async fn note_seen(desk: &mut Desk<'_>, unseen: u64, up_to: i64) {
    if unseen > 0 && !desk.output.is_json() {
        drop(desk.post::<AuditRead>("/v1/audit/read", &AuditRead { up_to }).await);
    }
}

fn filter(arguments: &AuditArguments) -> Result<String, Failure> {
    let mut filter = String::new();
    if let Some(kind) = &arguments.kind {
        filter.push_str(&format!("&kind={kind}"));
    }
    if arguments.refusals {
        filter.push_str("&refusals=true");
    }
    if let Some(task) = &arguments.task {
        filter.push_str(&format!("&task={}", id(task)?));
    }
    if let Some(who) = &arguments.who {
        filter.push_str(&format!("&who={}", query(who)));
    }
    if let Some(since) = arguments.since {
        let back = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
        filter.push_str(&format!("&since={}", time::now().saturating_sub(back)));
    }
    Ok(filter)
}

/// One line each, as they come.
fn tell(entries: &[PlacedAudit], output: Output) {
    for entry in entries {
        output.emit(entry);
    }
    if !entries.is_empty() {
        output.say_styled(&rows(entries, false));
    }
}

/// As a table. While following, each entry says its moment, because nobody prints it anew.
fn rows(entries: &[PlacedAudit], is_list: bool) -> String {
    let now = time::now();
    // What came from elsewhere may be long, and leaves the rest of the line to what it did.
    let most = width().map_or(usize::MAX, |width| (width / 6).max(8));
    let row = |placed: &PlacedAudit| {
        let entry = &placed.entry;
        let when = match is_list {
            true => time::ago(entry.at, now),
            false => time::at(entry.at),
        };
        let state = match entry.kind.is_refusal() {
            true => TaskState::Failed,
            false => TaskState::Completed,
        };
        let what = match &entry.why {
            Some(why) => format!("{}: {why}", entry.what),
            None => entry.what.clone(),
        };
        vec![
            Cell::dim(when),
            Cell::styled(entry.kind.name(), words::style(state)),
            Cell::plain(cut(&entry.who, most)),
            Cell::plain(cut(&entry.place, most)),
            Cell::plain(what),
        ]
    };
    let rows: Vec<Vec<Cell>> = entries.iter().map(row).collect();
    table(&["WHEN", "KIND", "WHO", "WHERE", "WHAT"], &rows)
}
