//! What is said, as text for people in a chat.

use super::content::Content;
use super::occasion::Kind;

/// What every chat takes in one message. Slack has the least room, 3000 characters in a section; ntfy has 4096 bytes, and a sign may
/// take six of them in JSON.
const MOST_BYTES: usize = 3000;

/// Says that something was cut off.
const CUT: &str = "…";

/// What stands between the parts.
const GAP: &str = "\n\n";

impl Content {
    /// In one line.
    pub fn headline(&self, kind: Kind) -> String {
        format!("{} {}", self.title, kind.words())
    }

    /// All of it but the headline, with as much of the answer as a chat has room for.
    pub fn text(&self) -> String {
        let mut lines = vec![format!("{}: {}", self.state, self.why)];
        if let Some(asked) = &self.asked {
            lines.push(format!("It asks to {}", cut(asked.what.clone(), MOST_BYTES / 4)));
            if let Some(reason) = &asked.reason {
                lines.push(format!("Reason: {}", cut(reason.clone(), MOST_BYTES / 8)));
            }
            // Who answers must be known, so it is done where people log in: on a terminal, or on the page.
            lines.push(format!("Answer with: {}", asked.answer_with));
        }
        let mut end = vec![format!("in {}", self.cwd)];
        end.extend(self.link.clone());
        let (begin, end) =
            (cut(lines.join("\n"), MOST_BYTES / 2), cut(end.join("\n"), MOST_BYTES / 4));
        let Some(answer) = &self.answer else { return format!("{begin}\n{end}") };
        let added = begin.len() + end.len() + 2 * GAP.len() + CUT.len();
        let mut answer = cut(answer.clone(), MOST_BYTES.saturating_sub(added));
        if self.answer_is_cut && !answer.ends_with(CUT) {
            answer.push_str(CUT);
        }
        format!("{begin}{GAP}{answer}{GAP}{end}")
    }
}

/// No more than so many bytes with the mark that it was cut, and never half a character.
fn cut(text: String, most: usize) -> String {
    if text.len() <= most {
        return text;
    }
    let room = most.saturating_sub(CUT.len());
    let end = (0..=room).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}{CUT}", text.get(..end).unwrap_or_default())
}
