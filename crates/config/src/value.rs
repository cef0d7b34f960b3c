//! What can stand behind a key: how it is read, how it is written, and how its kind is called.

mod duration;
mod headers;
mod invocation;
mod list;
mod number;
mod size;
mod text;
pub(crate) mod words;

use std::ops::RangeInclusive;

use toml::Spanned;
use toml::de::DeValue;

use crate::problem::Problem;
use crate::surroundings::Surroundings;

pub use headers::Headers;
pub use invocation::Invocation;
pub use size::Size;
pub use text::{Address, BranchPrefix, EnvironmentName, LogFilter, VariableName};

pub(crate) use duration::{DAY, HOUR, days, minutes, seconds};
pub(crate) use size::{GIBIBYTE, MEBIBYTE};
pub(crate) use text::quoted;

/// A value in the file, and where it stands.
pub(crate) type Node<'t> = Spanned<DeValue<'t>>;

/// One kind of value.
pub(crate) trait Value: Sized {
    /// What has to be written, for people: `a time such as "30s"`.
    fn form() -> String;

    /// `None` where it is something else; the reason has then been given to the `place`.
    fn read(found: &Node<'_>, place: &mut Place<'_>) -> Option<Self>;

    /// As it stands in a file. `None` where it stands for nothing that could be written.
    fn written(&self) -> Option<String>;

    /// How much it is, in the unit of its kind, where it is an amount.
    fn amount(&self) -> Option<u64> {
        None
    }

    /// An amount of this kind as it stands in a file.
    fn written_amount(amount: u64) -> String {
        amount.to_string()
    }

    /// The word that stands for "no limit" where an `Option` of this kind is wanted; `None` means leaving the key out.
    const OFF: Option<&'static str> = None;
}

/// A place in the file, with what is needed to judge what stands there.
pub(crate) struct Place<'c> {
    pub(crate) surroundings: &'c Surroundings,
    pub(crate) text: &'c str,
    /// The dotted name of the key.
    pub(crate) key: String,
    /// What has to be written here.
    pub(crate) form: String,
    pub(crate) problems: &'c mut Vec<(usize, Problem)>,
}

impl Place<'_> {
    pub(crate) fn complain(&mut self, found: &Node<'_>, message: impl Into<String>) {
        self.push(found, |problem| problem, message);
    }

    pub(crate) fn advise(
        &mut self,
        found: &Node<'_>,
        message: impl Into<String>,
        advice: impl Into<String>,
    ) {
        self.push(found, |problem| problem.advise(advice), message);
    }

    /// That it is something else than it should be.
    pub(crate) fn mismatch(&mut self, found: &Node<'_>) {
        self.complain(found, self.describe_mismatch(found));
    }

    pub(crate) fn describe_mismatch(&self, found: &Node<'_>) -> String {
        format!("must be {}, not {}", self.form, named(found))
    }

    fn push(
        &mut self,
        found: &Node<'_>,
        finish: impl FnOnce(Problem) -> Problem,
        message: impl Into<String>,
    ) {
        let offset = found.span().start;
        let problem = Problem::at(self.text, offset, message).about(&self.key);
        self.problems.push((offset, finish(problem)));
    }
}

/// Whether an amount lies in a range. What is no amount, such as "no limit", does.
pub(crate) fn is_within<T: Value>(value: &T, range: &RangeInclusive<u64>) -> bool {
    value.amount().is_none_or(|amount| range.contains(&amount))
}

/// A range in words: `from "1s" to "7d"`.
pub(crate) fn written_range<T: Value>(range: &RangeInclusive<u64>) -> String {
    format!("from {} to {}", T::written_amount(*range.start()), T::written_amount(*range.end()))
}

impl<T: Value> Value for Option<T> {
    fn form() -> String {
        match T::OFF {
            Some(off) => format!("{}, or {}", T::form(), quoted(off)),
            None => T::form(),
        }
    }

    fn read(found: &Node<'_>, place: &mut Place<'_>) -> Option<Self> {
        match (found.get_ref(), T::OFF) {
            (DeValue::String(word), Some(off)) if word == off => Some(None),
            _ => T::read(found, place).map(Some),
        }
    }

    fn written(&self) -> Option<String> {
        match self {
            Some(value) => value.written(),
            None => T::OFF.map(quoted),
        }
    }

    fn amount(&self) -> Option<u64> {
        self.as_ref().and_then(T::amount)
    }

    fn written_amount(amount: u64) -> String {
        T::written_amount(amount)
    }
}

/// What stands there, as a person would call it. Long texts are cut: the line is shown besides.
fn named(found: &Node<'_>) -> String {
    match found.get_ref() {
        DeValue::String(text) if text.chars().count() > 40 => {
            let start: String = text.chars().take(40).collect();
            format!("the text {}", quoted(&format!("{start}…")))
        }
        DeValue::String(text) => format!("the text {}", quoted(text)),
        DeValue::Integer(number) => format!("the number {}", number.as_str()),
        DeValue::Float(number) => format!("the number {}", number.as_str()),
        DeValue::Boolean(word) => word.to_string(),
        DeValue::Datetime(time) => format!("the time {time}"),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}
