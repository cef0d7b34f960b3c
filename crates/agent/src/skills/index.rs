//! Which skills there are.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::usage::Table;
use super::{MOST_CHARACTERS, SKILL_FILE, SkillError, Skills, Source, frontmatter, name};
use crate::threat;

/// How much of a description stands in a prompt, with all others.
const MOST_SHOWN: usize = 200;
/// Names that are offered for one that is not there.
const MOST_HINTS: usize = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillCard {
    pub name: String,
    pub description: String,
    pub category: Option<String>,
    pub source: Source,
}

/// All skills, by category and name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillIndex {
    pub cards: Vec<SkillCard>,
    /// For people: folders whose `SKILL.md` cannot be used, and why.
    pub problems: Vec<String>,
}

/// A skill's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) name: String,
    pub(super) category: Option<String>,
    pub(super) source: Source,
    pub(super) folder: PathBuf,
}

impl Skills {
    pub fn index(&self) -> SkillIndex {
        let mut index = SkillIndex::default();
        for place in self.places() {
            match card(&place) {
                Ok(card) => index.cards.push(card),
                Err(error) => index.problems.push(format!("{}: {error}", place.folder.display())),
            }
        }
        index
            .cards
            .sort_by(|one, other| (&one.category, &one.name).cmp(&(&other.category, &other.name)));
        index
    }

    /// All of them, for people.
    pub fn shown(&self) -> Result<String, SkillError> {
        Ok(self.index().shown(&self.usage_table()?))
    }

    pub(super) fn find(&self, wanted: &str) -> Result<Place, SkillError> {
        name::check(wanted)?;
        let mut places = self.places();
        if let Some(at) = places.iter().position(|place| place.name == wanted) {
            return Ok(places.swap_remove(at));
        }
        let near: Vec<String> = places
            .iter()
            .filter(|place| place.name.contains(wanted) || wanted.contains(&place.name))
            .take(MOST_HINTS)
            .map(|place| place.name.clone())
            .collect();
        let hint =
            if near.is_empty() { String::new() } else { format!(" Near it: {}.", near.join(", ")) };
        Err(SkillError::NoSkill { name: wanted.to_owned(), hint })
    }

    /// Every folder with a `SKILL.md`. Links that lead out of their root are not followed.
    pub(super) fn places(&self) -> Vec<Place> {
        let mut places: BTreeMap<String, Place> = BTreeMap::new();
        for (source, root) in self.roots() {
            let Ok(home) = fs::canonicalize(root) else { continue };
            for (top, folder) in folders(&home, &home) {
                if folder.join(SKILL_FILE).is_file() {
                    let place = Place { name: top.clone(), category: None, source, folder };
                    places.entry(top).or_insert(place);
                    continue;
                }
                for (inner, folder) in folders(&folder, &home) {
                    if folder.join(SKILL_FILE).is_file() {
                        let category = Some(top.clone());
                        let place = Place { name: inner.clone(), category, source, folder };
                        places.entry(inner).or_insert(place);
                    }
                }
            }
        }
        places.into_values().collect()
    }
}

impl SkillIndex {
    /// For a prompt; empty without skills.
    pub fn prompt(&self) -> String {
        self.text(|_| "")
    }

    /// For people, who see which of them are pinned.
    fn shown(&self, usage: &Table) -> String {
        let is_pinned = |card: &SkillCard| usage.get(&card.name).is_some_and(|it| it.pinned);
        self.text(|card| if is_pinned(card) { " (pinned)" } else { "" })
    }

    fn text(&self, mark: impl Fn(&SkillCard) -> &'static str) -> String {
        let mut text = String::new();
        let mut category = None;
        for card in &self.cards {
            if category != Some(&card.category) {
                category = Some(&card.category);
                text += &format!("{}:\n", card.category.as_deref().unwrap_or("general"));
            }
            let line = card.description.split_whitespace().collect::<Vec<_>>().join(" ");
            let shown: String = line.chars().take(MOST_SHOWN).collect();
            let more = if shown.len() < line.len() { "…" } else { "" };
            text += &format!("- {}{}: {shown}{more}\n", card.name, mark(card));
        }
        text
    }
}

/// Folders with names that skills and categories may have.
fn folders(folder: &Path, home: &Path) -> Vec<(String, PathBuf)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<(String, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            let entry_name = entry.file_name().into_string().ok()?;
            name::check(&entry_name).ok()?;
            let place = fs::canonicalize(entry.path()).ok()?;
            (place.is_dir() && place.starts_with(home)).then_some((entry_name, place))
        })
        .collect();
    found.sort();
    found
}

fn card(place: &Place) -> Result<SkillCard, SkillError> {
    let path = place.folder.join(SKILL_FILE);
    let text = fs::read_to_string(&path).map_err(SkillError::file(&path))?;
    let found = text.chars().count();
    if found > MOST_CHARACTERS {
        let (what, most, unit) = (SKILL_FILE.to_owned(), MOST_CHARACTERS, "characters");
        return Err(SkillError::TooLarge { what, found, most, unit });
    }
    let description = frontmatter::read(&text)?.description.unwrap_or_default();
    if description.is_empty() {
        return Err(SkillError::BadSkill("its head has no `description`".to_owned()));
    }
    // It stands in every prompt, whoever wrote it.
    threat::scan(&description)?;
    let Place { name, category, source, .. } = place.clone();
    Ok(SkillCard { name, description, category, source })
}
