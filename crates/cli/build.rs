//! Links the release so that its relocations take 20 kB and not 2 MB: all of them are read at every start, and stay in memory.
#![expect(
    clippy::disallowed_methods,
    reason = "a build script is told what it builds by the environment"
)]

use std::process::Command;

/// The first C library that can load them.
const FIRST: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let told = |name| std::env::var(name).unwrap_or_default();
    let is_for_here = told("HOST") == told("TARGET") && told("CARGO_CFG_TARGET_ENV") == "gnu";
    if told("PROFILE") == "release" && is_for_here && c_library() >= Some(FIRST) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// That of this machine. Where it does not say, the program is linked as anywhere.
fn c_library() -> Option<(u32, u32)> {
    let said = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let said = String::from_utf8(said.stdout).ok()?;
    let (major, minor) = said.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
