//! Who learns: the host agent. It talks with its user, owns memory and skills, and runs each turn in one of two ways: by its own
//! tool loop on a model's API, or whole on a Codex thread. Both come to the same [`TurnOutcome`].
//!
//! This room knows no terminal, no SQL and none of Codex's JSON, and reads neither the environment nor the home folder. What
//! it needs of the daemon (tasks on Codex, people's decisions) it is given as the traits in [`ports`]; conversations are kept by
//! the store room.
//!
//! Start reading at [`TurnOutcome`] for what a turn comes to and at [`api`] for how a model is asked.
//!
//! | module | duty |
//! |---|---|
//! | `agent` | the handle: one conversation, turn after turn, on either runtime |
//! | `own_loop`, `codex_turn` | a turn on a model's API, and a turn on Codex |
//! | `api` | Responses and Chat Completions over one client with retries, watchdogs and keys |
//! | `conversation`, `history`, `state`, `compress`, `forgetting` | what is stored, what a model is shown of it, and what is removed |
//! | `tools`, `sandbox`, `kit` | what the agent can do, and the sandbox of its commands (decision 0016 for the web) |
//! | `offered` | those of its tools that Codex gets (decision 0017) |
//! | `memory`, `skills`, `threat`, `disk` | files that people can read and edit: limits, locks, checks |
//! | `counters`, `review`, `memory_sync` | learning in the background |
//! | `prompt`, `project_files`, `runtime`, `ports` | instructions, who runs a turn, and what the agent needs of the daemon |

mod activity;
mod agent;
pub mod api;
mod clock;
mod codex_turn;
mod compress;
mod conversation;
mod counters;
mod disk;
mod forgetting;
mod history;
mod input;
mod intent;
mod kit;
pub mod memory;
mod memory_sync;
mod notes;
mod offered;
mod outcome;
mod own_loop;
mod past_sessions;
pub mod ports;
mod project_files;
mod prompt;
mod review;
pub mod runtime;
pub mod sandbox;
mod shelf;
pub mod skills;
mod state;
mod steering;
mod threat;
pub mod tool;
pub mod tools;

pub use activity::{Activity, Hear};
pub use agent::{
    Agent, AgentError, CodexCompaction, CodexTools, ConversationShown, ListedConversation, Parts,
    ReviewTelling, Settings, Which, folder_of, list_conversations,
};
pub use clock::Clock;
pub use conversation::KeepError;
pub use counters::{Counters, Intervals};
pub use forgetting::{Unfinished, remove_conversations, sweep_conversations};
pub use history::Compression;
pub use input::{InputError, UserInput};
pub use kit::KitSettings;
pub use offered::{NOT_OFFERED, Offer, OfferSettings, Offered};
pub use ostler_store::Conversations;
pub use outcome::TurnOutcome;
pub use project_files::{ProjectFile, project_files};
pub use prompt::{PromptParts, SkillLine};
pub use runtime::Runtime;
pub use state::ConversationUsage;
pub use steering::{Controls, Steering};
pub use threat::Threat;
