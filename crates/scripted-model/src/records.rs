//! What was asked and what became of it, for the tests that come after.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use hyper::HeaderMap;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::conversation::Played;

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestRecord {
    /// From 1, in the order of arrival.
    pub number: u64,
    pub method: String,
    /// With the query, if there was one.
    pub path: String,
    /// Names in lower case; the values of secret headers say only that they were there.
    pub headers: Vec<(String, String)>,
    /// As it came.
    pub body: Bytes,
    /// The Codex thread; none if the client did not say.
    pub thread: Option<String>,
    /// Which answer it got; none if there was none for it.
    pub played: Option<Played>,
    pub outcome: Outcome,
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The answer is being sent, or waits for its time.
    Playing,
    /// Every byte was handed to the connection.
    Finished,
    /// The client closed the connection before the answer was complete.
    ClientLeft,
    /// The fault of this kind was played to its end.
    FaultPlayed(&'static str),
    /// No answer was played; the status says why.
    Refused(u16),
    /// The server was stopped before the answer was complete.
    Stopped,
}

/// Why waiting for requests ended without them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WaitError {
    #[error("{seen} requests were seen in {waited:?}, and they are not what was waited for")]
    TimedOut { seen: u64, waited: Duration },
}

/// Enough for any test, and a bound for a demo that runs for weeks.
const KEPT_RECORDS: usize = 10_000;

/// Every request carries its thread's whole history, so the number of records alone bounds nothing.
const KEPT_BODY_BYTES: usize = 256 * 1024 * 1024;

/// Their values could be credentials.
const SECRET_HEADERS: [&str; 5] =
    ["authorization", "proxy-authorization", "cookie", "x-api-key", "api-key"];

/// The newest requests, oldest first.
#[derive(Debug)]
pub(crate) struct Records {
    kept: Mutex<Kept>,
    /// Changes with every change of a record; those who wait look again.
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Kept {
    records: VecDeque<RequestRecord>,
    body_bytes: usize,
    seen: u64,
}

impl RequestRecord {
    /// The body as JSON; null if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let (_, value) = headers.find(|(known, _)| known == name)?;
        Some(value)
    }
}

impl Records {
    pub(crate) fn new() -> Self {
        Self { kept: Mutex::default(), changes: watch::Sender::new(0) }
    }

    /// Gives the record its number and keeps it.
    pub(crate) fn add(&self, mut record: RequestRecord) -> u64 {
        let mut kept = self.lock();
        kept.seen += 1;
        record.number = kept.seen;
        kept.body_bytes += record.body.len();
        kept.records.push_back(record);
        while kept.records.len() > KEPT_RECORDS
            || (kept.body_bytes > KEPT_BODY_BYTES && kept.records.len() > 1)
        {
            let oldest = kept.records.pop_front();
            kept.body_bytes -= oldest.map_or(0, |record| record.body.len());
        }
        let number = kept.seen;
        drop(kept);
        self.changed();
        number
    }

    pub(crate) fn finish(&self, number: u64, outcome: Outcome) {
        let mut kept = self.lock();
        // Numbers have no gap, so the place follows from the oldest one that is kept.
        let oldest = kept.seen + 1 - kept.records.len() as u64;
        let place = number.checked_sub(oldest);
        let place = place.and_then(|place| usize::try_from(place).ok());
        if let Some(record) = place.and_then(|place| kept.records.get_mut(place)) {
            record.outcome = outcome;
        }
        drop(kept);
        self.changed();
    }

    pub(crate) fn all(&self) -> Vec<RequestRecord> {
        self.lock().records.iter().cloned().collect()
    }

    pub(crate) fn seen(&self) -> u64 {
        self.lock().seen
    }

    pub(crate) fn dropped(&self) -> u64 {
        let kept = self.lock();
        kept.seen - kept.records.len() as u64
    }

    /// Waits until the records are as the caller wants them.
    pub(crate) async fn wait_until(
        &self,
        within: Duration,
        mut satisfied: impl FnMut(&[RequestRecord]) -> bool,
    ) -> Result<(), WaitError> {
        let mut changes = self.changes.subscribe();
        let wait = changes.wait_for(|_| satisfied(self.lock().records.make_contiguous()));
        match timeout(within, wait).await {
            Ok(Ok(_)) => Ok(()),
            // The sender lives as long as `self`, so only the time can have run out.
            Ok(Err(_)) | Err(_) => Err(WaitError::TimedOut { seen: self.seen(), waited: within }),
        }
    }

    fn changed(&self) {
        self.changes.send_modify(|changes| *changes += 1);
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // Nothing between lock and unlock can leave the records half changed.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The headers of a request without its secrets.
pub(crate) fn recorded_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let headers = headers.iter().map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes());
        let value = match name.as_str() {
            name if !SECRET_HEADERS.contains(&name) => value.into_owned(),
            "authorization" | "proxy-authorization" => match value.split_once(' ') {
                Some((scheme, _)) => format!("{scheme} (present)"),
                None => "(present)".to_owned(),
            },
            _ => "(present)".to_owned(),
        };
        (name.as_str().to_owned(), value)
    });
    headers.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn record(body: Bytes) -> RequestRecord {
        RequestRecord {
            number: 0,
            method: "POST".to_owned(),
            path: "/v1/responses".to_owned(),
            headers: Vec::new(),
            body,
            thread: None,
            played: None,
            outcome: Outcome::Playing,
        }
    }

    #[test]
    fn keeps_the_newest_and_counts_the_rest() {
        let records = Records::new();
        for _ in 0..KEPT_RECORDS + 3 {
            records.add(record(Bytes::new()));
        }
        records.finish(3, Outcome::Finished);
        records.finish(5, Outcome::ClientLeft);
        let settled = |record: &RequestRecord| record.outcome != Outcome::Playing;
        let settled: Vec<_> = records.all().into_iter().filter(settled).collect();
        let settled: Vec<_> =
            settled.iter().map(|record| (record.number, &record.outcome)).collect();
        assert_eq!(settled, [(5, &Outcome::ClientLeft)]);
        let numbers: Vec<_> = records.all().iter().map(|record| record.number).collect();
        let expected: Vec<_> = (4..=KEPT_RECORDS as u64 + 3).collect();
        assert_eq!((numbers, records.seen(), records.dropped()), (expected, 10_003, 3));
    }

    #[test]
    fn large_bodies_push_out_old_ones_but_the_newest_stays() {
        let records = Records::new();
        let large = Bytes::from(vec![b' '; KEPT_BODY_BYTES + 1]);
        records.add(record(large.clone()));
        records.add(record(large));
        let numbers: Vec<_> = records.all().iter().map(|record| record.number).collect();
        assert_eq!((numbers, records.dropped()), (vec![2], 1));
    }

    #[test]
    fn secrets_are_not_kept() {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", HeaderValue::from_static("Bearer sk-secret"));
        headers.insert("x-api-key", HeaderValue::from_static("sk-secret"));
        headers.insert("originator", HeaderValue::from_static("codex_exec"));
        let expected = [
            ("authorization", "Bearer (present)"),
            ("x-api-key", "(present)"),
            ("originator", "codex_exec"),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(recorded_headers(&headers), expected);
    }
}
