//! What a program that writes all updates down remembers of a thread.

use std::time::Duration;

use ostler_codex::thread::{
    Agent, Recalled, RecalledAgent, RecalledPast, RecalledTurn, ThreadUpdate, Told,
};
use ostler_model::item::ItemEnd;
use ostler_model::thread::Update;
use ostler_model::{FailureClass, ItemBody};

/// A thread as its updates so far show it. Inputs that were handed over after all of them are for the test to add.
pub fn recalled(seen: &[ThreadUpdate]) -> Recalled {
    let told = Story::of(seen, None);
    let mut agents: Vec<Agent> = Vec::new();
    for agent in seen.iter().filter_map(|told| told.agent.clone()) {
        if !agents.contains(&agent) {
            agents.push(agent);
        }
    }
    let agents = agents.into_iter().filter_map(|agent| {
        let turn = Story::of(seen, Some(&agent)).turn?;
        Some(RecalledAgent { agent, turn })
    });
    Recalled {
        turn: told.turn,
        after: told.past.last().map(|past| past.id.clone()),
        past: told.past,
        has_turns: told.has_turns,
        thread_usage: told.thread_usage,
        agents: agents.collect(),
        ..Recalled::default()
    }
}

#[derive(Default)]
struct Story {
    turn: Option<RecalledTurn>,
    past: Vec<RecalledPast>,
    has_turns: bool,
    thread_usage: Option<ostler_model::usage::Tokens>,
}

impl Story {
    fn of(seen: &[ThreadUpdate], agent: Option<&Agent>) -> Self {
        let mut story = Self::default();
        for told in seen.iter().filter(|told| told.agent.as_ref() == agent) {
            if let Told::Update(update) = &told.what {
                story.take(update);
            }
        }
        story
    }

    fn take(&mut self, update: &Update) {
        if let Update::Usage { usage, .. } = update {
            self.thread_usage = Some(usage.thread);
        }
        match update {
            Update::TurnBegan { turn } => {
                let elapsed = Duration::from_secs(1);
                self.turn = Some(RecalledTurn { elapsed, ..RecalledTurn::new(turn.clone()) });
            }
            Update::TurnEnded { result } => {
                let died = result.failure().is_some_and(|it| it.class == FailureClass::ServerGone);
                self.has_turns |= !died;
                let told = self.turn.take().map(|turn| turn.told).unwrap_or_default();
                let messages: Vec<String> = told.iter().filter_map(user_message).collect();
                let inputs = Vec::new();
                self.past.push(RecalledPast { id: result.turn.clone(), messages, inputs });
            }
            update => {
                if let Some(turn) = &mut self.turn {
                    turn.told.push(update.clone());
                }
            }
        }
    }
}

fn user_message(update: &Update) -> Option<String> {
    let Update::ItemEnded { item, how: ItemEnd::Reported, .. } = update else { return None };
    match &item.body {
        ItemBody::UserMessage(message) => Some(message.text.clone()),
        _ => None,
    }
}
