//! Holds what we rely on against a schema.

use std::collections::BTreeSet;

use serde_json::Value;

use super::bundle::Bundle;
use super::drift::{Change, Drift};
use super::node::{Alternative, JsonType, alternatives};
use super::reliance::{Direction, Field, Kind, Message, Need, Part, messages};
use crate::protocol::versions::{self, CodexVersion};

/// Every difference between the schema of this version and what we rely on there. Empty is good.
pub fn check(bundle: &Bundle, version: &CodexVersion) -> Vec<Drift> {
    messages()
        .filter(|message| message.known().covers(version))
        .flat_map(|message| check_message(bundle, version, message))
        .collect()
}

fn check_message(bundle: &Bundle, version: &CodexVersion, message: &'static Message) -> Vec<Drift> {
    let mut checker = Checker { bundle, version, message, drifts: Vec::new() };
    match (bundle.message(message), message.fields) {
        (None, _) => checker.report("", Change::MethodGone),
        (Some(node), Some(fields)) => checker.check_fields(&alternatives(bundle, node), fields, ""),
        (Some(node), None) => checker.check_nothing(node),
    }
    checker.drifts
}

struct Checker<'a> {
    bundle: &'a Bundle,
    version: &'a CodexVersion,
    message: &'static Message,
    drifts: Vec<Drift>,
}

impl<'a> Checker<'a> {
    fn report(&mut self, path: &str, change: Change) {
        let Message { part, method, .. } = *self.message;
        let drift = Drift { method, part, path: path.to_owned(), change };
        // The alternatives of one node may show the same difference several times.
        if !self.drifts.contains(&drift) {
            self.drifts.push(drift);
        }
    }

    fn direction(&self) -> Direction {
        self.message.part.direction()
    }

    /// A message without params must be taken as one.
    fn check_nothing(&mut self, node: &'a Value) {
        let takes_null =
            alternatives(self.bundle, node).iter().any(|way| way.types.contains(&JsonType::Null));
        if !takes_null {
            self.report("", Change::NowRequired);
        }
    }

    fn check_fields(&mut self, ways: &[Alternative<'a>], fields: &'static [Field], path: &str) {
        let objects: Vec<_> =
            ways.iter().filter(|way| way.types.contains(&JsonType::Object)).collect();
        if objects.is_empty() {
            let change = changed(&BTreeSet::from([JsonType::Object]), &possible(ways));
            return self.report(path, change);
        }
        for field in fields {
            if !self.is_known(field, path) {
                continue;
            }
            let below = join(path, field.name);
            let nodes: Vec<_> = objects
                .iter()
                .filter_map(|object| object.properties.get(field.name))
                .flatten()
                .copied()
                .collect();
            if nodes.is_empty() {
                self.report(&below, Change::Missing);
                continue;
            }
            let ways: Vec<_> =
                nodes.iter().flat_map(|node| alternatives(self.bundle, node)).collect();
            if self.direction() == Direction::Read && field.need == Need::Always {
                let certain = objects.iter().all(|object| object.required.contains(field.name));
                let nullable = !matches!(field.kind, Kind::Any)
                    && ways.iter().any(|way| way.types.contains(&JsonType::Null));
                if !certain || nullable {
                    self.report(&below, Change::NowOptional);
                }
            }
            self.check_kind(&ways, &field.kind, &below);
        }
        if self.direction() == Direction::Sent {
            self.check_required(&objects, fields, path);
        }
    }

    /// What we send is bounded by the table of versions, what we read by the field itself.
    fn is_known(&self, field: &Field, path: &str) -> bool {
        let ruled = self.message.part != Part::Request
            || !path.is_empty()
            || versions::known(self.message.method, Some(field.name)).covers(self.version);
        ruled && field.known.covers(self.version)
    }

    /// At least one alternative must be content with what we always send.
    fn check_required(
        &mut self,
        objects: &[&Alternative<'a>],
        fields: &'static [Field],
        path: &str,
    ) {
        let sent: BTreeSet<_> = fields
            .iter()
            .filter(|field| field.need == Need::Always)
            .map(|field| field.name)
            .collect();
        let lacking = objects
            .iter()
            .map(|object| object.required.difference(&sent).copied().collect::<Vec<_>>())
            .min_by_key(Vec::len);
        for name in lacking.unwrap_or_default() {
            self.report(&join(path, name), Change::NowRequired);
        }
    }

    fn check_kind(&mut self, ways: &[Alternative<'a>], kind: &'static Kind, path: &str) {
        if !self.types_fit(ways, kind) {
            let change = changed(&accepted(kind, self.version), &possible(ways));
            return self.report(path, change);
        }
        match *kind {
            Kind::Any | Kind::Text | Kind::Integer | Kind::Boolean => {}
            Kind::Words(words) => self.check_words(ways, words, path),
            Kind::List(element) => {
                let below = format!("{path}[]");
                self.check_below(ways.iter().flat_map(|way| &way.items), element, &below);
            }
            Kind::Map(entry) => {
                let below = format!("{path}.*");
                self.check_below(ways.iter().flat_map(|way| &way.entries), entry, &below);
            }
            Kind::Object(fields) => self.check_fields(ways, fields, path),
            Kind::Tagged { tag, variants } => {
                for variant in variants {
                    if !variant.known.covers(self.version) {
                        continue;
                    }
                    let tagged = self.tagged(ways, tag, variant.word);
                    if tagged.is_empty() {
                        self.report(path, Change::WordGone { word: variant.word });
                        continue;
                    }
                    let below = format!("{path}<{}>", variant.word);
                    self.check_variant(&tagged, tag, variant.fields, &below);
                }
            }
            Kind::Either(options) => {
                for option in options {
                    self.check_option(ways, option, path);
                }
            }
            Kind::Between(known, kind) if known.covers(self.version) => {
                self.check_kind(ways, kind, path);
            }
            Kind::Between(..) => {}
        }
    }

    fn check_below<'b>(
        &mut self,
        nodes: impl Iterator<Item = &'b &'a Value>,
        kind: &'static Kind,
        path: &str,
    ) where
        'a: 'b,
    {
        let ways: Vec<_> = nodes.flat_map(|node| alternatives(self.bundle, node)).collect();
        // A list or map whose elements the schema leaves open allows anything.
        if !ways.is_empty() {
            self.check_kind(&ways, kind, path);
        }
    }

    fn check_words(
        &mut self,
        ways: &[Alternative<'a>],
        words: &'static [&'static str],
        path: &str,
    ) {
        let texts: Vec<_> =
            ways.iter().filter(|way| way.types.contains(&JsonType::String)).collect();
        for word in words {
            let known =
                texts.iter().any(|way| way.words.as_ref().is_none_or(|words| words.contains(word)));
            if !known {
                self.report(path, Change::WordGone { word });
            }
        }
    }

    /// The alternatives whose tag is this word.
    fn tagged(&self, ways: &[Alternative<'a>], tag: &str, word: &str) -> Vec<Alternative<'a>> {
        let is_tagged = |way: &&Alternative<'a>| {
            way.properties.get(tag).into_iter().flatten().any(|node| {
                alternatives(self.bundle, node)
                    .iter()
                    .any(|tag| tag.words.as_ref().is_some_and(|words| words.contains(&word)))
            })
        };
        ways.iter().filter(is_tagged).cloned().collect()
    }

    /// The tag itself is always there, so it does not count as a field we fail to send.
    fn check_variant(
        &mut self,
        ways: &[Alternative<'a>],
        tag: &str,
        fields: &'static [Field],
        path: &str,
    ) {
        let mut ways = ways.to_vec();
        for way in &mut ways {
            way.required.remove(tag);
        }
        self.check_fields(&ways, fields, path);
    }

    /// An option that is an object is held only against the alternatives that have its fields.
    fn check_option(&mut self, ways: &[Alternative<'a>], option: &'static Kind, path: &str) {
        match *option {
            Kind::Between(known, option) if known.covers(self.version) => {
                self.check_option(ways, option, path);
            }
            Kind::Words(words) => self.check_words(ways, words, path),
            Kind::Object(fields) => {
                let fitting: Vec<_> = ways
                    .iter()
                    .filter(|way| {
                        fields.iter().all(|field| way.properties.contains_key(field.name))
                    })
                    .cloned()
                    .collect();
                match fields.first() {
                    Some(field) if fitting.is_empty() => {
                        self.report(&join(path, field.name), Change::Missing);
                    }
                    _ => self.check_fields(&fitting, fields, path),
                }
            }
            _ => {}
        }
    }

    /// What we send must be possible; what may come must be accepted. A free text counts as fitting a vocabulary, as the
    /// caller chooses its value.
    fn types_fit(&self, ways: &[Alternative<'a>], kind: &'static Kind) -> bool {
        let (ours, theirs) = (accepted(kind, self.version), possible(ways));
        let (inner, outer) = match self.direction() {
            Direction::Sent => (&ours, &theirs),
            Direction::Read => (&theirs, &ours),
        };
        // An open number takes an integer; nothing takes null, because an absent field is what we mean by it.
        matches!(kind, Kind::Any)
            || inner.iter().all(|json| {
                outer.contains(json)
                    || (*json == JsonType::Integer && outer.contains(&JsonType::Number))
            })
    }
}

/// The types a node allows, except null.
fn possible(ways: &[Alternative<'_>]) -> BTreeSet<JsonType> {
    let types = ways.iter().flat_map(|way| way.types.iter().copied());
    types.filter(|json| *json != JsonType::Null).collect()
}

/// The types a kind stands for.
fn accepted(kind: &Kind, version: &CodexVersion) -> BTreeSet<JsonType> {
    match kind {
        Kind::Any => BTreeSet::new(),
        Kind::Text | Kind::Words(_) => BTreeSet::from([JsonType::String]),
        Kind::Integer => BTreeSet::from([JsonType::Integer]),
        Kind::Boolean => BTreeSet::from([JsonType::Boolean]),
        Kind::List(_) => BTreeSet::from([JsonType::Array]),
        Kind::Map(_) | Kind::Object(_) | Kind::Tagged { .. } => BTreeSet::from([JsonType::Object]),
        Kind::Either(options) => {
            options.iter().flat_map(|option| accepted(option, version)).collect()
        }
        Kind::Between(known, kind) if known.covers(version) => accepted(kind, version),
        Kind::Between(..) => BTreeSet::new(),
    }
}

fn changed(ours: &BTreeSet<JsonType>, theirs: &BTreeSet<JsonType>) -> Change {
    let named = |types: &BTreeSet<JsonType>| {
        let names: Vec<_> = types.iter().map(ToString::to_string).collect();
        if names.is_empty() { "nothing".to_owned() } else { names.join(" or ") }
    };
    Change::TypeChanged { ours: named(ours), theirs: named(theirs) }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
