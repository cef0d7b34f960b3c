//! Inputs that the model of a thread knows, and no list of turns has: see [`crate::rollout::unheard`].

use std::path::PathBuf;

use ostler_model::InputId;
use ostler_model::thread::{SaidEnd, SeenInput, SeenTurn, View};

use crate::rollout::{Unheard, unheard};

/// Puts them into what Codex says of the thread. They are known by their words, which are those of the inputs in question.
pub(super) async fn add_unheard(
    view: &mut View,
    file: Option<String>,
    names: &[(InputId, String)],
) {
    let Some(file) = file.map(PathBuf::from) else { return };
    let found = match tokio::task::spawn_blocking(move || unheard(&file)).await {
        Ok(Ok(found)) => found,
        // Without the file we know what Codex says, and that is all there is.
        Ok(Err(error)) => return tracing::warn!(%error, "a rollout could not be read"),
        Err(error) => return tracing::warn!(%error, "a rollout could not be read"),
    };
    let mut names = names.to_vec();
    for prompt in found {
        let at = names.iter().position(|(_, text)| *text == prompt.text);
        add(view, prompt, at.map(|at| names.remove(at).0));
    }
}

fn add(view: &mut View, prompt: Unheard, input: Option<InputId>) {
    let Some(turn) = prompt.turn else { return };
    let input = SeenInput { input, text: prompt.text };
    match view.turns.iter_mut().find(|seen| seen.id == turn) {
        Some(seen) if seen.inputs.contains(&input) => {}
        Some(seen) => seen.inputs.push(input),
        None if view.state.is_active() => {}
        None => view.turns.push(SeenTurn {
            id: turn,
            end: Some(SaidEnd::Interrupted),
            inputs: vec![input],
            items: Vec::new(),
        }),
    }
}
