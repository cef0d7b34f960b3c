//! How a fault changes a stream.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::{Bytes, BytesMut};

use crate::chat;
use crate::events::{self, Api, Step};
use crate::fault::{Cut, Fault, FirstFrame, Malformed};
use crate::sse;

/// What a fault does when its time has come.
#[derive(Debug)]
pub(super) enum Strike {
    Cut(Cut),
    Hang(Option<Duration>),
    Error { code: String, message: String },
    Failed { code: String, message: String },
    Insert(&'static [u8]),
    LeaveUnclosed,
}

/// The faults that change which events there are.
pub(super) fn arrange(steps: &mut VecDeque<Step>, fault: Option<&Fault>, api: Api) {
    match fault {
        Some(Fault::MissingTerminal) => {
            steps.retain(|step| !matches!(step, Step::Terminal(_)));
        }
        Some(Fault::FirstFrame { frame }) => match frame {
            FirstFrame::RateLimits if api == Api::Chat => {
                steps.push_front(Step::Opening(chat::without_choices()));
            }
            FirstFrame::RateLimits => steps.push_front(Step::Opening(events::rate_limits())),
            // `response.created` is the first step, `response.in_progress` the second.
            FirstFrame::InProgress => drop(steps.pop_front()),
            FirstFrame::Error => {
                let message = "the scripted model failed at once";
                let error = match api {
                    Api::Responses => events::error(0, "server_error", message),
                    Api::Chat => chat::error("server_error", message),
                };
                steps.clear();
                steps.push_back(Step::Opening(error));
            }
        },
        _ => {}
    }
}

/// The faults that strike at one point of the stream.
pub(super) fn strike(fault: &Fault) -> Option<(u64, Strike)> {
    Some(match fault {
        Fault::Drop { after, how } => (*after, Strike::Cut(*how)),
        Fault::Hang { after, for_ms } => (*after, Strike::Hang(for_ms.map(Duration::from_millis))),
        Fault::ErrorEvent { after, code, message } => {
            let (code, message) = (code.clone(), message.clone());
            (*after, Strike::Error { code, message })
        }
        Fault::Failed { after, code, message } => {
            let (code, message) = (code.clone(), message.clone());
            (*after, Strike::Failed { code, message })
        }
        Fault::Malformed { how, after } => match how {
            Malformed::BrokenJson => (*after, Strike::Insert(sse::BROKEN_JSON)),
            Malformed::Garbage => (*after, Strike::Insert(sse::GARBAGE)),
            Malformed::InvalidUtf8 => (*after, Strike::Insert(sse::INVALID_UTF8)),
            Malformed::NoBlankLine => (*after, Strike::LeaveUnclosed),
            Malformed::Crlf | Malformed::SplitUtf8 => return None,
        },
        _ => return None,
    })
}

/// JSON holds no raw line end, so every one of them belongs to the framing.
pub(super) fn with_crlf(bytes: &[u8]) -> Bytes {
    let mut result = BytesMut::with_capacity(bytes.len() + bytes.len() / 16);
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        match line.strip_suffix(b"\n") {
            Some(text) => {
                result.extend_from_slice(text);
                result.extend_from_slice(b"\r\n");
            }
            None => result.extend_from_slice(line),
        }
    }
    result.freeze()
}

/// Cuts behind the first byte of every character that has several.
pub(super) fn cut_in_characters(bytes: &Bytes) -> Vec<Bytes> {
    let mut pieces = Vec::new();
    let mut from = 0;
    for (at, byte) in bytes.iter().enumerate() {
        // All bytes of a character of several bytes have the top bit set, its first the top two.
        if byte & 0b1100_0000 == 0b1100_0000 {
            pieces.push(bytes.slice(from..=at));
            from = at + 1;
        }
    }
    if from < bytes.len() {
        pieces.push(bytes.slice(from..));
    }
    pieces
}
