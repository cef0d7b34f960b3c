//! Keys by their names, as a keyboard would send them.

use serde_json::{Value, json};

/// Name, code of the key, number of the key, the text that it makes.
const NAMED: [(&str, &str, u32, &str); 27] = [
    ("Enter", "Enter", 13, "\r"),
    ("Tab", "Tab", 9, ""),
    ("Escape", "Escape", 27, ""),
    ("Backspace", "Backspace", 8, ""),
    ("Delete", "Delete", 46, ""),
    ("Insert", "Insert", 45, ""),
    ("Space", "Space", 32, " "),
    ("ArrowUp", "ArrowUp", 38, ""),
    ("ArrowDown", "ArrowDown", 40, ""),
    ("ArrowLeft", "ArrowLeft", 37, ""),
    ("ArrowRight", "ArrowRight", 39, ""),
    ("Home", "Home", 36, ""),
    ("End", "End", 35, ""),
    ("PageUp", "PageUp", 33, ""),
    ("PageDown", "PageDown", 34, ""),
    ("F1", "F1", 112, ""),
    ("F2", "F2", 113, ""),
    ("F3", "F3", 114, ""),
    ("F4", "F4", 115, ""),
    ("F5", "F5", 116, ""),
    ("F6", "F6", 117, ""),
    ("F7", "F7", 118, ""),
    ("F8", "F8", 119, ""),
    ("F9", "F9", 120, ""),
    ("F10", "F10", 121, ""),
    ("F11", "F11", 122, ""),
    ("F12", "F12", 123, ""),
];

/// Other names that models use.
const ALSO: [(&str, &str); 8] = [
    ("return", "Enter"),
    ("esc", "Escape"),
    ("del", "Delete"),
    ("up", "ArrowUp"),
    ("down", "ArrowDown"),
    ("left", "ArrowLeft"),
    ("right", "ArrowRight"),
    (" ", "Space"),
];

const MODIFIERS: [(&str, u32); 8] = [
    ("alt", 1),
    ("option", 1),
    ("control", 2),
    ("ctrl", 2),
    ("meta", 4),
    ("command", 4),
    ("cmd", 4),
    ("shift", 8),
];

/// With one of these a letter is a command and not a text.
const NOT_TEXT: u32 = 1 | 2 | 4;

/// One press: what goes down, and what comes up.
#[derive(Debug, PartialEq)]
pub(super) struct Press {
    pub(super) down: Value,
    pub(super) up: Value,
}

/// `Enter`, `a`, `Control+A`, `Shift+Tab`.
pub(super) fn press(written: &str) -> Result<Press, String> {
    let (modifiers, key) = split(written)?;
    let also = ALSO.iter().find(|(other, _)| other.eq_ignore_ascii_case(key));
    let wanted = also.map_or(key, |(_, name)| name);
    let named = NAMED.iter().find(|(name, ..)| name.eq_ignore_ascii_case(wanted));
    let (key, code, number, text) = match named {
        Some((name, code, number, text)) => {
            let key = if *name == "Space" { " " } else { name };
            (key.to_owned(), (*code).to_owned(), *number, (*text).to_owned())
        }
        None => letter(wanted, modifiers).ok_or_else(|| unknown(written))?,
    };
    let text = if modifiers & NOT_TEXT == 0 { text } else { String::new() };
    let event = |kind: &str| {
        json!({
            "type": kind,
            "key": key,
            "code": code,
            "windowsVirtualKeyCode": number,
            "nativeVirtualKeyCode": number,
            "modifiers": modifiers,
        })
    };
    let mut down = event(if text.is_empty() { "rawKeyDown" } else { "keyDown" });
    if let Some(fields) = down.as_object_mut() {
        if !text.is_empty() {
            fields.insert("text".to_owned(), json!(text));
        }
        // What editors do by themselves needs its name: a keyboard without a system behind it selects nothing.
        if modifiers & NOT_TEXT == 2
            && let Some(command) = command(&key)
        {
            fields.insert("commands".to_owned(), json!([command]));
        }
    }
    Ok(Press { down, up: event("keyUp") })
}

fn split(written: &str) -> Result<(u32, &str), String> {
    let mut modifiers = 0;
    let mut rest = written;
    while let Some((first, later)) = rest.split_once('+').filter(|(_, later)| !later.is_empty()) {
        let known = MODIFIERS.iter().find(|(name, _)| name.eq_ignore_ascii_case(first.trim()));
        let (_, bit) = known.ok_or_else(|| unknown(written))?;
        modifiers |= bit;
        rest = later;
    }
    Ok((modifiers, rest))
}

fn letter(key: &str, modifiers: u32) -> Option<(String, String, u32, String)> {
    let mut letters = key.chars();
    let letter = letters.next().filter(|_| letters.next().is_none())?;
    let upper = letter.to_ascii_uppercase();
    let code = match upper {
        'A'..='Z' => format!("Key{upper}"),
        '0'..='9' => format!("Digit{upper}"),
        _ => String::new(),
    };
    let number = if upper.is_ascii_alphanumeric() { u32::from(upper) } else { 0 };
    let shown = if modifiers & 8 == 0 { letter } else { upper };
    Some((shown.to_string(), code, number, shown.to_string()))
}

fn command(key: &str) -> Option<&'static str> {
    Some(match key.to_ascii_lowercase().as_str() {
        "a" => "selectAll",
        "c" => "copy",
        "x" => "cut",
        "v" => "paste",
        "z" => "undo",
        "y" => "redo",
        _ => return None,
    })
}

fn unknown(written: &str) -> String {
    let names: Vec<_> = NAMED.iter().map(|(name, ..)| *name).take(15).collect();
    format!(
        "there is no key {written:?}; keys are single letters, {} and F1 to F12, with Control+, Shift+, Alt+ or Meta+ \
        before them",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::press;

    #[test]
    fn keys_are_known_by_their_names() {
        let cases = [
            ("Enter", json!(["keyDown", "Enter", "Enter", 13, 0, "\r"])),
            ("return", json!(["keyDown", "Enter", "Enter", 13, 0, "\r"])),
            ("a", json!(["keyDown", "a", "KeyA", 65, 0, "a"])),
            ("Shift+a", json!(["keyDown", "A", "KeyA", 65, 8, "A"])),
            ("Control+A", json!(["rawKeyDown", "A", "KeyA", 65, 2, null])),
            ("Shift+Tab", json!(["rawKeyDown", "Tab", "Tab", 9, 8, null])),
            ("+", json!(["keyDown", "+", "", 0, 0, "+"])),
            ("Space", json!(["keyDown", " ", "Space", 32, 0, " "])),
            ("ß", json!(["keyDown", "ß", "", 0, 0, "ß"])),
        ];
        for (written, wanted) in cases {
            let down = press(written).unwrap().down;
            let found = json!([
                down["type"],
                down["key"],
                down["code"],
                down["windowsVirtualKeyCode"],
                down["modifiers"],
                down["text"],
            ]);
            assert_eq!(found, wanted, "{written}");
        }
        assert_eq!(press("Control+a").unwrap().down["commands"], json!(["selectAll"]));
    }

    #[test]
    fn what_is_no_key_is_said() {
        for written in ["", "Foo", "Hyper+a", "ab"] {
            let said = press(written).unwrap_err();
            assert!(said.starts_with(&format!("there is no key {written:?}; keys are")), "{said}");
        }
    }
}
