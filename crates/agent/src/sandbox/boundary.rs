//! Which files may be changed without asking.

use std::path::{Component, Path, PathBuf};

use ostler_model::task::{Approval, Sandbox, SandboxMode};

/// Folders below a writable one that decide what runs later, outside of every sandbox: Codex keeps them read-only, too.
pub(crate) const GUARDED: [&str; 3] = [".git", ".codex", ".agents"];

/// What the operator wants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Confinement {
    pub sandbox: Sandbox,
    pub approval: Approval,
    /// The folder that the conversation works in; absolute.
    pub cwd: PathBuf,
    /// Writable wherever `cwd` is: `/tmp`, and what `TMPDIR` says.
    pub temporary: Vec<PathBuf>,
    /// Never written by these tools: settings of Codex and of Ostler, its state, memories and skills.
    pub protected: Vec<PathBuf>,
}

/// A confinement with every path resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boundary {
    pub(crate) mode: SandboxMode,
    pub(crate) approval: Approval,
    pub(crate) network: bool,
    /// Empty in a sandbox that only reads.
    pub(crate) writable: Vec<PathBuf>,
    pub(crate) protected: Vec<PathBuf>,
}

/// Where a file lies. The path must be a real one: absolute, without links and `..`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// It may be changed.
    Inside,
    /// In a writable folder, below one of those that decide what runs later.
    Guarded(&'static str),
    Outside,
    Protected,
}

impl Confinement {
    /// Folders that do not exist are left out: nothing can be written below them.
    pub fn resolve(&self) -> Boundary {
        let real = |path: &PathBuf| path.canonicalize().ok();
        let writable = match self.sandbox.mode {
            SandboxMode::ReadOnly => Vec::new(),
            SandboxMode::WorkspaceWrite | SandboxMode::DangerFullAccess => {
                let roots = self.sandbox.writable_roots.iter().map(PathBuf::from);
                let roots = roots.filter(|root| root.is_absolute());
                let all = std::iter::once(self.cwd.clone()).chain(roots);
                let mut all: Vec<_> = all
                    .chain(self.temporary.iter().cloned())
                    .filter_map(|path| real(&path))
                    .collect();
                all.sort();
                all.dedup();
                all
            }
        };
        // What is protected may not exist yet, and must not come to exist by these tools either.
        let protected = self.protected.iter().map(|path| resolved(path)).collect();
        Boundary {
            mode: self.sandbox.mode,
            approval: self.approval,
            network: self.sandbox.network,
            writable,
            protected,
        }
    }
}

impl Boundary {
    pub fn reach(&self, real: &Path) -> Reach {
        if self.protected.iter().any(|protected| real.starts_with(protected)) {
            return Reach::Protected;
        }
        if self.mode == SandboxMode::DangerFullAccess {
            return Reach::Inside;
        }
        // The nearest folder counts: one below `.git` that was made writable by its own name is meant.
        let root = self.writable.iter().filter(|root| real.starts_with(root));
        let Some(root) = root.max_by_key(|root| root.components().count()) else {
            return Reach::Outside;
        };
        let below = real.strip_prefix(root).unwrap_or(real);
        let guarded = GUARDED
            .into_iter()
            .find(|name| below.components().any(|part| part == Component::Normal(name.as_ref())));
        guarded.map_or(Reach::Inside, Reach::Guarded)
    }
}

/// The path with every link resolved as far as it exists. The rest is taken as it is, without `..`.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    let mut rest = Vec::new();
    let mut at = path;
    loop {
        if let Ok(real) = at.canonicalize() {
            return rest.into_iter().rev().fold(real, |path, part| path.join(part));
        }
        match (at.parent(), at.file_name()) {
            (Some(parent), Some(name)) => {
                rest.push(name.to_owned());
                at = parent;
            }
            _ => return path.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Confinement, Reach};
    use ostler_model::task::{Sandbox, SandboxMode};
    use std::path::PathBuf;

    fn confinement(mode: SandboxMode, cwd: PathBuf) -> Confinement {
        Confinement {
            sandbox: Sandbox { mode, ..Sandbox::default() },
            protected: vec![cwd.join("home/config.toml")],
            cwd,
            ..Confinement::default()
        }
    }

    #[test]
    fn a_path_is_judged_by_the_nearest_writable_folder() {
        let folder = tempfile::tempdir().unwrap();
        let cwd = folder.path().canonicalize().unwrap();
        let boundary = confinement(SandboxMode::WorkspaceWrite, cwd.clone()).resolve();

        let judged =
            ["a/b.txt", ".git/hooks/pre-commit", "sub/.codex/config.toml", "home/config.toml"]
                .map(|path| boundary.reach(&cwd.join(path)));

        let wanted =
            [Reach::Inside, Reach::Guarded(".git"), Reach::Guarded(".codex"), Reach::Protected];
        assert_eq!(judged, wanted);
        assert_eq!(boundary.reach(cwd.parent().unwrap()), Reach::Outside);
    }

    #[test]
    fn nothing_is_inside_where_only_reading_is_allowed_and_all_but_the_protected_where_everything_is()
     {
        let folder = tempfile::tempdir().unwrap();
        let cwd = folder.path().canonicalize().unwrap();
        let read = confinement(SandboxMode::ReadOnly, cwd.clone()).resolve();
        let full = confinement(SandboxMode::DangerFullAccess, cwd.clone()).resolve();

        assert_eq!(read.reach(&cwd.join("a")), Reach::Outside);
        assert_eq!(full.reach("/etc/passwd".as_ref()), Reach::Inside);
        assert_eq!(full.reach(&cwd.join("home/config.toml")), Reach::Protected);
    }
}
