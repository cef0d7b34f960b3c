//! Reading a skill.

use std::fs;
use std::io;
use std::path::Path;

use super::index::Place;
use super::{MOST_CHARACTERS, SKILL_FILE, SUPPORT_FOLDERS, SkillError, Skills, Viewed, name};

/// Files that are listed for a skill; a skill with more has something else in it.
const MOST_FILES: usize = 200;

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillView {
    pub name: String,
    pub path: String,
    /// With plain ends of lines. Cut where it is longer than a `SKILL.md` may be.
    pub text: String,
    /// There is more than `text` shows.
    pub is_cut: bool,
    /// All files that the skill has besides `SKILL.md`.
    pub files: Vec<String>,
}

impl Skills {
    /// Shows `SKILL.md`, or another file of a skill.
    pub fn view(&self, skill: &str, path: &str, viewed: &Viewed) -> Result<SkillView, SkillError> {
        let place = self.find(skill)?;
        name::check_path(path)?;
        let bytes = read(&place, path)?.ok_or_else(|| no_file(&place, path))?;
        let text = match str::from_utf8(&bytes) {
            Ok(text) => text.replace("\r\n", "\n"),
            Err(_) => format!("(not text: {} bytes)", bytes.len()),
        };
        let shown: String = text.chars().take(MOST_CHARACTERS).collect();
        let is_cut = shown.len() < text.len();
        if !is_cut {
            viewed.note(skill, path, &bytes);
        }
        // Whoever cannot count reads on.
        if let Err(error) = self.note(skill, |usage| usage.views += 1) {
            tracing::warn!(%error, "a view of a skill was not counted");
        }
        let (name, path) = (skill.to_owned(), path.to_owned());
        Ok(SkillView { name, path, text: shown, is_cut, files: files(&place.folder) })
    }
}

/// What a file of a skill has, if it is there.
pub(super) fn read(place: &Place, path: &str) -> Result<Option<Vec<u8>>, SkillError> {
    let file = name::inside(&place.folder, path)?;
    match fs::read(&file) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(source) => Err(SkillError::File { path: file, source }),
    }
}

pub(super) fn no_file(place: &Place, path: &str) -> SkillError {
    let mut all = files(&place.folder);
    all.insert(0, SKILL_FILE.to_owned());
    SkillError::NoFile { name: place.name.clone(), path: path.to_owned(), files: all.join(", ") }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory
    )
}

/// Plain files below the folders for them, by their path in the skill.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Vec<String> = SUPPORT_FOLDERS.iter().map(|name| (*name).to_owned()).collect();
    while let Some(inner) = open.pop() {
        let Ok(entries) = fs::read_dir(folder.join(&inner)) else { continue };
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let path = format!("{inner}/{}", entry.file_name().to_string_lossy());
            if name::check_support(&format!("{path}/x")).is_ok() && kind.is_dir() {
                open.push(path);
            } else if kind.is_file()
                && name::check_support(&path).is_ok()
                && found.len() < MOST_FILES
            {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
