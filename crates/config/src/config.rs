//! The whole file as a program uses it.

use std::collections::BTreeMap;

use crate::section::{Key, Section};
use crate::settings::{
    Agent, Approver, Browser, Codex, Daemon, Environment, Images, Limits, Mcp, Migrate, Notify,
    PolicyRule, Provider, Retention, Server, Speech, Store, Tasks, Vision, Web, Worktree,
};
use crate::source::Source;
use crate::surroundings::Surroundings;

/// One section as the documentation shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionGuide {
    /// As it is written: `[tasks]`, `[providers.NAME]` with a name of one's own, or `[[policy]]`, which may stand there
    /// as often as wanted.
    pub header: String,
    pub about: String,
    pub keys: Vec<Key>,
}

macro_rules! config {
    ($( $field:ident: $kind:ident, )+) => {
        /// Every setting with its value: what the file says, or else the default.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct Config {
            $( pub $field: $kind, )+
            /// By their names; those that are built in only if the file replaces them.
            pub providers: BTreeMap<String, Provider>,
            /// Whom tasks tell, by their names.
            pub notify: BTreeMap<String, Notify>,
            /// Rules of the operator's own, in their order.
            pub policy: Vec<PolicyRule>,
        }

        /// What may stand at the top of the file, in the order in which it is shown.
        pub(crate) const SECTIONS: &[&str] = &[$( $kind::NAME, )+ Provider::NAME, Notify::NAME, PolicyRule::NAME];

        impl Config {
            pub(crate) fn read(source: &mut Source<'_, '_>) -> Self {
                Self {
                    $( $field: source.section(), )+
                    providers: source.providers(),
                    notify: source.notify(),
                    policy: source.rules(),
                }
            }

            /// A provider by its name: the file's, or else the one that is built in.
            #[must_use]
            pub fn provider(&self, name: &str) -> Option<Provider> {
                self.providers.get(name).cloned().or_else(|| Provider::built_in(name))
            }

            /// Every key of every section with its value as it stands in a file. Providers and rules are not among them.
            pub(crate) fn written(&self) -> Vec<(&'static str, &'static str, Option<String>)> {
                let sections = [$( ($kind::NAME, self.$field.written()), )+];
                let keys = sections.into_iter().flat_map(|(section, keys)| {
                    keys.into_iter().map(move |(key, value)| (section, key, value))
                });
                keys.collect()
            }
        }

        /// Every section with every key: the one table that the documentation is made of.
        #[must_use]
        pub fn guide(surroundings: &Surroundings) -> Vec<SectionGuide> {
            vec![
                $( guide_of::<$kind>(format!("[{}]", $kind::NAME), surroundings), )+
                guide_of::<Provider>(format!("[{}.NAME]", Provider::NAME), surroundings),
                guide_of::<Notify>(format!("[{}.NAME]", Notify::NAME), surroundings),
                guide_of::<PolicyRule>(format!("[[{}]]", PolicyRule::NAME), surroundings),
            ]
        }

        /// The section that has a key of this name.
        pub(crate) fn section_of(key: &str) -> Option<&'static str> {
            let sections = [$( ($kind::NAME, $kind::KEYS), )+];
            sections.into_iter().find(|(_, keys)| keys.contains(&key)).map(|(name, _)| name)
        }
    };
}

config! {
    codex: Codex,
    tasks: Tasks,
    agent: Agent,
    web: Web,
    browser: Browser,
    vision: Vision,
    images: Images,
    speech: Speech,
    limits: Limits,
    store: Store,
    retention: Retention,
    approver: Approver,
    daemon: Daemon,
    server: Server,
    mcp: Mcp,
    worktree: Worktree,
    environment: Environment,
    migrate: Migrate,
}

fn guide_of<S: Section>(header: String, surroundings: &Surroundings) -> SectionGuide {
    let about = S::ABOUT.trim().to_owned();
    SectionGuide { header, about, keys: S::describe(surroundings) }
}
