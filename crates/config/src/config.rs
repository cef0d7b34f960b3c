//! The whole file as a program uses it.

use crate::section::{Key, Section};
use crate::settings::{
    Approver, Codex, Daemon, Environment, Limits, PolicyRule, Retention, Store, Tasks, Worktree,
};
use crate::source::Source;
use crate::surroundings::Surroundings;

/// One section as the documentation shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionGuide {
    /// As it is written: `[tasks]`, or `[[policy]]`, which may stand there as often as wanted.
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
            /// Rules of the operator's own, in their order.
            pub policy: Vec<PolicyRule>,
        }

        /// What may stand at the top of the file, in the order in which it is shown.
        pub(crate) const SECTIONS: &[&str] = &[$( $kind::NAME, )+ PolicyRule::NAME];

        impl Config {
            pub(crate) fn read(source: &mut Source<'_, '_>) -> Self {
                Self { $( $field: source.section(), )+ policy: source.rules() }
            }

            /// Every key of every section with its value as it stands in a file. Rules are not among them.
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
    limits: Limits,
    store: Store,
    retention: Retention,
    approver: Approver,
    daemon: Daemon,
    worktree: Worktree,
    environment: Environment,
}

fn guide_of<S: Section>(header: String, surroundings: &Surroundings) -> SectionGuide {
    let about = S::ABOUT.trim().to_owned();
    SectionGuide { header, about, keys: S::describe(surroundings) }
}
