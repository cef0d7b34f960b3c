//! One conversation that is ours: what is in memory is what is on disk.

use std::collections::BTreeSet;

use ostler_model::message::Role;
use ostler_model::{Failure, FailureClass, Message};
use ostler_store::conversations::{
    Change, ConversationError, Conversations, Hold, NewConversation, NewMessage, NewTurn,
    StoredMessage, TurnEnding, TurnState,
};

use crate::api::{Call, Entry};
use crate::clock::Clock;
use crate::history::{Kept, UNKNOWN_RESULT, own_id, unanswered};
use crate::state::ConversationState;

/// Messages that are read at a time.
const PAGE: usize = 500;

/// Of the first message, as a title.
const TITLE_CHARACTERS: usize = 60;

/// Why something could not be kept. The turn ends with it: nothing goes on that is not on disk.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    #[error(transparent)]
    Store(#[from] ConversationError),
    #[error("message {number} of conversation {conversation} cannot be read: {reason}")]
    Unreadable { conversation: String, number: u64, reason: String },
}

impl KeepError {
    pub(crate) fn into_failure(self) -> Failure {
        let message = format!("the conversation cannot be written down: {self}");
        Failure::new(FailureClass::Unknown { word: Some("store".to_owned()) }, message)
    }
}

pub(crate) struct Conversation {
    id: String,
    cwd: String,
    title: String,
    created_at: i64,
    state: ConversationState,
    kept: Vec<Kept>,
    /// The turn that runs, or the last one.
    turn: u64,
    backing: Backing,
    clock: Clock,
}

enum Backing {
    Store {
        conversations: Conversations,
        version: u64,
        _hold: Hold,
    },
    /// For a review, which leaves nothing behind but what its tools did.
    Memory,
}

/// A turn that has no end on disk.
pub(crate) struct OpenTurn {
    pub(crate) body: String,
    pub(crate) runtime: String,
}

impl Conversation {
    /// Nothing is written before the first turn: a chat that nobody spoke in leaves no trace.
    pub(crate) async fn create(
        conversations: Conversations,
        id: String,
        cwd: String,
        state: ConversationState,
        clock: Clock,
    ) -> Result<Self, KeepError> {
        let hold = conversations.hold(&id).await?;
        let backing = Backing::Store { conversations, version: 0, _hold: hold };
        let created_at = clock.now();
        let title = String::new();
        Ok(Self { id, cwd, title, created_at, state, kept: Vec::new(), turn: 0, backing, clock })
    }

    /// Takes a conversation up, alone.
    pub(crate) async fn load(
        conversations: Conversations,
        id: &str,
        clock: Clock,
    ) -> Result<Self, KeepError> {
        let hold = conversations.hold(id).await?;
        let found = conversations.get(id).await?;
        let found = found.ok_or_else(|| ConversationError::NoConversation(id.to_owned()))?;
        let unreadable = |number: u64, error: &serde_json::Error| KeepError::Unreadable {
            conversation: id.to_owned(),
            number,
            reason: error.to_string(),
        };
        let state = serde_json::from_str(&found.body).map_err(|error| unreadable(0, &error))?;
        let mut kept: Vec<Kept> = Vec::new();
        loop {
            let after = kept.last().map_or(0, |it| it.number);
            let page = conversations.messages(id, after, PAGE).await?;
            let is_last = page.len() < PAGE;
            for StoredMessage { number, turn, body, .. } in page {
                let entry =
                    serde_json::from_str(&body).map_err(|error| unreadable(number, &error))?;
                kept.push(Kept { number, turn, entry });
            }
            if is_last {
                break;
            }
        }
        Ok(Self {
            id: found.id,
            cwd: found.cwd,
            title: found.title,
            created_at: found.created_at,
            state,
            kept,
            turn: found.turns,
            backing: Backing::Store { conversations, version: found.version, _hold: hold },
            clock,
        })
    }

    /// One that only lives in memory.
    pub(crate) fn scratch(id: &str, entries: Vec<Entry>, state: ConversationState) -> Self {
        let kept = |(number, entry)| Kept { number, turn: 1, entry };
        Self {
            id: id.to_owned(),
            cwd: String::new(),
            title: String::new(),
            created_at: 0,
            state,
            kept: (1..).zip(entries).map(kept).collect(),
            turn: 1,
            backing: Backing::Memory,
            clock: Clock::still(),
        }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn cwd(&self) -> &str {
        &self.cwd
    }

    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    pub(crate) fn created_at(&self) -> i64 {
        self.created_at
    }

    pub(crate) fn state(&self) -> &ConversationState {
        &self.state
    }

    pub(crate) fn kept(&self) -> &[Kept] {
        &self.kept
    }

    pub(crate) fn turn(&self) -> u64 {
        self.turn
    }

    pub(crate) fn last_number(&self) -> u64 {
        self.kept.last().map_or(0, |it| it.number)
    }

    /// Those of the turn that runs or ran last.
    pub(crate) fn of_turn(&self) -> Vec<Message> {
        let kept = self.kept.iter().filter(|it| it.turn == self.turn);
        kept.map(|it| it.entry.message.clone()).collect()
    }

    /// Begins the next turn with what the user said.
    pub(crate) async fn begin_turn(
        &mut self,
        runtime: &str,
        body: String,
        said: Entry,
    ) -> Result<(), KeepError> {
        let at = self.clock.now();
        let next = self.turn + 1;
        let message = stored(format!("{next}.user"), &said, at);
        let number = match &mut self.backing {
            Backing::Memory => self.kept.last().map_or(0, |it| it.number) + 1,
            Backing::Store { conversations, version, .. } => {
                if *version == 0 {
                    self.title = title(&said);
                    let new = NewConversation {
                        id: self.id.clone(),
                        title: self.title.clone(),
                        cwd: self.cwd.clone(),
                        at,
                        body: json(&self.state),
                    };
                    conversations.create(new).await?;
                    *version = 1;
                }
                let turn = NewTurn { runtime: runtime.to_owned(), at, body };
                let begun = conversations.begin_turn(&self.id, turn, vec![message]).await?;
                begun.numbers.first().copied().unwrap_or_default()
            }
        };
        self.turn = next;
        self.kept.push(Kept { number, turn: next, entry: said });
        Ok(())
    }

    /// A further message of the turn that runs.
    pub(crate) async fn append(&mut self, entry: Entry) -> Result<(), KeepError> {
        let in_turn = self.kept.iter().filter(|it| it.turn == self.turn).count();
        let key = format!("{}.{in_turn}", self.turn);
        self.append_all(vec![(key, entry)]).await
    }

    /// A tool's result, which a call has once.
    pub(crate) async fn append_result(
        &mut self,
        call: &str,
        entry: Entry,
    ) -> Result<(), KeepError> {
        let key = format!("{}.result.{call}", self.turn);
        self.append_all(vec![(key, entry)]).await
    }

    /// The messages of a turn that ran elsewhere. A second time they are the first ones.
    pub(crate) async fn splice(&mut self, entries: Vec<Entry>) -> Result<(), KeepError> {
        let turn = self.turn;
        let keyed = (1..).zip(entries).map(|(at, entry)| (format!("{turn}.codex.{at}"), entry));
        self.append_all(keyed.collect()).await
    }

    /// What the user has said in the turn that runs, as it is kept beside the messages, behind the first so many. A second time it
    /// is the first: it stays where it is kept until the turn is over, so whoever takes the turn up begins with all of it. How
    /// many there are now.
    pub(crate) async fn append_said(&mut self, behind: usize) -> Result<usize, KeepError> {
        let turn = self.turn;
        let said = (1..).zip(&self.state.said).skip(behind);
        let keyed = said.map(|(at, said)| (format!("{turn}.said.{at}"), said.entry.clone()));
        self.append_all(keyed.collect()).await?;
        Ok(self.state.said.len())
    }

    /// What the user said in the turn that runs and no model has seen. A second time it is the first.
    pub(crate) async fn append_unheard(&mut self, entries: Vec<Entry>) -> Result<(), KeepError> {
        let turn = self.turn;
        let keyed = (1..).zip(entries).map(|(at, entry)| (format!("{turn}.unheard.{at}"), entry));
        self.append_all(keyed.collect()).await
    }

    async fn append_all(&mut self, keyed: Vec<(String, Entry)>) -> Result<(), KeepError> {
        if keyed.is_empty() {
            return Ok(());
        }
        let at = self.clock.now();
        let numbers = match &self.backing {
            Backing::Memory => {
                let last = self.last_number();
                (last + 1..).take(keyed.len()).collect()
            }
            Backing::Store { conversations, .. } => {
                let messages = keyed.iter().map(|(key, entry)| stored(key.clone(), entry, at));
                conversations.append(&self.id, self.turn, messages.collect()).await?
            }
        };
        let last = self.last_number();
        for (number, (_, entry)) in numbers.into_iter().zip(keyed) {
            // One that was there already is in memory, too.
            if number > last {
                self.kept.push(Kept { number, turn: self.turn, entry });
            }
        }
        Ok(())
    }

    /// Changes what is kept beside the messages.
    pub(crate) async fn update(
        &mut self,
        change: impl FnOnce(&mut ConversationState),
    ) -> Result<(), KeepError> {
        let mut state = self.state.clone();
        change(&mut state);
        if let Backing::Store { conversations, version, .. } = &mut self.backing
            && *version > 0
        {
            let (body, at) = (Some(json(&state)), self.clock.now());
            let change = Change { version: *version, title: None, body, at };
            *version = conversations.update(&self.id, change).await?;
        }
        self.state = state;
        Ok(())
    }

    /// The turn is over. What is kept beside the messages changes in the same moment.
    pub(crate) async fn end_turn(
        &mut self,
        body: String,
        change: impl FnOnce(&mut ConversationState),
    ) -> Result<(), KeepError> {
        let mut state = self.state.clone();
        change(&mut state);
        if let Backing::Store { conversations, version, .. } = &mut self.backing {
            let at = self.clock.now();
            let change = Change { version: *version, title: None, body: Some(json(&state)), at };
            let ending = TurnEnding { turn: self.turn, at, body, messages: Vec::new(), change };
            *version = conversations.end_turn(&self.id, ending).await?.version;
        }
        self.state = state;
        Ok(())
    }

    /// The last turn, if whoever ran it was killed in it.
    pub(crate) async fn open_turn(&self) -> Result<Option<OpenTurn>, KeepError> {
        let Backing::Store { conversations, .. } = &self.backing else { return Ok(None) };
        if self.turn == 0 {
            return Ok(None);
        }
        let turns = conversations.turns(&self.id, self.turn - 1, 1).await?;
        let open = turns.into_iter().find(|turn| turn.state == TurnState::Running);
        Ok(open.map(|turn| OpenTurn { body: turn.body, runtime: turn.runtime }))
    }

    /// Calls whose results were lost get one that says so. How many there were.
    pub(crate) async fn close_lost_calls(&mut self) -> Result<usize, KeepError> {
        let lost = unanswered(&self.kept);
        for call in &lost {
            let message = Message::tool(call.id.clone(), UNKNOWN_RESULT.to_owned());
            self.append_result(&call.id, Entry::plain(message)).await?;
        }
        Ok(lost.len())
    }

    /// Calls under ids that no earlier call of the conversation has: some providers begin anew in each answer.
    pub(crate) fn with_own_ids(&self, calls: Vec<Call>) -> Vec<Call> {
        let earlier = self.kept.iter().flat_map(|it| &it.entry.message.tool_calls);
        let mut known: BTreeSet<String> = earlier.map(|call| call.id.clone()).collect();
        let own = |call: Call| Call { id: own_id(&call.id, &mut known), ..call };
        calls.into_iter().map(own).collect()
    }
}

fn stored(key: String, entry: &Entry, at: i64) -> NewMessage {
    let role = match entry.message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    let text = entry.message.content.clone().unwrap_or_default();
    NewMessage { key, role: role.to_owned(), text, body: json(entry), at }
}

/// Our own types, whose keys are all strings: this cannot fail.
fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn title(said: &Entry) -> String {
    let text = said.message.content.as_deref().unwrap_or_default();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("(an image)");
    line.chars().take(TITLE_CHARACTERS).collect()
}
