//! What a task tells, as the host agent shows it: the same words as on its own runtime.

use std::collections::HashMap;

use ostler_agent::Activity;
use ostler_codex::projection::preview;
use ostler_model::ItemId;
use ostler_model::item::{Item, ItemBody, MessagePhase};
use ostler_model::task::Partial;
use ostler_model::thread::{DeltaKind, Update};
use tokio::time::Instant;

use crate::conversation::shown::Shown;
use crate::conversation::translate;

/// The first characters of what a step said.
const SUMMARY: usize = 200;

/// One turn as it is shown.
#[derive(Debug, Default)]
pub(super) struct Stage {
    /// How much of a text was shown, in bytes.
    shown: HashMap<ItemId, usize>,
    /// Messages that are not the answer: they are shown whole when they have ended.
    commentary: Vec<ItemId>,
    began: HashMap<ItemId, Instant>,
    has_text: bool,
}

impl Stage {
    /// A piece of text that has grown.
    pub(super) fn grown(&mut self, piece: &Partial) -> Option<Activity> {
        if piece.agent.is_some() || self.commentary.contains(&piece.item) {
            return None;
        }
        self.piece(&piece.item, piece.kind, &piece.text)
    }

    /// All of a text as far as it has come.
    pub(super) fn whole(&mut self, text: &Partial) -> Option<Activity> {
        if text.agent.is_some() || self.commentary.contains(&text.item) {
            return None;
        }
        let rest = self.rest(&text.item, &text.text).to_owned();
        self.piece(&text.item, text.kind, &rest)
    }

    pub(super) fn update(&mut self, update: &Update) -> Vec<Activity> {
        match update {
            Update::ItemBegan { item, .. } => self.item_began(item),
            Update::ItemEnded { item, .. } => self.item_ended(item),
            Update::Delta { item, kind, text, .. } => {
                self.piece(item, *kind, text).into_iter().collect()
            }
            Update::Usage { usage, .. } => vec![Activity::Usage {
                turn: usage.turn,
                last_call: usage.last_call,
                context_window: usage.context_window,
            }],
            Update::Retrying { failure, attempt, .. } => {
                vec![Activity::Note(format!(
                    "attempt {attempt} failed, Codex tries again: {}",
                    failure.message
                ))]
            }
            Update::Stalled { .. }
            | Update::Compacted { .. }
            | Update::AutoReview { .. }
            | Update::Disconnected { .. }
            | Update::Reconnected => note(update).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    fn item_began(&mut self, item: &Item) -> Vec<Activity> {
        if let ItemBody::AgentMessage(message) = &item.body
            && message.phase == MessagePhase::Commentary
        {
            self.commentary.push(item.id.clone());
        }
        let Some(shown) = preview(item) else { return Vec::new() };
        self.began.insert(item.id.clone(), Instant::now());
        vec![Activity::ToolBegan {
            call: item.id.to_string(),
            tool: shown.name,
            preview: shown.text,
        }]
    }

    fn item_ended(&mut self, item: &Item) -> Vec<Activity> {
        match &item.body {
            ItemBody::AgentMessage(message) if message.phase == MessagePhase::Commentary => {
                match self.shown.remove(&item.id) {
                    // It was not known to be talk on the way before it ended.
                    Some(_) => Vec::new(),
                    None => vec![Activity::Commentary(message.text.clone())],
                }
            }
            ItemBody::AgentMessage(message) => {
                let rest = self.rest(&item.id, &message.text).to_owned();
                self.piece(&item.id, DeltaKind::Message, &rest).into_iter().collect()
            }
            ItemBody::Reasoning(reasoning) if !self.shown.contains_key(&item.id) => {
                let all = if reasoning.summary.is_empty() {
                    &reasoning.content
                } else {
                    &reasoning.summary
                };
                let text = all.join("\n");
                (!text.is_empty()).then_some(Activity::Reasoning(text)).into_iter().collect()
            }
            _ => self.step_ended(item),
        }
    }

    fn step_ended(&mut self, item: &Item) -> Vec<Activity> {
        let Some(shown) = preview(item) else { return Vec::new() };
        let mut all = Vec::new();
        let began = self.began.remove(&item.id);
        if began.is_none() {
            let (tool, preview) = (shown.name.clone(), shown.text.clone());
            all.push(Activity::ToolBegan { call: item.id.to_string(), tool, preview });
        }
        let waited =
            began.map_or(0, |began| u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX));
        all.push(Activity::ToolEnded {
            call: item.id.to_string(),
            tool: shown.name,
            elapsed_ms: shown.duration_ms.unwrap_or(waited),
            is_error: shown.is_error,
            summary: summary(&item.body),
        });
        all
    }

    fn piece(&mut self, item: &ItemId, kind: DeltaKind, text: &str) -> Option<Activity> {
        if text.is_empty() {
            return None;
        }
        let is_first = !self.shown.contains_key(item);
        *self.shown.entry(item.clone()).or_default() += text.len();
        match kind {
            DeltaKind::Message => {
                // Two messages of one turn are two paragraphs.
                let gap = if is_first && self.has_text { "\n\n" } else { "" };
                self.has_text = true;
                Some(Activity::Text(format!("{gap}{text}")))
            }
            DeltaKind::Reasoning => Some(Activity::Reasoning(text.to_owned())),
            DeltaKind::Plan | DeltaKind::Output => None,
        }
    }

    /// What of a whole text was not shown yet.
    fn rest<'t>(&self, item: &ItemId, text: &'t str) -> &'t str {
        let shown = self.shown.get(item).copied().unwrap_or_default();
        text.get(shown..).unwrap_or_default()
    }
}

fn note(update: &Update) -> Option<Activity> {
    match translate::update(update)? {
        Shown::Step { text } | Shown::Warning { text } => Some(Activity::Note(text)),
        Shown::Stalled { found, .. } => Some(Activity::Note(found)),
        _ => None,
    }
}

fn summary(body: &ItemBody) -> String {
    let text = match body {
        ItemBody::Command(command) => &command.output,
        ItemBody::ToolCall(call) => {
            call.error.as_ref().or(call.result.as_ref()).map_or("", String::as_str)
        }
        _ => "",
    };
    text.chars().take(SUMMARY).collect()
}
