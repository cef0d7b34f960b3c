//! What a key may be used for, and what a route wants.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// What somebody who comes over TCP may do. Each stands for itself, but to act or to decide one must see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// See tasks, their logs, asks, files.
    Read,
    /// Start tasks, send to them, interrupt them.
    Operate,
    /// Answer asks, make rules and tokens.
    Decide,
}

impl Scope {
    pub const ALL: [Self; 3] = [Self::Read, Self::Operate, Self::Decide];

    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Operate => "operate",
            Self::Decide => "decide",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

/// What was given, and what goes without saying.
pub fn with_sight(scopes: impl IntoIterator<Item = Scope>) -> BTreeSet<Scope> {
    let mut scopes: BTreeSet<Scope> = scopes.into_iter().collect();
    if !scopes.is_empty() {
        scopes.insert(Scope::Read);
    }
    scopes
}

/// What a route wants of whoever calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// Nothing: the page itself, logging in.
    Open,
    /// To be somebody, with whatever scopes.
    Login,
    Read,
    Operate,
    /// [`Need::Operate`], and to be no agent.
    OperateAsPerson,
    /// [`Scope::Decide`], and to be no agent.
    Decide,
    /// The same, but the route refuses agents itself: that one has tried is written down.
    DecideNoted,
    /// To come by the unix socket, and to be no agent.
    House,
}

impl Need {
    pub fn scope(self) -> Option<Scope> {
        match self {
            Self::Open | Self::Login | Self::House => None,
            Self::Read => Some(Scope::Read),
            Self::Operate | Self::OperateAsPerson => Some(Scope::Operate),
            Self::Decide | Self::DecideNoted => Some(Scope::Decide),
        }
    }

    /// Whether the process at the other end is looked at.
    pub(crate) fn is_for_people(self) -> bool {
        matches!(self, Self::OperateAsPerson | Self::Decide | Self::DecideNoted | Self::House)
    }
}
