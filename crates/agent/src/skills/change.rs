//! Changing skills on behalf of an agent.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use super::index::Place;
use super::rules::{Deed, Facts, may_change};
use super::{
    MOST_SUPPORT_BYTES, Maker, Origin, SKILL_FILE, SkillError, Skills, Viewed, frontmatter, name,
    view,
};
use crate::{disk, threat};

/// Where deleted skills go, so that a person can take one back.
const REMOVED: &str = ".removed";
/// Where a skill is put together before it takes its place.
const UNFINISHED: &str = ".unfinished";

/// What an agent may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillChange {
    Create {
        category: Option<String>,
        content: String,
    },
    /// The only place with the old text gets the new one.
    Patch {
        path: String,
        old: String,
        new: String,
    },
    /// All of `SKILL.md` anew.
    Edit {
        content: String,
    },
    /// What it said lives on in the other skill, if one is named.
    Delete {
        absorbed_into: Option<String>,
    },
    WriteFile {
        path: String,
        content: String,
    },
    RemoveFile {
        path: String,
    },
}

impl Skills {
    /// Does it whole or not at all, and says in a few words what was done.
    pub fn change(
        &self,
        skill: &str,
        change: &SkillChange,
        origin: Origin,
        viewed: &Viewed,
    ) -> Result<String, SkillError> {
        name::check(skill)?;
        let _lock = disk::lock(&self.root).map_err(SkillError::file(&self.root))?;
        let session = Session { skills: self, skill, origin, viewed };
        match change {
            SkillChange::Create { category, content } => {
                session.create(category.as_deref(), content)
            }
            SkillChange::Patch { path, old, new } => session.patch(path, old, new),
            SkillChange::Edit { content } => session.write(SKILL_FILE, content),
            SkillChange::Delete { absorbed_into } => session.delete(absorbed_into.as_deref()),
            SkillChange::WriteFile { path, content } => {
                name::check_support(path)?;
                session.write(path, content)
            }
            SkillChange::RemoveFile { path } => session.remove_file(path),
        }
    }
}

/// One change, with the lock held.
struct Session<'a> {
    skills: &'a Skills,
    skill: &'a str,
    origin: Origin,
    viewed: &'a Viewed,
}

impl Session<'_> {
    fn create(&self, category: Option<&str>, content: &str) -> Result<String, SkillError> {
        if self.skills.find(self.skill).is_ok() {
            return Err(SkillError::Taken(self.skill.to_owned()));
        }
        check_content(SKILL_FILE, self.skill, content)?;
        let root = self.skills.root();
        let mut parent = root.to_owned();
        if let Some(category) = category {
            name::check(category)?;
            parent.push(category);
            // A skill cannot have skills in it.
            if parent.join(SKILL_FILE).exists() {
                return Err(SkillError::Taken(category.to_owned()));
            }
        }
        let target = parent.join(self.skill);
        // A folder that is no skill, of a person's perhaps, or a category.
        if target.symlink_metadata().is_ok() {
            return Err(SkillError::Taken(self.skill.to_owned()));
        }
        let unfinished = root.join(UNFINISHED);
        let refused = SkillError::file(&target);
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished).map_err(&refused)?;
        }
        fs::create_dir_all(&parent).map_err(&refused)?;
        fs::create_dir(&unfinished).map_err(&refused)?;
        disk::replace(&unfinished.join(SKILL_FILE), content.as_bytes(), 0o644).map_err(&refused)?;
        // Noted first: if we are killed in between, a note without a skill does no harm, a skill without its maker would be a person's.
        self.skills.note_locked(self.skill, |usage| {
            *usage = super::SkillUsage { created_by: Maker::Agent, ..Default::default() };
        })?;
        fs::rename(&unfinished, &target).map_err(&refused)?;
        disk::sync_folder_of(&target).map_err(&refused)?;
        self.viewed.note(self.skill, SKILL_FILE, content.as_bytes());
        Ok(format!("created skill {}", self.skill))
    }

    fn patch(&self, path: &str, old: &str, new: &str) -> Result<String, SkillError> {
        name::check_path(path)?;
        let place = self.skills.find(self.skill)?;
        let before = view::read(&place, path)?.ok_or_else(|| view::no_file(&place, path))?;
        let named = || path.to_owned();
        let text = str::from_utf8(&before).map_err(|_| SkillError::NotText { path: named() })?;
        // A person's file may have the other ends of lines; the model never sees them, and the file keeps them.
        let has_long_ends = text.contains("\r\n");
        let text = text.replace("\r\n", "\n");
        let (old, new) = (old.replace("\r\n", "\n"), new.replace("\r\n", "\n"));
        if old.is_empty() {
            return Err(SkillError::NothingToFind);
        }
        match text.matches(&old).count() {
            0 => return Err(SkillError::OldTextMissing { path: named() }),
            1 => {}
            times => return Err(SkillError::OldTextAmbiguous { path: named(), times }),
        }
        let mut patched = text.replacen(&old, &new, 1);
        if has_long_ends {
            patched = patched.replace('\n', "\r\n");
        }
        self.put(&place, path, Some(&before), &patched)
    }

    fn write(&self, path: &str, content: &str) -> Result<String, SkillError> {
        let place = self.skills.find(self.skill)?;
        let before = view::read(&place, path)?;
        self.put(&place, path, before.as_deref(), content)
    }

    fn put(
        &self,
        place: &Place,
        path: &str,
        before: Option<&[u8]>,
        content: &str,
    ) -> Result<String, SkillError> {
        match before {
            Some(bytes) => self.permit(place, Deed::ChangeFile, path, bytes)?,
            None => self.permit_with_skill_file(place, Deed::AddFile)?,
        }
        check_content(path, self.skill, content)?;
        let file = name::inside(&place.folder, path)?;
        let refused = SkillError::file(&file);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).map_err(&refused)?;
        }
        disk::replace(&file, content.as_bytes(), 0o644).map_err(&refused)?;
        self.skills.note_locked(self.skill, |usage| usage.patches += 1)?;
        self.viewed.note(self.skill, path, content.as_bytes());
        let what = if before.is_some() { "changed" } else { "added" };
        Ok(format!("{what} {path} of skill {}", self.skill))
    }

    fn remove_file(&self, path: &str) -> Result<String, SkillError> {
        if path == SKILL_FILE {
            return Err(SkillError::NotRemovable);
        }
        name::check_support(path)?;
        let place = self.skills.find(self.skill)?;
        let before = view::read(&place, path)?.ok_or_else(|| view::no_file(&place, path))?;
        self.permit(&place, Deed::ChangeFile, path, &before)?;
        let file = name::inside(&place.folder, path)?;
        fs::remove_file(&file).map_err(SkillError::file(&file))?;
        self.skills.note_locked(self.skill, |usage| usage.patches += 1)?;
        Ok(format!("removed {path} of skill {}", self.skill))
    }

    fn delete(&self, absorbed_into: Option<&str>) -> Result<String, SkillError> {
        let place = self.skills.find(self.skill)?;
        if let Some(other) = absorbed_into {
            if other == self.skill {
                let (name, hint) =
                    (other.to_owned(), " It cannot be absorbed into itself.".to_owned());
                return Err(SkillError::NoSkill { name, hint });
            }
            self.skills.find(other)?;
        }
        self.permit_with_skill_file(&place, Deed::Delete)?;
        let removed = self.skills.root().join(REMOVED);
        let refused = SkillError::file(&place.folder);
        fs::create_dir_all(&removed).map_err(&refused)?;
        let target = free_name(&removed, self.skill);
        fs::rename(&place.folder, &target).map_err(&refused)?;
        disk::sync_folder_of(&place.folder).map_err(&refused)?;
        self.skills.forget_locked(self.skill)?;
        let into =
            absorbed_into.map(|other| format!(", absorbed into {other}")).unwrap_or_default();
        Ok(format!("deleted skill {}{into}; a copy is in {}", self.skill, target.display()))
    }

    fn permit_with_skill_file(&self, place: &Place, deed: Deed) -> Result<(), SkillError> {
        let bytes = view::read(place, SKILL_FILE)?.unwrap_or_default();
        self.permit(place, deed, SKILL_FILE, &bytes)
    }

    fn permit(
        &self,
        place: &Place,
        deed: Deed,
        path: &str,
        bytes: &[u8],
    ) -> Result<(), SkillError> {
        let usage = self.skills.usage(self.skill)?;
        let facts = Facts {
            source: place.source,
            created_by: usage.created_by,
            is_pinned: usage.pinned,
            was_viewed: self.viewed.is_as_shown(self.skill, path, bytes),
            deed,
        };
        Ok(may_change(self.origin, self.skill, &facts)?)
    }
}

fn check_content(path: &str, skill: &str, content: &str) -> Result<(), SkillError> {
    if path == SKILL_FILE {
        frontmatter::check(content, skill)?;
    }
    if content.len() > MOST_SUPPORT_BYTES {
        let (what, found) = (path.to_owned(), content.len());
        return Err(SkillError::TooLarge { what, found, most: MOST_SUPPORT_BYTES, unit: "bytes" });
    }
    // Editors of people put a mark at the beginning, which nobody sees and which does no harm there.
    Ok(threat::scan_recipe(content.trim_start_matches('\u{feff}'))?)
}

fn free_name(folder: &Path, name: &str) -> std::path::PathBuf {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let mut free = folder.join(format!("{name}.{now}"));
    let mut number = 1;
    while free.exists() {
        free = folder.join(format!("{name}.{now}.{number}"));
        number += 1;
    }
    free
}
