//! The house of `ostler chat`: sessions of the agent, the daemon for what people decide, the settings.

use std::path::PathBuf;
use std::sync::Arc;

use ostler_agent::runtime::{Asked, Runtime, Switch, Turn};
use ostler_agent::{folder_of, list_conversations};
use ostler_model::AskId;
use ostler_model::task::AskRecord;
use ostler_server::api::AnswerRequest;

use super::inbox::Inbox;
use super::opening;
use super::session::{ConversationShown, House, Opening, Session, Which, Work};
use super::switching::switch_runtime;
use crate::bench::Bench;
use crate::daemon::{ReachArguments, reach};
use crate::failure::{Exit, Failure};

/// Conversations that a list shows. Whoever looks for an older one finds it by its id.
const LISTED: usize = 100;

pub(crate) struct Home {
    pub(crate) bench: Bench,
    pub(crate) reach: ReachArguments,
    /// What the agent says between turns.
    pub(crate) later: Arc<Inbox>,
}

impl Home {
    /// A conversation goes on where it was, wherever its next chat is begun: what was said speaks of the files there, and Codex's
    /// thread works there.
    async fn in_its_folder(&self, which: &Which, opening: &Opening) -> Result<Opening, Failure> {
        let opening = opening.clone();
        if opening.is_cwd_named || *which == Which::New {
            return Ok(opening);
        }
        let all = opening::conversations(&self.bench.places.state).await?;
        let found = folder_of(&all, &opening::which(which.clone())).await;
        let folder = found.map_err(|error| opening::refused(&error))?;
        let Some(cwd) = folder.map(PathBuf::from) else { return Ok(opening) };
        if !cwd.is_dir() {
            let message = format!("the folder of that conversation is gone: {}", cwd.display());
            return Err(Failure::new(Exit::NotFound, message)
                .hint("`ostler chat --resume ID --cwd FOLDER` goes on in another"));
        }
        Ok(Opening { cwd, ..opening })
    }
}

impl House for Home {
    fn open<'a>(
        &'a self,
        which: Which,
        opening: &'a Opening,
    ) -> Work<'a, Result<Box<dyn Session>, Failure>> {
        Box::pin(async move {
            let later = self.later.clone();
            let opening = &self.in_its_folder(&which, opening).await?;
            let session = opening::open(&self.bench, &self.reach, later, which, opening).await?;
            Ok(Box::new(session) as Box<dyn Session>)
        })
    }

    fn list(&self) -> Work<'_, Result<Vec<ConversationShown>, Failure>> {
        Box::pin(async {
            let all = opening::conversations(&self.bench.places.state).await?;
            let listed = list_conversations(&all, LISTED).await;
            let listed = listed.map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
            let shown = listed.into_iter().map(|it| ConversationShown {
                id: it.id,
                title: Some(it.title).filter(|title| !title.is_empty()),
                cwd: it.cwd,
                updated_at: it.updated_at,
                messages: it.messages,
            });
            Ok(shown.collect())
        })
    }

    fn switch(&self, asked: Asked, turn: Turn) -> Work<'_, Switch> {
        Box::pin(async move {
            switch_runtime(&self.bench, asked, turn).await.unwrap_or_else(|failure| Switch {
                success: false,
                old: Runtime::Auto,
                new: Runtime::Auto,
                message: failure.message,
                requires_new_session: false,
                codex_ok: None,
                codex_version: None,
            })
        })
    }

    fn answer<'a>(
        &'a self,
        ask: &'a AskId,
        answer: &'a AnswerRequest,
    ) -> Work<'a, Result<(), String>> {
        Box::pin(async move {
            let mut client =
                reach(&self.bench.places, &self.reach).await.map_err(|failure| failure.message)?;
            let path = format!("/v1/asks/{ask}/answer");
            let answered = client.post::<AskRecord>(&path, answer).await;
            answered.map(drop).map_err(|error| Failure::from(error).message)
        })
    }
}
