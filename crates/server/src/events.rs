//! Streams over HTTP: one task, all tasks, and which tasks change.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderName};
use axum::response::Response;
use futures_util::{Stream, StreamExt, stream};
use serde::Deserialize;
use tokio::sync::broadcast::error::RecvError;

use crate::api::{Change, Viewer};
use crate::ndjson::ndjson;
use crate::problem::{Problem, Trouble};
use crate::stream::{Frame, GoesOn, Manner, Told, Wanted, all_logs, answer};
use crate::tasks::Office;
use crate::{Caller, ids};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct EventsQuery {
    /// The seq after which to begin.
    after: u64,
    /// Go on when the end is reached. Server-sent events always do.
    follow: bool,
    /// Codex's own lines, too, as they come; none of them is kept.
    wire: bool,
    /// What the board is told, too: a browser has few connections for all its tabs, and each shall need but one.
    board: bool,
}

pub(crate) async fn follow(
    State(office): State<Arc<Office>>,
    caller: Caller,
    headers: HeaderMap,
    Path(task): Path<String>,
    Query(query): Query<EventsQuery>,
) -> Result<Response, Problem> {
    let task = ids::task(office.engine.store(), &task).await?.id;
    let manner = Manner::wanted(&headers);
    let (presence, goes_on) = match manner {
        Manner::Events => (Some(office.viewers.come(&task, viewer(&caller))), GoesOn::Yes),
        Manner::Lines if query.follow => (None, GoesOn::Yes),
        Manner::Lines => (None, GoesOn::No),
    };
    // What a browser sends by itself when it comes back is newer than the address that it was given.
    let after = last_event(&headers)?.unwrap_or(query.after);
    let wanted = Wanted { after, wire: query.wire, presence, goes_on };
    let frames = Told::begin(&office.engine, &office.relays, &task, wanted).await?;
    let closing = office.hall.closing().clone();
    if manner == Manner::Lines || !query.board {
        return Ok(answer(frames, manner, closing));
    }
    let board = office.board.look(&office.engine).await?;
    let board = together(board, office.viewers.everywhere()).map(|frame| frame.within("board"));
    Ok(answer(together(frames, board), manner, closing))
}

/// Two streams as one, by turns. It ends when either does, so that whoever reads it comes again for both.
fn together(
    one: impl Stream<Item = Frame>,
    other: impl Stream<Item = Frame>,
) -> impl Stream<Item = Frame> {
    let to_its_end = stream::iter([None]);
    let one = one.map(Some).chain(to_its_end.clone());
    let both = stream::select(one, other.map(Some).chain(to_its_end));
    both.take_while(|frame| std::future::ready(frame.is_some())).filter_map(std::future::ready)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct BoardQuery {
    /// The logs of all tasks, too, from behind this place.
    after: Option<u64>,
}

/// All tasks at once.
pub(crate) async fn board(
    State(office): State<Arc<Office>>,
    caller: Caller,
    headers: HeaderMap,
    Query(query): Query<BoardQuery>,
) -> Result<Response, Problem> {
    let (manner, closing) = (Manner::wanted(&headers), office.hall.closing().clone());
    let board = office.board.look(&office.engine).await?;
    // Only whoever has asked for events has the number of one.
    let logs = match last_event(&headers)?.or(query.after) {
        Some(after) => all_logs(&office.engine, after).await?.left_stream(),
        None => stream::pending().right_stream(),
    };
    // How things stand is ready, and comes first.
    let frames = together(board, logs);
    if manner == Manner::Lines {
        return Ok(answer(frames, manner, closing));
    }
    let presence = office.viewers.come_to_board(viewer(&caller));
    let frames = together(frames, office.viewers.everywhere());
    // It looks for as long as the stream is there.
    let frames = frames.map(move |frame| {
        let _ = &presence;
        frame
    });
    Ok(answer(frames, manner, closing))
}

fn viewer(caller: &Caller) -> Viewer {
    Viewer { name: caller.name(), surface: caller.surface().to_owned() }
}

fn last_event(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(value) = headers.get(LAST_EVENT_ID).filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let seq = value.to_str().ok().and_then(|text| text.trim().parse().ok());
    match seq {
        Some(seq) => Ok(Some(seq)),
        None => Err(Problem::new(Trouble::BadRequest, "Last-Event-ID is no number of an event")
            .hint("send the `id` of the last frame that was seen, or leave it out")),
    }
}

/// Which tasks change, for lists that are kept fresh.
pub(crate) async fn changes(State(office): State<Arc<Office>>) -> Response {
    let changes = office.engine.watch_all();
    let lines = stream::unfold(changes, |mut changes| async {
        let change = match changes.recv().await {
            Ok(changed) => Change::Task { task: changed.task, state: changed.state },
            // What was missed is found by reading the list again.
            Err(RecvError::Lagged(_)) => Change::Many,
            Err(RecvError::Closed) => return None,
        };
        Some((change, changes))
    });
    ndjson(lines, office.hall.closing().clone())
}
