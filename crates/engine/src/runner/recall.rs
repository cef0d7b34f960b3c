//! What our log knows of a thread, for whoever drives it again.

use std::collections::HashMap;
use std::time::Duration;

use ostler_codex::thread::{Agent, Recalled, RecalledAgent, RecalledInput};
use ostler_model::input::{Content, Part};
use ostler_model::item::ItemEnd;
use ostler_model::task::{self, Intent, IntentState, Wish};
use ostler_model::thread::{AskEnd, IfBusy, InputState, RecalledPast, RecalledTurn, Update};
use ostler_model::usage::Tokens;
use ostler_model::{Event, FailureClass, Input, InputId, Interrupter, ItemBody, Task, TurnId};
use ostler_store::{Store, StoreError};

use super::model_choice::choose_again;
use super::waited::Waited;
use crate::shared::now;
use crate::translate;

/// Events that are read at once.
const PAGE: usize = 512;

/// Turns that are over and are kept in mind; the machine keeps as many.
const PAST_TURNS: usize = 64;

/// The thread of a task as its log has it, with the inputs that may have been sent.
pub(super) async fn recall(
    store: &Store,
    task: &Task,
    inputs: &[Intent],
    interrupted_by: Option<Interrupter>,
) -> Result<Recalled, StoreError> {
    let turns = store.turns(&task.id).await?;
    let mut story = Story::default();
    // A thread at rest with nothing in doubt has nothing to look for, but what Codex did for a goal.
    if task.turn.is_some() || !inputs.is_empty() || task.goal.is_some() {
        let intents = store.intents(&task.id).await?;
        story.words = intents.iter().filter_map(words).collect();
        let mut after = 0;
        loop {
            let page = store.events(&task.id, after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after = last.seq;
            page.into_iter().for_each(|logged| story.take(logged.at, logged.event));
        }
    }
    let mut ended = turns.iter().filter_map(|row| row.result.as_deref());
    let has_turns = ended.clone().any(|result| {
        !result.failure().is_some_and(|failure| failure.class == FailureClass::ServerGone)
    });
    let last = ended.next_back();
    let now = now();
    let elapsed_ms = turns.last().map_or(0, |row| now.saturating_sub(row.began_at));
    let elapsed = millis(elapsed_ms);
    let worked = millis(elapsed_ms.saturating_sub(story.waited.so_far(now)));
    let turn = story.turn.take().filter(|turn| task.turn.as_ref() == Some(&turn.id));
    let turn = turn.map(|turn| RecalledTurn { elapsed, worked, ..turn });
    let first = inputs.first().map(|intent| match &intent.state {
        IntentState::Sent { after } => after.clone(),
        _ => None,
    });
    let handed_over = inputs.iter().filter_map(|intent| match &intent.wish {
        Wish::Send { input, if_busy } => {
            let mut content = translate::turn_input(input).ok()?;
            if matches!(input.content, Content::Message(_)) {
                choose_again(task, input, &intent.by).put_into(&mut content);
            }
            Some(RecalledInput {
                id: InputId::new(intent.id.as_str()),
                content,
                if_busy: if if_busy.is_steer() { IfBusy::Steer } else { IfBusy::Queue },
                state: InputState::MaybeSent,
            })
        }
        _ => None,
    });
    Ok(Recalled {
        inputs: handed_over.collect(),
        after: first.unwrap_or_else(|| last.map(|result| result.turn.clone())),
        past: story.past.into(),
        has_turns,
        goal: task.goal.clone(),
        thread_usage: story.usage.or(last.map(|result| result.usage.thread)),
        interrupted_by: interrupted_by.filter(|_| turn.is_some()),
        turn,
        agents: story
            .agents
            .into_iter()
            .map(|(agent, turn)| RecalledAgent { agent, turn })
            .collect(),
    })
}

/// The log, read from its beginning.
#[derive(Default)]
struct Story {
    turn: Option<RecalledTurn>,
    past: std::collections::VecDeque<RecalledPast>,
    usage: Option<Tokens>,
    agents: Vec<(Agent, RecalledTurn)>,
    /// What was said in each input.
    words: HashMap<String, String>,
    waited: Waited,
}

impl Story {
    fn take(&mut self, at: i64, event: Event) {
        self.waited.take(at, &event);
        match event {
            Event::Thread { agent: None, update } => self.update(*update),
            Event::Thread { agent: Some(agent), update } => self.agent(agent, *update),
            Event::AskOpened { agent: None, ask, content, .. } => {
                self.tell(Update::AskOpened { ask, content });
            }
            Event::AskDecided { ask, decision } => {
                let how =
                    AskEnd::Decided { decision: decision.decision, by: decision.by.describe() };
                self.tell(Update::AskClosed { ask, how });
            }
            _ => {}
        }
    }

    fn tell(&mut self, update: Update) {
        if let Some(turn) = &mut self.turn {
            turn.told.push(update);
        }
    }

    fn update(&mut self, update: Update) {
        match update {
            Update::TurnBegan { turn } => self.turn = Some(RecalledTurn::new(turn)),
            Update::TurnEnded { result } => self.ended(&result.turn),
            update => {
                if let Update::Usage { usage, .. } = &update {
                    self.usage = Some(usage.thread);
                }
                if let (Update::InputTaken { input, .. }, Some(turn)) = (&update, &mut self.turn) {
                    turn.inputs.extend(self.words.get(input.as_str()).cloned());
                }
                self.tell(update);
            }
        }
    }

    fn ended(&mut self, id: &TurnId) {
        let turn = self.turn.take().filter(|turn| turn.id == *id);
        let turn = turn.unwrap_or_else(|| RecalledTurn::new(id.clone()));
        let messages = turn.told.iter().filter_map(user_message).collect();
        if self.past.len() == PAST_TURNS {
            self.past.pop_front();
        }
        self.past.push_back(RecalledPast { id: turn.id, messages, inputs: turn.inputs });
    }

    fn agent(&mut self, agent: task::Agent, update: Update) {
        let at = self.agents.iter().position(|(known, _)| known.thread == agent.thread);
        match (update, at) {
            (Update::TurnBegan { turn }, at) => {
                at.map(|at| self.agents.remove(at));
                let agent = Agent { thread: agent.thread, name: agent.name, role: agent.role };
                self.agents.push((agent, RecalledTurn::new(turn)));
            }
            (Update::TurnEnded { .. }, Some(at)) => drop(self.agents.remove(at)),
            (update, Some(at)) => {
                if let Some((_, turn)) = self.agents.get_mut(at) {
                    turn.told.push(update);
                }
            }
            (_, None) => {}
        }
    }
}

fn millis(millis: i64) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

/// The words by which an input is known again where Codex keeps no ids of ours.
fn words(intent: &Intent) -> Option<(String, String)> {
    Some((intent.id.to_string(), texts(intent)?.join("\n")))
}

/// The texts of a message; none of what is no message.
pub(super) fn texts(intent: &Intent) -> Option<Vec<&str>> {
    let Wish::Send { input: Input { content: Content::Message(parts), .. }, .. } = &intent.wish
    else {
        return None;
    };
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        _ => None,
    });
    Some(texts.collect())
}

fn user_message(update: &Update) -> Option<String> {
    match update {
        Update::ItemEnded { item, how: ItemEnd::Reported, .. } => match &item.body {
            ItemBody::UserMessage(message) => Some(message.text.clone()),
            _ => None,
        },
        _ => None,
    }
}
