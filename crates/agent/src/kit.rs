//! The tools of one conversation, and what they share.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use ostler_model::task::TaskSettings;
use serde_json::{Map, Value};

use crate::agent::Parts;
use crate::memory::Memory;
use crate::notes::KeptNotes;
use crate::offered::offered_names;
use crate::past_sessions::KeptSessions;
use crate::prompt::SkillLine;
use crate::sandbox::{Confinement, Means};
use crate::shelf::Shelf;
use crate::skills::rules::sentence;
use crate::skills::{Origin, SKILL_FILE, Skills, Source};
use crate::tool::Tool;
use crate::tools::{
    DelegateTask, MemoryTool, OutsideSettings, Patch, ReadFile, SearchFiles, SessionSearch,
    Terminal, TerminalSettings, TodoTool, Toolbox, WriteApproval, WriteFile, outside_tools,
    skill_tools,
};

/// What the tools may do, and where they find things.
pub struct KitSettings {
    /// Holds `memories` and `skills`.
    pub home: PathBuf,
    pub confinement: Confinement,
    /// The words that lead to our own `sandbox-exec`.
    pub launcher: Vec<OsString>,
    /// Where that program is, the best first; Landlock alone is used without it.
    pub bubblewraps: Vec<PathBuf>,
    /// All that a command sees.
    pub environment: BTreeMap<OsString, OsString>,
    /// What a delegated task is started with, as far as the confinement allows it.
    pub delegated: TaskSettings,
    pub memory_approval: WriteApproval,
    /// The web, a browser, pictures and speech; none of them without.
    pub outside: Option<OutsideSettings>,
}

pub(crate) struct Kit {
    pub(crate) toolbox: Toolbox,
    pub(crate) memory: Arc<Memory>,
    pub(crate) skills: Arc<Skills>,
    memory_tool: Arc<MemoryTool>,
    memory_approval: WriteApproval,
}

impl Kit {
    pub(crate) fn new(settings: KitSettings, parts: &Parts, notes: Map<String, Value>) -> Self {
        let memory = Arc::new(Memory::at(settings.home.join("memories")));
        let skills = Arc::new(Skills::at(settings.home.join("skills")));
        let shelf = Arc::new(Shelf::opened(parts.conversations.clone()));
        let notes = Arc::new(KeptNotes::new(shelf.clone(), notes));
        let memory_tool = Arc::new(MemoryTool::new(memory.clone(), settings.memory_approval));
        let boundary = Arc::new(settings.confinement.resolve());
        let terminal = TerminalSettings {
            launcher: settings.launcher,
            boundary: boundary.clone(),
            means: Means::find(settings.bubblewraps),
            environment: settings.environment,
        };
        let mut tools: Vec<Arc<dyn Tool>> = vec![
            Arc::new(Terminal::new(terminal)),
            Arc::new(ReadFile),
            Arc::new(WriteFile::new(boundary.clone())),
            Arc::new(Patch::new(boundary.clone())),
            Arc::new(SearchFiles),
            Arc::new(TodoTool::new(notes)),
            Arc::new(SessionSearch::new(Arc::new(KeptSessions { shelf }))),
            Arc::new(DelegateTask::new(parts.tasks.clone(), settings.delegated, boundary.clone())),
            memory_tool.clone(),
        ];
        tools.extend(skill_tools(&skills, Origin::Foreground));
        let outside = settings.outside.map(|outside| outside_tools(outside, &boundary));
        tools.extend(outside.into_iter().flatten());
        let memory_approval = settings.memory_approval;
        Self { toolbox: Toolbox::new(tools), memory, skills, memory_tool, memory_approval }
    }

    pub(crate) fn begin_turn(&self) {
        self.memory_tool.begin_turn();
    }

    /// Those that Codex has not got itself.
    pub(crate) fn offered(&self) -> Toolbox {
        self.toolbox.only(&offered_names())
    }

    /// Only memory and skills, by the rules of a review.
    pub(crate) fn review_toolbox(&self) -> Toolbox {
        // A review asks nobody: where a person wants to be asked, it remembers nothing.
        let memory = MemoryTool::new(self.memory.clone(), self.memory_approval);
        let mut tools: Vec<Arc<dyn Tool>> = vec![Arc::new(memory)];
        tools.extend(skill_tools(&self.skills, Origin::Review));
        Toolbox::new(tools)
    }
}

/// The rules that hold in a review, as its prompt says them.
pub(crate) fn review_rules() -> String {
    sentence(Origin::Review)
}

/// All skills, for a prompt. Blocks.
pub(crate) fn skill_lines(skills: &Skills) -> Vec<SkillLine> {
    let cards = skills.index().cards.into_iter();
    let line = |card: crate::skills::SkillCard| {
        let folder = match (&card.source, &card.category) {
            (Source::Own, Some(category)) => skills.root().join(category).join(&card.name),
            (Source::Own, None) => skills.root().join(&card.name),
            _ => PathBuf::from(&card.name),
        };
        let path = folder.join(SKILL_FILE).display().to_string();
        SkillLine { name: card.name, description: card.description, path }
    };
    cards.map(line).collect()
}
