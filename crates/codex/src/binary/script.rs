//! Executable scripts for the tests.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes the file in another process. If this one had it open for writing while a parallel test forks, the kernel
/// would refuse to execute it ("text file busy").
pub(crate) fn write(path: &Path, text: &str, mode: u32) {
    let mut shell = Command::new("/bin/sh")
        .args(["-c", r#"cat > "$0" && chmod "$1" "$0""#])
        .arg(path)
        .arg(format!("{mode:o}"))
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    shell.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(shell.wait().unwrap().success());
}
