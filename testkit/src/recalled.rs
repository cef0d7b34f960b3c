//! What a program that writes all updates down remembers of a thread.

use std::time::Duration;

use ostler_codex::thread::{Agent, Recalled, RecalledAgent, RecalledTurn, ThreadUpdate, Told};
use ostler_model::thread::Update;
use ostler_model::{FailureClass, TurnId};

use crate::driven::DrivenThread;

impl DrivenThread {
    /// The thread as its updates so far show it. The inputs are for the test to add: only whoever sent them has them.
    pub fn recalled(&self) -> Recalled {
        let told = Story::of(&self.seen, None);
        let mut agents: Vec<Agent> = Vec::new();
        for agent in self.seen.iter().filter_map(|told| told.agent.clone()) {
            if !agents.contains(&agent) {
                agents.push(agent);
            }
        }
        let agents = agents.into_iter().filter_map(|agent| {
            let turn = Story::of(&self.seen, Some(&agent)).turn?;
            Some(RecalledAgent { agent, turn })
        });
        Recalled {
            turn: told.turn,
            last_turn: told.last_turn,
            has_turns: told.has_turns,
            thread_usage: told.thread_usage,
            agents: agents.collect(),
            ..Recalled::default()
        }
    }
}

#[derive(Default)]
struct Story {
    turn: Option<RecalledTurn>,
    last_turn: Option<TurnId>,
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
                self.turn = None;
                self.last_turn = Some(result.turn.clone());
            }
            update => {
                if let Some(turn) = &mut self.turn {
                    turn.told.push(update.clone());
                }
            }
        }
    }
}
