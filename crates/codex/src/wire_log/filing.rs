//! Which thread a message belongs to.
//!
//! A notification or request names its thread; an answer belongs where its request was. The answer that first names a
//! thread (`thread/start`, `thread/fork`) is filed with its request under the new thread as well.

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::redact::Secrecy;
use super::remembered::Remembered;
use super::tap::Side;
use crate::protocol::request::initialize::{Initialize, Initialized};
use crate::protocol::{ClientRequest, lenient};
use crate::wire::{RequestId, glimpse};

/// A thread's id, or none for what belongs to the connection as a whole.
pub(crate) type Thread = Option<Rc<str>>;

/// The line of a request as it was written, unless it was too long to be kept.
type HeldLine = Option<Rc<[u8]>>;

/// Ids of threads are UUIDs. A longer one than this is nobody's name, and is not kept in memory.
const MAX_THREAD_BYTES: usize = 1024;

/// One connection has hundreds of threads at most; past this, adoptions are no longer noted.
const MAX_ADOPTED: usize = 10_000;

/// Deeper than any nesting of sub-agents that Codex allows; also ends a circle.
const MAX_ANCESTORS: usize = 16;

/// A request that opens a thread has some kB, with long instructions some hundred; a longer one is not kept for the new
/// thread's file.
const MAX_HELD_BYTES: usize = 1024 * 1024;

/// Whose answer opens a thread.
const OPENERS: [&str; 3] = ["thread/start", "thread/fork", "thread/resume"];
const USER_INPUT: &str = "item/tool/requestUserInput";
const RESOLVED: &str = "serverRequest/resolved";

pub(crate) struct Filing {
    /// Our requests that have no answer yet.
    asked: Remembered<Asked>,
    /// Codex's requests that have no answer yet.
    open: Remembered<Open>,
    parents: HashMap<Rc<str>, Rc<str>>,
}

struct Asked {
    thread: Thread,
    is_greeting: bool,
    /// The written line, kept for the file of the thread that it opens.
    line: HeldLine,
}

struct Open {
    thread: Thread,
    is_secret: bool,
}

/// What is known of one message before it is written.
#[derive(Debug)]
pub(crate) struct Sorted {
    pub(crate) thread: Thread,
    /// How secret its `result` is.
    pub(crate) result: Secrecy,
    /// Whether its `result` is a secret that somebody typed, and that Codex may repeat.
    pub(crate) is_typed_secret: bool,
    /// Names the text that its `delta` continues.
    pub(crate) stream: Option<String>,
    /// Our request, to be held with its line: its answer may open a thread.
    pub(crate) opener: Option<RequestId>,
    /// The answer opens this thread; the request's line as it was written.
    pub(crate) opens: Option<(Rc<str>, HeldLine)>,
    /// The version that Codex named in this message.
    pub(crate) version: Option<String>,
}

impl Filing {
    pub(crate) fn new() -> Self {
        Self { asked: Remembered::new(), open: Remembered::new(), parents: HashMap::new() }
    }

    pub(crate) fn adopt(&mut self, child: &str, parent: &str) {
        if self.parents.len() < MAX_ADOPTED && child != parent {
            self.parents.insert(child.into(), parent.into());
        }
    }

    /// The thread and those that have adopted it.
    pub(crate) fn with_ancestors(&self, thread: Thread) -> Vec<Thread> {
        let mut line = vec![thread];
        while let Some(Some(last)) = line.last()
            && let Some(parent) = self.parents.get(last)
            && line.len() < MAX_ANCESTORS
        {
            let parent = Some(Rc::clone(parent));
            if line.contains(&parent) {
                break;
            }
            line.push(parent);
        }
        line
    }

    /// Keeps the line of a request for the file of the thread that its answer opens.
    pub(crate) fn hold(&mut self, id: &RequestId, line: &[u8]) {
        if line.len() <= MAX_HELD_BYTES
            && let Some(asked) = self.asked.take(id)
        {
            self.asked.insert(id, Asked { line: Some(line.into()), ..asked });
        }
    }

    /// Sorts one JSON text. What is no message belongs to the connection.
    pub(crate) fn sort(&mut self, from: Side, json: &RawValue) -> Sorted {
        let mut sorted = Sorted::of_connection();
        let Ok(view) = lenient::message::<MessageView<'_>>(json) else { return sorted };
        let id = view.id.filter(|id| id.get() != "null").map(RequestId::from_raw);
        match (id, view.method) {
            (Some(id), Some(method)) => self.request(from, &id, &method, view.params, &mut sorted),
            (None, Some(method)) => self.notification(&method, view.params, &mut sorted),
            (Some(id), None) => self.answer(from, &id, view.result, &mut sorted),
            (None, None) => {}
        }
        sorted
    }

    /// Sorts a message that was too long to be read, by how it began.
    pub(crate) fn sort_head(&mut self, head: &[u8]) -> Thread {
        let glimpse = glimpse(head);
        match (glimpse.id, glimpse.method) {
            (Some(id), None) => self.asked.take(&id)?.thread,
            _ => None,
        }
    }

    fn request(
        &mut self,
        from: Side,
        id: &RequestId,
        method: &str,
        params: Option<&RawValue>,
        sorted: &mut Sorted,
    ) {
        sorted.thread = named_thread(params);
        let thread = sorted.thread.clone();
        match from {
            Side::Us => {
                let is_greeting = method == Initialize::METHOD;
                self.asked.insert(id, Asked { thread, is_greeting, line: None });
                sorted.opener = OPENERS.contains(&method).then(|| id.clone());
            }
            Side::Codex => {
                let is_secret = method == USER_INPUT && wants_a_secret(params);
                self.open.insert(id, Open { thread, is_secret });
            }
        }
    }

    fn notification(&mut self, method: &str, params: Option<&RawValue>, sorted: &mut Sorted) {
        let Some(Ok(view)) = params.map(lenient::message::<ParamsView<'_>>) else { return };
        sorted.stream = view.stream(method);
        if method == RESOLVED
            && let Some(id) = view.request_id
        {
            // Somebody else may have answered it. Our own answer, if it comes late, is then hidden whole.
            self.open.take(&RequestId::from_raw(id));
        }
        sorted.thread = view.thread();
    }

    fn answer(
        &mut self,
        from: Side,
        id: &RequestId,
        result: Option<&RawValue>,
        sorted: &mut Sorted,
    ) {
        if from == Side::Us {
            match self.open.take(id) {
                Some(open) => {
                    sorted.thread = open.thread;
                    sorted.result = if open.is_secret { ALL } else { Secrecy::Open };
                    sorted.is_typed_secret = open.is_secret;
                }
                // Nobody knows what was asked, so it may have been a secret.
                None => sorted.result = ALL,
            }
            return;
        }
        let Some(asked) = self.asked.take(id) else { return };
        sorted.thread = asked.thread;
        if asked.is_greeting {
            let greeting = result.and_then(|raw| lenient::message::<Initialized>(raw).ok());
            sorted.version = greeting.and_then(|it| it.version()).map(|it| it.to_string());
        }
        let named = named_thread(result);
        if let Some(thread) = named
            && sorted.thread.as_ref() != Some(&thread)
        {
            sorted.opens = Some((thread, asked.line));
        }
    }
}

const ALL: Secrecy = Secrecy::StringsAndNumbers;

impl Sorted {
    pub(crate) fn of_connection() -> Self {
        Self {
            thread: None,
            result: Secrecy::Open,
            is_typed_secret: false,
            stream: None,
            opener: None,
            opens: None,
            version: None,
        }
    }
}

#[derive(Deserialize)]
struct MessageView<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "lenient::borrowed_text")]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
}

/// Where messages name their thread, and what else the log must know of them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ParamsView<'a> {
    #[serde(borrow, default, deserialize_with = "lenient::borrowed_text")]
    thread_id: Option<Cow<'a, str>>,
    /// Approvals in the form of 0.125.0 name it so.
    #[serde(borrow, default, deserialize_with = "lenient::borrowed_text")]
    conversation_id: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "lenient::object")]
    thread: Option<ThreadView<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient::borrowed_text")]
    item_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    request_id: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ThreadView<'a> {
    #[serde(borrow, default, deserialize_with = "lenient::borrowed_text")]
    id: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct UserInputView {
    #[serde(default, deserialize_with = "lenient::objects")]
    questions: Vec<QuestionView>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct QuestionView {
    #[serde(default, deserialize_with = "lenient::or_default")]
    is_secret: bool,
}

impl ParamsView<'_> {
    fn stream(&self, method: &str) -> Option<String> {
        let item = self.item_id.as_deref()?;
        let thread = self.thread_id.as_deref().unwrap_or_default();
        Some(format!("{method}\n{thread}\n{item}"))
    }

    fn thread(self) -> Thread {
        let inner = self.thread.and_then(|thread| thread.id);
        let id = self.thread_id.or(inner).or(self.conversation_id)?;
        (id.len() <= MAX_THREAD_BYTES).then(|| id.as_ref().into())
    }
}

/// Names the text that the `delta` of a notification continues.
pub(crate) fn stream_of(json: &RawValue) -> Option<String> {
    let view = lenient::message::<MessageView<'_>>(json).ok()?;
    let (method, params) = (view.method?, view.params?);
    lenient::message::<ParamsView<'_>>(params).ok()?.stream(&method)
}

fn named_thread(raw: Option<&RawValue>) -> Thread {
    lenient::message::<ParamsView<'_>>(raw?).ok()?.thread()
}

/// A request that cannot be read may want one.
fn wants_a_secret(params: Option<&RawValue>) -> bool {
    match params.map(lenient::message::<UserInputView>) {
        Some(Ok(view)) => view.questions.iter().any(|question| question.is_secret),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> &RawValue {
        serde_json::from_str(text).unwrap()
    }

    fn thread(filing: &mut Filing, from: Side, text: &str) -> Option<String> {
        filing.sort(from, raw(text)).thread.map(|thread| thread.to_string())
    }

    #[test]
    fn answers_go_where_their_request_went() {
        let mut filing = Filing::new();
        let mut sort = |from, text| thread(&mut filing, from, text);
        let t = Some("t".to_owned());
        assert_eq!(
            sort(Side::Us, r#"{"id":1,"method":"turn/start","params":{"threadId":"t"}}"#),
            t
        );
        assert_eq!(
            sort(Side::Codex, r#"{"id":1,"method":"x","params":{"threadId":"u"}}"#),
            Some("u".into())
        );
        assert_eq!(sort(Side::Codex, r#"{"id":1,"result":{}}"#), t);
        assert_eq!(sort(Side::Codex, r#"{"id":1,"result":{}}"#), None);
        assert_eq!(sort(Side::Us, r#"{"id":1,"result":{}}"#), Some("u".into()));
        assert_eq!(
            sort(Side::Codex, r#"{"method":"thread/started","params":{"thread":{"id":"t"}}}"#),
            t
        );
        assert_eq!(sort(Side::Codex, r#"{"method":"x","params":{"conversationId":"t"}}"#), t);
        for nobody in [
            r#"{"method":"x","params":["t"]}"#,
            r#"{"method":"x","params":{"threadId":7}}"#,
            "[]",
            "7",
            "{}",
        ] {
            assert_eq!(sort(Side::Codex, nobody), None, "{nobody}");
        }
    }

    #[test]
    fn an_answer_that_names_a_new_thread_brings_its_request_along() {
        let mut filing = Filing::new();
        let start = raw(r#"{"id":1,"method":"thread/start","params":{}}"#);
        let sorted = filing.sort(Side::Us, start);
        filing.hold(&sorted.opener.unwrap(), b"line");
        let sorted = filing.sort(Side::Codex, raw(r#"{"id":1,"result":{"thread":{"id":"new"}}}"#));
        assert_eq!(sorted.thread, None);
        assert_eq!(sorted.opens, Some(("new".into(), Some(b"line".as_slice().into()))));

        let fork = raw(r#"{"id":2,"method":"thread/fork","params":{"threadId":"old"}}"#);
        filing.sort(Side::Us, fork);
        let sorted = filing.sort(Side::Codex, raw(r#"{"id":2,"result":{"thread":{"id":"new"}}}"#));
        assert_eq!((sorted.thread, sorted.opens), (Some("old".into()), Some(("new".into(), None))));

        let read = raw(r#"{"id":3,"method":"thread/read","params":{"threadId":"t"}}"#);
        filing.sort(Side::Us, read);
        let sorted = filing.sort(Side::Codex, raw(r#"{"id":3,"result":{"thread":{"id":"t"}}}"#));
        assert_eq!((sorted.thread, sorted.opens), (Some("t".into()), None));
    }

    #[test]
    fn a_secret_answer_is_known_by_its_question() {
        let ask = |id: &str, params: &str| {
            format!(r#"{{"id":{id},"method":"item/tool/requestUserInput","params":{params}}}"#)
        };
        let open = r#"{"threadId":"t","questions":[{"id":"q","isSecret":false},{"id":"r"}]}"#;
        let secret = r#"{"threadId":"t","questions":[{"id":"q"},{"isSecret":true}]}"#;
        let mut filing = Filing::new();
        for (params, expected) in [(open, Secrecy::Open), (secret, ALL), ("[]", ALL)] {
            filing.sort(Side::Codex, raw(&ask("\"a\"", params)));
            let answer = filing.sort(Side::Us, raw(r#"{"id":"a","result":{}}"#));
            assert_eq!(answer.result, expected, "{params}");
        }
        filing.sort(Side::Codex, raw(&ask("5", open)));
        filing.sort(
            Side::Codex,
            raw(r#"{"method":"serverRequest/resolved","params":{"requestId":5}}"#),
        );
        assert_eq!(filing.sort(Side::Us, raw(r#"{"id":5,"result":{}}"#)).result, ALL);
    }

    #[test]
    fn a_child_is_filed_with_all_its_ancestors() {
        let mut filing = Filing::new();
        filing.adopt("c", "b");
        filing.adopt("b", "a");
        filing.adopt("a", "c");
        let names = |thread: &str| filing.with_ancestors(Some(thread.into()));
        assert_eq!(names("c"), ["c", "b", "a"].map(|name| Some(name.into())));
        assert_eq!(names("x"), [Some("x".into())]);
        assert_eq!(filing.with_ancestors(None), [None]);
    }
}
