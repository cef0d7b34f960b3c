//! A turn on the host's own tool loop: ask the model, run its tools, ask again, until it has nothing more to do.
//!
//! Everything is on disk before it is acted on: the answer before its tools run, each result before the model is asked again.

mod continuation;
mod listening;
mod room;
mod so_far;
mod tools;

use std::path::PathBuf;
use std::sync::Arc;

use ostler_model::usage::Usage;
use ostler_model::{Failure, FailureClass, Message};

use self::continuation::{Continuation, Step};
pub(crate) use self::listening::{Listening, not_said};
pub(crate) use self::room::make_room;
pub(crate) use self::so_far::SoFar;
use crate::activity::{Activity, Hear};
use crate::api::{Answer, ApiError, Call, Entry, Finish, ModelApi, Piece, Question};
use crate::compress;
use crate::conversation::{Conversation, KeepError};
use crate::history::{estimate, shown};
use crate::intent::only_announces;
use crate::ports::Asks;
use crate::steering::Controls;
use crate::tools::Toolbox;

/// Twice is enough for a model that forgets to act; one that still only announces is taken at its word.
const ANNOUNCEMENT_NUDGES: u32 = 2;

const NUDGE: &str = "[You only said what you would do. Do it now with your tools, or answer.]";

const BUDGET_SPENT: &str = "[You have used all the steps of this turn. Call no more tools: say what is done, what is not, and what \
    the next step would be.]";

/// What a loop works with. The same for a turn of the user and for a review in the background.
pub(crate) struct LoopParts<'a> {
    pub(crate) api: &'a dyn ModelApi,
    pub(crate) toolbox: &'a Toolbox,
    pub(crate) asks: Arc<dyn Asks>,
    pub(crate) model: &'a str,
    pub(crate) effort: Option<&'a str>,
    pub(crate) instructions: &'a str,
    pub(crate) cwd: PathBuf,
    /// Of the model, in tokens.
    pub(crate) context_window: u64,
    /// Calls of the model in one turn.
    pub(crate) iterations: u32,
    pub(crate) compresses: Compresses,
    /// How full the context may get, in percent, before that.
    pub(crate) full_percent: u64,
}

/// Whether a history that grows too long is summed up on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compresses {
    Yes,
    /// A review sees what the turn saw, once.
    No,
}

/// How a loop came to its end.
#[derive(Debug)]
pub(crate) struct LoopEnd {
    pub(crate) final_response: String,
    pub(crate) how: How,
    pub(crate) usage: Usage,
    pub(crate) tool_iterations: u32,
    /// Names of the tools that were called.
    pub(crate) used: Vec<String>,
    pub(crate) last_reasoning: Option<String>,
    /// How many of the things that were said meanwhile are part of the conversation.
    pub(crate) heard: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum How {
    Completed,
    Interrupted,
    Failed(Failure),
}

pub(crate) struct OwnLoop<'a> {
    parts: &'a LoopParts<'a>,
    conversation: &'a mut Conversation,
    controls: &'a Controls,
    hear: Hear<'a>,
    continuation: Continuation,
    announcements: u32,
    /// Calls of the model that were steps of the turn: a summary is none.
    steps: u32,
    has_made_room: bool,
    /// Another attempt to make room would only cost another call.
    cannot_make_room: bool,
    /// Shown to the model once and kept nowhere.
    nudge: Option<&'static str>,
    end: LoopEnd,
}

impl<'a> OwnLoop<'a> {
    pub(crate) fn new(
        parts: &'a LoopParts<'a>,
        conversation: &'a mut Conversation,
        controls: &'a Controls,
        hear: Hear<'a>,
    ) -> Self {
        let end = LoopEnd {
            final_response: String::new(),
            how: How::Completed,
            usage: Usage { context_window: Some(parts.context_window), ..Usage::default() },
            tool_iterations: 0,
            used: Vec::new(),
            last_reasoning: None,
            heard: 0,
        };
        Self {
            parts,
            conversation,
            controls,
            hear,
            continuation: Continuation::default(),
            announcements: 0,
            steps: 0,
            has_made_room: false,
            cannot_make_room: false,
            nudge: None,
            end,
        }
    }

    /// What the turn did before it was cut off counts.
    pub(crate) fn after(mut self, so_far: SoFar) -> Self {
        self.steps = so_far.usage.calls;
        self.end.usage = Usage { context_window: self.end.usage.context_window, ..so_far.usage };
        self.end.tool_iterations = so_far.tool_iterations;
        self.end.used = so_far.used;
        self
    }

    /// Goes on from the conversation as it is on disk until the turn is over.
    pub(crate) async fn run(mut self) -> LoopEnd {
        loop {
            let over = match self.iterate().await {
                Ok(over) => over,
                Err(error) => Some(How::Failed(error.into_failure())),
            };
            if let Some(how) = over {
                self.end.how = how;
                if self.end.final_response.is_empty() {
                    self.end.final_response = self.continuation.text();
                }
                return self.end;
            }
        }
    }

    async fn iterate(&mut self) -> Result<Option<How>, KeepError> {
        self.take_steering().await?;
        if self.controls.stop.is_cancelled() {
            return Ok(Some(How::Interrupted));
        }
        if self.steps >= self.parts.iterations {
            return self.wind_up().await.map(Some);
        }
        self.make_room_if_full().await?;
        let question = self.question(self.parts.toolbox.definitions());
        match self.ask(&question).await {
            Ok(answer) => self.take(answer).await,
            Err(error) => self.refused(error).await,
        }
    }

    async fn ask(&mut self, question: &Question) -> Result<Answer, ApiError> {
        let tell = self.hear;
        let hear = |piece: Piece| match piece {
            Piece::Text(text) => tell(Activity::Text(text)),
            Piece::Reasoning(text) => tell(Activity::Reasoning(text)),
            Piece::Commentary(text) => tell(Activity::Commentary(text)),
            Piece::Again { reason } => {
                tell(Activity::TextVoid);
                tell(Activity::Note(format!("asking again: {reason}")));
            }
            Piece::Waiting { seconds } => {
                tell(Activity::Note(format!("waiting for the model for {seconds} s")));
            }
        };
        let asking = self.parts.api.ask(question, &hear, &self.controls.stop);
        self.listening().during(asking, self.conversation).await
    }

    fn listening(&self) -> Listening<'a> {
        Listening::Turn { steering: &self.controls.steering, hear: self.hear }
    }

    fn question(&mut self, tools: Vec<crate::tool::ToolDefinition>) -> Question {
        let state = self.conversation.state();
        let mut history = shown(self.conversation.kept(), state.compression.as_ref());
        history.extend(self.nudge.take().map(|it| Entry::plain(Message::user(it.to_owned()))));
        Question {
            model: self.parts.model.to_owned(),
            effort: self.parts.effort.map(str::to_owned),
            instructions: self.parts.instructions.to_owned(),
            context_tokens: self.context_used(),
            history,
            tools,
            session: self.conversation.id().to_owned(),
        }
    }

    /// What the user has said meanwhile is part of the conversation before the model is asked again.
    async fn take_steering(&mut self) -> Result<(), KeepError> {
        self.listening().keep(self.conversation).await;
        self.end.heard = self.conversation.append_said(self.end.heard).await?;
        Ok(())
    }

    fn has_more_to_hear(&self) -> bool {
        let kept = self.conversation.state().said.len();
        self.end.heard < kept || !self.controls.steering.is_empty()
    }

    /// An answer: kept first, then its tools are run.
    async fn take(&mut self, answer: Answer) -> Result<Option<How>, KeepError> {
        self.count(&answer);
        let calls = self.conversation.with_own_ids(answer.calls.clone());
        let Some(message) = message(&answer, &calls) else { return Ok(self.next(&answer)) };
        self.end.last_reasoning = message.reasoning.clone().or(self.end.last_reasoning.take());
        let is_cut = matches!(answer.finish, Finish::Incomplete { .. } | Finish::ContentFilter);
        let replay = answer.replay.clone();
        let entry = Entry { replay, is_cut, tokens: answer.tokens, ..Entry::plain(message) };
        self.conversation.append(entry).await?;
        if calls.is_empty() {
            return Ok(self.next(&answer));
        }
        self.continuation = Continuation::default();
        self.run_tools(&calls).await?;
        Ok(None)
    }

    /// What follows an answer without calls.
    fn next(&mut self, answer: &Answer) -> Option<How> {
        if answer.finish == Finish::ContentFilter {
            let message = "the provider's filter withheld the answer";
            return Some(How::Failed(Failure::new(FailureClass::Policy, message)));
        }
        match self.continuation.take(answer) {
            Step::Ask { nudge } => {
                self.nudge = Some(nudge);
                None
            }
            Step::GiveUp { reason } => {
                let message = format!("the answer stayed incomplete: {reason}");
                let class = FailureClass::Unknown { word: Some("incomplete".to_owned()) };
                Some(How::Failed(Failure::new(class, message)))
            }
            Step::Over if self.is_announcement() => {
                self.announcements += 1;
                self.continuation = Continuation::default();
                self.nudge = Some(NUDGE);
                None
            }
            // Whoever spoke in the last moment is answered, too.
            Step::Over if self.has_more_to_hear() => {
                self.continuation = Continuation::default();
                None
            }
            Step::Over => Some(How::Completed),
        }
    }

    fn is_announcement(&self) -> bool {
        self.end.tool_iterations == 0
            && self.announcements < ANNOUNCEMENT_NUDGES
            && only_announces(&self.continuation.text())
    }

    /// No whole answer came.
    async fn refused(&mut self, error: ApiError) -> Result<Option<How>, KeepError> {
        match error {
            ApiError::Interrupted { partial } => {
                self.keep_partial(&partial).await?;
                Ok(Some(How::Interrupted))
            }
            ApiError::BadQuestion(why) => {
                Ok(Some(How::Failed(Failure::new(FailureClass::BadRequest, why))))
            }
            ApiError::Failed { failure, partial, .. } => {
                let is_too_long = failure.class == FailureClass::ContextWindow;
                // Whatever the window is said to be, it is full.
                let used = self.context_used();
                if is_too_long && !self.has_made_room && self.make_room(used).await? {
                    return Ok(None);
                }
                if let Some(partial) = partial {
                    self.keep_partial(&partial).await?;
                }
                Ok(Some(How::Failed(failure)))
            }
        }
    }

    /// What the user has seen of an answer stays in the conversation. Its calls were never run and are left out.
    async fn keep_partial(&mut self, partial: &Answer) -> Result<(), KeepError> {
        let text = if partial.text.is_empty() {
            partial.commentary.join("\n\n")
        } else {
            partial.text.clone()
        };
        if text.trim().is_empty() {
            return Ok(());
        }
        self.end.final_response = text.clone();
        let entry = Entry { is_cut: true, ..Entry::plain(Message::assistant(text)) };
        self.conversation.append(entry).await
    }

    /// All steps are used: the model says how far it came.
    async fn wind_up(&mut self) -> Result<How, KeepError> {
        self.nudge = Some(BUDGET_SPENT);
        let question = self.question(Vec::new());
        match self.ask(&question).await {
            Ok(answer) => {
                self.count(&answer);
                if let Some(message) = message(&answer, &[]) {
                    self.end.final_response = answer.text.clone();
                    let entry =
                        Entry { is_cut: true, tokens: answer.tokens, ..Entry::plain(message) };
                    self.conversation.append(entry).await?;
                }
            }
            Err(ApiError::Interrupted { partial }) => {
                self.keep_partial(&partial).await?;
                return Ok(How::Interrupted);
            }
            Err(error) => tracing::info!(%error, "the model could not sum up what it did"),
        }
        let message = format!("the turn used all its {} steps", self.parts.iterations);
        let class = FailureClass::Unknown { word: Some("iteration_budget".to_owned()) };
        Ok(How::Failed(Failure::new(class, message)))
    }

    async fn make_room_if_full(&mut self) -> Result<(), KeepError> {
        let LoopParts { context_window, full_percent, .. } = *self.parts;
        let is_full = compress::is_full(self.context_used(), context_window, full_percent);
        if is_full && !self.cannot_make_room {
            self.make_room(self.parts.context_window).await?;
        }
        Ok(())
    }

    /// Whether there is more room than before.
    async fn make_room(&mut self, window: u64) -> Result<bool, KeepError> {
        if self.parts.compresses == Compresses::No {
            return Ok(false);
        }
        self.has_made_room = true;
        let listening = self.listening();
        let stop = &self.controls.stop;
        let room = make_room(self.parts, self.conversation, window, listening, stop).await?;
        for tokens in &room.calls {
            let Usage { last_call, thread, .. } = self.end.usage;
            self.end.usage.add(*tokens, thread.plus(*tokens), None);
            self.end.usage.last_call = last_call;
        }
        if room.is_made {
            (self.hear)(Activity::Note("earlier messages were summed up".to_owned()));
            self.end.usage.last_call = ostler_model::usage::Tokens::default();
        }
        if let Some(problem) = &room.problem {
            (self.hear)(Activity::Note(format!(
                "earlier messages could not be summed up: {problem}"
            )));
        }
        self.cannot_make_room = !room.is_made;
        Ok(room.is_made)
    }

    /// As the provider counted it last, or else our own estimate.
    fn context_used(&self) -> u64 {
        let counted = self.end.usage.last_call;
        if counted.total() > 0 {
            return counted.total();
        }
        let state = self.conversation.state();
        estimate(&shown(self.conversation.kept(), state.compression.as_ref()))
    }

    fn count(&mut self, answer: &Answer) {
        self.steps += 1;
        let tokens = answer.tokens.unwrap_or_default();
        let thread = self.end.usage.thread.plus(tokens);
        self.end.usage.add(tokens, thread, Some(self.parts.context_window));
        let Usage { turn, last_call, context_window, .. } = self.end.usage;
        (self.hear)(Activity::Usage { turn, last_call, context_window });
    }
}

/// The assistant's message of an answer; none if it says nothing.
fn message(answer: &Answer, calls: &[Call]) -> Option<Message> {
    let text = match answer.text.is_empty() {
        true => answer.commentary.join("\n\n"),
        false => answer.text.clone(),
    };
    if text.is_empty() && calls.is_empty() && answer.replay.is_none() {
        return None;
    }
    let mut message = Message::assistant(text);
    message.content = message.content.filter(|text| !text.is_empty());
    message.reasoning.clone_from(&answer.reasoning);
    for call in calls {
        let called = Message::call(call.id.clone(), call.tool.clone(), call.arguments.clone());
        message.tool_calls.extend(called.tool_calls);
    }
    Some(message)
}
