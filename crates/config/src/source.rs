//! The file as TOML, with all that is found out while it is read.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::config::SECTIONS;
use crate::nearest::nearest;
use crate::origin::{Origin, Origins};
use crate::problem::Problem;
use crate::section::{Reader, Section};
use crate::settings::provider::is_name;
use crate::settings::{Notify, PolicyRule, Provider};
use crate::surroundings::Surroundings;
use crate::value::Node;

pub(crate) struct Source<'c, 't> {
    text: &'c str,
    surroundings: &'c Surroundings,
    root: &'c DeTable<'t>,
    nothing: &'c DeTable<'t>,
    /// Each with the byte at which it stands.
    pub(crate) problems: Vec<(usize, Problem)>,
    pub(crate) origins: Origins,
}

impl<'c, 't> Source<'c, 't> {
    pub(crate) fn new(
        text: &'c str,
        surroundings: &'c Surroundings,
        root: &'c DeTable<'t>,
        nothing: &'c DeTable<'t>,
    ) -> Self {
        let mut source = Self {
            text,
            surroundings,
            root,
            nothing,
            problems: Vec::new(),
            origins: Origins::new(),
        };
        source.refuse_unknown_sections();
        source
    }

    pub(crate) fn section<S: Section>(&mut self) -> S {
        let table = match self.root.get(S::NAME).map(Spanned::get_ref) {
            None => self.nothing,
            Some(DeValue::Table(table)) => table,
            Some(_) => {
                self.wrong_section(S::NAME, &format!("[{}]", S::NAME));
                self.nothing
            }
        };
        self.read(S::NAME.to_owned(), table)
    }

    /// The providers, each below its own name.
    pub(crate) fn providers(&mut self) -> BTreeMap<String, Provider> {
        self.named(|provider: &Provider, _, is_given| provider.check(is_given))
    }

    /// Whom tasks tell, each below its own name.
    pub(crate) fn notify(&mut self) -> BTreeMap<String, Notify> {
        self.named(|notify: &Notify, name, is_given| notify.check(name, is_given))
    }

    /// Sections that have names of the operator's own. `check` is given the section, its name, and whether a key stands in it.
    fn named<S: Section>(
        &mut self,
        check: impl Fn(&S, &str, &dyn Fn(&str) -> bool) -> Result<(), String>,
    ) -> BTreeMap<String, S> {
        let section = S::NAME;
        let header = format!("[{section}.NAME]");
        let mut found = BTreeMap::new();
        let tables = match self.root.get(section).map(Spanned::get_ref) {
            None => return found,
            Some(DeValue::Table(tables)) => tables,
            Some(_) => {
                self.wrong_section(section, &header);
                return found;
            }
        };
        for (key, item) in tables {
            let (offset, written) = (key.span().start, key.get_ref().as_ref());
            let name = format!("{section}.{written}");
            let DeValue::Table(table) = item.get_ref() else {
                let problem = Problem::at(self.text, offset, "is a section").about(name);
                self.problems.push((offset, problem.advise(format!("write {header}"))));
                continue;
            };
            let read: S = self.read(name.clone(), table);
            let line = Problem::at(self.text, offset, "").line;
            self.origins.insert(name.clone(), Origin::File { line });
            let checked = match is_name(written) {
                true => check(&read, written, &|key| table.contains_key(key)),
                false => {
                    Err("has a name with other signs than letters, digits, - and _".to_owned())
                }
            };
            if let Err(message) = checked {
                self.problems.push((offset, Problem::at(self.text, offset, message).about(name)));
            }
            found.insert(written.to_owned(), read);
        }
        found
    }

    /// The rules, each with its number in its name.
    pub(crate) fn rules(&mut self) -> Vec<PolicyRule> {
        let name = PolicyRule::NAME;
        let items = match self.root.get(name).map(Spanned::get_ref) {
            None => return Vec::new(),
            Some(DeValue::Array(items)) => items,
            Some(_) => {
                self.wrong_section(name, &format!("[[{name}]]"));
                return Vec::new();
            }
        };
        let mut rules = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let name = format!("{name}[{}]", index + 1);
            let DeValue::Table(table) = item.get_ref() else {
                self.wrong_section(PolicyRule::NAME, &format!("[[{}]]", PolicyRule::NAME));
                continue;
            };
            let rule: PolicyRule = self.read(name.clone(), table);
            let line = Problem::at(self.text, item.span().start, "").line;
            self.origins.insert(name.clone(), Origin::File { line });
            if let Err(message) = rule.check(|key| table.contains_key(key)) {
                let problem = Problem::at(self.text, item.span().start, message).about(name);
                self.problems.push((item.span().start, problem));
            }
            rules.push(rule);
        }
        rules
    }

    /// A problem with a key that is in the file; of one that is not, the file is not at fault.
    pub(crate) fn complain(&mut self, section: &str, key: &str, message: &str, advice: &str) {
        let found = self.root.get(section).and_then(|section| section.get_ref().get(key));
        if let Some(found) = found {
            let offset = found.span().start;
            let problem = Problem::at(self.text, offset, message).about(format!("{section}.{key}"));
            self.problems.push((offset, problem.advise(advice)));
        }
    }

    fn read<S: Section>(&mut self, name: String, table: &'c DeTable<'t>) -> S {
        let mut reader = Reader {
            text: self.text,
            surroundings: self.surroundings,
            name,
            table,
            problems: &mut self.problems,
            origins: &mut self.origins,
        };
        reader.section()
    }

    fn wrong_section(&mut self, name: &str, header: &str) {
        let place = self.root.get_key_value(name).map_or(0, |(key, _)| key.span().start);
        let problem = Problem::at(self.text, place, "is a section").about(name);
        self.problems.push((place, problem.advise(format!("write {header}"))));
    }

    fn refuse_unknown_sections(&mut self) {
        for (key, _) in self.root {
            let (offset, key) = (key.span().start, key.get_ref().as_ref());
            if SECTIONS.contains(&key) {
                continue;
            }
            let problem = Problem::at(self.text, offset, "is unknown").about(key);
            let meant = nearest(key, SECTIONS.iter().copied());
            let advice = match (meant, crate::config::section_of(key)) {
                (Some(meant), _) => format!("did you mean [{meant}]?"),
                (None, Some(section)) => format!("it belongs into [{section}]"),
                (None, None) => format!("the sections are {}", SECTIONS.join(", ")),
            };
            self.problems.push((offset, problem.advise(advice)));
        }
    }
}

/// Where values stand that are no tables of their own: inside them, one mistake makes others appear.
pub(crate) fn value_spans(table: &DeTable<'_>) -> Vec<Range<usize>> {
    fn collect(node: &Node<'_>, spans: &mut Vec<Range<usize>>) {
        match node.get_ref() {
            DeValue::Table(table) => table.iter().for_each(|(_, value)| collect(value, spans)),
            _ => spans.push(node.span()),
        }
    }
    let mut spans = Vec::new();
    table.iter().for_each(|(_, value)| collect(value, &mut spans));
    spans
}
