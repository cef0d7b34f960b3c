//! The Codex binaries: which there are, how one is fetched, which one to run.
//!
//! The official npm package brings a native binary for each platform behind a Node wrapper. We run the native one:
//! killing the wrapper leaves the native process alive, and Node costs memory. [`Installer`] puts whole versions side
//! by side into a [`Cache`]; [`resolve`] picks the binary to run; [`verify`] looks whether an installed one is sound.
//!
//! Nothing here reads the process environment: it comes in as [`Environment`].

mod bubblewrap;
mod cache;
mod child;
mod digest;
mod environment;
mod install;
mod manifest;
mod npm;
mod platform;
mod probe;
mod resolve;
mod verify;
mod version;

pub use bubblewrap::shipped_bubblewraps;
pub use cache::{Broken, Cache, CacheError, Installed, Listed};
pub use environment::Environment;
pub use install::{
    InstallError, InstallLimits, InstallOutcome, InstallPhase, InstallProgress, Installer,
    OnProgress, Origin,
};
pub use manifest::{FileRecord, Manifest, PackageRecord};
pub use npm::{NpmError, NpmFailure};
pub use platform::{NativeError, Platform, PlatformError, native_binary};
pub use probe::{Probe, probe};
pub use resolve::{
    Facts, Finding, NoBinary, Passed, Resolution, Settings, Source, Step, Unfit, decide, look,
    resolve,
};
pub use verify::{Finding as CheckFinding, verify_binary, verify_installed};
pub use version::{OLDEST, VersionError, VersionRequest, parse_version};
