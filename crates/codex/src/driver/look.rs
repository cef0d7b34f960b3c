//! Asking Codex how a thread stands.

use std::time::Duration;

use ostler_model::item::Outcome;
use ostler_model::thread::{SaidEnd, SeenInput, SeenState, SeenTurn, View};
use ostler_model::{InputId, Item, ThreadId, TurnId};

use super::hear::turn_end;
use crate::app_server::{AppServer, CallError};
use crate::peer::RequestError;
use crate::protocol::ItemBody;
use crate::protocol::request::thread_history::{
    ItemsView, SortDirection, ThreadRead, ThreadTurnsList,
};
use crate::protocol::thread::ThreadStatus;
use crate::protocol::turn::Turn;
use crate::protocol::words::{ActiveFlag, ThreadState, TurnStatus};
use crate::thread::failure::failure;
use crate::thread::item::{translate, user_message};

/// Codex answers within 40 ms, and within 230 ms while it streams at full speed.
pub(super) const LOOK_DEADLINE: Duration = Duration::from_secs(15);

/// Enough to find an input of ours among turns that others or goals started meanwhile.
const TURNS: u32 = 5;

/// How the thread stands, and its last turns. What Codex cannot tell (a thread without turns, an ephemeral one) is left out.
pub(super) async fn look(server: &AppServer, thread: &ThreadId) -> Result<View, String> {
    Ok(look_with_file(server, thread).await?.0)
}

/// Pages of turns that are read at most to find the last one that is known. Some 200 rounds of a goal.
const MOST_PAGES: usize = 40;

/// Adds older turns to what was seen, until this one is among them. A goal may have had many while nobody listened.
pub(super) async fn look_back(
    server: &AppServer,
    thread: &ThreadId,
    since: &TurnId,
    view: &mut View,
) {
    let mut cursor = None;
    let mut older = Vec::new();
    for _ in 0..MOST_PAGES {
        if view.turns.iter().chain(&older).any(|turn| turn.id == *since) {
            break;
        }
        let list = ThreadTurnsList {
            thread_id: thread.clone(),
            cursor: cursor.clone(),
            limit: Some(TURNS),
            sort_direction: Some(SortDirection::Desc),
            items_view: Some(ItemsView::Full),
        };
        let page = match server.call_within(&list, LOOK_DEADLINE).await {
            Ok(page) => page,
            Err(error) => {
                tracing::warn!(%error, %thread, "older turns of a goal cannot be read");
                break;
            }
        };
        let known = |id: &TurnId| view.turns.iter().any(|turn| turn.id == *id);
        older.extend(page.data.iter().filter_map(seen).filter(|turn| !known(&turn.id)));
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    older.reverse();
    older.append(&mut view.turns);
    view.turns = older;
}

/// The same, and where the thread is written down.
pub(super) async fn look_with_file(
    server: &AppServer,
    thread: &ThreadId,
) -> Result<(View, Option<String>), String> {
    let read = ThreadRead { thread_id: thread.clone(), include_turns: false };
    let answer =
        server.call_within(&read, LOOK_DEADLINE).await.map_err(|error| error.to_string())?;
    let status = answer.thread.status;
    let list = ThreadTurnsList {
        thread_id: thread.clone(),
        cursor: None,
        limit: Some(TURNS),
        sort_direction: Some(SortDirection::Desc),
        items_view: Some(ItemsView::Full),
    };
    let turns = match server.call_within(&list, LOOK_DEADLINE).await {
        Ok(page) => page.data,
        Err(CallError::Request { source: RequestError::Rpc(error), .. }) => {
            tracing::debug!(%error, %thread, "codex does not list the turns");
            Vec::new()
        }
        Err(error) => return Err(error.to_string()),
    };
    let mut turns: Vec<SeenTurn> = turns.iter().rev().filter_map(seen).collect();
    let failed = status.as_ref().is_some_and(|it| it.state == ThreadState::SystemError);
    if let Some(last) = turns.last_mut().filter(|_| failed)
        && last.end == Some(SaidEnd::Completed)
    {
        // Up to 0.142.5 a failed turn stands as completed in the history; only the thread's state tells.
        last.end = Some(SaidEnd::Failed(None));
    }
    Ok((View { state: state(status.as_ref()), turns }, answer.thread.path))
}

fn state(status: Option<&ThreadStatus>) -> SeenState {
    let Some(status) = status else { return SeenState::Unknown };
    let waits = |flag: &ActiveFlag| {
        matches!(flag, ActiveFlag::WaitingOnApproval | ActiveFlag::WaitingOnUserInput)
    };
    match &status.state {
        ThreadState::Active if status.active_flags.iter().any(waits) => SeenState::Waiting,
        ThreadState::Active => SeenState::Active,
        ThreadState::Idle | ThreadState::SystemError => SeenState::Idle,
        ThreadState::NotLoaded => SeenState::NotLoaded,
        ThreadState::Other(_) => SeenState::Unknown,
    }
}

fn seen(turn: &Turn) -> Option<SeenTurn> {
    let end = match &turn.status {
        Some(TurnStatus::InProgress) | None => None,
        Some(_) => Some(turn_end(turn, |error| failure(error, None))),
    };
    let inputs = turn.items().flatten().filter_map(|item| match &item.body {
        ItemBody::UserMessage(message) => {
            let input = message.client_id.clone().map(InputId::new);
            Some(SeenInput { input, text: user_message(message).text })
        }
        _ => None,
    });
    let items = turn.items().flatten().map(|item| translate(&item));
    let items = items.filter(|item| !matches!(item.body, ostler_model::ItemBody::UserMessage(_)));
    Some(SeenTurn {
        id: turn.id.clone()?,
        end,
        inputs: inputs.collect(),
        items: items.filter(|item| !is_running(item)).collect(),
    })
}

fn is_running(item: &Item) -> bool {
    item.clone().outcome_mut().is_some_and(|outcome| *outcome == Outcome::Running)
}
