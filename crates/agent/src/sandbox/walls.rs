//! What one command gets around it: data, made here and handed to `ostler sandbox-exec`.

use std::path::{Path, PathBuf};

use ostler_model::task::SandboxMode;
use serde::{Deserialize, Serialize};

use super::boundary::{Boundary, GUARDED};
use super::means::Means;

/// How one command is held. All paths are real ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "walls", rename_all = "kebab-case")]
pub enum Walls {
    /// A person has allowed it, or the operator wants none.
    None,
    Landlock {
        writable: Vec<PathBuf>,
        network: bool,
    },
    Bubblewrap {
        program: PathBuf,
        writable: Vec<PathBuf>,
        /// Below the writable ones. Where there is nothing, an empty folder holds the place while the command runs.
        read_only: Vec<PathBuf>,
        network: bool,
    },
    /// What is left to do inside of bubblewrap, which cannot deny sockets by itself. Landlock holds the same files once more:
    /// a program of that name on the search path need not be the real one.
    InsideBubblewrap {
        writable: Vec<PathBuf>,
        network: bool,
    },
}

impl Boundary {
    /// The walls for a command that nobody was asked about.
    pub fn walls(&self, means: &Means) -> Walls {
        if self.mode == SandboxMode::DangerFullAccess {
            return Walls::None;
        }
        let mut writable = without(&self.writable, &self.protected, &entries);
        // What is in a folder that is writable only in parts was not named by anybody.
        let is_guarded = |path: &PathBuf| self.guarded().any(|guarded| guarded == *path);
        writable.retain(|path| self.writable.contains(path) || !is_guarded(path));
        match means {
            Means::Landlock => Walls::Landlock { writable, network: self.network },
            Means::Bubblewrap(program) => {
                // Nothing can be made in a folder that is writable only in parts.
                let can_be = |path: &PathBuf| {
                    path.parent().is_some_and(|root| writable.contains(&root.into()))
                };
                let guarded = self.guarded().filter(|path| can_be(path) || path.exists());
                Walls::Bubblewrap {
                    program: program.clone(),
                    read_only: guarded.collect(),
                    writable,
                    network: self.network,
                }
            }
        }
    }

    /// Why these means do not keep a command from what decides on later programs; none if they do, or if nobody wants it kept.
    pub fn unguarded(&self, means: &Means) -> Option<String> {
        if self.mode == SandboxMode::DangerFullAccess || self.writable.is_empty() {
            return None;
        }
        let what = "what is below `.git`, `.codex` and `.agents` decides what programs do later, outside of every sandbox";
        match means {
            Means::Landlock => Some(format!(
                "{what}, and without a working bubblewrap (`bwrap`) no command is kept from it"
            )),
            Means::Bubblewrap(_) => {
                let link = self.guarded().find(|path| path.is_symlink())?;
                Some(format!("{what}, and {} is a link, which could be replaced", link.display()))
            }
        }
    }

    fn guarded(&self) -> impl Iterator<Item = PathBuf> {
        self.writable.iter().flat_map(|root| GUARDED.map(|name| root.join(name)))
    }
}

/// A writable folder with something protected below it is replaced by all else that is in it now; new files right beside
/// the way to the protected one cannot be made then. Landlock only adds, so it knows no other way. Bubblewrap could put
/// something read-only over it, but then the folder above could be moved away, and another put in its place.
fn without(
    writable: &[PathBuf],
    protected: &[PathBuf],
    entries: &dyn Fn(&Path) -> Vec<PathBuf>,
) -> Vec<PathBuf> {
    let mut left: Vec<PathBuf> = writable.to_vec();
    let mut allowed = Vec::new();
    while let Some(folder) = left.pop() {
        if protected.iter().any(|protected| folder.starts_with(protected)) {
            continue;
        }
        if protected.iter().any(|protected| protected.starts_with(&folder)) {
            left.extend(entries(&folder));
        } else {
            allowed.push(folder);
        }
    }
    allowed.sort();
    allowed
}

/// What is in a folder, without links: what one leads to was not allowed.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let real =
        entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
    real.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::{Walls, without};
    use crate::sandbox::{Confinement, Means};
    use ostler_model::task::{Sandbox, SandboxMode};
    use std::path::{Path, PathBuf};

    #[test]
    fn what_decides_on_later_programs_is_not_among_what_is_beside_a_protected_folder() {
        let folder = tempfile::tempdir().unwrap();
        let cwd = folder.path().canonicalize().unwrap();
        for name in ["src", ".git", "home"] {
            std::fs::create_dir(cwd.join(name)).unwrap();
        }
        let sandbox = Sandbox { mode: SandboxMode::WorkspaceWrite, ..Sandbox::default() };
        let protected = vec![cwd.join("home")];
        let confinement =
            Confinement { sandbox, cwd: cwd.clone(), protected, ..Confinement::default() };

        let walls = confinement.resolve().walls(&Means::Bubblewrap("/bwrap".into()));

        let wanted = Walls::Bubblewrap {
            program: "/bwrap".into(),
            writable: vec![cwd.join("src")],
            read_only: vec![cwd.join(".git")],
            network: false,
        };
        assert_eq!(walls, wanted);
    }

    #[test]
    fn a_protected_folder_is_taken_out_by_allowing_all_beside_the_way_to_it() {
        let entries = |folder: &Path| -> Vec<PathBuf> {
            let names: &[&str] = match folder.to_str().unwrap() {
                "/home" => &["/home/work", "/home/.config", "/home/.codex"],
                "/home/.config" => &["/home/.config/ostler", "/home/.config/other"],
                other => panic!("nobody needs to look into {other}"),
            };
            names.iter().map(PathBuf::from).collect()
        };
        let paths = |all: &[&str]| all.iter().map(PathBuf::from).collect::<Vec<_>>();

        let allowed = without(
            &paths(&["/home", "/tmp"]),
            &paths(&["/home/.config/ostler", "/home/.codex", "/home/.codex/config.toml"]),
            &entries,
        );

        assert_eq!(allowed, paths(&["/home/.config/other", "/home/work", "/tmp"]));
    }
}
