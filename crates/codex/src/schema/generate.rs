//! Has a Codex binary write the schema of its own protocol.

use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

/// Codex needs 0.2 s on an idle machine; a hundred times that means it hangs.
const DEADLINE: Duration = Duration::from_secs(20);

#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    #[error("cannot run {codex}; check that it is an executable codex binary")]
    Start { codex: String, source: io::Error },
    #[error("{codex} wrote no schema within {} s; try it by hand", DEADLINE.as_secs())]
    Late { codex: String },
    #[error("{codex} failed to write its schema ({status}): {stderr}")]
    Failed { codex: String, status: ExitStatus, stderr: String },
}

/// Runs `codex app-server generate-json-schema --experimental` into `out`. The binary gets `out` as its home, so that
/// it neither reads nor touches the user's.
pub async fn generate(codex: &Path, out: &Path) -> Result<(), GenerateError> {
    let name = codex.display().to_string();
    let mut command = Command::new(codex);
    command
        .args(["app-server", "generate-json-schema", "--experimental", "--out"])
        .arg(out)
        .env_clear()
        .env("CODEX_HOME", out)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .kill_on_drop(true);
    let output = match timeout(DEADLINE, command.output()).await {
        Ok(Ok(output)) => output,
        Ok(Err(source)) => {
            return Err(GenerateError::Start { codex: name, source });
        }
        Err(_) => return Err(GenerateError::Late { codex: name }),
    };
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(GenerateError::Failed { codex: name, status: output.status, stderr })
}
