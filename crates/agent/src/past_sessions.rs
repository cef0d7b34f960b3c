//! Looking through earlier conversations, for the tool that does.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use ostler_store::conversations::{ConversationError, Conversations, Hit, Search, StoredMessage};

use crate::api::Entry;
use crate::shelf::Shelf;
use crate::tools::{Excerpt, PastSessions, SessionHit};

/// Of each message around a hit.
const MOST_CHARACTERS: usize = 600;

/// Messages on either side of one that was found.
const AROUND: u32 = 1;

/// Hits of one conversation that are shown.
const HITS_EACH: usize = 3;

pub(crate) struct KeptSessions {
    pub(crate) shelf: Arc<Shelf>,
}

impl PastSessions for KeptSessions {
    fn search<'a>(
        &'a self,
        query: &'a str,
        limit: usize,
        without: &'a str,
    ) -> BoxFuture<'a, Result<Vec<SessionHit>, String>> {
        Box::pin(async move {
            let conversations = self.shelf.open().await?;
            let found = look(conversations, query, limit, without).await;
            found.map_err(|error| error.to_string())
        })
    }
}

async fn look(
    conversations: &Conversations,
    query: &str,
    limit: usize,
    without: &str,
) -> Result<Vec<SessionHit>, ConversationError> {
    let search = Search {
        text: query.to_owned(),
        // Several of them may be of one conversation.
        most: limit.saturating_mul(HITS_EACH * 2),
        without: Some(without.to_owned()),
        roles: vec!["user".to_owned(), "assistant".to_owned()],
    };
    let mut found: Vec<SessionHit> = Vec::new();
    for hit in conversations.search(search).await? {
        let at = found.iter().position(|it| it.conversation == hit.conversation);
        if at.is_none() && found.len() >= limit {
            continue;
        }
        let excerpt = excerpt(conversations, &hit).await?;
        match at.and_then(|at| found.get_mut(at)) {
            Some(known) if known.excerpts.len() >= HITS_EACH => {}
            Some(known) => known.excerpts.push(excerpt),
            None => found.push(SessionHit {
                when: day_of(hit.at),
                conversation: hit.conversation,
                title: hit.title,
                excerpts: vec![excerpt],
            }),
        }
    }
    Ok(found)
}

async fn excerpt(
    conversations: &Conversations,
    hit: &Hit,
) -> Result<Vec<Excerpt>, ConversationError> {
    let around = conversations.around(&hit.conversation, hit.number, AROUND, AROUND).await?;
    let excerpt = |message: StoredMessage| {
        let entry: Entry = serde_json::from_str(&message.body).ok()?;
        let text = entry.message.content.unwrap_or_default();
        let text: String = text.chars().take(MOST_CHARACTERS).collect();
        let is_hit = message.number == hit.number;
        (!text.trim().is_empty()).then_some(Excerpt { role: message.role, text, is_hit })
    };
    Ok(around.into_iter().filter_map(excerpt).collect())
}

fn day_of(at: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(at);
    time.map_or_else(|_| String::new(), |time| time.strftime("%Y-%m-%d").to_string())
}
