//! Every text of what is told that comes from outside.
//!
//! Taken apart by name, so that a new field does not compile until somebody has decided on it.

use ostler_model::ask::{
    Ask, AskKind, CommandAsk, ElicitationAsk, ElicitationWant, FileChangeAsk, FileChangeKind,
    FileDiff, Permissions, PermissionsAsk, Question, QuestionOption, ToolCallAsk, UserInputAsk,
};
use ostler_model::auto_review::AutoReview;
use ostler_model::item::{
    AgentMessage, Command, FileChange, Outcome, Reasoning, SubAgent, ToolCall, ToolPlace,
    UserMessage,
};
use ostler_model::plan::Plan;
use ostler_model::thread::{AskEnd, Finding, Update};
use ostler_model::turn::{TurnEnd, TurnResult};
use ostler_model::{Failure, Goal, Item, ItemBody};

use crate::thread::Notice;

type Look<'a> = &'a mut dyn FnMut(&mut String, Kind);

/// How a text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Prose,
    /// A path, or a name that is one thing with others of its kind: only registered values are hidden in it.
    Name,
}

/// Which texts are left out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Texts {
    pub(super) keeps_user_messages: bool,
}

pub(super) fn update_texts(update: &mut Update, texts: Texts, look: Look<'_>) {
    match update {
        Update::TurnBegan { .. }
        | Update::InputQueued { .. }
        | Update::InputTaken { .. }
        // Growing text and asks are looked at in their own ways.
        | Update::Delta { .. }
        | Update::AskOpened { .. }
        | Update::DecisionRefused { .. }
        | Update::Usage { .. }
        | Update::Compacted { .. }
        | Update::Reconnected => {}
        Update::InputRefused { failure, .. } | Update::Retrying { failure, .. } => {
            failure_texts(failure, look);
        }
        Update::ItemBegan { item, .. } | Update::ItemEnded { item, .. } => {
            item_texts(item, texts, look);
        }
        Update::Stray { item, .. } => item.iter_mut().for_each(|it| item_texts(it, texts, look)),
        Update::AskClosed { how, .. } => match how {
            AskEnd::Declined { reason } | AskEnd::Lost { reason } => look(reason, Kind::Prose),
            AskEnd::Decided { .. }
            | AskEnd::Withdrawn { .. }
            | AskEnd::Refused
            | AskEnd::Served => {}
        },
        Update::Plan { plan, .. } => plan_texts(plan, look),
        Update::Diff { diff, .. } => look(diff, Kind::Prose),
        Update::Stalled { found, retrying, .. } => {
            if let Finding::Silent { reason } = found {
                look(reason, Kind::Prose);
            }
            retrying.iter_mut().for_each(|failure| failure_texts(failure, look));
        }
        Update::Disconnected { reason } => look(reason, Kind::Prose),
        Update::TurnEnded { result } => result_texts(result, look),
        Update::Goal { goal } => goal.iter_mut().for_each(|goal| goal_texts(goal, look)),
        Update::AutoReview { review, .. } => auto_review_texts(review, look),
    }
}

fn goal_texts(goal: &mut Goal, look: Look<'_>) {
    let Goal { objective, status: _, token_budget: _, tokens_used: _, seconds_used: _, rounds: _ } =
        goal;
    look(objective, Kind::Prose);
}

fn auto_review_texts(review: &mut AutoReview, look: Look<'_>) {
    let AutoReview { id: _, item: _, verdict: _, action, rationale, risk: _ } = review;
    look(action, Kind::Prose);
    maybe(rationale, look);
}

fn result_texts(result: &mut TurnResult, look: Look<'_>) {
    match &mut result.end {
        TurnEnd::Failed { failure } => failure_texts(failure, look),
        TurnEnd::Completed | TurnEnd::Interrupted { .. } => {}
    }
    maybe(&mut result.final_answer, look);
    result.plan.iter_mut().for_each(|plan| plan_texts(plan, look));
    maybe(&mut result.diff, look);
}

fn failure_texts(failure: &mut Failure, look: Look<'_>) {
    let Failure { class: _, message, details, http_status: _, evidence, codex_home: _ } = failure;
    look(message, Kind::Prose);
    maybe(details, look);
    maybe(evidence, look);
}

fn plan_texts(plan: &mut Plan, look: Look<'_>) {
    let Plan { explanation, steps } = plan;
    maybe(explanation, look);
    steps.iter_mut().for_each(|step| look(&mut step.text, Kind::Prose));
}

fn item_texts(item: &mut Item, texts: Texts, look: Look<'_>) {
    match &mut item.body {
        ItemBody::UserMessage(UserMessage { text, attachments: _, input: _, sender: _ }) => {
            if !texts.keeps_user_messages {
                look(text, Kind::Prose);
            }
        }
        ItemBody::AgentMessage(AgentMessage { text, phase: _ })
        | ItemBody::Plan { text }
        | ItemBody::HookPrompt { text } => look(text, Kind::Prose),
        ItemBody::Reasoning(Reasoning { summary, content }) => {
            summary.iter_mut().chain(content).for_each(|text| look(text, Kind::Prose));
        }
        ItemBody::Command(command) => {
            let Command { command, cwd, output, exit_code: _, duration_ms: _, outcome, by_user: _ } =
                command;
            look(command, Kind::Prose);
            look(output, Kind::Prose);
            name(cwd, look);
            outcome_text(outcome, look);
        }
        ItemBody::FileChange(FileChange { files, outcome }) => {
            files.iter_mut().for_each(|file| file_texts(file, look));
            outcome_text(outcome, look);
        }
        ItemBody::ToolCall(call) => {
            let ToolCall {
                place,
                tool,
                arguments,
                result,
                error,
                succeeded: _,
                duration_ms: _,
                outcome,
            } = call;
            match place {
                ToolPlace::Mcp { server } => look(server, Kind::Name),
                ToolPlace::Client { namespace } => name(namespace, look),
            }
            look(tool, Kind::Name);
            maybe(arguments, look);
            maybe(result, look);
            maybe(error, look);
            outcome_text(outcome, look);
        }
        ItemBody::SubAgent(SubAgent { tool: _, prompt, threads: _, states, outcome }) => {
            maybe(prompt, look);
            for (_, _, message) in states {
                maybe(message, look);
            }
            outcome_text(outcome, look);
        }
        ItemBody::WebSearch { query, detail } => {
            look(query, Kind::Prose);
            maybe(detail, look);
        }
        ItemBody::ImageView { path } => look(path, Kind::Name),
        ItemBody::ImageGeneration { prompt, saved_path, status: _ } => {
            maybe(prompt, look);
            name(saved_path, look);
        }
        ItemBody::ToolOutput { name, output } => {
            look(name, Kind::Name);
            look(output, Kind::Prose);
        }
        ItemBody::ReviewBegan { review } | ItemBody::ReviewEnded { review } => {
            look(review, Kind::Prose);
        }
        ItemBody::Other { name: _, json } => look(json, Kind::Prose),
        ItemBody::Sleep { duration_ms: _ } | ItemBody::Compaction => {}
    }
}

pub(super) fn ask_texts(ask: &mut Ask, look: Look<'_>) {
    let Ask { thread: _, turn: _, item: _, reason, kind, offers: _ } = ask;
    maybe(reason, look);
    match kind {
        AskKind::Command(ask) => {
            let CommandAsk { command, cwd, writes_to_running: _, network: _, extra, sandboxing: _ } =
                ask;
            maybe(command, look);
            name(cwd, look);
            extra.iter_mut().for_each(|extra| permission_texts(extra, look));
        }
        AskKind::FileChange(FileChangeAsk { files, grant_root }) => {
            files.iter_mut().for_each(|file| file_texts(file, look));
            name(grant_root, look);
        }
        AskKind::Permissions(PermissionsAsk { cwd, wanted }) => {
            name(cwd, look);
            permission_texts(wanted, look);
        }
        AskKind::UserInput(UserInputAsk { questions, resolves_itself_after_ms: _ }) => {
            for question in questions {
                let Question { id: _, header, text, options, allows_other: _, is_secret: _ } =
                    question;
                look(header, Kind::Prose);
                look(text, Kind::Prose);
                for QuestionOption { label, description } in options {
                    look(label, Kind::Name);
                    look(description, Kind::Prose);
                }
            }
        }
        AskKind::Elicitation(ElicitationAsk { server, message, want }) => {
            look(server, Kind::Name);
            look(message, Kind::Prose);
            match want {
                ElicitationWant::ToolApproval { tool, description, arguments } => {
                    name(tool, look);
                    maybe(description, look);
                    maybe(arguments, look);
                }
                // A form's values and an address are what the answer is about.
                ElicitationWant::Form(_) | ElicitationWant::Url(_) | ElicitationWant::Other(_) => {}
            }
        }
        // Its name is one that whoever runs it has given, and by which they know it.
        AskKind::ToolCall(ToolCallAsk { call: _, namespace: _, tool: _, arguments }) => {
            look(arguments, Kind::Prose);
        }
        AskKind::Continue { why } => look(why, Kind::Prose),
        AskKind::TokenRefresh { .. } | AskKind::Other { .. } => {}
    }
}

pub(super) fn notice_texts(notice: &mut Notice, look: Look<'_>) {
    match notice {
        Notice::Warning { text } | Notice::Odd { text } => look(text, Kind::Prose),
        Notice::McpServer { name, state: _, error } => {
            look(name, Kind::Name);
            maybe(error, look);
        }
        Notice::Login { succeeded: _, error } => maybe(error, look),
        Notice::Other { name: _, json } => look(json, Kind::Prose),
        Notice::RateLimits { .. }
        | Notice::ModelRerouted { .. }
        | Notice::Renewed { .. }
        | Notice::LeftBehind
        | Notice::Account { .. }
        | Notice::Settings { .. }
        | Notice::Unloaded
        | Notice::Archived => {}
    }
}

fn file_texts(file: &mut FileDiff, look: Look<'_>) {
    let FileDiff { path, change, diff } = file;
    look(path, Kind::Name);
    if let FileChangeKind::Update { moved_to } = change {
        name(moved_to, look);
    }
    look(diff, Kind::Prose);
}

fn permission_texts(permissions: &mut Permissions, look: Look<'_>) {
    let Permissions { network: _, read, write, rules } = permissions;
    read.iter_mut().chain(write).chain(rules).for_each(|text| look(text, Kind::Name));
}

fn outcome_text(outcome: &mut Outcome, look: Look<'_>) {
    if let Outcome::Other(word) = outcome {
        look(word, Kind::Prose);
    }
}

fn name(text: &mut Option<String>, look: Look<'_>) {
    if let Some(text) = text {
        look(text, Kind::Name);
    }
}

fn maybe(text: &mut Option<String>, look: Look<'_>) {
    if let Some(text) = text {
        look(text, Kind::Prose);
    }
}
