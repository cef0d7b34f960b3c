//! What is taken for a secret. In doubt it is one: a variable that must be set is told, a leaked password is not called back.

mod form;
mod named;

use super::pieces::Piece;
pub(super) use form::looks_secret;
pub(super) use named::{names_password, names_secret};

/// A text that is a secret by how it looks, as somebody else knows it beside us.
pub(super) type Shapes<'a> = &'a dyn Fn(&str) -> bool;

/// Stands where the environment will put something: what is around it is judged, it is not.
const HOLE: char = '\0';

/// Ends of files that keys and passwords are kept in.
const FILE_ENDS: [&str; 11] =
    [".pem", ".key", ".json", ".crt", ".cer", ".p12", ".txt", ".toml", ".yaml", ".yml", ".env"];

/// Whether a value under this name is one. A name alone does not make one of what is plainly none.
pub(super) fn is_secret(name: &str, value: &str, shapes: Shapes<'_>) -> bool {
    if says_nothing(value) || is_switch(value) {
        return false;
    }
    if is_small_number(value) {
        return names_password(name);
    }
    looks_secret(value, shapes) || names_secret(name)
}

/// The same for what follows a flag, where a path names the file that the secret is in.
pub(super) fn is_secret_of_flag(name: &str, value: &str, shapes: Shapes<'_>) -> bool {
    match is_path(value) && !names_password(name) {
        // The letters of a key may begin with a slash, too.
        true => {
            looks_secret(value, shapes)
                || names_secret(name) && form::is_random(&value.replace('/', ""))
        }
        false => is_secret(name, value, shapes),
    }
}

/// Whether a value with placeholders holds one: around them, in what stands for one that is not set, or in both together.
/// `judge` is one of the two above.
pub(super) fn hides_secret(
    name: &str,
    pieces: &[Piece],
    judge: &dyn Fn(&str, &str) -> bool,
) -> bool {
    let by_default = pieces.iter().any(|piece| match piece {
        Piece::Variable { name, default: Some(default) } => judge(name, default),
        _ => false,
    });
    by_default
        || judge(name, &put_together(pieces, false))
        || judge(name, &put_together(pieces, true))
}

fn put_together(pieces: &[Piece], with_defaults: bool) -> String {
    let mut text = String::new();
    for piece in pieces {
        match piece {
            Piece::Text(part) => text.push_str(part),
            Piece::Variable { default: Some(default), .. } if with_defaults => {
                text.push_str(default);
            }
            Piece::Variable { name, .. } => {
                // What follows the name of a folder is a path, and no address.
                if text.is_empty() && named::names_folder(name) {
                    text.push('/');
                }
                text.push(HOLE);
            }
        }
    }
    text
}

/// Nothing of its own: signs between placeholders at most.
fn says_nothing(value: &str) -> bool {
    match value.contains(HOLE) {
        true => !value.contains(char::is_alphanumeric),
        false => value.is_empty(),
    }
}

fn is_switch(value: &str) -> bool {
    let word = value.trim_matches(|sign: char| sign == HOLE || sign.is_whitespace());
    ["true", "false", "yes", "no", "on", "off", "none", "null", "auto"]
        .iter()
        .chain(&form::SCHEMES)
        .chain(&["oauth"])
        .any(|plain| word.eq_ignore_ascii_case(plain))
}

fn is_small_number(value: &str) -> bool {
    value.len() <= 5 && value.chars().all(|sign| sign.is_ascii_digit())
}

fn is_plain(value: &str) -> bool {
    is_switch(value) || is_small_number(value)
}

fn is_path(value: &str) -> bool {
    let begins = ["/", "./", "../", "~"].iter().any(|begin| value.starts_with(begin));
    let ends = value.contains('/') && FILE_ENDS.iter().any(|end| value.ends_with(end));
    (begins || ends) && !value.contains("://")
}

#[cfg(test)]
mod tests;
