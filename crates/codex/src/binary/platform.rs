//! Where the native binary lies inside the npm packages, for the machine we run on.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::environment::is_executable_file;

/// The scoped folder that npm, pnpm and bun put the packages into.
const SCOPE: &str = "@openai";

/// The two places of the binary below `vendor/<triple>`: the first since 0.14x, the second in 0.125 and 0.130.
const LAYOUTS: [&str; 2] = ["bin/codex", "codex/codex"];

/// A machine that Codex is published for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Platform {
    /// What npm calls it: `linux-x64`.
    pub npm_name: &'static str,
    /// The folder below `vendor/`: `x86_64-unknown-linux-musl`.
    pub triple: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "Codex is not published for {os} on {architecture}; set [codex] path to a binary of your own"
)]
pub struct PlatformError {
    pub os: &'static str,
    pub architecture: &'static str,
}

/// Why no native binary was found for a path.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NativeError {
    #[error("is not there")]
    NotFound,
    #[error("cannot be read: {reason}")]
    Unreadable { reason: String },
    #[error(
        "is the npm wrapper, and the package with the native binary ({package}) is not beside it; reinstall it"
    )]
    PlatformPackageMissing { package: String },
    #[error("is a script that hides the native binary; name the native binary itself")]
    Script,
}

impl Platform {
    pub fn current() -> Result<Self, PlatformError> {
        let (npm_name, triple) = match (std::env::consts::OS, std::env::consts::ARCH) {
            ("linux" | "android", "x86_64") => ("linux-x64", "x86_64-unknown-linux-musl"),
            ("linux" | "android", "aarch64") => ("linux-arm64", "aarch64-unknown-linux-musl"),
            ("macos", "x86_64") => ("darwin-x64", "x86_64-apple-darwin"),
            ("macos", "aarch64") => ("darwin-arm64", "aarch64-apple-darwin"),
            (os, architecture) => return Err(PlatformError { os, architecture }),
        };
        Ok(Self { npm_name, triple })
    }

    /// The name that the platform's package has inside `node_modules`.
    #[must_use]
    pub fn package(self) -> String {
        format!("{SCOPE}/codex-{}", self.npm_name)
    }

    /// The whole `vendor/<triple>` folder and the binary's place in it, below one `node_modules`.
    pub(crate) fn vendor_below(self, node_modules: &Path) -> Option<Vendor> {
        let packages = [self.package(), format!("{SCOPE}/codex")];
        packages.iter().find_map(|package| {
            let folder = node_modules.join(package).join("vendor").join(self.triple);
            let binary =
                LAYOUTS.into_iter().find(|layout| is_executable_file(&folder.join(layout)))?;
            Some(Vendor { folder, binary })
        })
    }
}

pub(crate) struct Vendor {
    pub(crate) folder: PathBuf,
    pub(crate) binary: &'static str,
}

/// The native binary that a path stands for: itself, or the one that npm's `codex.js` would start.
pub fn native_binary(path: &Path, platform: Platform) -> Result<PathBuf, NativeError> {
    let real = fs::canonicalize(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => NativeError::NotFound,
        _ => NativeError::Unreadable { reason: error.to_string() },
    })?;
    if !is_script(&real)? {
        return Ok(path.to_owned());
    }
    if !real.ends_with(format!("{SCOPE}/codex/bin/codex.js")) {
        return Err(NativeError::Script);
    }
    // Node looks into the `node_modules` of every folder above the wrapper; this finds nested and hoisted packages
    // and, because the path is real, pnpm's store.
    real.ancestors()
        .find_map(|folder| platform.vendor_below(&folder.join("node_modules")))
        .map(|vendor| vendor.folder.join(vendor.binary))
        .ok_or_else(|| NativeError::PlatformPackageMissing { package: platform.package() })
}

fn is_script(path: &Path) -> Result<bool, NativeError> {
    let unreadable = |error: std::io::Error| NativeError::Unreadable { reason: error.to_string() };
    let mut start = Vec::new();
    File::open(path).map_err(unreadable)?.take(2).read_to_end(&mut start).map_err(unreadable)?;
    Ok(start == b"#!")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    const LINUX: Platform = Platform { npm_name: "linux-x64", triple: "x86_64-unknown-linux-musl" };

    fn put(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Lays the wrapper and the native package out as told and asks what the link on PATH stands for.
    fn check(wrapper: &str, native: Option<&str>, expected: Result<(), NativeError>) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        put(&root.join(wrapper), "#!/usr/bin/env node\n");
        let link = root.join("bin/codex");
        fs::create_dir_all(root.join("bin")).unwrap();
        symlink(root.join(wrapper), &link).unwrap();
        if let Some(native) = native {
            put(&root.join(native), "\x7fELF");
        }
        let expected = expected.map(|()| root.join(native.unwrap_or_default()));
        assert_eq!(native_binary(&link, LINUX), expected, "{wrapper} {native:?}");
    }

    #[test]
    fn the_native_binary_behind_the_wrapper_is_found_in_every_layout() {
        let vendor = "codex-linux-x64/vendor/x86_64-unknown-linux-musl";
        let global = "lib/node_modules/@openai/codex";
        let nested = format!("{global}/node_modules/@openai/{vendor}/bin/codex");
        check(&format!("{global}/bin/codex.js"), Some(&nested), Ok(()));
        let hoisted = format!("lib/node_modules/@openai/{vendor}/codex/codex");
        check(&format!("{global}/bin/codex.js"), Some(&hoisted), Ok(()));
        let store = "node_modules/.pnpm/@openai+codex@0.130.0/node_modules/@openai";
        let sibling = format!("{store}/{vendor}/codex/codex");
        check(&format!("{store}/codex/bin/codex.js"), Some(&sibling), Ok(()));
        let bundled = format!("{global}/vendor/x86_64-unknown-linux-musl/codex/codex");
        check(&format!("{global}/bin/codex.js"), Some(&bundled), Ok(()));
    }

    #[test]
    fn what_hides_its_native_binary_is_named() {
        let package = "@openai/codex-linux-x64".to_owned();
        check(
            "lib/node_modules/@openai/codex/bin/codex.js",
            None,
            Err(NativeError::PlatformPackageMissing { package }),
        );
        check("shims/codex", None, Err(NativeError::Script));
        assert_eq!(native_binary(Path::new("/no/such/codex"), LINUX), Err(NativeError::NotFound));
    }

    #[test]
    fn a_native_binary_stands_for_itself() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("codex");
        put(&path, "\x7fELF");
        assert_eq!(native_binary(&path, LINUX), Ok(path));
    }
}
