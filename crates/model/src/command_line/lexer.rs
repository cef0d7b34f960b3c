//! The words of a line, where every shell that we know reads them alike; else why not.

use std::str::Chars;

use super::WhyCompound;

/// What may stand outside quotes. Everything else has a meaning in some shell: separators, redirections, expansions,
/// comments, history, and letters beyond ASCII, whose bytes some shells take for blanks in some locales.
fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "_-./:,@%+=]".contains(letter)
}

/// What may stand inside quotes. A line break there is part of the word, as in the text of a commit.
fn is_quotable(letter: char) -> bool {
    !letter.is_control() || matches!(letter, '\n' | '\t')
}

pub(super) fn words(line: &str) -> Result<Vec<String>, WhyCompound> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => single_quoted(&mut letters, word.get_or_insert_default())?,
            '"' => double_quoted(&mut letters, word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().push(escaped(&mut letters)?),
            // In zsh, `=name` is the path of that program.
            '=' if word.is_none() => return Err(WhyCompound::Unquoted(letter)),
            _ if is_plain(letter) => word.get_or_insert_default().push(letter),
            '\n' => return Err(WhyCompound::Unquoted(letter)),
            _ if letter.is_control() => return Err(WhyCompound::Unreadable),
            _ => return Err(WhyCompound::Unquoted(letter)),
        }
    }
    words.extend(word);
    Ok(words)
}

fn single_quoted(letters: &mut Chars<'_>, word: &mut String) -> Result<(), WhyCompound> {
    for letter in letters.by_ref() {
        match letter {
            '\'' => return Ok(()),
            _ if is_quotable(letter) => word.push(letter),
            _ => return Err(WhyCompound::Unreadable),
        }
    }
    Err(WhyCompound::UnbalancedQuote)
}

fn double_quoted(letters: &mut Chars<'_>, word: &mut String) -> Result<(), WhyCompound> {
    while let Some(letter) = letters.next() {
        match letter {
            '"' => return Ok(()),
            '$' | '`' => return Err(WhyCompound::Unquoted(letter)),
            '\\' => match letters.next() {
                Some(next @ ('$' | '`' | '"' | '\\')) => word.push(next),
                Some(next) if next.is_ascii_graphic() || next == ' ' => word.extend(['\\', next]),
                Some(_) => return Err(WhyCompound::Unquoted(letter)),
                None => return Err(WhyCompound::UnbalancedQuote),
            },
            _ if is_quotable(letter) => word.push(letter),
            _ => return Err(WhyCompound::Unreadable),
        }
    }
    Err(WhyCompound::UnbalancedQuote)
}

/// What stands after a backslash outside quotes. Before a line break it would join two lines.
fn escaped(letters: &mut Chars<'_>) -> Result<char, WhyCompound> {
    match letters.next() {
        Some(next) if next.is_ascii_graphic() || next == ' ' => Ok(next),
        Some(_) => Err(WhyCompound::Unquoted('\\')),
        None => Err(WhyCompound::UnbalancedQuote),
    }
}
