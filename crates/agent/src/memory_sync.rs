//! A program of the operator's that is told of every good turn, to keep a memory of its own elsewhere.

use std::process::Stdio;
use std::time::Duration;

use ostler_model::Message;
use serde::Serialize;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Turns that wait while the program is busy. More are dropped, with a word in the log: it must never hold the user up.
const WAITING: usize = 16;

/// A program that takes longer is ended.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the program reads: one JSON object on its standard input.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct SyncedTurn {
    pub(crate) conversation: String,
    pub(crate) user: String,
    pub(crate) assistant: String,
    pub(crate) messages: Vec<Message>,
}

/// One worker, so that turns come in their order.
pub(crate) struct MemorySync {
    turns: mpsc::Sender<SyncedTurn>,
    worker: JoinHandle<()>,
}

impl MemorySync {
    pub(crate) fn start(program: Vec<String>) -> Self {
        let (turns, mut waiting) = mpsc::channel::<SyncedTurn>(WAITING);
        let worker = tokio::spawn(async move {
            while let Some(turn) = waiting.recv().await {
                if let Err(error) = tell(&program, &turn).await {
                    tracing::warn!(%error, "the program that syncs memory failed");
                }
            }
        });
        Self { turns, worker }
    }

    /// Never waits.
    pub(crate) fn tell(&self, turn: SyncedTurn) {
        if turn.user.trim().is_empty() || turn.assistant.trim().is_empty() {
            return;
        }
        if self.turns.try_send(turn).is_err() {
            tracing::warn!("a turn was not synced: the program that syncs memory is behind");
        }
    }

    /// Lets the program finish with what it was given, up to a bound.
    pub(crate) async fn close(self, within: Duration) {
        drop(self.turns);
        let abort = self.worker.abort_handle();
        if tokio::time::timeout(within, self.worker).await.is_err() {
            abort.abort();
        }
    }
}

async fn tell(program: &[String], turn: &SyncedTurn) -> std::io::Result<()> {
    let Some((name, arguments)) = program.split_first() else { return Ok(()) };
    let mut child = Command::new(name)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let text = serde_json::to_vec(turn).unwrap_or_default();
    let talk = async {
        if let Some(mut input) = child.stdin.take() {
            input.write_all(&text).await?;
        }
        child.wait().await
    };
    match tokio::time::timeout(PATIENCE, talk).await {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => Err(std::io::Error::other(format!("it ended with {status}"))),
        Ok(Err(error)) => Err(error),
        Err(_) => {
            Err(std::io::Error::other(format!("it took longer than {} s", PATIENCE.as_secs())))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{MemorySync, SyncedTurn};

    #[tokio::test]
    async fn turns_come_in_order_and_empty_ones_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("turns");
        let script = format!("cat >> {0}; echo >> {0}", file.display());
        let sync = MemorySync::start(vec!["sh".to_owned(), "-c".to_owned(), script]);
        for (user, assistant) in [("one", "1"), ("", "nothing"), ("two", "2")] {
            let (user, assistant) = (user.to_owned(), assistant.to_owned());
            let conversation = "c".to_owned();
            sync.tell(SyncedTurn { conversation, user, assistant, messages: Vec::new() });
        }
        sync.close(Duration::from_secs(30)).await;
        let line = |user: &str, assistant: &str| {
            format!(
                r#"{{"conversation":"c","user":"{user}","assistant":"{assistant}","messages":[]}}"#
            )
        };
        let expected = format!("{}\n{}\n", line("one", "1"), line("two", "2"));
        assert_eq!(std::fs::read_to_string(file).unwrap(), expected);
    }
}
