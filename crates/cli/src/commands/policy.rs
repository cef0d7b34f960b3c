//! `ostler policy`: the rules that decide asks without a person.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use ostler_model::policy::{Effect, Rule};
use ostler_server::api::RuleRemoved;

use crate::daemon::ReachArguments;
use crate::failure::{Exit, Failure};
use crate::running::block_on;
use crate::tasks::table::{Cell, table};
use crate::tasks::{Desk, id, time, words};
use crate::terminal::Output;

#[derive(Debug, Args)]
pub(crate) struct PolicyArguments {
    #[command(subcommand)]
    command: PolicyCommand,
    #[command(flatten)]
    reach: ReachArguments,
}

#[derive(Debug, Subcommand)]
enum PolicyCommand {
    /// All rules, those of the configuration and those made by an answer
    #[command(alias = "list")]
    Ls,
    /// Remove rules that were made by an answer
    #[command(alias = "remove")]
    Rm {
        #[arg(value_name = "RULE", required = true)]
        rules: Vec<String>,
    },
}

pub(crate) fn run(arguments: &PolicyArguments, output: Output) -> Result<ExitCode, Failure> {
    block_on(async {
        let mut desk = Desk::open(output, &arguments.reach).await?;
        let known: Vec<Rule> = desk.get("/v1/rules").await?;
        match &arguments.command {
            PolicyCommand::Ls => list(&known, output),
            PolicyCommand::Rm { rules } => {
                for typed in rules {
                    let rule = find(&known, typed)?;
                    let gone: RuleRemoved =
                        desk.delete(&format!("/v1/rules/{}", id(rule.id.as_str())?)).await?;
                    output.say(&format!("{} is removed: it {}", gone.rule, rule.describe()));
                    output.emit(&gone);
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn list(rules: &[Rule], output: Output) {
    output.emit(&serde_json::json!({ "rules": rules }));
    if rules.is_empty() {
        output.say(
            "no rules; `ostler answer ASK always` makes one, and [[policy]] in the configuration",
        );
        return;
    }
    let now = time::now();
    let row = |rule: &Rule| {
        let state = match rule.effect {
            Effect::Allow => ostler_model::TaskState::Completed,
            Effect::Deny => ostler_model::TaskState::Failed,
        };
        let effect = if rule.effect == Effect::Allow { "allow" } else { "deny" };
        let left = match rule.expires_at {
            Some(at) if at <= now => "over".to_owned(),
            Some(at) => time::span(at.saturating_sub(now)),
            None => "-".to_owned(),
        };
        vec![
            Cell::plain(rule.id.as_str()),
            Cell::styled(effect, words::style(state)),
            Cell::dim(left),
            Cell::plain(rule.made_by.clone()),
            Cell::plain(rule.describe()),
        ]
    };
    let rows: Vec<Vec<Cell>> = rules.iter().map(row).collect();
    output.say_styled(&table(&["RULE", "", "LEFT", "BY", "IT"], &rows));
}

fn find<'a>(rules: &'a [Rule], typed: &str) -> Result<&'a Rule, Failure> {
    let mut found = rules.iter().filter(|rule| rule.id.as_str().starts_with(typed));
    let hint = "`ostler policy ls` lists them";
    let rule =
        match (rules.iter().find(|rule| rule.id.as_str() == typed), found.next(), found.next()) {
            (Some(rule), _, _) | (None, Some(rule), None) => rule,
            (None, Some(_), Some(_)) => {
                return Err(Failure::new(Exit::Usage, format!("several rules begin with {typed}"))
                    .hint(hint));
            }
            (None, None, _) => {
                return Err(
                    Failure::new(Exit::NotFound, format!("there is no rule {typed}")).hint(hint)
                );
            }
        };
    if rule.from_ask.is_none() && rule.made_at == 0 {
        return Err(Failure::new(
            Exit::Usage,
            format!("rule {} stands in the configuration", rule.id),
        )
        .hint("take it out there; `ostler config path` says where"));
    }
    Ok(rule)
}
