//! What people do with a task beside letting it run, so that each thing that can be wanted of one meets the kills.

use ostler_scripted_model::{Answer, Call, Conversation, Plays};
use serde_json::json;

use crate::name;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// What it asks is allowed, and nothing else is wanted.
    Plain,
    /// More is sent to it, for when it is done.
    FollowedUp,
    /// It is told something while it works.
    Steered,
    /// It is stopped before anything is allowed.
    Interrupted,
    /// What it asks is refused.
    Denied,
    /// Its model sets a goal, for which Codex starts a second turn by itself.
    Goal,
}

impl Role {
    pub(crate) fn of(task: u64) -> Self {
        match task % 7 {
            2 => Self::FollowedUp,
            3 => Self::Steered,
            4 => Self::Interrupted,
            5 => Self::Denied,
            6 => Self::Goal,
            _ => Self::Plain,
        }
    }

    /// Whether anybody allows what it asks.
    pub(crate) fn is_allowed(self) -> bool {
        !matches!(self, Self::Interrupted | Self::Denied)
    }

    /// What it is told later. No conversation has these words, so the model goes on with the one it is in.
    pub(crate) fn more(self, task: u64) -> Option<String> {
        match self {
            Self::FollowedUp => Some(format!("then brush {} well", name(task))),
            Self::Steered => Some(format!("mind the hooves of {}", name(task))),
            _ => None,
        }
    }
}

pub(crate) fn prompt(task: u64) -> String {
    format!("harness {} now", name(task))
}

/// The model wants two commands run, each of which leaves a line, and looks what has been done before it asks. One that is
/// refused it wants until it is told so.
pub(crate) fn conversation(task: u64) -> Conversation {
    let name = name(task);
    let step = |number: u32, until: String| {
        let command = format!("sh -c 'echo ran >> {name}.{number}.log; echo did-{name}-{number}'");
        Answer {
            text: Some(format!("Step {number} of {name}.")),
            calls: vec![Call::function("exec_command", json!({ "cmd": command }))],
            plays: Plays::Until(until),
            ..Answer::default()
        }
    };
    let goal = |tool: &str, arguments: serde_json::Value, until: &str| Answer {
        calls: vec![Call::function(tool, arguments)],
        plays: Plays::Until(until.to_owned()),
        ..Answer::default()
    };
    let mut answers = match Role::of(task) {
        Role::Denied => vec![step(1, "rejected by user".to_owned())],
        Role::Goal => {
            let half = format!("Half of {name}.");
            let text = Some(half.clone());
            vec![
                goal("create_goal", json!({ "objective": format!("harness {name}") }), "goal"),
                step(1, format!("did-{name}-1")),
                Answer { text, plays: Plays::Until(half), ..Answer::default() },
                step(2, format!("did-{name}-2")),
                goal("update_goal", json!({ "status": "complete" }), "\"complete\""),
            ]
        }
        _ => (1..=2).map(|number| step(number, format!("did-{name}-{number}"))).collect(),
    };
    answers.push(Answer { text: Some(format!("{name} is ready.")), ..Answer::default() });
    Conversation { prompt: prompt(task), answers }
}
