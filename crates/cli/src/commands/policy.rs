//! `ostler policy`: the rules that decide asks without a person.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use ostler_model::RuleId;
use ostler_model::policy::{Effect, Folder, Matcher, Rule, Scope};
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
    /// Make a rule for changes of files in a folder and below
    ///
    /// Links that lead out of the folder, and what is run or obeyed later (.git, .codex, .agents, .ostler), are left to a person.
    Files {
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
        /// Refuse the changes instead of allowing them
        #[arg(long)]
        deny: bool,
        /// How long the rule holds: 30m, 2h, 7d; without it until it is removed
        #[arg(long = "for", value_name = "DURATION", value_parser = time::duration)]
        holds: Option<Duration>,
        /// The rule holds in this task only
        #[arg(long, value_name = "TASK")]
        task: Option<String>,
    },
    /// Remove rules that were made by an answer or by `policy files`
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
            PolicyCommand::Files { folder, deny, holds, task } => {
                let scope = match task {
                    Some(task) => Scope::Task(desk.task(task).await?.id),
                    None => Scope::Everywhere,
                };
                let effect = if *deny { Effect::Deny } else { Effect::Allow };
                let rule = files_rule(folder, effect, scope, *holds)?;
                let made: Rule = desk.post("/v1/rules", &rule).await?;
                output.say(&format!("rule {}: it {}", made.id, made.describe()));
                output.emit(&made);
            }
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

fn files_rule(
    folder: &Path,
    effect: Effect,
    scope: Scope,
    holds: Option<Duration>,
) -> Result<Rule, Failure> {
    // Paths of changes are followed before a rule judges them, so its own folder is, too.
    let followed = std::fs::canonicalize(folder).map_err(|error| {
        Failure::new(Exit::Usage, format!("cannot use the folder {}: {error}", folder.display()))
            .hint("name a folder that is there")
    })?;
    let folder = Folder::try_from(followed.display().to_string())
        .map_err(|error| Failure::new(Exit::Usage, error.to_string()))?;
    let now = time::now();
    let expires_at =
        holds.map(|holds| now.saturating_add(i64::try_from(holds.as_millis()).unwrap_or(i64::MAX)));
    Ok(Rule {
        // Made by hand, so no two come in the same millisecond.
        id: RuleId::new(format!("files-{now:x}")),
        effect,
        matcher: Matcher::FilesBelow(folder),
        sandboxing: Rule::usual_sandboxing(),
        cwd: None,
        scope,
        expires_at,
        // The daemon says who.
        made_by: String::new(),
        made_at: now,
        from_ask: None,
    })
}

fn list(rules: &[Rule], output: Output) {
    output.emit(&serde_json::json!({ "rules": rules }));
    if rules.is_empty() {
        output.say(
            "no rules; `ostler answer ASK always` makes one, `ostler policy files FOLDER`, and [[policy]] in the configuration",
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
