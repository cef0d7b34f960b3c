//! Door for programs: the daemon's HTTP API on a unix socket and over TCP, and the client that the command line uses.
//!
//! HTTP stops here. This room knows who calls (by the socket's credentials, or by a token) but not what a keeper or a sandbox is: whoever
//! opens the door brings a [`Look`] that tells a person from an agent. It prints nothing and reads no environment.
//!
//! Start reading at [`Door`], then [`Hall`] (what every route is given), [`routes`], and [`guard`] (who may do what over TCP). [`client`] is the other side. [`courier`] carries notifications out.
//!
//! | module | duty |
//! |---|---|
//! | `door`, `tcp`, `connection`, `head`, `strict` | listening, limits per caller, and requests that could be read in two ways |
//! | `peer`, `caller`, `guard` | who calls, and what they may do |
//! | `table`, `routes` | every route with the right that it needs |
//! | `tasks`, `asks`, `notifications`, `rules`, `history`, `worktree`, `files`, `overview`, `metrics` | the routes |
//! | `stream`, `events` | server-sent events and lines, one relay per task that is watched |
//! | `bounds`, `agents`, `targets` | what an agent or a program may have a task do |
//! | `idempotency`, `to_the_end` | a repeated request is done once; one whose caller leaves is done all the same |
//! | `audit` | refusals and decisions, written down |
//! | `reference`, `page` | OpenAPI and its page; the page for people from `web/dist` |
//! | `mcp` | tools over MCP; the bridge that lets other programs run Codex |
//! | `client`, `courier` | the command line's way to the daemon; notifications over HTTP |

pub mod activation;
mod agents;
pub mod api;
pub mod client;
pub mod courier;
pub mod guard;
pub mod heart;
pub mod lock;
pub mod mcp;
pub mod ndjson;
pub mod problem;
pub mod routes;
pub mod table;
pub mod tcp;

mod account;
mod asks;
mod audit;
mod bounds;
mod caller;
mod connection;
mod door;
mod ends;
mod events;
mod files;
mod given;
mod hall;
mod head;
mod history;
mod host_asks;
mod idempotency;
mod ids;
mod metrics;
mod notifications;
mod overview;
mod page;
mod peer;
mod reference;
mod refusal;
mod rules;
mod stream;
mod strict;
mod targets;
mod tasks;
mod to_the_end;
mod tool_calls;
mod worktree;

pub use caller::{Caller, Look, Standing};
pub use door::{Door, DoorError, DoorSettings, Limits, SOCKET_PATH_LIMIT_BYTES};
pub use files::PrivateFiles;
pub use given::Given;
pub use hall::{Hall, Listens, StopMode};
pub use problem::{Problem, Trouble};
pub use tasks::{Office, Usual, task_routes};

/// On every answer: which ostler speaks. A client of another version says so instead of guessing.
pub const VERSION_HEADER: &str = "ostler-version";
