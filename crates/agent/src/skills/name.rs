//! Names and paths that models choose, before the disk sees them.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::{MOST_NAME, SKILL_FILE, SUPPORT_FOLDERS, SkillError};

/// Folders below a skill; nobody needs more.
const MOST_DEPTH: usize = 6;
/// Of one name in a path; file systems take 255 bytes.
const MOST_PART: usize = 120;

pub(super) fn check(name: &str) -> Result<(), SkillError> {
    let first =
        name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let fits =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
    if !first || name.len() > MOST_NAME || !name.bytes().all(fits) {
        return Err(SkillError::BadName(name.to_owned()));
    }
    Ok(())
}

/// `SKILL.md`, or a path below one of the folders for files.
pub(super) fn check_path(path: &str) -> Result<(), SkillError> {
    if path == SKILL_FILE {
        return Ok(());
    }
    check_support(path)
}

pub(super) fn check_support(path: &str) -> Result<(), SkillError> {
    let bad = |why: &'static str| Err(SkillError::BadPath { path: path.to_owned(), why });
    if path.contains(['\\', '\0']) || path.chars().any(char::is_control) {
        return bad("it has characters that no path should have");
    }
    let parts: Vec<&str> = path.split('/').collect();
    if parts.iter().any(|part| part.is_empty() || *part == "." || *part == "..") {
        return bad("it must be a plain path without empty parts and ..");
    }
    if parts.iter().any(|part| part.starts_with('.') || part.len() > MOST_PART) {
        return bad("a part of it is hidden or too long");
    }
    if parts.len() < 2 || parts.len() > MOST_DEPTH {
        return bad("it must be a file in a folder, and not deep");
    }
    match parts.first() {
        Some(folder) if SUPPORT_FOLDERS.contains(folder) => Ok(()),
        _ => bad("its first folder is not one of those for files"),
    }
}

/// Where the file of a skill is, if no link on the way leads out of the skill. The file itself need not be there.
pub(super) fn inside(folder: &Path, path: &str) -> Result<PathBuf, SkillError> {
    let home = fs::canonicalize(folder).map_err(SkillError::file(folder))?;
    let mut place = home.clone();
    for part in Path::new(path).components() {
        let out =
            || SkillError::BadPath { path: path.to_owned(), why: "it leads out of the skill" };
        let Component::Normal(part) = part else { return Err(out()) };
        place.push(part);
        match fs::symlink_metadata(&place) {
            Ok(found) if found.is_symlink() => {
                place = fs::canonicalize(&place).map_err(|_| out())?;
                if !place.starts_with(&home) {
                    return Err(out());
                }
            }
            _ => {}
        }
    }
    Ok(place)
}
