//! What is to be written next, gathered until it is worth a commit.
//!
//! What could not be written waits here, whole and in order. Past a bound the runner stops listening: Codex then waits
//! with the rest, and nothing is dropped.

use std::collections::{HashMap, HashSet, VecDeque};

use ostler_model::task::Partial;
use ostler_model::thread::DeltaKind;
use ostler_model::{Event, ItemId, TaskId, TurnId};
use ostler_store::{Batch, Write};

/// Text waits for company up to this size.
const CHUNK: usize = 64 * 1024;

/// What may wait in memory while nothing can be written. A turn of an hour's work has about as much.
const MOST_SPOOLED: usize = 32 * 1024 * 1024;

/// What a write takes beside its text.
const LEAST: usize = 256;

/// Writes of one task, in order.
#[derive(Debug)]
pub(crate) struct Log {
    task: TaskId,
    writes: Vec<Write>,
    grown: VecDeque<Partial>,
    /// How much text has grown.
    text: usize,
    /// Items that have not ended, and what there is of their text.
    begun: HashMap<ItemId, Begun>,
    /// Where the task itself is among the writes. Once per commit is enough, as it is in the end.
    own_row: Option<usize>,
    /// How much memory all this takes, while nothing can be written.
    spooled: Option<usize>,
    /// After a time in which nobody listened: the items whose text is known from its beginning, or was marked as broken.
    sure: Option<HashSet<ItemId>>,
}

/// An item whose text grows.
#[derive(Debug)]
struct Begun {
    turn: TurnId,
    /// Pieces are written, or will be with what was taken last.
    is_in_pieces: bool,
    /// How long each of its texts is. Most items have one, so a list it is.
    lengths: Vec<(DeltaKind, u64)>,
}

impl Log {
    /// With the pieces that an earlier run has left.
    pub(crate) fn new(task: TaskId, pieces: &[Partial]) -> Self {
        let mut begun: HashMap<ItemId, Begun> = HashMap::new();
        for piece in pieces {
            let item = begun.entry(piece.item.clone()).or_insert_with(|| Begun::of(piece));
            item.is_in_pieces = true;
            item.grow(piece);
        }
        Self {
            task,
            writes: Vec::new(),
            grown: VecDeque::new(),
            text: 0,
            begun,
            own_row: None,
            spooled: None,
            sure: None,
        }
    }

    /// From now on pieces of text may be lost.
    pub(crate) fn broke_off(&mut self) {
        self.sure = Some(HashSet::new());
    }

    pub(crate) fn item_began(&mut self, item: &ItemId) {
        if let Some(sure) = &mut self.sure {
            sure.insert(item.clone());
        }
    }

    /// Whether something of this item's text may be missing before the piece that comes now. True once.
    pub(crate) fn is_behind_gap(&mut self, item: &ItemId) -> bool {
        self.sure.as_mut().is_some_and(|sure| sure.insert(item.clone()))
    }

    pub(crate) fn push(&mut self, write: Write) {
        if let Some(spooled) = &mut self.spooled {
            *spooled = spooled.saturating_add(weight(&write));
        }
        if let Write::Task(task) = &write
            && task.id == self.task
        {
            let before = self.own_row.and_then(|place| self.writes.get_mut(place));
            if let Some(before) = before {
                *before = write;
                return;
            }
            self.own_row = Some(self.writes.len());
        }
        self.writes.push(write);
    }

    pub(crate) fn event(&mut self, at: i64, event: Event) {
        self.push(Write::Event { task: self.task.clone(), at, event: Box::new(event) });
    }

    /// Text that has grown. Pieces of the same item become one. Gives where in its text the piece begins.
    pub(crate) fn grown(&mut self, partial: &Partial) -> u64 {
        self.text += partial.text.len();
        match self.grown.back_mut().filter(|last| is_same(last, partial)) {
            Some(last) => last.text.push_str(&partial.text),
            None => self.grown.push_back(partial.clone()),
        }
        match self.begun.get_mut(&partial.item) {
            Some(begun) => begun.grow(partial),
            None => {
                let begun = self.begun.entry(partial.item.clone());
                begun.or_insert_with(|| Begun::of(partial)).grow(partial)
            }
        }
    }

    /// What ended needs its pieces no more.
    pub(crate) fn ended(&mut self, turn: &TurnId, item: &ItemId) {
        self.grown.retain(|grown| grown.item != *item);
        if self.begun.remove(item).is_some_and(|begun| begun.is_in_pieces) {
            let (task, turn, item) = (self.task.clone(), turn.clone(), item.clone());
            self.push(Write::PartialsGone { task, turn, item });
        }
    }

    /// Nor does what is left of a turn.
    pub(crate) fn turn_ended(&mut self, turn: &TurnId) {
        self.grown.retain(|grown| grown.turn != *turn);
        self.begun.retain(|_, begun| begun.turn != *turn);
        self.sure = None;
        self.push(Write::TurnPartialsGone { task: self.task.clone(), turn: turn.clone() });
    }

    /// Whether it is better to write now than to wait for more.
    pub(crate) fn is_worth_writing(&self) -> bool {
        !self.writes.is_empty() || self.text >= CHUNK
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.grown.is_empty()
    }

    /// Only text that grows: no event, nothing that something follows from.
    pub(crate) fn only_streams(&self) -> bool {
        self.writes.is_empty()
    }

    /// Nothing can be written, and no more may wait.
    pub(crate) fn is_full(&self) -> bool {
        self.spooled.is_some_and(|spooled| spooled.saturating_add(self.text) >= MOST_SPOOLED)
    }

    /// All of it, as one batch.
    pub(crate) fn take(&mut self) -> Batch {
        let mut writes = std::mem::take(&mut self.writes);
        self.own_row = None;
        for partial in std::mem::take(&mut self.grown) {
            if let Some(begun) = self.begun.get_mut(&partial.item) {
                begun.is_in_pieces = true;
            }
            writes.push(Write::Partial { task: self.task.clone(), partial });
        }
        self.text = 0;
        self.spooled = None;
        Batch::from(writes)
    }

    /// Puts back what could not be written, before what has come since.
    pub(crate) fn put_back(&mut self, batch: Batch) {
        let since = std::mem::replace(&mut self.writes, batch.0);
        self.own_row = None;
        self.writes.extend(since);
        let weights = self.writes.iter().map(weight);
        self.spooled = Some(weights.fold(0, usize::saturating_add));
    }
}

impl Begun {
    fn of(piece: &Partial) -> Self {
        Self { turn: piece.turn.clone(), is_in_pieces: false, lengths: Vec::new() }
    }

    /// Gives where the piece begins.
    fn grow(&mut self, piece: &Partial) -> u64 {
        let more = piece.text.len() as u64;
        match self.lengths.iter_mut().find(|(kind, _)| *kind == piece.kind) {
            Some((_, length)) => {
                let begins = *length;
                *length += more;
                begins
            }
            None => {
                self.lengths.push((piece.kind, more));
                0
            }
        }
    }
}

fn is_same(last: &Partial, next: &Partial) -> bool {
    last.item == next.item
        && last.kind == next.kind
        && last.turn == next.turn
        && last.agent == next.agent
}

/// Asked only while nothing can be written, so it may take its time: most of a write is the text in it.
fn weight(write: &Write) -> usize {
    let text = match write {
        Write::Event { event, .. } => length(event),
        Write::Item { item, .. } => length(item),
        Write::Messages { messages, .. } => length(messages),
        Write::Task(task) => length(task),
        Write::Notification(notification) => length(notification),
        Write::Partial { partial, .. } => partial.text.len(),
        // The others are names and numbers.
        _ => 0,
    };
    LEAST.saturating_add(text)
}

/// The length of its JSON, without the JSON.
fn length(value: &impl serde::Serialize) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.saturating_add(bytes.len());
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // What cannot be written as JSON is refused later, where that is said.
    drop(serde_json::to_writer(&mut count, value));
    count.0
}

#[cfg(test)]
mod tests {
    use ostler_model::task::Partial;
    use ostler_model::{Event, ItemId, TaskId};
    use ostler_store::{Batch, Write};

    use super::{DeltaKind, Log, MOST_SPOOLED};

    fn notice(text: &str) -> Event {
        Event::Notice { agent: None, name: "warning".to_owned(), json: text.to_owned() }
    }

    fn grown(text: String) -> Partial {
        let (turn, item) = ("t".into(), ItemId::new("i"));
        Partial { agent: None, turn, item, kind: DeltaKind::Message, text }
    }

    fn texts(batch: Batch) -> Vec<String> {
        let text = |write| match write {
            Write::Event { event, .. } => match *event {
                Event::Notice { json, .. } => json,
                other => format!("{other:?}"),
            },
            Write::Partial { partial, .. } => partial.text,
            other => format!("{other:?}"),
        };
        batch.0.into_iter().map(text).collect()
    }

    #[test]
    fn it_is_full_only_while_nothing_can_be_written() {
        let mut log = Log::new(TaskId::new("task"), &[]);
        let long = "x".repeat(MOST_SPOOLED / 2);
        log.event(1, notice(&long));
        log.event(2, notice(&long));
        assert!(!log.is_full());
        let batch = log.take();
        log.put_back(batch);
        assert!(log.is_full());
        log.take();
        assert!(!log.is_full());
    }

    #[test]
    fn what_grows_and_what_happens_while_nothing_can_be_written_fills_it() {
        let mut log = Log::new(TaskId::new("task"), &[]);
        log.event(1, notice("first"));
        let batch = log.take();
        log.put_back(batch);
        log.grown(&grown("y".repeat(MOST_SPOOLED / 2)));
        assert!(!log.is_full());
        log.event(2, notice(&"x".repeat(MOST_SPOOLED / 2)));
        assert!(log.is_full());
    }

    #[test]
    fn each_piece_knows_where_it_begins() {
        let left = [grown("of an earlier run ".to_owned())];
        let mut log = Log::new(TaskId::new("task"), &left);
        let begins: Vec<u64> =
            ["one", "two", ""].map(|text| log.grown(&grown(text.to_owned()))).into();
        assert_eq!(begins, [18, 21, 24]);
        let other = Partial { kind: DeltaKind::Output, ..grown("x".to_owned()) };
        assert_eq!(log.grown(&other), 0);
        // Written or not, the text goes on where it was.
        log.take();
        assert_eq!((log.grown(&grown("three".to_owned())), log.grown(&other)), (24, 1));
        log.ended(&"t".into(), &ItemId::new("i"));
        assert_eq!(log.grown(&grown("another one".to_owned())), 0);
    }

    #[test]
    fn what_could_not_be_written_comes_first_and_nothing_is_dropped() {
        let mut log = Log::new(TaskId::new("task"), &[]);
        log.event(1, notice("first"));
        log.grown(&grown("gr".to_owned()));
        log.grown(&grown("own".to_owned()));
        let batch = log.take();
        log.event(2, notice("second"));
        log.put_back(batch);
        assert_eq!(texts(log.take()), ["first", "grown", "second"]);
    }
}
