//! Files held by Landlock: everything may be read, little be written.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};

use super::means::NEEDED;
use super::supervise::SandboxError;

/// The newest that is asked for. What of it the kernel does not have is not missed: device calls (V5), and signals and
/// abstract sockets to processes outside (V6).
const WANTED: ABI = ABI::V6;

/// Every program writes to some of them. None of them keeps anything.
const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// Holds the calling thread and all that it starts from now on.
pub(super) fn enter(writable: &[PathBuf]) -> Result<(), SandboxError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(NEEDED))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(WANTED))?
        .scope(Scope::Signal | Scope::AbstractUnixSocket)?
        .create()?;
    ruleset = allow(ruleset, Path::new("/"), AccessFs::from_read(WANTED))?;
    for device in DEVICES {
        let device = Path::new(device);
        let access = AccessFs::from_file(WANTED) & !BitFlags::from(AccessFs::Execute);
        ruleset = allow(ruleset, device, access)?;
    }
    for path in writable {
        let all = AccessFs::from_all(WANTED);
        let access = if path.is_dir() { all } else { all & AccessFs::from_file(WANTED) };
        ruleset = allow(ruleset, path, access)?;
    }
    match ruleset.restrict_self()?.ruleset {
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
        RulesetStatus::NotEnforced => Err(SandboxError::NotEnforced),
    }
}

fn allow(
    ruleset: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, SandboxError> {
    match open(path) {
        Ok(file) => Ok(ruleset.add_rule(PathBeneath::new(file, access))?),
        // Nothing can be written there: not every container has every device, and a folder may have been removed.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(ruleset),
        Err(source) => Err(SandboxError::Path { path: path.to_owned(), source }),
    }
}

/// Without following any link: somebody may have put one there since the path was resolved.
fn open(path: &Path) -> Result<OwnedFd, std::io::Error> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Ok(rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve)?)
}
