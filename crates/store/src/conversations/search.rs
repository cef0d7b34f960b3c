//! Finding what was said.

use rusqlite::{Connection, Row};

use super::words::{self, Query};
use super::{ConversationError, Conversations};
use crate::read::{limit, rows};

pub(super) const SQL: &[&str] = &[FIND];

/// Roles come as words between spaces.
const FIND: &str = "SELECT c.id, c.title, c.cwd, m.number, m.turn, m.role, m.at, \
         snippet(said, 0, '**', '**', '…', 48) \
     FROM said CROSS JOIN messages m ON m.place = said.rowid \
         CROSS JOIN conversations c ON c.number = m.conversation \
     WHERE said MATCH ?1 AND (?2 IS NULL OR c.id <> ?2) \
         AND (?3 IS NULL OR instr(?3, ' ' || m.role || ' ') > 0) \
     ORDER BY said.rank LIMIT ?4";

/// What is looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Search {
    /// Words, or beginnings of words. All of them are looked for; if no message has them all, any of them.
    pub text: String,
    pub most: usize,
    /// Above all the conversation that asks.
    pub without: Option<String>,
    /// Empty for all.
    pub roles: Vec<String>,
}

/// A message that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    pub conversation: String,
    pub title: String,
    pub cwd: String,
    pub number: u64,
    pub turn: u64,
    pub role: String,
    pub at: i64,
    /// The words around what was found, which stands between `**`.
    pub snippet: String,
}

impl Conversations {
    /// The best first. Whatever the text is, it is no error: a text without words finds nothing.
    pub async fn search(&self, search: Search) -> Result<Vec<Hit>, ConversationError> {
        let Some(query) = Query::of(&search.text) else { return Ok(Vec::new()) };
        self.read(move |connection| {
            let found = find(connection, &query.all_of_them(), &search)?;
            if found.is_empty() && query.has_several() {
                return find(connection, &query.any_of_them(), &search);
            }
            Ok(found)
        })
        .await
    }
}

fn find(
    connection: &Connection,
    query: &str,
    search: &Search,
) -> Result<Vec<Hit>, ConversationError> {
    let Search { most, without, roles, .. } = search;
    let roles = (!roles.is_empty()).then(|| format!(" {} ", roles.join(" ")));
    Ok(rows(connection, FIND, (query, without, roles, limit(*most)), hit)?)
}

fn hit(row: &Row<'_>) -> rusqlite::Result<Hit> {
    Ok(Hit {
        conversation: row.get(0)?,
        title: row.get(1)?,
        cwd: row.get(2)?,
        number: row.get(3)?,
        turn: row.get(4)?,
        role: row.get(5)?,
        at: row.get(6)?,
        snippet: words::joined(&row.get::<_, String>(7)?),
    })
}
