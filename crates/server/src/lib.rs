//! Door for programs: the daemon's HTTP API on a unix socket, and the client that the command line uses.
//!
//! HTTP stops here. This room knows who calls (by the socket's credentials) but not what a keeper or a sandbox is: whoever
//! opens the door brings a [`Look`] that tells a person from an agent. It prints nothing and reads no environment.
//!
//! Start reading at [`Door`], then [`Hall`] (what every route is given) and [`routes`]. [`client`] is the other side.

pub mod activation;
pub mod api;
pub mod client;
pub mod heart;
pub mod lock;
pub mod ndjson;
pub mod problem;
pub mod routes;

mod asks;
mod caller;
mod connection;
mod door;
mod events;
mod given;
mod hall;
mod ids;
mod peer;
mod refusal;
mod rules;
mod tasks;
mod worktree;

pub use caller::{Caller, Look, Standing};
pub use door::{Door, DoorError, DoorSettings, Limits, SOCKET_PATH_LIMIT_BYTES};
pub use given::Given;
pub use hall::{Hall, StopMode};
pub use problem::{Problem, Trouble};
pub use tasks::{Office, task_routes};

/// On every answer: which ostler speaks. A client of another version says so instead of guessing.
pub const VERSION_HEADER: &str = "ostler-version";
