//! Lines into turns of items.

use std::collections::BTreeMap;
use std::mem;

use ostler_model::item::{
    AgentMessage, Attachment, Item, ItemBody, Outcome, Reasoning, UserMessage,
};
use ostler_model::{InputId, ThreadId, TurnId};
use serde_json::value::RawValue;

use super::calls::{self, Call, Outcomes};
use super::line::{Event, Line, Meta, Recorded, Response};
use super::turns::{Entry, Source, Turns};
use super::{Rollout, TurnEnd, injected, recorded};
use crate::protocol::item::body::{WebSearch, WebSearchAction};
use crate::protocol::lenient;
use crate::thread::item as live;

/// What was read so far.
#[derive(Default)]
pub(super) struct Assembly {
    thread: Option<ThreadId>,
    codex_version: Option<String>,
    cwd: Option<String>,
    /// The file holds finished items; what went to the model tells nothing more of them.
    paginated: bool,
    /// Codex marks what people said; what is not marked was put in by itself.
    marks_people: bool,
    turns: Turns,
    /// Calls without an output so far, with the places of their turns, in order.
    calls: Vec<(usize, Call)>,
    /// Commands in the background: turn and item.
    background: BTreeMap<String, (usize, String)>,
    /// The last words that Codex marked as the agent's.
    marked_words: Option<String>,
}

impl Assembly {
    /// Takes one line; the error says why it cannot be read. Kinds of lines that tell no items are passed over.
    pub(super) fn line(&mut self, text: &str) -> Result<(), String> {
        let line: Line<'_> = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let Some(payload) = line.payload else { return Ok(()) };
        match line.kind.as_str() {
            "session_meta" => self.session_meta(&read(payload)),
            "turn_context" => self.cwd = read::<Meta>(payload).cwd.or_else(|| self.cwd.take()),
            "response_item" => self.response(&read(payload)),
            "event_msg" => self.event(payload),
            "compacted" => self.compacted(),
            _ => {}
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Rollout {
        for (place, call) in mem::take(&mut self.calls) {
            self.unanswered(place, &call);
        }
        if self.marks_people {
            self.turns.drop_unmarked_people();
        }
        Rollout {
            thread: self.thread,
            codex_version: self.codex_version,
            turns: self.turns.finish(),
            ..Rollout::default()
        }
    }

    /// Only the first one is about this file: a fork copies the lines of the thread it came from.
    fn session_meta(&mut self, meta: &Meta) {
        if self.thread.is_none() {
            // `session_id` is that of the thread a sub-agent belongs to.
            self.thread = meta.id.as_deref().or(meta.session_id.as_deref()).map(ThreadId::from);
            self.codex_version.clone_from(&meta.cli_version);
            self.cwd.clone_from(&meta.cwd);
            self.paginated = meta.history_mode.as_deref() == Some("paginated");
        }
    }

    fn response(&mut self, response: &Response) {
        let told = &response.internal_chat_message_metadata_passthrough.turn_id;
        let turn_id = told.as_ref().or(response.turn_id.as_ref());
        match response.kind.as_str() {
            "function_call" | "custom_tool_call" | "local_shell_call" => {
                let call = Call::of(response, self.cwd.as_deref());
                let place = self.turns.place(turn_id);
                // A model may give its calls the same ids in each turn; the earlier one will get no answer any more.
                if let Some((place, earlier)) = self.take_call(call.id()) {
                    self.unanswered(place, &earlier);
                }
                self.calls.push((place, call));
            }
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
                self.output(response);
            }
            // The rest is told by the finished items of a paginated file.
            _ if self.paginated => {}
            "message" => self.message(response, turn_id),
            "reasoning" => {
                let reasoning = Reasoning {
                    summary: response.summary.clone(),
                    content: response.content.clone(),
                };
                let id = response.id.as_str().into();
                self.turns.push(
                    turn_id,
                    Item { id, body: ItemBody::Reasoning(reasoning) },
                    Source::Told,
                );
            }
            "web_search_call" => self.web_search(response, turn_id),
            "image_generation_call" => self.image(response, turn_id),
            _ => {}
        }
    }

    fn message(&mut self, response: &Response, turn_id: Option<&TurnId>) {
        let id = response.id.as_str().into();
        let is_put = self.turns.is_between(turn_id);
        match response.role.as_str() {
            "assistant" if is_put => {}
            "assistant" => {
                let text: String = response.content.concat();
                let marked = self.marked_words.as_ref() == Some(&text);
                let source = if marked { Source::Told } else { Source::Model };
                let phase = live::phase(response.phase.as_ref());
                // The findings of a review are told in parts, and after it as the words a person sees.
                let place = self.turns.place(turn_id);
                let last = self.turns.get(place).and_then(|turn| turn.entries.last_mut());
                if let Some(ItemBody::ReviewEnded { review }) = last.map(|last| &mut last.item.body)
                    && text.starts_with(review.as_str())
                {
                    review.clone_from(&text);
                }
                let body = ItemBody::AgentMessage(AgentMessage { text, phase });
                self.turns.push(turn_id, Item { id, body }, source);
            }
            "user" => {
                let text = response.content.join("\n");
                if let Some(mut command) = injected::own_command(&text) {
                    command.cwd.clone_from(&self.cwd);
                    command.outcome = match command.exit_code {
                        Some(0) => Outcome::Succeeded,
                        _ => Outcome::Failed,
                    };
                    self.turns.push(
                        turn_id,
                        Item { id, body: ItemBody::Command(command) },
                        Source::Told,
                    );
                } else if !is_put && !injected::is_injected(&text) {
                    let message = UserMessage { text, ..UserMessage::default() };
                    self.turns.person_spoke(turn_id);
                    let item = Item { id, body: ItemBody::UserMessage(message) };
                    self.turns.push(turn_id, item, Source::Model);
                }
            }
            _ => {}
        }
    }

    fn event(&mut self, payload: &RawValue) {
        let event: Event = read(payload);
        let turn_id = event.turn_id.as_ref();
        match event.kind.as_str() {
            "task_started" | "turn_started" => self.turns.begin(event.turn_id),
            "task_complete" | "turn_complete" => {
                let end = match event.is_unanswered {
                    true => TurnEnd::Unanswered,
                    false => TurnEnd::Completed,
                };
                self.turns.end(event.turn_id, end);
            }
            "turn_aborted" => self.turns.end(event.turn_id, TurnEnd::Interrupted),
            "user_message" => self.user_message(&event),
            "agent_message" => {
                self.marked_words = Some(event.message);
                if let Some(last) = self.turns.last().and_then(|turn| turn.entries.last_mut())
                    && let ItemBody::AgentMessage(message) = &last.item.body
                    && self.marked_words.as_ref() == Some(&message.text)
                {
                    last.source = Source::Told;
                }
            }
            "item_completed" => {
                if let Some(json) = &event.item {
                    self.told(turn_id, recorded::item(json));
                }
            }
            "thread_rolled_back" => {
                self.turns.roll_back(event.num_turns.unwrap_or(0));
                let left = self.turns.len();
                self.calls.retain(|(place, _)| *place < left);
                self.background.retain(|_, (place, _)| *place < left);
            }
            _ => {
                if let Some(item) = recorded::event(&read::<Recorded>(payload)) {
                    self.told(turn_id, item);
                }
            }
        }
    }

    /// A finished item. It replaces what was put together for the same call.
    fn told(&mut self, turn_id: Option<&TurnId>, item: Item) {
        if matches!(item.body, ItemBody::ReviewBegan { .. }) && turn_id.is_none() {
            self.turns.begin_untold();
        }
        let place = self.turns.place(turn_id);
        let Some(turn) = self.turns.get(place) else { return };
        turn.is_review |= matches!(item.body, ItemBody::ReviewBegan { .. });
        let is_compaction = item.body == ItemBody::Compaction;
        turn.entries.retain(|entry| {
            let same_call = entry.item.is_tool() && entry.item.id == item.id;
            let same_compaction = is_compaction && entry.item.body == ItemBody::Compaction;
            entry.source == Source::Told || !(same_call || same_compaction)
        });
        turn.entries.push(Entry { item, source: Source::Told });
    }

    /// What a person said, behind the line with what went to the model of it.
    fn user_message(&mut self, event: &Event) {
        self.marks_people = true;
        let image = |url: &String| Attachment::Image {
            url: Some(url.clone()).filter(|url| !url.starts_with("data:")),
        };
        let file = |path: &String| Attachment::File { path: path.clone() };
        let images = event.images.iter().map(image);
        let attachments = images.chain(event.local_images.iter().map(file)).collect();
        let input = event.client_id.as_deref().map(InputId::from);
        let place = self.turns.place(event.turn_id.as_ref());
        let Some(turn) = self.turns.get(place) else { return };
        if let Some(last) = turn.entries.last_mut()
            && let ItemBody::UserMessage(message) = &mut last.item.body
        {
            if last.source == Source::Model {
                // The parts that the model got are joined there; here they are not separated.
                if message.text.replace('\n', "") != event.message.replace('\n', "") {
                    message.text.clone_from(&event.message);
                }
                message.attachments = attachments;
                message.input = input;
                last.source = Source::Told;
                return;
            }
            // A review marks its instructions twice.
            if turn.is_review && message.text == event.message {
                return;
            }
        }
        let message = UserMessage {
            text: event.message.clone(),
            attachments,
            input,
            ..UserMessage::default()
        };
        let item = Item { id: "".into(), body: ItemBody::UserMessage(message) };
        turn.entries.push(Entry { item, source: Source::Told });
    }

    /// The summary came as the model's words before this line, and a person never saw it.
    fn compacted(&mut self) {
        let place = self.turns.place(None);
        let Some(turn) = self.turns.get(place) else { return };
        let is_summary = |entry: &mut Entry| {
            entry.source == Source::Model && matches!(entry.item.body, ItemBody::AgentMessage(_))
        };
        turn.entries.pop_if(is_summary);
        let item = Item { id: "".into(), body: ItemBody::Compaction };
        turn.entries.push(Entry { item, source: Source::Model });
    }

    fn output(&mut self, response: &Response) {
        let Some((turn, call)) = self.take_call(&response.call_id) else { return };
        let text = response.output.as_ref().map(live::output_text).unwrap_or_default();
        match call.answered(&text) {
            Outcomes::Nothing => {}
            Outcomes::Item(item) => self.joined(turn, item),
            Outcomes::Background(item, session) => {
                self.background.insert(session, (turn, call.id().to_owned()));
                self.joined(turn, item);
            }
            Outcomes::News { session, report } => self.news(&session, report),
        }
    }

    /// A call put together with its output counts only if no line tells its end.
    fn joined(&mut self, place: usize, item: Item) {
        let Some(turn) = self.turns.get(place) else { return };
        let told = turn.entries.iter().any(|entry| {
            entry.source == Source::Told && entry.item.id == item.id && entry.item.is_tool()
        });
        if !told {
            turn.entries.push(Entry { item, source: Source::Model });
        }
    }

    /// The live stream tells a command when it ends, so its place moves to there.
    fn news(&mut self, session: &str, report: super::exec::Report) {
        let Some((turn, id)) = self.background.remove(session) else { return };
        let Some(entries) = self.turns.get(turn).map(|turn| &mut turn.entries) else { return };
        let is_it = |entry: &Entry| {
            entry.item.id.as_str() == id && entry.source == Source::Model && entry.item.is_tool()
        };
        let Some(index) = entries.iter().position(is_it) else { return };
        let mut entry = entries.remove(index);
        if let ItemBody::Command(command) = &mut entry.item.body
            && let Some(session) = calls::apply(command, report)
        {
            self.background.insert(session, (turn, id));
        }
        entries.push(entry);
    }

    fn take_call(&mut self, id: &str) -> Option<(usize, Call)> {
        let index = self.calls.iter().position(|(_, call)| call.id() == id)?;
        Some(self.calls.remove(index))
    }

    fn unanswered(&mut self, place: usize, call: &Call) {
        if self.turns.is_over(place)
            && let Some(item) = call.unanswered()
        {
            self.joined(place, item);
        }
    }

    fn web_search(&mut self, response: &Response, turn_id: Option<&TurnId>) {
        if self.ends_with(turn_id, |body| matches!(body, ItemBody::WebSearch { .. })) {
            return;
        }
        let action = response.action.as_ref().map(|action| WebSearchAction {
            query: action.query.clone(),
            queries: action.queries.clone(),
            url: action.url.clone(),
            pattern: action.pattern.clone(),
            ..WebSearchAction::default()
        });
        let body = live::web_search(&WebSearch { query: String::new(), action });
        self.turns.push(turn_id, Item { id: response.id.as_str().into(), body }, Source::Told);
    }

    fn image(&mut self, response: &Response, turn_id: Option<&TurnId>) {
        if self.ends_with(turn_id, |body| matches!(body, ItemBody::ImageGeneration { .. })) {
            return;
        }
        let body = ItemBody::ImageGeneration {
            prompt: response.revised_prompt.clone(),
            saved_path: None,
            status: response.status.clone(),
        };
        let item = Item { id: response.id.as_str().into(), body };
        self.turns.push(turn_id, item, Source::Told);
    }

    fn ends_with(&mut self, id: Option<&TurnId>, is_it: impl Fn(&ItemBody) -> bool) -> bool {
        let place = self.turns.place(id);
        self.turns.get(place).is_some_and(|turn| turn.ends_with(is_it))
    }
}

/// What cannot be read is as good as empty: its line was JSON, and says nothing we use.
pub(super) fn read<'a, T: serde::Deserialize<'a> + Default>(payload: &'a RawValue) -> T {
    lenient::message(payload).unwrap_or_default()
}
