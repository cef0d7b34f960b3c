//! Codex binaries on the real npm and real packages, and on an npm that misbehaves.

#[cfg(test)]
mod binaries {
    mod broken_npm;
    mod fixture;
    mod real;
}
