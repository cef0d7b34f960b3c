//! The head of a `SKILL.md`: a small, strict part of YAML.
//!
//! Only `name` and `description` are read. Everything else is never touched, because a file is only ever written as the whole text
//! that somebody gave or with one piece of it replaced.

use super::{MOST_CHARACTERS, MOST_DESCRIPTION, SkillError};

/// What is read of a head.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Frontmatter {
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) has_body: bool,
}

/// Checks a whole `SKILL.md` as it would be written for the skill of this name.
pub(super) fn check(text: &str, name: &str) -> Result<(), SkillError> {
    let found = text.chars().count();
    if found > MOST_CHARACTERS {
        let (what, most, unit) = (super::SKILL_FILE.to_owned(), MOST_CHARACTERS, "characters");
        return Err(SkillError::TooLarge { what, found, most, unit });
    }
    let bad = |why: String| Err(SkillError::BadSkill(why));
    let head = read(text)?;
    match &head.name {
        Some(found) if found == name => {}
        Some(found) => {
            return bad(format!("its head says `name: {found}`, but the skill is {name}"));
        }
        None => return bad("its head has no `name`".to_owned()),
    }
    match head.description.as_deref().map(|text| text.chars().count()) {
        None | Some(0) => {
            return bad("its head has no `description`: one line about when to use it".to_owned());
        }
        Some(length) if length > MOST_DESCRIPTION => {
            return bad(format!(
                "its description has {length} characters, and {MOST_DESCRIPTION} is the most"
            ));
        }
        Some(_) => {}
    }
    if !head.has_body {
        return bad("there is nothing after the head; say what to do, step by step".to_owned());
    }
    Ok(())
}

pub(super) fn read(text: &str) -> Result<Frontmatter, SkillError> {
    let bad = |why: &str| SkillError::BadSkill(why.to_owned());
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let rest = text.strip_prefix("---\n").ok_or_else(|| {
        bad("it must begin with a line `---`, then `name:` and `description:`, then `---`")
    })?;
    let mut lines = rest.split('\n');
    let mut head = Vec::new();
    loop {
        match lines.next() {
            Some(line) if line.trim_end() == "---" => break,
            Some(line) => head.push(line),
            None => return Err(bad("its head has no end; put a line `---` after it")),
        }
    }
    let mut found = Frontmatter {
        has_body: lines.any(|line| !line.trim().is_empty()),
        ..Frontmatter::default()
    };
    let mut at = 0;
    while let Some(line) = head.get(at) {
        at += 1;
        // What is set in belongs to a key that we do not read.
        if line.trim().is_empty() || line.starts_with([' ', '\t', '#', '-']) {
            continue;
        }
        let (key, value) = line
            .split_once(':')
            .filter(|(_, value)| value.is_empty() || value.starts_with([' ', '\t']))
            .ok_or_else(|| bad(&format!("the line {line:?} of its head is not `key: value`")))?;
        let slot = match key.trim() {
            "name" => &mut found.name,
            "description" => &mut found.description,
            _ => continue,
        };
        if slot.is_some() {
            return Err(bad(&format!("its head has `{key}` twice")));
        }
        let more: Vec<&str> = head
            .iter()
            .skip(at)
            .take_while(|line| line.starts_with([' ', '\t']))
            .copied()
            .collect();
        *slot = Some(scalar(value.trim(), &more).ok_or_else(|| {
            bad(&format!("the value of `{key}` must be one text; put it in double quotes"))
        })?);
    }
    Ok(found)
}

/// One text: plain, in quotes, or as a block. None if it is a list or a map.
fn scalar(value: &str, more: &[&str]) -> Option<String> {
    let folded = || more.iter().map(|line| line.trim()).collect::<Vec<_>>();
    if value.starts_with(['|', '>']) {
        let between = if value.starts_with('|') { "\n" } else { " " };
        return Some(folded().join(between).trim().to_owned());
    }
    let whole = std::iter::once(value).chain(folded()).collect::<Vec<_>>().join(" ");
    let whole = whole.trim();
    match whole.chars().next() {
        None => Some(String::new()),
        Some('"') => double_quoted(whole),
        Some('\'') => {
            let inner = whole.strip_prefix('\'')?.strip_suffix('\'')?;
            let plain = inner.replace("''", "");
            (!plain.contains('\'')).then(|| inner.replace("''", "'"))
        }
        Some('[' | '{' | '&' | '*' | '!' | '%' | '@' | '`') => None,
        // A colon with a space begins a map in YAML, and a hash a comment.
        Some(_) if whole.contains(": ") || whole.ends_with(':') => None,
        Some(_) => Some(whole.split(" #").next().unwrap_or_default().trim_end().to_owned()),
    }
}

fn double_quoted(text: &str) -> Option<String> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    let mut plain = String::new();
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => return None,
            '\\' => plain.push(match letters.next()? {
                'n' => '\n',
                't' => '\t',
                other @ ('"' | '\\' | '/') => other,
                _ => return None,
            }),
            other => plain.push(other),
        }
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::{Frontmatter, check, read};

    #[test]
    fn heads_are_read_as_people_write_them() {
        let head = |text: &str| {
            let Frontmatter { name, description, has_body } = read(text).unwrap();
            (name.unwrap_or_default(), description.unwrap_or_default(), has_body)
        };
        let expected = |description: &str| ("a".to_owned(), description.to_owned(), true);
        for (text, description) in [
            ("---\nname: a\ndescription: plain words\n---\nbody", "plain words"),
            (
                "\u{feff}---\r\nname: a\r\ndescription: \"it's: \\\"so\\\"\"\r\n---\r\nbody\r\n",
                "it's: \"so\"",
            ),
            ("---\nname: 'a'\ndescription: 'it''s'\n--- \n\nbody", "it's"),
            (
                "---\nname: a # the name\ndescription: >\n  two\n  lines\nx:\n  - 1\n  y: 2\n---\nbody",
                "two lines",
            ),
            (
                "---\ntags: [a, b]\nlist:\n- one\n- two\nname: a\n# note\ndescription: one\n  two\n---\nb",
                "one two",
            ),
            ("---\nname: a\ndescription: |\n  two\n  lines\n---\nbody", "two\nlines"),
        ] {
            assert_eq!(head(text), expected(description), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_head_is_told() {
        for (text, why) in [
            ("name: a", "must begin with a line `---`"),
            ("---\nname: a\ndescription: b", "has no end"),
            ("---\nname a\n---\nb", "is not `key: value`"),
            ("---\nname: a\n---\nb", "no `description`"),
            ("---\ndescription: a\n---\nb", "no `name`"),
            ("---\nname: b\ndescription: a\n---\nb", "but the skill is a"),
            ("---\nname: a\ndescription: b\n---\n \n", "nothing after the head"),
            ("---\nname: a\nname: a\ndescription: b\n---\nb", "twice"),
            ("---\nname: [a]\ndescription: b\n---\nb", "must be one text"),
            ("---\nname: a\ndescription: when: always\n---\nb", "in double quotes"),
            ("---\nname: a\ndescription: \"open\n---\nb", "must be one text"),
        ] {
            let found = check(text, "a").unwrap_err().to_string();
            assert!(found.contains(why), "{text}: {found}");
        }
        let long = format!("---\nname: a\ndescription: {}\n---\nb", "é".repeat(1025));
        assert!(check(&long, "a").unwrap_err().to_string().contains("1025 characters"));
        let huge = format!("---\nname: a\ndescription: d\n---\n{}", "é".repeat(100_000));
        assert!(check(&huge, "a").unwrap_err().to_string().contains("100000 is the most"));
    }
}
