//! Texts with placeholders in them: `${NAME}` as many programs write it, with `${env:NAME}`, `${NAME:-default}` and
//! `${input:id}` beside it.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    Variable { name: String, default: Option<String> },
}

/// A placeholder that only the program knows which the file belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Foreign(pub(super) String);

/// The text in its pieces. A text without placeholders is one piece.
pub(super) fn pieces(text: &str) -> Result<Vec<Piece>, Foreign> {
    // The whole value as a bare variable, as Gemini's settings have it.
    if let Some(name) = text.strip_prefix('$')
        && is_variable(name)
        && name.chars().all(|sign| !sign.is_ascii_lowercase())
    {
        return Ok(vec![Piece::Variable { name: name.to_owned(), default: None }]);
    }
    let mut pieces = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        let inside = from.strip_prefix("${").unwrap_or(from);
        let Some((inner, after)) = inside.split_once('}') else { break };
        plain.push_str(before);
        let variable = variable(inner)?;
        if !plain.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut plain)));
        }
        pieces.push(variable);
        rest = after;
    }
    plain.push_str(rest);
    if !plain.is_empty() || pieces.is_empty() {
        pieces.push(Piece::Text(plain));
    }
    Ok(pieces)
}

/// The names in these pieces, each with whether something stands for it if it is not set.
pub(super) fn names(pieces: &[Piece]) -> impl Iterator<Item = (&str, bool)> {
    pieces.iter().filter_map(|piece| match piece {
        Piece::Variable { name, default } => Some((name.as_str(), default.is_some())),
        Piece::Text(_) => None,
    })
}

fn variable(inner: &str) -> Result<Piece, Foreign> {
    // What would stand for it may be a secret, and this is shown.
    let shown = inner.split_once(":-").map_or(inner, |(name, _)| name);
    let foreign = || Foreign(format!("${{{shown}}}"));
    if inner == "userHome" {
        return Ok(Piece::Variable { name: "HOME".to_owned(), default: None });
    }
    if let Some(id) = inner.strip_prefix("input:").or_else(|| inner.strip_prefix("prompt:")) {
        let name = variable_name(&[id]);
        return if name.is_empty() {
            Err(foreign())
        } else {
            Ok(Piece::Variable { name, default: None })
        };
    }
    let inner = inner.strip_prefix("env:").unwrap_or(inner);
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default.to_owned())),
        None => (inner, None),
    };
    // A name that begins in lower case is a word of an editor: `workspaceFolder`, `file`, `config:…`.
    match is_variable(name)
        && name.chars().any(|sign| sign.is_ascii_uppercase() || sign == '_')
        && !name.starts_with("workspaceFolder")
    {
        true => Ok(Piece::Variable { name: name.to_owned(), default }),
        false => Err(foreign()),
    }
}

/// A name for a variable out of words as they come.
pub(super) fn variable_name(words: &[&str]) -> String {
    let mut name = String::new();
    for sign in words.join("_").chars() {
        match sign.is_ascii_alphanumeric() {
            true => name.push(sign.to_ascii_uppercase()),
            false if !name.ends_with('_') => name.push('_'),
            false => {}
        }
    }
    let name = name.trim_matches('_');
    match name.chars().next() {
        Some(first) if first.is_ascii_digit() => format!("MCP_{name}"),
        _ => name.to_owned(),
    }
}

pub(super) fn is_variable(name: &str) -> bool {
    let mut signs = name.chars();
    signs.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && signs.all(|sign| sign.is_ascii_alphanumeric() || sign == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Piece {
        Piece::Text(text.to_owned())
    }

    fn variable(name: &str, default: Option<&str>) -> Piece {
        Piece::Variable { name: name.to_owned(), default: default.map(str::to_owned) }
    }

    #[test]
    fn placeholders_of_many_programs_are_variables() {
        let table = [
            ("", vec![text("")]),
            ("plain $5 ${", vec![text("plain $5 ${")]),
            ("${A}", vec![variable("A", None)]),
            ("$A_B", vec![variable("A_B", None)]),
            ("$price", vec![text("$price")]),
            ("Bearer ${env:T}", vec![text("Bearer "), variable("T", None)]),
            (
                "${A}/${B:-x y}z",
                vec![variable("A", None), text("/"), variable("B", Some("x y")), text("z")],
            ),
            ("${input:api-key}", vec![variable("API_KEY", None)]),
            ("${userHome}/x", vec![variable("HOME", None), text("/x")]),
        ];
        for (written, expected) in table {
            assert_eq!(pieces(written).as_ref(), Ok(&expected), "{written}");
        }
        for foreign in ["${workspaceFolder}", "a ${file}", "${config:x.y}", "${input:--}"] {
            assert!(pieces(foreign).is_err(), "{foreign}");
        }
        assert_eq!(variable_name(&["my server", "x-api.key"]), "MY_SERVER_X_API_KEY");
        assert_eq!(variable_name(&["1password"]), "MCP_1PASSWORD");
    }
}
