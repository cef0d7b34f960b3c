//! An MCP server that asks.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use ostler_codex::thread::settings::McpServer;

const PROGRAM: &str = include_str!("mcp/tiny.mjs");

/// A server with three tools: `danger` says that it destroys, so Codex asks before it runs; `form` and `url` ask the
/// person and return what they were answered. Its program is put into `folder`.
pub fn tiny_mcp_server(folder: &Path) -> Result<McpServer> {
    let program = folder.join("tiny.mjs");
    std::fs::write(&program, PROGRAM)?;
    Ok(McpServer {
        command: Some(node()?.display().to_string()),
        args: vec![program.display().to_string()],
        ..McpServer::default()
    })
}

/// Where Node is, because the world of a test has a search path of its own.
fn node() -> Result<PathBuf> {
    let output = Command::new("node").args(["-p", "process.execPath"]).output();
    let output = output.context("node is missing: install Node 20 or newer")?;
    ensure!(output.status.success(), "node does not run: {output:?}");
    Ok(String::from_utf8(output.stdout)?.trim().into())
}
