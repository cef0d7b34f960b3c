//! Steps of a turn that ended while nobody listened, from Codex's own file of the thread.
//!
//! Up to 0.142.5 the list of turns has messages alone; the file has commands and file changes, too, under the ids of the
//! live stream. From 0.166.0 on the list has them, and in the moments after a turn's end the file may have more.

use std::path::PathBuf;

use ostler_model::item::ItemEnd;
use ostler_model::thread::{SaidEnd, SeenTurn, View};
use ostler_model::{Item, ItemBody, TurnId};

use crate::protocol::CodexVersion;
use crate::protocol::versions::R0_166_0;
use crate::rollout::{self, TurnEnd};

/// Adds them to the turns that these ids name.
pub(super) async fn add_recorded(
    view: &mut View,
    file: Option<&str>,
    turns: &[TurnId],
    version: &CodexVersion,
) {
    let Some(file) = file.filter(|_| !turns.is_empty()).map(PathBuf::from) else { return };
    let read = tokio::task::spawn_blocking(move || rollout::read(&file)).await;
    let recorded = match read {
        Ok(Ok(recorded)) => recorded.turns,
        // Without the file we know what Codex says, and that is all there is.
        Ok(Err(error)) => return tracing::warn!(%error, "a rollout could not be read"),
        Err(error) => return tracing::warn!(%error, "a rollout could not be read"),
    };
    for turn in recorded.into_iter().filter(|turn| turns.contains(&turn.id)) {
        if let Some(seen) = view.turns.iter_mut().find(|seen| seen.id == turn.id) {
            let is_new = version.is_at_least(R0_166_0);
            if turn.end == TurnEnd::Unanswered && !is_new && seen.end == Some(SaidEnd::Completed) {
                // Codex lists one that failed as completed. Of the few that are none of these more is done than was needed.
                seen.end = Some(SaidEnd::Failed(None));
            }
            let over = turn.items.into_iter().filter(|(_, how)| *how == ItemEnd::Reported);
            join(seen, over.map(|(item, _)| item).collect(), is_new);
        }
    }
}

/// Where both have ids of their own, what the file has counts, in its order; else it only adds.
fn join(seen: &mut SeenTurn, recorded: Vec<Item>, has_common_ids: bool) {
    let recorded = recorded.into_iter().filter(is_step);
    if has_common_ids {
        let listed: Vec<_> = seen.items.iter().map(|item| item.id.clone()).collect();
        // What is not listed yet came last.
        seen.items.extend(recorded.filter(|item| !listed.contains(&item.id)));
        return;
    }
    let recorded: Vec<Item> = recorded.collect();
    let is_recorded = |item: &Item| {
        recorded.iter().any(|known| {
            known.body == item.body || text(known).is_some_and(|it| text(item) == Some(it))
        })
    };
    let unknown: Vec<Item> = seen.items.iter().filter(|item| !is_recorded(item)).cloned().collect();
    seen.items = recorded;
    seen.items.extend(unknown);
}

/// Reasoning has no certain id, and what a person said is told otherwise.
fn is_step(item: &Item) -> bool {
    item.is_tool() || matches!(item.body, ItemBody::AgentMessage(_))
}

fn text(item: &Item) -> Option<&str> {
    match &item.body {
        ItemBody::AgentMessage(message) => Some(&message.text),
        _ => None,
    }
}
