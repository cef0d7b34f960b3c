//! One turn, from what the user says to what is on disk at its end.

use ostler_model::message::Role;
use ostler_model::usage::Usage;
use ostler_model::{Failure, FailureClass};

use super::{Agent, AgentError, not_kept};
use crate::activity::{Activity, Hear};
use crate::api::Entry;
use crate::codex_turn::{self, CodexParts, Said, SaidMeanwhile, Sending, Submission};
use crate::conversation::KeepError;
use crate::counters::{Due, TurnCount};
use crate::history::shown;
use crate::input::UserInput;
use crate::intent::only_announces;
use crate::memory_sync::SyncedTurn;
use crate::outcome::TurnOutcome;
use crate::own_loop::{Compresses, How, Listening, LoopEnd, LoopParts, OwnLoop, SoFar};
use crate::prompt::codex_context;
use crate::review::ReviewParts;
use crate::runtime::{self, Asked, Runtime};
use crate::state::ConversationState;
use crate::steering::Controls;

/// A conversation on Codex needs no key, and a review asks the provider itself.
const NO_REVIEW_KEY: &str =
    "nothing is learnt from this conversation yet: a review is due and nobody can be asked for it";

/// Codex chooses its own model without telling, and a review asks the provider itself.
const NO_REVIEW_MODEL: &str = "nothing is learnt from this conversation yet: a review is due and has no model to ask; set \
    `review_model` or `model` in `[agent]` of the configuration, or `review = false`";

impl Agent {
    /// Answers the user. Whatever happens is in the outcome.
    pub async fn turn(
        &mut self,
        input: UserInput,
        controls: &Controls,
        hear: Hear<'_>,
    ) -> TurnOutcome {
        match self.try_turn(input, controls, hear).await {
            Ok(outcome) => outcome,
            Err(AgentError::Keep(error)) => not_kept(error),
            Err(error) => {
                let failure = Failure::new(FailureClass::BadRequest, error.to_string());
                TurnOutcome::failed(failure, "say it again in another way")
            }
        }
    }

    /// Brings a turn to its end that was under way when the program died: on Codex it may have gone on all the while.
    pub async fn take_up(&mut self, controls: &Controls, hear: Hear<'_>) -> Option<TurnOutcome> {
        if !self.has_open_turn {
            return None;
        }
        Some(self.try_take_up(controls, hear).await.unwrap_or_else(not_kept))
    }

    async fn try_turn(
        &mut self,
        input: UserInput,
        controls: &Controls,
        hear: Hear<'_>,
    ) -> Result<TurnOutcome, AgentError> {
        let (input, entry) = tokio::task::spawn_blocking(move || {
            let entry = input.entry();
            (input, entry)
        })
        .await
        .map_err(|error| AgentError::Api(error.to_string()))?;
        let entry = entry?;
        if self.has_open_turn {
            let before = self.try_take_up(controls, hear).await?;
            if self.has_open_turn && self.runtime() == Runtime::CodexAppServer {
                return Ok(self.hold(entry, before).await?);
            }
            if self.has_open_turn {
                self.leave_open_turn(before, hear).await?;
            }
        }
        self.make_room_on_codex(controls, hear).await;
        let runtime = self.runtime();
        let submission = match runtime {
            Runtime::Auto => None,
            Runtime::CodexAppServer => Some(self.submission(&input.text, input.images_for_codex())),
        };
        let body = submission.as_ref().map_or_else(String::new, json);
        self.kit.begin_turn();
        self.conversation.begin_turn(runtime.name(), body, entry).await?;
        self.has_open_turn = true;
        let submission = submission.map(|submission| (submission, Sending::First));
        Ok(self.run(runtime, submission, controls, hear).await?)
    }

    async fn try_take_up(
        &mut self,
        controls: &Controls,
        hear: Hear<'_>,
    ) -> Result<TurnOutcome, KeepError> {
        let Some(open) = self.conversation.open_turn().await? else {
            self.has_open_turn = false;
            return Ok(TurnOutcome::default());
        };
        let lost = self.conversation.close_lost_calls().await?;
        if lost > 0 {
            hear(Activity::Note(format!(
                "{lost} tool calls were cut off; it is not known whether they ran"
            )));
        }
        let submission = serde_json::from_str::<Submission>(&open.body).ok();
        let submission = submission.map(|submission| (submission, Sending::Again));
        let runtime = match runtime::parse(&open.runtime) {
            Ok(Asked::Set(runtime)) => runtime,
            Ok(Asked::Report) | Err(_) => Runtime::default(),
        };
        self.run(runtime, submission, controls, hear).await
    }

    async fn run(
        &mut self,
        runtime: Runtime,
        submission: Option<(Submission, Sending)>,
        controls: &Controls,
        hear: Hear<'_>,
    ) -> Result<TurnOutcome, KeepError> {
        match (runtime, submission) {
            (Runtime::CodexAppServer, Some(submission)) => {
                let end = self.run_codex(submission, controls, hear).await?;
                if end.is_open {
                    return Ok(self.told(end.outcome));
                }
                let outcome = self.with_unheard(end.outcome, end.unheard).await?;
                let used = codex_turn::own_tools_used(&self.conversation.of_turn());
                self.close_turn(outcome, &used, hear).await
            }
            _ => {
                let OwnEnd { mut outcome, used, heard } = self.run_own(controls, hear).await?;
                // Said in its last moments: part of the conversation, for the next turn to answer.
                let listening = Listening::Turn { steering: &controls.steering, hear };
                listening.keep(&mut self.conversation).await;
                self.conversation.append_said(heard).await?;
                let said = self.conversation.state().said.iter().skip(heard);
                outcome.pending_steer = texts(said.map(|said| &said.entry));
                self.close_turn(outcome, &used, hear).await
            }
        }
    }

    /// What the user said to a turn on Codex that has not heard it.
    async fn with_unheard(
        &mut self,
        mut outcome: TurnOutcome,
        unheard: Vec<Entry>,
    ) -> Result<TurnOutcome, KeepError> {
        outcome.pending_steer = texts(&unheard);
        self.conversation.append_unheard(unheard).await?;
        Ok(outcome)
    }

    /// The turn is over, whatever it came to.
    async fn close_turn(
        &mut self,
        mut outcome: TurnOutcome,
        used: &[String],
        hear: Hear<'_>,
    ) -> Result<TurnOutcome, KeepError> {
        self.finish(&outcome, used, hear).await?;
        self.has_open_turn = false;
        outcome.persisted = true;
        Ok(self.told(outcome))
    }

    /// Codex may be at work on the turn before and cannot be asked. What the user says now is kept, and told when that is over.
    async fn hold(&mut self, said: Entry, before: TurnOutcome) -> Result<TurnOutcome, KeepError> {
        let mut outcome = before;
        outcome.pending_steer.extend(texts([&said]));
        let said = SaidMeanwhile::unsent(said);
        self.conversation.update(|state| state.said.push(said)).await?;
        Ok(outcome)
    }

    /// The user goes on without Codex, which cannot be asked what became of the turn before.
    async fn leave_open_turn(
        &mut self,
        before: TurnOutcome,
        hear: Hear<'_>,
    ) -> Result<(), KeepError> {
        let state = self.conversation.state();
        let unheard = state.said.iter().map(|said| said.entry.clone()).collect();
        let place = state.binding.as_ref().map_or_else(
            || "`ostler ls` shows whether it does".to_owned(),
            |binding| format!("`ostler show {}` shows it", binding.task),
        );
        hear(Activity::Note(format!(
            "the turn before is left to Codex, which may still work on it; {place}"
        )));
        let outcome = self.with_unheard(before, unheard).await?;
        self.close_turn(outcome, &[], hear).await?;
        Ok(())
    }

    fn told(&self, mut outcome: TurnOutcome) -> TurnOutcome {
        outcome.messages = self.conversation.of_turn();
        outcome
    }

    async fn run_own(&mut self, controls: &Controls, hear: Hear<'_>) -> Result<OwnEnd, KeepError> {
        // Of a turn that is taken up, what was said before the kill and no model has seen.
        let heard = self.conversation.append_said(0).await?;
        let so_far = SoFar::of(&self.conversation);
        // Killed between the last word and the end of the turn: there is nothing left to ask.
        if let Some(answer) = self.finished_answer() {
            let SoFar { usage, tool_iterations, used } = so_far;
            let how = How::Completed;
            let end = LoopEnd {
                final_response: answer,
                how,
                usage: Usage { context_window: Some(self.settings.context_window), ..usage },
                tool_iterations,
                used,
                last_reasoning: None,
                heard,
            };
            return Ok(OwnEnd::of(end));
        }
        let (model, effort) = (self.model(), self.effort());
        if model.is_empty() {
            let failure = Failure::new(FailureClass::ModelNotFound, "no model is chosen");
            let advice =
                "choose one with `/model`, `--model`, or `model` in `[agent]` of the configuration";
            let outcome = TurnOutcome::failed(failure, advice);
            return Ok(OwnEnd { outcome, used: Vec::new(), heard });
        }
        let parts = LoopParts {
            api: &*self.parts.api,
            toolbox: &self.kit.toolbox,
            asks: self.parts.asks.clone(),
            model: &model,
            effort: effort.as_deref(),
            instructions: &self.instructions,
            cwd: self.settings.cwd.clone(),
            context_window: self.settings.context_window,
            iterations: self.settings.iterations,
            compresses: Compresses::Yes,
            full_percent: self.settings.full_percent,
        };
        let running = OwnLoop::new(&parts, &mut self.conversation, controls, hear).after(so_far);
        Ok(OwnEnd::of(running.run().await))
    }

    fn finished_answer(&self) -> Option<String> {
        let last = self.conversation.kept().last()?;
        let message = &last.entry.message;
        let is_answer = message.role == Role::Assistant && message.tool_calls.is_empty();
        let turn = self.conversation.turn();
        let mut of_turn = self.conversation.kept().iter().filter(|it| it.turn == turn);
        let has_acted = of_turn.any(|it| !it.entry.message.tool_calls.is_empty());
        let answer = message.content.clone().filter(|_| is_answer && last.turn == turn)?;
        // What only says what will be done was about to be followed by a reminder to do it.
        let is_whole = !last.entry.is_cut && (has_acted || !only_announces(&answer));
        is_whole.then_some(answer)
    }

    async fn run_codex(
        &mut self,
        (submission, sending): (Submission, Sending),
        controls: &Controls,
        hear: Hear<'_>,
    ) -> Result<codex_turn::CodexEnd, KeepError> {
        let context = codex_context(&self.prompt);
        let (settings, input) = (self.settings.codex.clone(), submission.input.clone());
        let anew = move |conversation: &crate::conversation::Conversation| {
            Submission::anew(conversation, conversation.turn(), &settings, &context, input.clone())
        };
        let serving = self.serving();
        let parts = CodexParts { serving: &serving, anew: &anew };
        let submission = (submission, sending);
        codex_turn::run(&parts, &mut self.conversation, submission, controls, hear).await
    }

    fn submission(&self, text: &str, images: &[String]) -> Submission {
        let context = codex_context(&self.prompt);
        let (model, effort) = (self.model(), self.effort());
        let model = Some(model.as_str()).filter(|model| !model.is_empty());
        let said = Said { text, images, model, effort: effort.as_deref() };
        let turn = self.conversation.turn() + 1;
        Submission::of(&self.conversation, turn, &self.settings.codex, &context, &said)
    }

    /// Counts the turn, ends it on disk, and looks back at it if it is time.
    async fn finish(
        &mut self,
        outcome: &TurnOutcome,
        used: &[String],
        hear: Hear<'_>,
    ) -> Result<(), KeepError> {
        let count = TurnCount {
            tool_iterations: outcome.tool_iterations,
            used_memory: used.iter().any(|tool| tool == "memory"),
            used_skills: used.iter().any(|tool| tool == "skill_manage"),
            was_good: outcome.completed && !outcome.final_response.trim().is_empty(),
        };
        let intervals = self.settings.intervals;
        // One that nobody could be asked for stays due.
        let lacks = match &self.parts.review_api {
            Ok(_) if self.review_model().is_empty() => Some(NO_REVIEW_MODEL.to_owned()),
            Ok(_) => None,
            Err(why) => Some(format!("{NO_REVIEW_KEY}: {why}")),
        };
        let has_model = lacks.is_none();
        let owed = self.reviewing.take_owed();
        let may_review = !self.reviewing.is_running() && has_model;
        let (usage, calls) = (outcome.usage, outcome.api_calls);
        let (mut due, mut misses_model) = (Due::default(), false);
        let change = |state: &mut ConversationState| {
            state.counters.begin_turn();
            if let Some(owed) = owed {
                state.counters.owes(owed, intervals);
            }
            due = state.counters.end_turn(count, intervals);
            if may_review {
                state.counters.reviewed(due);
            }
            misses_model = due.is_any() && !has_model && !state.told_of_missing_model;
            state.told_of_missing_model |= misses_model;
            add_usage(state, usage, calls);
            state.said.clear();
        };
        let body = serde_json::json!({
            "completed": outcome.completed, "failed": outcome.failed, "interrupted": outcome.interrupted,
            "error": outcome.error, "usage": outcome.usage, "thread": outcome.thread, "turn": outcome.turn,
        });
        self.conversation.end_turn(body.to_string(), change).await?;
        if let Some(lacks) = lacks.filter(|_| misses_model) {
            hear(Activity::Note(lacks));
        }
        if count.was_good
            && let Some(sync) = &self.sync
        {
            let messages = self.conversation.of_turn();
            let user = messages.iter().find(|it| it.role == Role::User);
            sync.tell(SyncedTurn {
                conversation: self.conversation.id().to_owned(),
                user: user.and_then(|it| it.content.clone()).unwrap_or_default(),
                assistant: outcome.final_response.clone(),
                messages,
            });
        }
        if may_review && due.is_any() {
            self.look_back(due);
        }
        Ok(())
    }

    fn review_model(&self) -> String {
        self.settings.review_model.clone().unwrap_or_else(|| self.model())
    }

    fn look_back(&mut self, due: Due) {
        let Ok(api) = self.parts.review_api.clone() else { return };
        // How hard one model thinks is told in words that another may not know.
        let effort = self.effort().filter(|_| self.settings.review_model.is_none());
        let parts = ReviewParts {
            api,
            toolbox: self.kit.review_toolbox(),
            model: self.review_model(),
            effort,
            instructions: self.instructions.clone(),
            cwd: self.settings.cwd.clone(),
            context_window: self.settings.context_window,
            skill_rules: crate::kit::review_rules(),
        };
        let state = self.conversation.state();
        let snapshot = shown(self.conversation.kept(), state.compression.as_ref());
        let id = self.conversation.id().to_owned();
        let (later, telling) = (self.parts.later.clone(), self.settings.review_telling);
        self.reviewing.begin(parts, id, snapshot, due, later, telling);
    }
}

/// How a turn of the own loop ended.
struct OwnEnd {
    outcome: TurnOutcome,
    /// Names of the tools that were called.
    used: Vec<String>,
    /// How many of the things that were said meanwhile are part of the conversation.
    heard: usize,
}

impl OwnEnd {
    fn of(end: LoopEnd) -> Self {
        let LoopEnd { final_response, how, usage, tool_iterations, last_reasoning, used, heard } =
            end;
        let outcome = outcome_of(final_response, how);
        let api_calls = usage.calls;
        let outcome = TurnOutcome { api_calls, usage, tool_iterations, last_reasoning, ..outcome };
        Self { outcome, used, heard }
    }
}

/// What was said, for people; an image by a word.
fn texts<'a>(said: impl IntoIterator<Item = &'a Entry>) -> Vec<String> {
    let text = |entry: &Entry| {
        let text = entry.message.content.clone().filter(|text| !text.is_empty());
        let images = entry.images.iter().map(|_| "[image]".to_owned());
        let lines: Vec<String> = text.into_iter().chain(images).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    };
    said.into_iter().filter_map(text).collect()
}

fn outcome_of(final_response: String, how: How) -> TurnOutcome {
    match how {
        How::Completed => TurnOutcome { final_response, completed: true, ..TurnOutcome::default() },
        How::Interrupted => TurnOutcome {
            final_response,
            interrupted: true,
            partial: true,
            ..TurnOutcome::default()
        },
        How::Failed(failure) => {
            let mut outcome = TurnOutcome::failed(failure.clone(), advice(&failure));
            if !final_response.is_empty() {
                outcome.final_response = format!("{final_response}\n\n{}", outcome.final_response);
            }
            outcome
        }
    }
}

/// Of a failure of the model's API: Codex's login is not what is missing.
fn advice(failure: &Failure) -> &'static str {
    match &failure.class {
        FailureClass::Auth => {
            "give the provider a key that it takes (`[providers]` in the configuration says where it comes from), then say it again"
        }
        FailureClass::ContextWindow => "make room with `/compress`, or begin anew with `/reset`",
        FailureClass::ModelNotFound => "choose another model with `/model`",
        class => class.advice(),
    }
}

fn add_usage(state: &mut ConversationState, usage: Usage, calls: u32) {
    let kept = &mut state.usage;
    kept.total = kept.total.plus(usage.turn);
    if usage.last_call.total() > 0 {
        kept.last_call = usage.last_call;
    }
    kept.context_window = usage.context_window.or(kept.context_window);
    kept.api_calls = kept.api_calls.saturating_add(u64::from(calls));
    kept.turns = kept.turns.saturating_add(1);
}

fn json(submission: &Submission) -> String {
    serde_json::to_string(submission).unwrap_or_default()
}
