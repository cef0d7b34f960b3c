//! Every field we send or read, as data.
//!
//! Tests hold this table against the types in [`crate::protocol`]: it names exactly the fields they write and read.

mod items;
mod notifications;
mod replies;
mod requests;
mod server_requests;
mod shapes;

use std::fmt;

use crate::protocol::versions::{self, Known, Release};

/// One message: what it carries of what we rely on.
#[derive(Debug, Clone, Copy)]
pub struct Message {
    pub part: Part,
    pub method: &'static str,
    /// `None` if the message carries nothing.
    pub fields: Option<&'static [Field]>,
    /// The name of its definition in the schema, where the schema does not link it to the method itself.
    pub definition: Option<&'static str>,
}

/// Which part of which exchange a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The params of a request of ours.
    Request,
    /// Codex's result for a request of ours.
    Reply,
    /// The params of a request of Codex.
    ServerRequest,
    /// Our result for a request of Codex.
    Answer,
    /// What Codex tells without being asked.
    Notification,
}

/// Who writes a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// We write it, Codex must accept it.
    Sent,
    /// Codex writes it, we must understand it.
    Read,
}

#[derive(Debug, Clone, Copy)]
pub struct Field {
    pub name: &'static str,
    pub kind: Kind,
    pub need: Need,
    /// The releases known to have it. What we send is bounded in [`crate::protocol::versions::RULES`] instead.
    pub known: Known,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// We always send it, or cannot read the message without it.
    Always,
    /// We send it at times, or can do without it.
    Sometimes,
}

/// What JSON we send or accept.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// Not looked into.
    Any,
    Text,
    /// Text of a fixed vocabulary: the words we send, or the words we act on.
    Words(&'static [&'static str]),
    Integer,
    Boolean,
    List(&'static Kind),
    Map(&'static Kind),
    Object(&'static [Field]),
    /// An object whose field `tag` names its kind.
    Tagged {
        tag: &'static str,
        variants: &'static [Variant],
    },
    Either(&'static [Kind]),
    /// Counts only for these releases; an option of [`Kind::Either`].
    Between(Known, &'static Kind),
}

/// One kind of a tagged object.
#[derive(Debug, Clone, Copy)]
pub struct Variant {
    pub word: &'static str,
    pub fields: &'static [Field],
    pub known: Known,
}

impl Part {
    pub fn direction(self) -> Direction {
        match self {
            Self::Request | Self::Answer => Direction::Sent,
            Self::Reply | Self::ServerRequest | Self::Notification => Direction::Read,
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Request => "params we send to",
            Self::Reply => "reply we read from",
            Self::ServerRequest => "params we read from",
            Self::Answer => "answer we send to",
            Self::Notification => "notification",
        })
    }
}

impl Message {
    /// The releases known to have the method.
    pub fn known(&self) -> Known {
        match self.part {
            Part::Request | Part::Reply => versions::known(self.method, None),
            _ => SINCE
                .iter()
                .find(|(method, _)| *method == self.method)
                .map_or(Known::ALWAYS, |(_, release)| Known::since(*release)),
        }
    }
}

/// What Codex sends that not every supported version sends.
const SINCE: &[(&str, Release)] = &[
    ("thread/settings/updated", versions::R0_142_5),
    ("thread/goal/updated", versions::R0_142_5),
    ("thread/goal/cleared", versions::R0_142_5),
    ("attestation/generate", versions::R0_142_5),
    ("currentTime/read", versions::R0_142_5),
];

/// All messages we rely on. No two share part and method.
pub fn messages() -> impl Iterator<Item = &'static Message> {
    requests::REQUESTS
        .iter()
        .chain(replies::REPLIES)
        .chain(server_requests::SERVER_REQUESTS)
        .chain(server_requests::ANSWERS)
        .chain(notifications::NOTIFICATIONS)
}

const fn always(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, need: Need::Always, known: Known::ALWAYS }
}

const fn sometimes(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, need: Need::Sometimes, known: Known::ALWAYS }
}

impl Field {
    const fn since(self, release: Release) -> Self {
        Self { known: Known::since(release), ..self }
    }
}

const fn variant(word: &'static str, fields: &'static [Field]) -> Variant {
    Variant { word, fields, known: Known::ALWAYS }
}

impl Variant {
    const fn since(self, release: Release) -> Self {
        Self { known: Known::since(release), ..self }
    }
}
