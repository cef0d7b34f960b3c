//! What a task can be started with.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use ostler_model::Input;
use ostler_model::input::Part;
use ostler_model::task;
use ostler_server::api::StartRequest;

use crate::commands::run::{Approval, Sandbox, Stall};
use crate::failure::{Exit, Failure};
use crate::prompt::{self, existing};
use crate::tasks::time::{duration, milliseconds};
use crate::terminal::Output;

#[derive(Debug, Args)]
pub(crate) struct TaskArguments {
    /// What Codex shall do; `-` reads it from stdin, and piped stdin beside a prompt is added to it
    #[arg(conflicts_with = "file")]
    prompt: Option<String>,
    /// Read the prompt from this file
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// An image to go with the prompt
    #[arg(long, value_name = "FILE")]
    image: Vec<PathBuf>,
    /// A JSON schema that the final answer must fit
    #[arg(long, value_name = "FILE")]
    output_schema: Option<PathBuf>,
    /// The folder to work in [default: this one]
    #[arg(long, value_name = "DIR")]
    cd: Option<PathBuf>,
    /// A git worktree of its own, from the repository that the folder is in
    #[arg(long)]
    worktree: bool,
    /// What commands may do without asking
    #[arg(long, value_enum)]
    sandbox: Option<Sandbox>,
    /// A folder beside the working folder that may be written to
    #[arg(long, value_name = "DIR")]
    add_dir: Vec<PathBuf>,
    /// Whether commands may use the network
    #[arg(long, value_name = "true|false", num_args = 0..=1, default_missing_value = "true")]
    network: Option<bool>,
    /// When Codex asks
    #[arg(long, value_enum)]
    approval: Option<Approval>,
    #[arg(long)]
    model: Option<String>,
    #[arg(long, value_name = "NAME")]
    model_provider: Option<String>,
    /// How hard the model thinks: minimal, low, medium, high, …
    #[arg(long)]
    effort: Option<String>,
    /// Let the model ask and plan, and change nothing, in the first turn
    #[arg(long)]
    plan: bool,
    /// How the model is served: fast, flex, …
    #[arg(long, value_name = "TIER")]
    service_tier: Option<String>,
    /// What the model is told beside the prompt
    #[arg(long, value_name = "TEXT")]
    instructions: Option<String>,
    /// A setting of Codex; the value is TOML, or else text
    #[arg(short, long = "config", value_name = "KEY=VALUE")]
    config: Vec<String>,
    /// An installed Codex version [default: the one in use, see `ostler codex path`]
    #[arg(long, value_name = "VERSION")]
    codex: Option<String>,
    /// The CODEX_HOME of the task: login, settings, threads
    #[arg(long, value_name = "DIR")]
    codex_home: Option<PathBuf>,
    /// An app-server of its own
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "true|false")]
    isolate: Option<bool>,
    /// What becomes of the task if Codex dies in the middle of a turn
    #[arg(long, value_enum)]
    on_crash: Option<OnCrash>,
    /// What becomes of an ask that no rule and no approver decides
    #[arg(long, value_enum)]
    unattended: Option<Unattended>,
    /// Say it again when an ask has waited for this long
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    escalate_after: Option<Duration>,
    /// The time a turn may take, not counting the time it waits for you: 90s, 10m, 1h30m
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    turn_timeout: Option<Duration>,
    /// What to do if nothing comes for two minutes although Codex answers
    #[arg(long, value_enum)]
    on_stall: Option<Stall>,
    /// Who is told what becomes of it: a target of the configuration, `local`, the address of a webhook, or `none`
    /// [default: those with `default = true`]
    #[arg(long, value_name = "TARGET", num_args = 1)]
    notify: Vec<String>,
    /// The tokens the task may use; at the edge it pauses and asks
    #[arg(long, value_name = "NUMBER")]
    budget_tokens: Option<u64>,
    /// The time the task may work; at the edge it pauses and asks
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    budget_time: Option<Duration>,
    /// The turns the task may take; at the edge it pauses and asks
    #[arg(long, value_name = "NUMBER")]
    budget_turns: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OnCrash {
    /// Codex is told to look what was done and to go on
    Continue,
    /// Somebody decides
    Ask,
    /// The task fails
    Fail,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Unattended {
    /// It waits for a person
    Wait,
    /// It is declined at once, visibly
    Decline,
}

impl TaskArguments {
    /// What the daemon is asked for. It says itself what it does not allow.
    pub(crate) async fn request(&self, output: Output) -> Result<StartRequest, Failure> {
        let prompt = match &self.file {
            Some(file) => Some(prompt::file(file, "the prompt")?),
            None => prompt::read(self.prompt.as_deref(), output).await?.map(|prompt| prompt.text),
        };
        let prompt = prompt.filter(|text| !text.trim().is_empty()).ok_or_else(|| {
            Failure::new(Exit::Usage, "there is no prompt")
                .hint("give one, as in `ostler start \"tidy the notes\"`, or pipe it in")
        })?;
        let (config, provider) = overrides(&self.config)?;
        let mut writable_roots = Vec::new();
        for folder in &self.add_dir {
            writable_roots.push(text(&existing(folder, "the folder")?));
        }
        Ok(StartRequest {
            input: Some(self.input(prompt)?),
            cwd: text(&existing(self.cd.as_deref().unwrap_or(Path::new(".")), "the folder")?),
            sandbox: self.sandbox.map(Into::into),
            writable_roots,
            network: self.network,
            approval: self.approval.map(Into::into),
            model: self.model.clone(),
            model_provider: self.model_provider.clone().or(provider),
            effort: self.effort.clone(),
            service_tier: self.service_tier.clone(),
            developer_instructions: self.instructions.clone(),
            config,
            codex_version: self.codex.clone(),
            codex_home: match &self.codex_home {
                Some(home) => Some(text(&existing(home, "the Codex home")?)),
                None => None,
            },
            isolate: self.isolate,
            on_crash: self.on_crash.map(|word| match word {
                OnCrash::Continue => task::OnCrash::Continue,
                OnCrash::Ask => task::OnCrash::Ask,
                OnCrash::Fail => task::OnCrash::Fail,
            }),
            unattended: self.unattended.map(|word| match word {
                Unattended::Wait => task::Unattended::Wait,
                Unattended::Decline => task::Unattended::Decline,
            }),
            escalate_after_ms: self.escalate_after.map(milliseconds),
            turn_timeout_ms: self.turn_timeout.map(milliseconds),
            on_stall: self.on_stall.map(Into::into),
            budget_tokens: self.budget_tokens,
            budget_work_ms: self.budget_time.map(milliseconds),
            budget_turns: self.budget_turns,
            worktree: self.worktree.then_some(true),
            notify: self.notify(),
            ..StartRequest::default()
        })
    }

    /// `none` is nobody; nothing is whoever the configuration says.
    fn notify(&self) -> Option<Vec<String>> {
        let named = self.notify.iter().filter(|name| *name != "none").cloned();
        (!self.notify.is_empty()).then(|| named.collect())
    }

    fn input(&self, prompt: String) -> Result<Input, Failure> {
        let mut parts = vec![Part::Text(prompt)];
        for image in &self.image {
            parts.push(Part::ImageFile(text(&existing(image, "the image")?)));
        }
        let schema = self.output_schema.as_deref();
        let output_schema =
            schema.map(|file| prompt::file(file, "the output schema")).transpose()?;
        Ok(Input { output_schema, plan: self.plan, ..Input::message(parts) })
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Settings of Codex by key as JSON text, and the provider of the model, which has a place of its own.
fn overrides(settings: &[String]) -> Result<(BTreeMap<String, String>, Option<String>), Failure> {
    let mut config = BTreeMap::new();
    let mut provider = None;
    for setting in settings {
        let (key, value) = ostler_config::parse_override(setting)
            .map_err(|error| Failure::new(Exit::Usage, error.to_string()))?;
        match (key.as_str(), value.as_str()) {
            ("model_provider", Some(name)) => provider = Some(name.to_owned()),
            _ => drop(config.insert(key, value.to_string())),
        }
    }
    Ok((config, provider))
}

impl From<Sandbox> for task::SandboxMode {
    fn from(sandbox: Sandbox) -> Self {
        match sandbox {
            Sandbox::ReadOnly => Self::ReadOnly,
            Sandbox::WorkspaceWrite => Self::WorkspaceWrite,
            Sandbox::DangerFullAccess => Self::DangerFullAccess,
        }
    }
}

impl From<Approval> for task::Approval {
    fn from(approval: Approval) -> Self {
        match approval {
            Approval::Untrusted => Self::Untrusted,
            Approval::OnRequest => Self::OnRequest,
            Approval::Never => Self::Never,
        }
    }
}
