//! The chat messages of a task. They follow from the items of its turns, so they are made when somebody first wants them, and
//! kept from then on: a turn that nobody reads that way costs nothing for it.

use ostler_codex::projection::{KnownInputs, Projector};
use ostler_model::{Message, TaskId, TurnId};
use ostler_store::{Batch, Store, StoreError, TurnMessages, Write};

/// Items of a turn that are made messages of at a time: a long turn has thousands, with long outputs.
const AT_ONCE: usize = 64;

/// Those of all turns that have ended, in their order.
pub(crate) async fn messages(
    store: &Store,
    task: &TaskId,
) -> Result<Vec<TurnMessages>, StoreError> {
    let mut known = store.messages(task).await?;
    let mut all = Vec::new();
    for row in store.turns(task).await?.into_iter().filter(|row| row.result.is_some()) {
        all.push(match known.iter().position(|it| it.turn == row.turn) {
            Some(at) => known.swap_remove(at),
            None => make(store, task, row.turn).await?,
        });
    }
    Ok(all)
}

/// All parts are written at once: a turn has all of its messages or none.
async fn make(store: &Store, task: &TaskId, turn: TurnId) -> Result<TurnMessages, StoreError> {
    let mut projector = Projector::new(&turn, KnownInputs::default());
    let mut parts: Vec<Vec<Message>> = Vec::new();
    let mut after = 0;
    loop {
        let items = store.items_of_turn(task, &turn, after, AT_ONCE).await?;
        let pushed = items.iter().flat_map(|it| projector.push(&it.item, it.how));
        parts.push(pushed.collect());
        match items.last().filter(|_| items.len() == AT_ONCE) {
            Some(last) => after = last.place,
            None => break,
        }
    }
    parts.push(projector.finish());
    let write = |(part, messages): (u32, &Vec<Message>)| {
        let (task, turn, messages) = (task.clone(), turn.clone(), messages.clone());
        Write::Messages { task, turn, part, messages }
    };
    let writes: Vec<Write> = (0..).zip(&parts).map(write).collect();
    match store.commit(Batch::from(writes)).await {
        // Whoever reads them gets them all the same; they are made again next time.
        Err(error) if error.is_passing() => {
            tracing::warn!(%error, %task, "the messages of a turn could not be kept");
        }
        kept => drop(kept?),
    }
    Ok(TurnMessages { turn, messages: parts.into_iter().flatten().collect() })
}
