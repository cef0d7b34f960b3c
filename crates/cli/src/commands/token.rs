//! `ostler token`: what programs show to be let in over TCP, and the browsers that are logged in.

use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use ostler_server::guard::{Key, KeyKind, NewToken, Scope, TokenList, TokenMade};

use crate::daemon::ReachArguments;
use crate::failure::{Exit, Failure};
use crate::running::block_on;
use crate::tasks::table::{Cell, table};
use crate::tasks::{Desk, id, time};
use crate::terminal::Output;

#[derive(Debug, Args)]
pub(crate) struct TokenArguments {
    #[command(subcommand)]
    command: TokenCommand,
    #[command(flatten)]
    reach: ReachArguments,
}

#[derive(Debug, Subcommand)]
enum TokenCommand {
    /// Make one; it is shown this once
    New(NewArguments),
    /// All tokens that count, without the tokens themselves, and all browsers that are logged in
    #[command(alias = "list")]
    Ls,
    /// Let tokens or logins count no more; what was opened by them ends
    #[command(alias = "remove")]
    Rm {
        /// The name of a token, or the first letters of the id of a token or a login
        #[arg(value_name = "TOKEN", required_unless_present = "logins")]
        tokens: Vec<String>,
        /// Log all browsers out
        #[arg(long)]
        logins: bool,
    },
}

#[derive(Debug, Args)]
struct NewArguments {
    /// What it is for, as the log will name it
    name: String,
    /// What it is good for; may be given more than once
    #[arg(long = "scope", value_enum, default_values_t = [ScopeWord::Read])]
    scopes: Vec<ScopeWord>,
    /// Let it end after so many days
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=36_500))]
    days: Option<u32>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ScopeWord {
    /// See tasks, their logs, asks and files
    Read,
    /// Start tasks, send to them, interrupt them
    Operate,
    /// Answer asks, make rules and tokens; never for an agent
    Decide,
}

impl From<ScopeWord> for Scope {
    fn from(word: ScopeWord) -> Self {
        match word {
            ScopeWord::Read => Self::Read,
            ScopeWord::Operate => Self::Operate,
            ScopeWord::Decide => Self::Decide,
        }
    }
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(crate) fn run(arguments: &TokenArguments, output: Output) -> Result<ExitCode, Failure> {
    block_on(async {
        let mut desk = Desk::open(output, &arguments.reach).await?;
        match &arguments.command {
            TokenCommand::New(wanted) => new(&mut desk, wanted).await?,
            TokenCommand::Ls => {
                let list: TokenList = desk.get("/v1/tokens").await?;
                output.emit(&list);
                show(&list, output);
            }
            TokenCommand::Rm { tokens, logins } => {
                let known: TokenList = desk.get("/v1/tokens").await?;
                let mut wanted = Vec::new();
                for typed in tokens {
                    wanted.push(find(&known, typed)?);
                }
                if *logins {
                    wanted.extend(&known.logins);
                }
                for key in wanted {
                    let gone: Key = desk.delete(&format!("/v1/tokens/{}", id(&key.id)?)).await?;
                    let kind = kind(&gone);
                    output.say(&format!("{kind} {} ({}) counts no more", gone.id, gone.name));
                    output.emit(&gone);
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    })
}

async fn new(desk: &mut Desk<'_>, wanted: &NewArguments) -> Result<(), Failure> {
    let lives = wanted.days.map(|days| (DAY * days).as_millis());
    let lives = lives.map(|lives| i64::try_from(lives).unwrap_or(i64::MAX));
    let request = NewToken {
        name: wanted.name.clone(),
        scopes: wanted.scopes.iter().map(|word| Scope::from(*word)).collect(),
        expires_at: lives.map(|lives| time::now().saturating_add(lives)),
    };
    let made: TokenMade = desk.post("/v1/tokens", &request).await?;
    // The token alone is on stdout, so that it can be put into a file as it is.
    desk.output.say(&made.token);
    desk.output.emit(&made);
    desk.output.note(&format!(
        "token {} ({}) may {}; it is not shown again",
        made.id,
        made.name,
        scopes(made.scopes.iter())
    ));
    Ok(())
}

fn kind(key: &Key) -> &'static str {
    match key.kind {
        KeyKind::Token => "token",
        KeyKind::Login => "login",
    }
}

fn show(list: &TokenList, output: Output) {
    let keys: Vec<&Key> = list.tokens.iter().chain(&list.logins).collect();
    if keys.is_empty() {
        return output.say("no tokens and no logins; `ostler token new NAME` makes a token");
    }
    let now = time::now();
    let row = |key: &Key| {
        let left = match key.expires_at {
            Some(at) if at <= now => "over".to_owned(),
            Some(at) => time::span(at.saturating_sub(now)),
            None => "-".to_owned(),
        };
        let used = key.last_used_at.map_or_else(
            || "never".to_owned(),
            |at| format!("{} ago", time::span(now.saturating_sub(at))),
        );
        vec![
            Cell::plain(key.id.clone()),
            Cell::plain(kind(key)),
            Cell::plain(scopes(key.scopes.iter())),
            Cell::dim(left),
            Cell::dim(used),
            Cell::plain(key.made_by.clone()),
            Cell::plain(key.name.clone()),
        ]
    };
    let rows: Vec<Vec<Cell>> = keys.into_iter().map(row).collect();
    output.say_styled(&table(&["ID", "IS", "MAY", "LEFT", "USED", "BY", "FOR"], &rows));
}

fn scopes<'a>(scopes: impl Iterator<Item = &'a Scope>) -> String {
    scopes.map(|scope| scope.name()).collect::<Vec<_>>().join(", ")
}

/// By the start of its id; a token also by its name, which for a login is that of a person.
fn find<'a>(known: &'a TokenList, typed: &str) -> Result<&'a Key, Failure> {
    let tokens = known.tokens.iter().filter(|key| key.id.starts_with(typed) || key.name == typed);
    let logins = known.logins.iter().filter(|key| key.id.starts_with(typed));
    let mut found = tokens.chain(logins);
    match (found.next(), found.next()) {
        (Some(key), None) => Ok(key),
        (Some(_), Some(_)) => {
            let message = format!("{typed} can be several tokens or logins");
            Err(Failure::new(Exit::Usage, message).hint("type more of the id"))
        }
        (None, _) => {
            Err(Failure::new(Exit::NotFound, format!("there is no token or login {typed}"))
                .hint("`ostler token ls` lists them"))
        }
    }
}
