//! The daemon, as commands for tasks reach it.

use ostler_model::Task;
use ostler_server::api::TaskDetail;
use ostler_server::client::{Client, Lines};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::daemon::{ReachArguments, reach};
use crate::failure::{Exit, Failure};
use crate::places::Places;
use crate::terminal::Output;

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
        Ok(self.client.get(path).await?)
    }

    pub(crate) async fn post<T: DeserializeOwned>(
        &mut self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        Ok(self.client.post(path, body).await?)
    }

    pub(crate) async fn delete<T: DeserializeOwned>(&mut self, path: &str) -> Result<T, Failure> {
        Ok(self.client.delete(path).await?)
    }

    /// A long answer has a connection of its own.
    pub(crate) async fn lines(&self, path: &str) -> Result<Lines, Failure> {
        let client = reach(&self.places, self.reach).await?;
        Ok(client.lines(path).await?)
    }

    /// A fresh connection, after the daemon has gone.
    pub(crate) async fn reopen(&mut self) -> Result<(), Failure> {
        self.client = reach(&self.places, self.reach).await?;
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
