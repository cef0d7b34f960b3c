//! A long answer, line by line.

use std::time::Duration;

use bytes::{Buf, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::{Client, ClientError};
use crate::ndjson::HEARTBEAT;

/// The daemon is heard at every heartbeat; two that are missing could be a busy machine, three are not.
const SILENCE: Duration = HEARTBEAT.saturating_mul(3);

/// The longest line of a recorded turn has 1.1 MB; one line must not fill the memory.
const LINE_LIMIT_BYTES: usize = 64 * 1024 * 1024;

/// The lines of one answer.
#[derive(Debug)]
pub struct Lines {
    body: Incoming,
    buffer: BytesMut,
    /// Up to here the buffer holds no end of a line.
    searched: usize,
    /// The connection must live as long as its answer.
    _client: Client,
}

impl Lines {
    pub(super) fn new(body: Incoming, client: Client) -> Self {
        Self { body, buffer: BytesMut::new(), searched: 0, _client: client }
    }

    /// The next object; none when the answer is complete. An answer that breaks off is an error. Cancel safe.
    pub async fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, ClientError> {
        loop {
            while let Some(line) = self.take_line() {
                if !line.is_empty() {
                    return serde_json::from_slice(&line).map(Some).map_err(|error| {
                        ClientError::Broken(format!("a line is not what was expected: {error}"))
                    });
                }
            }
            if self.buffer.len() > LINE_LIMIT_BYTES {
                return Err(ClientError::Broken("a line is too long".to_owned()));
            }
            let frame = timeout(SILENCE, self.body.frame()).await;
            match frame.map_err(|_| ClientError::TimedOut(SILENCE))? {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.buffer.extend_from_slice(&data);
                    }
                }
                Some(Err(error)) => return Err(ClientError::broken(&error)),
                None if self.buffer.is_empty() => return Ok(None),
                None => return Err(ClientError::Broken("the last line is not whole".to_owned())),
            }
        }
    }

    fn take_line(&mut self) -> Option<BytesMut> {
        let rest = self.buffer.get(self.searched..)?;
        match rest.iter().position(|byte| *byte == b'\n') {
            Some(offset) => {
                let line = self.buffer.split_to(self.searched + offset);
                self.buffer.advance(1);
                self.searched = 0;
                Some(line)
            }
            None => {
                self.searched = self.buffer.len();
                None
            }
        }
    }
}
