//! Which MCP client stands behind a request, as it calls itself.
//!
//! It is no proof: whoever may open the daemon's socket may say anything. It can only take rights away, since what comes by
//! MCP decides nothing unless the operator has named who may.

use axum::http::{HeaderMap, HeaderName};

/// The name of the client for whom a request is made.
pub const MCP_CLIENT_HEADER: &str = "ostler-mcp-client";

/// As much of a name as is written down.
const NAME_CHARACTERS: usize = 64;

/// The client, if the request comes from one. A name that makes no sense is still a client.
pub(crate) fn named_in(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(HeaderName::from_static(MCP_CLIENT_HEADER))?;
    Some(plain(value.to_str().unwrap_or_default()))
}

/// Fit for a header, a log and a terminal.
pub(crate) fn plain(name: &str) -> String {
    let fits = |letter: &char| letter.is_ascii_graphic() || *letter == ' ';
    let kept: String = name.trim().chars().filter(fits).take(NAME_CHARACTERS).collect();
    if kept.is_empty() { "unnamed".to_owned() } else { kept }
}
