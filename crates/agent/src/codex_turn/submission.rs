//! What is sent to Codex for one message of the user.

use ostler_model::input::{ContextPart, ContextRole, Part};
use ostler_model::message::Role;
use ostler_model::task::TaskSettings;
use ostler_model::{Input, TaskId};
use serde::{Deserialize, Serialize};

use crate::conversation::Conversation;
use crate::history::Kept;
use crate::prompt::changed_context;

/// Of what was said before, told to a thread that does not know it. A quarter of the context of a small model.
const MOST_SEED_BYTES: usize = 128 * 1024;

/// Kept with the turn before it is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Submission {
    pub(crate) key: String,
    pub(crate) target: Target,
    pub(crate) input: Input,
    /// What Codex knows about its user, its memory and its skills once it has this.
    #[serde(default)]
    pub(crate) context: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Target {
    Task(TaskId),
    New(Box<TaskSettings>),
}

/// What the user's message is made of.
pub(crate) struct Said<'a> {
    pub(crate) text: &'a str,
    /// Files or `data:` URLs.
    pub(crate) images: &'a [String],
    pub(crate) model: Option<&'a str>,
    pub(crate) effort: Option<&'a str>,
}

impl Submission {
    /// For the thread that has the conversation, or for a new one. `turn` is the number that the turn will have.
    pub(crate) fn of(
        conversation: &Conversation,
        turn: u64,
        settings: &TaskSettings,
        context: &str,
        said: &Said<'_>,
    ) -> Self {
        let mut input = Input::message(parts(said));
        input.model = said.model.map(str::to_owned);
        input.effort = said.effort.map(str::to_owned);
        let Some(binding) = &conversation.state().binding else {
            return Self::anew(conversation, turn, settings, context, input);
        };
        // A thread stays in its folder.
        if binding.cwd.as_ref().is_some_and(|cwd| *cwd != settings.cwd) {
            return Self::anew(conversation, turn, settings, context, input);
        }
        if binding.context != context {
            let text = changed_context(context);
            input.context.push(ContextPart { role: ContextRole::Developer, text });
        }
        input.context.extend(seed(&earlier(conversation, binding.told_to, turn), None));
        let key = format!("chat/{}/{turn}", conversation.id());
        let target = Target::Task(binding.task.clone());
        Self { key, target, input, context: context.to_owned() }
    }

    /// For a thread that knows nothing yet: it is told all.
    pub(crate) fn anew(
        conversation: &Conversation,
        turn: u64,
        settings: &TaskSettings,
        context: &str,
        mut input: Input,
    ) -> Self {
        let state = conversation.state();
        let summary = state.compression.as_ref();
        let after = summary.map_or(0, |it| it.up_to);
        let summary = summary.map(|it| it.summary.as_str());
        input.context = seed(&earlier(conversation, after, turn), summary);
        let mut settings = settings.clone();
        let told = [settings.developer_instructions.take(), Some(context.to_owned())];
        let told: Vec<String> = told.into_iter().flatten().filter(|it| !it.is_empty()).collect();
        settings.developer_instructions = (!told.is_empty()).then(|| told.join("\n\n"));
        let key = format!("chat/{}/{turn}/{}", conversation.id(), state.bindings + 1);
        let target = Target::New(Box::new(settings));
        Self { key, target, input, context: context.to_owned() }
    }
}

/// Messages of earlier turns that come after this one.
fn earlier(conversation: &Conversation, after: u64, turn: u64) -> Vec<Kept> {
    let kept = conversation.kept().iter();
    kept.filter(|it| it.number > after && it.turn < turn).cloned().collect()
}

fn parts(said: &Said<'_>) -> Vec<Part> {
    let image = |image: &String| match image.starts_with("data:") {
        true => Part::ImageUrl(image.clone()),
        false => Part::ImageFile(image.clone()),
    };
    let text = (!said.text.is_empty()).then(|| Part::Text(said.text.to_owned()));
    text.into_iter().chain(said.images.iter().map(image)).collect()
}

/// What was said, for a thread that was not there: the newest as far as there is room, without what tools said.
pub(crate) fn seed(kept: &[Kept], summary: Option<&str>) -> Vec<ContextPart> {
    let mut room = MOST_SEED_BYTES;
    let mut parts = Vec::new();
    let mut is_whole = true;
    for it in kept.iter().rev() {
        let message = &it.entry.message;
        let role = match message.role {
            Role::User => ContextRole::User,
            Role::Assistant => ContextRole::Assistant,
            Role::Tool => continue,
        };
        let Some(text) = message.content.clone().filter(|text| !text.trim().is_empty()) else {
            continue;
        };
        if text.len() > room {
            is_whole = false;
            break;
        }
        room -= text.len();
        parts.push(ContextPart { role, text });
    }
    let head = match (summary, is_whole) {
        (Some(summary), _) => {
            Some(format!("A summary of what was said earlier in this conversation:\n\n{summary}"))
        }
        (None, false) => {
            Some("Earlier messages of this conversation are left out here.".to_owned())
        }
        (None, true) => None,
    };
    parts.extend(head.map(|text| ContextPart { role: ContextRole::Developer, text }));
    parts.reverse();
    parts
}
