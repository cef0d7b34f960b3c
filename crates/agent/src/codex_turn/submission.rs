//! What is sent to Codex for one message of the user.

use ostler_model::input::{Content, ContextPart, ContextRole, Part};
use ostler_model::message::Role;
use ostler_model::task::TaskSettings;
use ostler_model::{Input, TaskId};
use serde::{Deserialize, Serialize};

use crate::api::Entry;
use crate::conversation::Conversation;
use crate::history::Kept;
use crate::prompt::changed_context;

/// Of what was said before, told to a thread that does not know it. A quarter of the context of a small model.
const MOST_SEED_BYTES: usize = 128 * 1024;

/// Of the images among it, as they are sent. The daemon takes 8 MiB as one request.
const MOST_SEED_IMAGE_BYTES: usize = 5 * 1024 * 1024;

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
        let earlier = earlier(conversation, binding.told_to, turn);
        seed(&earlier, None, image_room(&mut input)).put_into(&mut input);
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
        input.context = Vec::new();
        let earlier = earlier(conversation, after, turn);
        seed(&earlier, summary, image_room(&mut input)).put_into(&mut input);
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

/// What was said, for a thread that was not there.
struct Seed {
    context: Vec<ContextPart>,
    /// As `data:` URLs. What is put before the model has only text, so they come with the user's message.
    images: Vec<String>,
}

impl Seed {
    fn put_into(self, input: &mut Input) {
        input.context.extend(self.context);
        if let Content::Message(parts) = &mut input.content
            && !self.images.is_empty()
        {
            parts.push(Part::Text(EARLIER_IMAGES.to_owned()));
            parts.extend(self.images.into_iter().map(Part::ImageUrl));
        }
    }
}

const EARLIER_IMAGES: &str =
    "[Here are the images of the earlier messages, in the order of their numbers:]";

/// How many bytes of earlier images there is room for beside the message's own. Those that it had for a thread that is replaced
/// are taken out.
fn image_room(input: &mut Input) -> usize {
    let Content::Message(parts) = &mut input.content else { return 0 };
    let is_earlier = |part: &Part| matches!(part, Part::Text(text) if text == EARLIER_IMAGES);
    if let Some(at) = parts.iter().position(is_earlier) {
        parts.truncate(at);
    }
    let length = |part: &Part| match part {
        Part::ImageUrl(url) => url.len(),
        _ => 0,
    };
    MOST_SEED_IMAGE_BYTES.saturating_sub(parts.iter().map(length).sum())
}

/// The newest as far as there is room, without what tools said.
fn seed(kept: &[Kept], summary: Option<&str>, mut image_room: usize) -> Seed {
    let mut room = MOST_SEED_BYTES;
    let mut told: Vec<(ContextRole, &Entry, Vec<bool>)> = Vec::new();
    let mut is_whole = true;
    for it in kept.iter().rev() {
        let message = &it.entry.message;
        let role = match message.role {
            Role::User => ContextRole::User,
            Role::Assistant => ContextRole::Assistant,
            Role::Tool => continue,
        };
        let text = message.content.as_deref().unwrap_or_default();
        if text.trim().is_empty() && it.entry.images.is_empty() {
            continue;
        }
        if text.len() > room {
            is_whole = false;
            break;
        }
        room -= text.len();
        let fits = it.entry.images.iter().map(|image| {
            let left = image_room.checked_sub(image.len());
            image_room = left.unwrap_or(image_room);
            left.is_some()
        });
        told.push((role, &it.entry, fits.collect()));
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
    let head = head.map(|text| ContextPart { role: ContextRole::Developer, text });
    let mut seed = Seed { context: head.into_iter().collect(), images: Vec::new() };
    for (role, entry, fits) in told.into_iter().rev() {
        let text = entry.message.content.clone().filter(|text| !text.trim().is_empty());
        let mut lines: Vec<String> = text.into_iter().collect();
        for (image, fits) in entry.images.iter().zip(fits) {
            if fits {
                seed.images.push(image.clone());
                lines.push(format!("[image {}]", seed.images.len()));
            } else {
                lines.push("[an image, which is left out here]".to_owned());
            }
        }
        seed.context.push(ContextPart { role, text: lines.join("\n") });
    }
    seed
}
