//! A key that a program prints.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::time::timeout;

use super::{CredentialError, MAX_KEY_BYTES};

/// The program's name and what it wrote. Its standard error goes to nobody, because it may hold secrets, too.
pub(super) async fn output(
    argv: &[String],
    within: Duration,
) -> Result<(String, String), CredentialError> {
    let (program, arguments) = argv.split_first().ok_or(CredentialError::NoCommand)?;
    let program = program.clone();
    let failed = |source| CredentialError::Command { program: program.clone(), source };
    let mut child = Command::new(&program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        // It must not outlive a question that nobody asks any more.
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)?;
    let mut text = String::new();
    let run = async {
        if let Some(stdout) = child.stdout.take() {
            stdout.take(MAX_KEY_BYTES as u64).read_to_string(&mut text).await?;
        }
        child.wait().await
    };
    let status = match timeout(within, run).await {
        Ok(status) => status.map_err(failed)?,
        Err(_) => return Err(CredentialError::CommandHangs { program, within }),
    };
    if !status.success() {
        return Err(CredentialError::CommandFailed { program, status: status.to_string() });
    }
    Ok((program, text))
}
