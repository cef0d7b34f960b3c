//! Sections of the file. Each is written down once, with [`section!`]: the fields that a program uses, their defaults,
//! and the words that document them are one text and cannot drift apart.

use std::ops::RangeInclusive;

use toml::de::DeTable;

use crate::config::section_of;
use crate::nearest::nearest;
use crate::origin::{Origin, Origins};
use crate::problem::Problem;
use crate::surroundings::Surroundings;
use crate::value::{Place, Value, is_within, written_range};

/// One key, as the documentation shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    pub name: &'static str,
    /// What has to be written.
    pub form: String,
    /// The amounts that are taken, where it is an amount.
    pub range: Option<String>,
    /// As it stands in a file; absent where the default is that nothing is set.
    pub default: Option<String>,
    pub about: String,
}

/// Settings that belong together.
pub(crate) trait Section: Sized {
    const NAME: &'static str;
    const ABOUT: &'static str;
    const KEYS: &'static [&'static str];
    /// Keys that other programs know and we refuse, with what to do instead.
    const REFUSED: &'static [(&'static str, &'static str)];

    fn read(reader: &mut Reader<'_, '_>) -> Self;

    fn describe(surroundings: &Surroundings) -> Vec<Key>;

    /// Every key with its value as it stands in a file.
    fn written(&self) -> Vec<(&'static str, Option<String>)>;
}

/// Makes a section: a struct with public fields, and how it is read, written and documented. `at` is the name by which a
/// default speaks of the surroundings, `_at` where none does. Behind a default may stand the range of amounts that is
/// taken, in the unit of the kind: seconds, bytes or pieces.
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        $name:ident = $section:literal, $at:ident;
        $( $(#[doc = $doc:literal])+ $key:ident: $kind:ty = $default:expr $(, $range:expr)?; )+
        $( refused $refused:literal: $instead:literal; )*
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name { $( $(#[doc = $doc])+ pub $key: $kind, )+ }

        impl $crate::section::Section for $name {
            const NAME: &'static str = $section;
            const ABOUT: &'static str = concat!($($about),+);
            const KEYS: &'static [&'static str] = &[$(stringify!($key)),+];
            const REFUSED: &'static [(&'static str, &'static str)] = &[$(($refused, $instead)),*];

            fn read(reader: &mut $crate::section::Reader<'_, '_>) -> Self {
                let $at = reader.surroundings;
                Self { $( $key: reader.key(stringify!($key), $default, None $(.or(Some(&($range))))?), )+ }
            }

            fn describe(surroundings: &$crate::surroundings::Surroundings) -> Vec<$crate::section::Key> {
                let $at = surroundings;
                vec![$(
                    $crate::section::Key::new::<$kind>(
                        stringify!($key),
                        &$default,
                        None $(.or(Some(&($range))))?,
                        concat!($($doc),+),
                    )
                ),+]
            }

            fn written(&self) -> Vec<(&'static str, Option<String>)> {
                vec![$( (stringify!($key), $crate::value::Value::written(&self.$key)) ),+]
            }
        }
    };
}
pub(crate) use section;

impl Key {
    pub(crate) fn new<T: Value>(
        name: &'static str,
        default: &T,
        range: Option<&RangeInclusive<u64>>,
        about: &str,
    ) -> Self {
        Self {
            name,
            form: T::form(),
            range: range.map(written_range::<T>),
            default: default.written(),
            about: about.trim().to_owned(),
        }
    }
}

/// Reads one section, or one item of a list of tables.
pub(crate) struct Reader<'c, 't> {
    pub(crate) text: &'c str,
    pub(crate) surroundings: &'c Surroundings,
    /// What the keys are called by: `tasks`, or `policy[2]`.
    pub(crate) name: String,
    pub(crate) table: &'c DeTable<'t>,
    pub(crate) problems: &'c mut Vec<(usize, Problem)>,
    pub(crate) origins: &'c mut Origins,
}

impl Reader<'_, '_> {
    /// The whole section. What is unknown in it is a problem: a slip of the pen must not become a default unseen.
    pub(crate) fn section<S: Section>(&mut self) -> S {
        for (key, _) in self.table {
            let (offset, key) = (key.span().start, key.get_ref().as_ref());
            if S::KEYS.contains(&key) {
                continue;
            }
            let refused = S::REFUSED.iter().find(|(name, _)| *name == key);
            let message = if refused.is_some() { "must not stand here" } else { "is unknown" };
            let problem = Problem::at(self.text, offset, message);
            let problem = problem.about(format!("{}.{key}", self.name));
            if let Some((_, instead)) = refused {
                self.problems.push((offset, problem.advise(*instead)));
                continue;
            }
            let advice = match (nearest(key, S::KEYS.iter().copied()), section_of(key)) {
                (Some(meant), _) => format!("did you mean {meant}?"),
                (None, Some(section)) => format!("it belongs into [{section}]"),
                (None, None) => "take it out".to_owned(),
            };
            self.problems.push((offset, problem.advise(advice)));
        }
        S::read(self)
    }

    /// One setting: what the file says, or else the default.
    pub(crate) fn key<T: Value>(
        &mut self,
        name: &'static str,
        default: T,
        range: Option<&RangeInclusive<u64>>,
    ) -> T {
        let Some(found) = self.table.get(name) else {
            return default;
        };
        let key = format!("{}.{name}", self.name);
        let (text, surroundings) = (self.text, self.surroundings);
        let line = Problem::at(text, found.span().start, "").line;
        self.origins.insert(key.clone(), Origin::File { line });
        let (form, problems) = (T::form(), &mut *self.problems);
        let mut place = Place { surroundings, text, key, form, problems };
        let read = T::read(found, &mut place);
        if let (Some(value), Some(range)) = (&read, range)
            && !is_within(value, range)
        {
            let written = value.written().unwrap_or_default();
            let message = format!("must be {}, not {written}", written_range::<T>(range));
            place.complain(found, message);
        }
        read.unwrap_or(default)
    }
}
