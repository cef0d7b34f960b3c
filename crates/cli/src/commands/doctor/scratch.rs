//! Folders that the doctor makes for a look, and takes away again.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Folders that were not there before. Dropping it takes them away, unless somebody put something in.
#[derive(Debug)]
pub(in crate::commands) struct Made {
    /// The outermost first.
    levels: Vec<PathBuf>,
}

impl Made {
    /// Makes the folder, and whatever is missing above it, for our eyes only.
    pub(in crate::commands) fn at(path: &Path) -> io::Result<Self> {
        let mut missing: Vec<&Path> =
            path.ancestors().take_while(|folder| !folder.exists()).collect();
        missing.reverse();
        let mut made = Self { levels: Vec::new() };
        for level in missing {
            fs::DirBuilder::new().mode(0o700).create(level)?;
            made.levels.push(level.to_owned());
        }
        Ok(made)
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for level in self.levels.iter().rev() {
            // One that is in use by now stays, and that is right.
            drop(fs::remove_dir(level));
        }
    }
}

/// Before the process id in the name of a scratch folder.
pub(super) const FOLDER_PREFIX: &str = "doctor-";

/// Neighbouring folders: one that Codex may write to, one that it may not, and two homes for it. Dropping it removes all.
#[derive(Debug)]
pub(in crate::commands) struct Scratch {
    root: PathBuf,
    /// Goes after the folders in it have gone.
    _above: Made,
}

impl Scratch {
    pub(in crate::commands) fn below(state: &Path) -> io::Result<Self> {
        let above = Made::at(state)?;
        // No link may stand between the folder that is named to the sandbox and the file that is tried.
        let state = fs::canonicalize(state)?;
        let root = state.join(format!("{FOLDER_PREFIX}{}", std::process::id()));
        if root.exists() {
            // Of a doctor that was killed long ago and had our process id.
            fs::remove_dir_all(&root)?;
        }
        fs::DirBuilder::new().mode(0o700).create(&root)?;
        let scratch = Self { root, _above: above };
        for folder in
            [scratch.workspace(), scratch.outside(), scratch.codex_home(), scratch.bare_home()]
        {
            fs::DirBuilder::new().mode(0o700).create(folder)?;
        }
        Ok(scratch)
    }

    pub(in crate::commands) fn workspace(&self) -> PathBuf {
        self.root.join("workspace")
    }

    pub(in crate::commands) fn outside(&self) -> PathBuf {
        self.root.join("outside")
    }

    pub(in crate::commands) fn codex_home(&self) -> PathBuf {
        self.root.join("codex-home")
    }

    /// A home without the user's login.
    pub(super) fn bare_home(&self) -> PathBuf {
        self.root.join("bare-home")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The next doctor with this process id clears what cannot be removed now.
        drop(fs::remove_dir_all(&self.root));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_goes_and_what_was_there_stays() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("a/b");
        let scratch = Scratch::below(&state).unwrap();
        fs::write(scratch.workspace().join("file"), "x").unwrap();
        assert!(scratch.outside().is_dir());
        drop(scratch);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

        let made = Made::at(&state).unwrap();
        fs::write(folder.path().join("a/kept"), "x").unwrap();
        drop(made);
        assert!(!state.exists());
        assert!(folder.path().join("a/kept").exists());
    }
}
