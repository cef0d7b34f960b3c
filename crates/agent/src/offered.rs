//! The tools that Codex is given, by `ostler tools-mcp` or on its own connection: those that it has not got itself.
//!
//! Never the terminal and the files, which Codex has behind its own walls; never what starts other tasks; never what changes skills.
//! What is named here and not in the toolbox is not offered.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Map;

use crate::api::Call;
use crate::memory::Memory;
use crate::notes::KeptNotes;
use crate::past_sessions::KeptSessions;
use crate::sandbox::Confinement;
use crate::shelf::Shelf;
use crate::skills::{Origin, Skills};
use crate::tool::{CallContext, Tool, ToolDefinition, ToolResult};
use crate::tools::{
    MemoryNotes, MemoryTool, Notes, OutsideSettings, SessionSearch, TodoTool, Toolbox,
    WriteApproval, outside_tools, skill_tools,
};

/// A tool that may be offered, and what it does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    pub name: &'static str,
    /// It changes nothing.
    pub only_reads: bool,
    /// It may change or remove what is there.
    pub destroys: bool,
    /// The same call again changes nothing more.
    pub repeats: bool,
    /// It reaches beyond this machine.
    pub open_world: bool,
}

const fn reads(name: &'static str) -> Offer {
    Offer { name, only_reads: true, destroys: false, repeats: true, open_world: false }
}

const fn looks_out(name: &'static str) -> Offer {
    Offer { name, only_reads: true, destroys: false, repeats: true, open_world: true }
}

/// What a page does with a click or a key is not ours to know.
const fn acts_on_a_page(name: &'static str) -> Offer {
    Offer { name, only_reads: false, destroys: true, repeats: false, open_world: true }
}

/// Where in a page one is: nothing beyond the browser changes.
const fn moves_in_a_page(name: &'static str) -> Offer {
    Offer { name, only_reads: false, destroys: false, repeats: false, open_world: true }
}

/// It makes a new file.
const fn makes(name: &'static str) -> Offer {
    Offer { name, only_reads: false, destroys: false, repeats: false, open_world: true }
}

const OFFERS: [Offer; 20] = [
    looks_out("web_search"),
    looks_out("web_extract"),
    // Another page takes the place of the one before.
    moves_in_a_page("browser_navigate"),
    looks_out("browser_snapshot"),
    acts_on_a_page("browser_click"),
    acts_on_a_page("browser_type"),
    acts_on_a_page("browser_press"),
    moves_in_a_page("browser_scroll"),
    moves_in_a_page("browser_back"),
    looks_out("browser_get_images"),
    // It can run a script in the page.
    acts_on_a_page("browser_console"),
    looks_out("browser_vision"),
    looks_out("vision_analyze"),
    makes("image_generate"),
    makes("text_to_speech"),
    reads("skills_list"),
    reads("skill_view"),
    Offer { name: "memory", only_reads: false, destroys: true, repeats: true, open_world: false },
    reads("session_search"),
    Offer { name: "todo", only_reads: false, destroys: true, repeats: true, open_world: false },
];

/// What Codex is not given: it has its own terminal and files, and the rest is not for a model that another one has started.
pub const NOT_OFFERED: [&str; 7] = [
    "terminal",
    "read_file",
    "write_file",
    "patch",
    "search_files",
    "delegate_task",
    "skill_manage",
];

/// What may be offered, by name.
pub(crate) fn offered_names() -> [&'static str; 20] {
    OFFERS.map(|offer| offer.name)
}

/// What the tools work on.
pub struct OfferSettings {
    /// Holds `memories` and `skills`.
    pub home: PathBuf,
    /// The file with the conversations; opened when a tool first needs it.
    pub conversations: PathBuf,
    /// The conversation for which the tools are served. Without one, what is noted ends with the server.
    pub conversation: Option<String>,
    pub memory_approval: WriteApproval,
    /// What reaches out of the machine, and where its files may be put.
    pub outside: Option<(OutsideSettings, Confinement)>,
}

/// The tools, ready to be called. Making it touches no disk.
pub struct Offered {
    toolbox: Toolbox,
    memory_tool: Arc<MemoryTool>,
}

impl Offered {
    pub fn new(settings: OfferSettings) -> Self {
        let shelf = Arc::new(Shelf::at(settings.conversations));
        let notes: Arc<dyn Notes> = match settings.conversation {
            Some(_) => Arc::new(KeptNotes::new(shelf.clone(), Map::new())),
            None => Arc::new(MemoryNotes::default()),
        };
        let memory = Arc::new(Memory::at(settings.home.join("memories")));
        let skills = Arc::new(Skills::at(settings.home.join("skills")));
        let memory_tool = Arc::new(MemoryTool::new(memory, settings.memory_approval));
        let mut tools: Vec<Arc<dyn Tool>> = vec![
            Arc::new(TodoTool::new(notes)),
            Arc::new(SessionSearch::new(Arc::new(KeptSessions { shelf }))),
            memory_tool.clone(),
        ];
        tools.extend(skill_tools(&skills, Origin::Foreground));
        if let Some((outside, confinement)) = settings.outside {
            tools.extend(outside_tools(outside, &Arc::new(confinement.resolve())));
        }
        Self { toolbox: Toolbox::new(tools).only(&offered_names()), memory_tool }
    }

    /// Each tool as a model is told of it, with what it does to the world.
    pub fn all(&self) -> Vec<(ToolDefinition, Offer)> {
        let offer = |name: &str| OFFERS.into_iter().find(|offer| offer.name == name);
        let definitions = self.toolbox.definitions().into_iter();
        definitions.filter_map(|it| offer(&it.name).map(|offer| (it, offer))).collect()
    }

    /// Whatever goes wrong is a result that the model can read.
    pub async fn run(&self, call: &Call, context: &CallContext) -> ToolResult {
        // Where Codex's turns begin is not told here, so a memory that was full may be tried again with each call.
        self.memory_tool.begin_turn();
        self.toolbox.run(call, context).await
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{OfferSettings, Offered};
    use crate::tools::WriteApproval;

    #[test]
    fn what_codex_has_itself_and_what_changes_skills_is_not_offered() {
        let offered = Offered::new(OfferSettings {
            home: PathBuf::from("/nowhere"),
            conversations: PathBuf::from("/nowhere/conversations.db"),
            conversation: None,
            memory_approval: WriteApproval::NotNeeded,
            outside: None,
        });
        let told: Vec<(String, bool)> =
            offered.all().into_iter().map(|(it, offer)| (it.name, offer.only_reads)).collect();
        let told: Vec<(&str, bool)> =
            told.iter().map(|(name, reads)| (name.as_str(), *reads)).collect();
        let expected = [
            ("todo", false),
            ("session_search", true),
            ("memory", false),
            ("skills_list", true),
            ("skill_view", true),
        ];
        assert_eq!(told, expected);
    }
}
