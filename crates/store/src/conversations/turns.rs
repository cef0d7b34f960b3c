//! Turns: begun with the messages that ask for them, ended with the last ones.

use rusqlite::{Connection, Row};

use super::list::number_of;
use super::{
    ConversationError, Conversations, Ended, NewMessage, NewTurn, Turn, TurnBegun, TurnEnding,
    TurnState, append, change,
};
use crate::queries::prepare;
use crate::read::{limit, row, rows};

pub(super) const SQL: &[&str] = &[LAST, BEGIN, OF_MESSAGE, STATE, END, READ, RUNNING];

const LAST: &str = "SELECT number FROM turns WHERE conversation = ?1 ORDER BY number DESC LIMIT 1";
const BEGIN: &str = "INSERT INTO turns (conversation, number, runtime, state, began_at, body) \
     VALUES (?1, ?2, ?3, 'running', ?4, ?5)";
const OF_MESSAGE: &str = "SELECT turn FROM messages WHERE conversation = ?1 AND key = ?2";
const STATE: &str = "SELECT state FROM turns WHERE conversation = ?1 AND number = ?2";
const END: &str = "UPDATE turns SET state = ?3, ended_at = ?4, body = ?5 \
     WHERE conversation = ?1 AND number = ?2";
const READ: &str = "SELECT number, runtime, state, began_at, ended_at, body FROM turns \
     WHERE conversation = ?1 AND number > ?2 ORDER BY number LIMIT ?3";
const RUNNING: &str = "SELECT t.number, runtime, state, began_at, ended_at, t.body, c.id \
     FROM turns t INDEXED BY turns_running CROSS JOIN conversations c ON c.number = t.conversation \
     WHERE state = 'running' ORDER BY t.conversation, t.number";

impl Conversations {
    /// Begins the next turn together with its first messages. If the first of them is there already, so is its turn: that one is
    /// given back, and nothing is written.
    pub async fn begin_turn(
        &self,
        conversation: &str,
        turn: NewTurn,
        messages: Vec<NewMessage>,
    ) -> Result<TurnBegun, ConversationError> {
        let id = conversation.to_owned();
        self.write(move |connection| begin(connection, &id, &turn, &messages)).await
    }

    /// Ends a turn: its last messages, its body and the conversation's change are on disk together, or none of them. The same end
    /// again, after an answer that got lost, is no error and changes nothing.
    pub async fn end_turn(
        &self,
        conversation: &str,
        ending: TurnEnding,
    ) -> Result<Ended, ConversationError> {
        let id = conversation.to_owned();
        self.write(move |connection| end(connection, &id, &ending)).await
    }

    /// Turns in their order, beginning behind the number `after`.
    pub async fn turns(
        &self,
        conversation: &str,
        after: u64,
        most: usize,
    ) -> Result<Vec<Turn>, ConversationError> {
        let id = conversation.to_owned();
        self.read(move |connection| {
            let number = number_of(connection, &id)?;
            let after = i64::try_from(after).unwrap_or(i64::MAX);
            let turn = |row: &Row<'_>| turn(row, id.clone());
            Ok(rows(connection, READ, (number, after, limit(most)), turn)?)
        })
        .await
    }

    /// Turns of all conversations that have no end: they run, or whoever ran them was killed. [`Self::hold`] tells which.
    pub async fn unfinished_turns(&self) -> Result<Vec<Turn>, ConversationError> {
        let running = |row: &Row<'_>| turn(row, row.get(6)?);
        self.read(move |connection| Ok(rows(connection, RUNNING, [], running)?)).await
    }
}

pub(super) fn state_of(
    connection: &Connection,
    conversation: i64,
    turn: u64,
) -> Result<Option<TurnState>, ConversationError> {
    let state = |row: &Row<'_>| row.get::<_, String>(0);
    let found = row(connection, STATE, (conversation, turn), state)?;
    Ok(found.map(|name| TurnState::of(&name)))
}

fn begin(
    connection: &Connection,
    id: &str,
    turn: &NewTurn,
    messages: &[NewMessage],
) -> Result<TurnBegun, ConversationError> {
    let number = number_of(connection, id)?;
    if let Some(first) = messages.first() {
        let begun = row(connection, OF_MESSAGE, (number, &first.key), |row| row.get(0))?;
        if let Some(turn) = begun {
            let numbers = append::add(connection, number, turn, messages)?;
            return Ok(TurnBegun { turn, numbers });
        }
    }
    let last: Option<u64> = row(connection, LAST, [number], |row| row.get(0))?;
    let next = last.unwrap_or(0) + 1;
    prepare(connection, BEGIN)?.execute((number, next, &turn.runtime, turn.at, &turn.body))?;
    append::touch(connection, number, turn.at)?;
    Ok(TurnBegun { turn: next, numbers: append::add(connection, number, next, messages)? })
}

fn end(connection: &Connection, id: &str, ending: &TurnEnding) -> Result<Ended, ConversationError> {
    let number = number_of(connection, id)?;
    let TurnEnding { turn, at, body, messages, change } = ending;
    let conversation = id.to_owned();
    match state_of(connection, number, *turn)? {
        None => return Err(ConversationError::NoTurn { conversation, turn: *turn }),
        Some(TurnState::Ended) => {
            let known = messages.iter().map(|message| append::known(connection, number, message));
            let known: Option<Vec<u64>> = known.collect::<Result<_, _>>()?;
            let over = ConversationError::TurnOver { conversation, turn: *turn };
            let version = change::version(connection, number)?;
            return Ok(Ended { numbers: known.ok_or(over)?, version });
        }
        Some(TurnState::Running) => {}
    }
    let numbers = append::add(connection, number, *turn, messages)?;
    prepare(connection, END)?.execute((number, turn, TurnState::Ended.name(), at, body))?;
    let version = change::apply(connection, id, number, change)?;
    Ok(Ended { numbers, version })
}

fn turn(row: &Row<'_>, conversation: String) -> rusqlite::Result<Turn> {
    Ok(Turn {
        conversation,
        number: row.get(0)?,
        runtime: row.get(1)?,
        state: TurnState::of(&row.get::<_, String>(2)?),
        began_at: row.get(3)?,
        ended_at: row.get(4)?,
        body: row.get(5)?,
    })
}
