//! What the model was given in a turn, as the file has it.
//!
//! A thread that is opened again is made from its file, so nothing else tells what its model will read. Least of all a list
//! of turns: 0.166.0 keeps it in a place of its own, and still lists a prompt that never came into the file
//! (`tests/tasks/crashes.rs`).

use std::path::Path;

use ostler_model::TurnId;

use super::assemble::read;
use super::line::{Event, Line, Meta, Response};
use super::tail::{Reach, read_tail};
use super::{RolloutError, find, injected};

/// How far back the beginning of a turn is looked for, from one attempt to the next. Most turns leave less than the first
/// of them; the last is read in a second, and a turn that left more is taken at its word.
const TAIL_BYTES: [u64; 3] = [1 << 20, 8 << 20, 64 << 20];

/// The messages that went to the model in a person's name, in one turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// Each as its texts, without the frames that Codex puts around images.
    messages: Vec<Vec<String>>,
    /// The turn began before what was read.
    is_cut: bool,
}

/// Reads back from the end of a file to the beginning of a turn. A file that is not there has nothing. Blocks.
pub fn given(path: &Path, turn: &TurnId) -> Result<Given, RolloutError> {
    if find::is_compressed(path) {
        return Err(RolloutError::Compressed { path: path.to_owned() });
    }
    let mut reading = Reading::new(turn);
    for bytes in TAIL_BYTES {
        reading = Reading::new(turn);
        // A torn or foreign line tells nothing, to Codex neither.
        match read_tail(path, bytes, |line| reading.line(line)) {
            Ok(Reach::Beginning) => return Ok(reading.finish()),
            Ok(Reach::Middle) if reading.has_begin => return Ok(reading.finish()),
            Ok(Reach::Middle) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => break,
            Err(error) => return Err(RolloutError::io(path, error)),
        }
    }
    // The model is asked only after it was given what the turn began with. So a turn that left all this has that.
    Ok(Given { is_cut: reading.is_named, ..reading.finish() })
}

impl Given {
    /// Whether an input of these texts was among them. Each of them answers for one input.
    pub fn claim(&mut self, texts: &[&str]) -> bool {
        let same = |message: &Vec<String>| *message == own(texts.iter().copied());
        // Codex says in a text of its own that it could not read an image.
        let within = |message: &Vec<String>| {
            let mut all = message.iter();
            !injected::is_injected(&message.join("\n"))
                && texts.iter().all(|text| all.any(|other| other == text))
        };
        let found = self.messages.iter().position(same);
        match found.or_else(|| self.messages.iter().position(within)) {
            Some(at) => drop(self.messages.remove(at)),
            None => return self.is_cut,
        }
        true
    }
}

/// Without the frames of images, which tell how an image is named and differ between versions.
fn own<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<String> {
    let is_frame = |text: &str| {
        let text = text.trim();
        text == "</image>" || (text.starts_with("<image") && text.ends_with('>'))
    };
    texts.filter(|text| !is_frame(text)).map(str::to_owned).collect()
}

struct Reading<'a> {
    wanted: &'a TurnId,
    turn: Option<TurnId>,
    has_begin: bool,
    is_named: bool,
    messages: Vec<Vec<String>>,
}

impl<'a> Reading<'a> {
    fn new(wanted: &'a TurnId) -> Self {
        Self { wanted, turn: None, has_begin: false, is_named: false, messages: Vec::new() }
    }

    fn line(&mut self, text: &str) {
        let Ok(line) = serde_json::from_str::<Line<'_>>(text) else { return };
        let Some(payload) = line.payload else { return };
        match line.kind.as_str() {
            "turn_context" => self.in_turn(read::<Meta>(payload).turn_id),
            "response_item" => self.response(read(payload)),
            "event_msg" => self.event(read(payload)),
            _ => {}
        }
    }

    fn in_turn(&mut self, named: Option<TurnId>) {
        self.is_named |= named.as_ref() == Some(self.wanted);
        self.turn = named.or(self.turn.take());
    }

    fn event(&mut self, event: Event) {
        let is_wanted = event.turn_id.as_ref() == Some(self.wanted);
        self.is_named |= is_wanted;
        // Other events may come after their turn.
        if matches!(event.kind.as_str(), "task_started" | "turn_started") {
            self.has_begin |= is_wanted;
            self.in_turn(event.turn_id);
        }
    }

    fn response(&mut self, item: Response) {
        if item.kind != "message" || item.role != "user" {
            return;
        }
        let named = item.internal_chat_message_metadata_passthrough.turn_id.or(item.turn_id);
        if named.as_ref().or(self.turn.as_ref()) == Some(self.wanted) {
            self.is_named = true;
            self.messages.push(own(item.content.iter().map(String::as_str)));
        }
    }

    fn finish(self) -> Given {
        Given { messages: self.messages, is_cut: false }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::{TAIL_BYTES, given};

    const BEGIN: &str = r#"{"type":"event_msg","payload":{"type":"task_started","turn_id":"t2"}}"#;

    fn says(text: &str) -> String {
        format!(
            r#"{{"type":"response_item","payload":{{"type":"message","role":"user","content":[{{"type":"input_text","text":"{text}"}}]}}}}"#
        )
    }

    /// Which of these the file answers for, one after the other.
    fn claims(file: &str, inputs: &[&[&str]]) -> Vec<bool> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rollout.jsonl");
        std::fs::write(&path, file).unwrap();
        let mut given = given(&path, &"t2".into()).unwrap();
        inputs.iter().map(|texts| given.claim(texts)).collect()
    }

    #[test]
    fn only_what_was_said_in_the_turn_counts_and_once_each() {
        let other = BEGIN.replace("t2", "t1");
        let before = [other.clone(), says("feed"), says("go on")].join("\n");
        let lines = [before.clone(), BEGIN.to_owned(), says("go on")].join("\n");
        let later = [lines.clone(), BEGIN.replace("t2", "t3"), says("feed")].join("\n");

        for file in [&lines, &later] {
            assert_eq!(claims(file, &[&["go on"], &["go on"], &["feed"]]), [true, false, false]);
        }
        let torn = format!("{lines}\n{}", says("feed").trim_end_matches('}'));
        assert_eq!(claims(&torn, &[&["feed"]]), [false]);
        // A copy of what another thread was told names none of our turns.
        assert_eq!(claims(&before, &[&["feed"]]), [false]);
        assert_eq!(claims(&says("feed"), &[&["feed"]]), [false]);
        let named = says("feed").replace(r#""role""#, r#""turn_id":"t2","role""#);
        assert_eq!(claims(&format!("{other}\n{named}"), &[&["feed"]]), [true]);
    }

    #[test]
    fn a_file_that_is_not_there_has_nothing() {
        let mut none = given("/nowhere/rollout.jsonl".as_ref(), &"t2".into()).unwrap();
        assert!(!none.claim(&["feed"]));
        assert!(!none.claim(&[]));
    }

    #[test]
    fn what_was_summed_up_since_is_known() {
        let compacted = r#"{"type":"compacted","payload":{"message":"SUMMARY","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"old"}]}]}}"#;
        let lines = [BEGIN, &says("feed"), compacted].join("\n");
        assert_eq!(claims(&lines, &[&["feed"], &["old"]]), [true, false]);
    }

    #[test]
    fn frames_of_images_are_no_words() {
        let image = r#"{"type":"input_text","text":"<image name=[Image #1]>"},{"type":"input_image","image_url":"data:"},{"type":"input_text","text":"</image>"}"#;
        let only = says("x").replace(r#"{"type":"input_text","text":"x"}"#, image);
        let both = says("look").replace("[{", &format!("[{image},{{"));
        let lines = [BEGIN, &both, &only].join("\n");
        assert_eq!(claims(&lines, &[&[], &["look"], &[]]), [true, true, false]);
        // What could not be read stands there as a text.
        let unread =
            says("look").replace("}]", r#"},{"type":"input_text","text":"no such image"}]"#);
        let lines = [BEGIN, &unread, &says("look")].join("\n");
        assert_eq!(claims(&lines, &[&["look"], &["look"], &["look"]]), [true, true, false]);
        assert_eq!(claims(&lines, &[&["look"], &[], &[]]), [true, true, false]);
        let lines = [BEGIN, &says("<environment_context>")].join("\n");
        assert_eq!(claims(&lines, &[&[]]), [false]);
    }

    /// Lines of a turn, as many bytes as said.
    fn work(turn: &str, bytes: u64) -> String {
        let line = format!(
            r#"{{"type":"event_msg","payload":{{"type":"exec_command_end","turn_id":"{turn}","message":"{}"}}}}"#,
            "x".repeat(100_000)
        );
        let mut work = String::new();
        while (work.len() as u64) < bytes {
            writeln!(work, "{line}").unwrap();
        }
        work
    }

    #[test]
    fn the_beginning_of_a_long_turn_is_found() {
        let [first, .., last] = TAIL_BYTES;
        let begun = format!("{BEGIN}\n{}\n", says("feed"));
        let long = format!("{begun}{}{}", work("t2", first * 2), says("hurry"));
        assert_eq!(claims(&long, &[&["hurry"], &["feed"], &["more"]]), [true, true, false]);
        // Nobody reads on for ever; what a turn of such length began with is known.
        let longer = format!("{begun}{}", work("t2", last));
        assert_eq!(claims(&longer, &[&["feed"]]), [true]);
        // A turn that left nothing behind a long one was lost whole.
        let lost = format!("{begun}{}", work("t1", last)).replace("t2", "t1");
        assert_eq!(claims(&lost, &[&["feed"]]), [false]);
    }
}
