//! Every text of what is told that comes from outside.
//!
//! Taken apart by name, so that a new field does not compile until somebody has decided on it.

use ostler_model::ask::{
    Ask, AskKind, CommandAsk, ElicitationAsk, ElicitationWant, FileChangeAsk, FileDiff,
    PermissionsAsk, Question, ToolCallAsk, UserInputAsk,
};
use ostler_model::auto_review::AutoReview;
use ostler_model::item::{
    AgentMessage, Command, FileChange, Outcome, Reasoning, SubAgent, ToolCall, UserMessage,
};
use ostler_model::plan::Plan;
use ostler_model::thread::{AskEnd, Finding, Update};
use ostler_model::turn::{TurnEnd, TurnResult};
use ostler_model::{Failure, Goal, Item, ItemBody};

use crate::thread::Notice;

type Look<'a> = &'a mut dyn FnMut(&mut String);

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
            AskEnd::Declined { reason } | AskEnd::Lost { reason } => look(reason),
            AskEnd::Decided { .. }
            | AskEnd::Withdrawn { .. }
            | AskEnd::Refused
            | AskEnd::Served => {}
        },
        Update::Plan { plan, .. } => plan_texts(plan, look),
        Update::Diff { diff, .. } => look(diff),
        Update::Stalled { found, retrying, .. } => {
            if let Finding::Silent { reason } = found {
                look(reason);
            }
            retrying.iter_mut().for_each(|failure| failure_texts(failure, look));
        }
        Update::Disconnected { reason } => look(reason),
        Update::TurnEnded { result } => result_texts(result, look),
        Update::Goal { goal } => goal.iter_mut().for_each(|goal| goal_texts(goal, look)),
        Update::AutoReview { review, .. } => auto_review_texts(review, look),
    }
}

fn goal_texts(goal: &mut Goal, look: Look<'_>) {
    let Goal { objective, status: _, token_budget: _, tokens_used: _, seconds_used: _, rounds: _ } =
        goal;
    look(objective);
}

fn auto_review_texts(review: &mut AutoReview, look: Look<'_>) {
    let AutoReview { id: _, item: _, verdict: _, action, rationale, risk: _ } = review;
    look(action);
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
    look(message);
    maybe(details, look);
    maybe(evidence, look);
}

fn plan_texts(plan: &mut Plan, look: Look<'_>) {
    let Plan { explanation, steps } = plan;
    maybe(explanation, look);
    steps.iter_mut().for_each(|step| look(&mut step.text));
}

fn item_texts(item: &mut Item, texts: Texts, look: Look<'_>) {
    match &mut item.body {
        ItemBody::UserMessage(UserMessage { text, attachments: _, input: _, sender: _ }) => {
            if !texts.keeps_user_messages {
                look(text);
            }
        }
        ItemBody::AgentMessage(AgentMessage { text, phase: _ })
        | ItemBody::Plan { text }
        | ItemBody::HookPrompt { text } => look(text),
        ItemBody::Reasoning(Reasoning { summary, content }) => {
            summary.iter_mut().chain(content).for_each(look);
        }
        ItemBody::Command(command) => {
            let Command {
                command,
                cwd: _,
                output,
                exit_code: _,
                duration_ms: _,
                outcome,
                by_user: _,
            } = command;
            look(command);
            look(output);
            outcome_text(outcome, look);
        }
        ItemBody::FileChange(FileChange { files, outcome }) => {
            files.iter_mut().for_each(|file| file_texts(file, look));
            outcome_text(outcome, look);
        }
        ItemBody::ToolCall(call) => {
            let ToolCall {
                place: _,
                tool: _,
                arguments,
                result,
                error,
                succeeded: _,
                duration_ms: _,
                outcome,
            } = call;
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
            look(query);
            maybe(detail, look);
        }
        ItemBody::ImageView { path } => look(path),
        ItemBody::ImageGeneration { prompt, saved_path: _, status: _ } => maybe(prompt, look),
        ItemBody::ToolOutput { name: _, output } => look(output),
        ItemBody::ReviewBegan { review } | ItemBody::ReviewEnded { review } => look(review),
        ItemBody::Other { name: _, json } => look(json),
        ItemBody::Sleep { duration_ms: _ } | ItemBody::Compaction => {}
    }
}

pub(super) fn ask_texts(ask: &mut Ask, look: Look<'_>) {
    let Ask { thread: _, turn: _, item: _, reason, kind, offers: _ } = ask;
    maybe(reason, look);
    match kind {
        AskKind::Command(ask) => {
            let CommandAsk {
                command,
                cwd: _,
                writes_to_running: _,
                network: _,
                extra: _,
                sandboxing: _,
            } = ask;
            maybe(command, look);
        }
        AskKind::FileChange(FileChangeAsk { files, grant_root: _ }) => {
            files.iter_mut().for_each(|file| file_texts(file, look));
        }
        AskKind::Permissions(PermissionsAsk { cwd: _, wanted: _ }) => {}
        AskKind::UserInput(UserInputAsk { questions, resolves_itself_after_ms: _ }) => {
            for question in questions {
                let Question { id: _, header, text, options, allows_other: _, is_secret: _ } =
                    question;
                look(header);
                look(text);
                options.iter_mut().for_each(|option| look(&mut option.description));
            }
        }
        AskKind::Elicitation(ElicitationAsk { server: _, message, want }) => {
            look(message);
            match want {
                ElicitationWant::ToolApproval { tool: _, description, arguments } => {
                    maybe(description, look);
                    maybe(arguments, look);
                }
                // A form's values and an address are what the answer is about.
                ElicitationWant::Form(_) | ElicitationWant::Url(_) | ElicitationWant::Other(_) => {}
            }
        }
        AskKind::ToolCall(ToolCallAsk { call: _, namespace: _, tool: _, arguments }) => {
            look(arguments);
        }
        AskKind::Continue { why } => look(why),
        AskKind::TokenRefresh { .. } | AskKind::Other { .. } => {}
    }
}

pub(super) fn notice_texts(notice: &mut Notice, look: Look<'_>) {
    match notice {
        Notice::Warning { text } | Notice::Odd { text } => look(text),
        Notice::McpServer { name: _, state: _, error } | Notice::Login { succeeded: _, error } => {
            maybe(error, look);
        }
        Notice::Other { name: _, json } => look(json),
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
    let FileDiff { path: _, change: _, diff } = file;
    look(diff);
}

fn outcome_text(outcome: &mut Outcome, look: Look<'_>) {
    if let Outcome::Other(word) = outcome {
        look(word);
    }
}

fn maybe(text: &mut Option<String>, look: Look<'_>) {
    if let Some(text) = text {
        look(text);
    }
}
