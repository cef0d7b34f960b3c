//! MCP: tools for programs that speak it. Only this module knows the SDK.
//!
//! A [`ToolTable`] is what a server offers; [`serve`] offers it to one caller over its own input and output, `http` to many over `/mcp`.
//! [`bridge`] is the table that lets others run Codex here. It asks the daemon's own routes ([`Daemon`]) whichever way it is
//! reached, so whoever comes by MCP may do what they may do by HTTP and not more.

pub mod bridge;
mod daemon;
mod handler;
mod http;
mod library;
mod stdio;
mod table;
mod via;

pub use daemon::{Daemon, Errand, Lines, Verb};
pub use library::{Document, Library, Shelf, Template};
pub use stdio::{ServeError, serve};
pub use table::{Call, Hints, McpTool, Progress, ToolAnswer, ToolTable};
pub use via::MCP_CLIENT_HEADER;

pub(crate) use http::mcp_table;
pub(crate) use via::{named_in, plain};
