//! The daemon, as commands for tasks reach it.

use jiff::Timestamp;
use ostler_engine::fresh_task_id;
use ostler_model::Task;
use ostler_server::api::TaskDetail;
use ostler_server::client::{Client, ClientError, Lines};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::daemon::{ReachArguments, reach, reach_again};
use crate::failure::{Exit, Failure};
use crate::places::Places;
use crate::terminal::Output;

/// A daemon that is replaced is back within a second; one that ends each time it is started is not.
const REACHED_AGAIN: u32 = 5;

/// A connection, and how this run speaks.
pub(crate) struct Desk<'a> {
    pub(crate) output: Output,
    pub(crate) places: Places,
    client: Client,
    reach: &'a ReachArguments,
}

impl<'a> Desk<'a> {
    /// Starts a daemon if there is none, unless that is forbidden.
    pub(crate) async fn open(
        output: Output,
        reach_by: &'a ReachArguments,
    ) -> Result<Self, Failure> {
        let places = Places::find()?;
        let client = reach(&places, reach_by).await?;
        Ok(Self { output, places, client, reach: reach_by })
    }

    pub(crate) async fn get<T: DeserializeOwned>(&mut self, path: &str) -> Result<T, Failure> {
        match self.client.get(path).await {
            // To read twice does no harm.
            Err(ClientError::Closed | ClientError::Broken(_)) => {
                self.reopen().await?;
                Ok(self.client.get(path).await?)
            }
            read => Ok(read?),
        }
    }

    pub(crate) async fn post<T: DeserializeOwned>(
        &mut self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        match self.client.post(path, body).await {
            Err(ClientError::Closed) => {
                self.reopen().await?;
                Ok(self.client.post(path, body).await?)
            }
            done => Ok(done?),
        }
    }

    /// For what has a key in it, which is done once however often it is asked: also if the daemon ended in the middle, and
    /// nobody can say whether it has done it.
    pub(crate) async fn post_keyed<T: DeserializeOwned>(
        &mut self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        match self.client.post(path, body).await {
            Err(ClientError::Closed | ClientError::Broken(_)) => {
                self.reopen().await?;
                Ok(self.client.post(path, body).await?)
            }
            done => Ok(done?),
        }
    }

    pub(crate) async fn delete<T: DeserializeOwned>(&mut self, path: &str) -> Result<T, Failure> {
        match self.client.delete(path).await {
            Err(ClientError::Closed) => {
                self.reopen().await?;
                Ok(self.client.delete(path).await?)
            }
            done => Ok(done?),
        }
    }

    /// A long answer has a connection of its own.
    pub(crate) async fn lines(&self, path: &str) -> Result<Lines, Failure> {
        let client = reach(&self.places, self.reach).await?;
        match client.lines(path).await {
            Err(ClientError::Closed | ClientError::Broken(_)) => {
                Ok(reach_again(&self.places, self.reach).await?.lines(path).await?)
            }
            lines => Ok(lines?),
        }
    }

    /// For whoever listens to the daemon and heard it end, this many times without a word in between.
    pub(crate) async fn after_a_break(&mut self, breaks: u32) -> Result<&mut Self, Failure> {
        if breaks > REACHED_AGAIN {
            let failure = Failure::new(Exit::DaemonUnreachable, "the daemon ends again and again");
            return Err(failure.hint("`ostler daemon status` shows where its log is"));
        }
        self.reopen().await?;
        Ok(self)
    }

    /// A fresh connection, after the daemon has gone.
    async fn reopen(&mut self) -> Result<(), Failure> {
        self.client = reach_again(&self.places, self.reach).await?;
        Ok(())
    }

    pub(crate) async fn detail(&mut self, task: &str) -> Result<TaskDetail, Failure> {
        self.get(&format!("/v1/tasks/{}", id(task)?)).await
    }

    /// The task that these letters mean.
    pub(crate) async fn task(&mut self, typed: &str) -> Result<Task, Failure> {
        Ok(self.detail(typed).await?.task)
    }
}

/// A key that nobody else uses, for a command that was given none.
pub(crate) fn fresh_key() -> String {
    format!("{}-{}", Timestamp::now().as_nanosecond(), fresh_task_id())
}

/// An id as it may stand in a path.
pub(crate) fn id(typed: &str) -> Result<&str, Failure> {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    match !typed.is_empty() && typed.bytes().all(is_fine) {
        true => Ok(typed),
        false => Err(Failure::new(Exit::Usage, format!("{typed:?} is no id"))
            .hint("an id has letters and digits only; `ostler ls` shows them")),
    }
}

/// A text as it may stand in the query of a path.
pub(crate) fn query(text: &str) -> String {
    let mut written = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                written.push(char::from(byte));
            }
            other => written.push_str(&format!("%{other:02X}")),
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_can_stand_in_a_query() {
        assert_eq!(query("/a b/ä&c=1"), "/a%20b/%C3%A4%26c%3D1");
    }

    #[test]
    fn only_ids_become_part_of_a_path() {
        assert_eq!(id("3f2a").ok(), Some("3f2a"));
        assert!(["", "../asks", "a b", "a/b", "?"].iter().all(|typed| id(typed).is_err()));
    }
}
