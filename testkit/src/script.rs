//! Executable scripts for the tests.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// Writes the file in another process. If this one had it open for writing while a parallel test forks, the kernel
/// would refuse to execute it ("text file busy").
pub fn write_script(path: &Path, text: &str, mode: u32) -> Result<()> {
    let mut shell = Command::new("/bin/sh")
        .args(["-c", r#"cat > "$0" && chmod "$1" "$0""#])
        .arg(path)
        .arg(format!("{mode:o}"))
        .stdin(Stdio::piped())
        .spawn()?;
    shell.stdin.take().context("no way to the shell")?.write_all(text.as_bytes())?;
    ensure!(shell.wait()?.success(), "{} was not written", path.display());
    Ok(())
}
