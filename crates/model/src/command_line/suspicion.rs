//! Whether a line that we cannot tell exactly could run a certain command.
//!
//! This only ever leads to a refusal, so it errs on the side of yes. Quotes and backslashes are taken away, because a
//! script may stand in them (`sh -c "ls; rm x"`) and because they may hide a name (`r''m`). What is left is cut into
//! commands wherever a shell could begin one. A word whose text the shell makes up, in the place of a program, could be
//! any program.

use super::programs::{is_shell_word, name_of, runs_others, takes_a_command};

/// Whether these words are, or could be, a command that begins with `wanted`: the folder of the program does not matter.
pub(super) fn begins(words: &[String], wanted: &[String]) -> bool {
    let (Some((program, rest)), Some((wanted_program, wanted_rest))) =
        (words.split_first(), wanted.split_first())
    else {
        return wanted.is_empty();
    };
    name_of(program) == name_of(wanted_program) && rest.starts_with(wanted_rest)
}

pub(super) fn could_run(script: &str, wanted: &[String]) -> bool {
    let commands = commands(script);
    let runs_text = commands.iter().flatten().any(Bare::runs_text);
    let wanted = bare(wanted);
    (runs_text && is_anywhere(&commands, &wanted))
        || commands.iter().any(|words| {
            // What stands after `env`, `if`, `A=b` or `-u` may be the program.
            let leading = words.iter().take_while(|word| word.leads_to_a_program()).count();
            (0..=leading).any(|at| words.get(at..).is_some_and(|here| begins_bare(here, &wanted)))
        })
}

/// Whether the wanted words stand anywhere in a text that some program will read.
pub(super) fn could_type(text: &str, wanted: &[String]) -> bool {
    is_anywhere(&commands(text), &bare(wanted))
}

fn is_anywhere(commands: &[Vec<Bare>], wanted: &[String]) -> bool {
    let stands_at = |words: &[Bare]| {
        words.first().is_some_and(|word| !word.is_made_up) && begins_bare(words, wanted)
    };
    commands.iter().any(|words| (0..words.len()).any(|at| words.get(at..).is_some_and(stands_at)))
}

/// A word of a line without its quotes.
#[derive(Debug, PartialEq, Eq)]
struct Bare {
    text: String,
    /// The shell puts something else in its place.
    is_made_up: bool,
}

impl Bare {
    fn runs_text(&self) -> bool {
        runs_others(&self.text) || takes_a_command(&self.text)
    }

    fn leads_to_a_program(&self) -> bool {
        self.is_made_up
            || self.text.contains('=')
            || self.text.starts_with('-')
            || is_shell_word(&self.text)
            || runs_others(&self.text)
    }
}

/// The wanted words as they are found in a line without quotes, up to the first that does not stay one plain word.
fn bare(wanted: &[String]) -> Vec<String> {
    let is_plain = |word: &&String| {
        let cut = commands(word);
        matches!(cut.as_slice(), [one] if matches!(one.as_slice(), [bare] if bare.text == **word && !bare.is_made_up))
    };
    wanted.iter().take_while(is_plain).cloned().collect()
}

fn begins_bare(words: &[Bare], wanted: &[String]) -> bool {
    for (at, wanted) in wanted.iter().enumerate() {
        match words.get(at) {
            // It may become any number of words, so it may be all that is wanted from here on.
            Some(word) if word.is_made_up => return true,
            Some(word) if at == 0 && name_of(&word.text) == name_of(wanted) => {}
            Some(word) if word.text == *wanted => {}
            _ => return false,
        }
    }
    true
}

/// The commands of a script, each as its words. Where a redirection goes to is none of them.
fn commands(script: &str) -> Vec<Vec<Bare>> {
    let mut cutter = Cutter::default();
    let mut letters = script.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' | '"' => {}
            '\\' => {
                letters.next_if_eq(&'\n');
            }
            ';' | '&' | '|' | '\n' | '(' | ')' | '`' => cutter.end_command(),
            '<' | '>' => {
                cutter.end_word_before_redirection();
                while letters.next_if(|next| "<>&|".contains(*next)).is_some() {}
                cutter.skips_next = true;
            }
            _ if letter.is_whitespace() || letter.is_control() => cutter.end_word(),
            _ => cutter.push(letter),
        }
    }
    cutter.end_command();
    cutter.commands
}

#[derive(Default)]
struct Cutter {
    commands: Vec<Vec<Bare>>,
    command: Vec<Bare>,
    word: String,
    skips_next: bool,
}

impl Cutter {
    fn push(&mut self, letter: char) {
        self.word.push(letter);
    }

    fn end_word(&mut self) {
        let text = std::mem::take(&mut self.word);
        if text.is_empty() || std::mem::take(&mut self.skips_next) {
            return;
        }
        let is_made_up =
            !is_shell_word(&text) && text.contains(['$', '*', '?', '[', '{', '~', '!', '^', '#']);
        self.command.push(Bare { text, is_made_up });
    }

    /// A number there is of the redirection, as in `2>x`.
    fn end_word_before_redirection(&mut self) {
        if self.word.chars().all(|letter| letter.is_ascii_digit()) {
            self.word.clear();
        }
        self.end_word();
    }

    fn end_command(&mut self) {
        self.end_word();
        self.skips_next = false;
        if !self.command.is_empty() {
            self.commands.push(std::mem::take(&mut self.command));
        }
    }
}
