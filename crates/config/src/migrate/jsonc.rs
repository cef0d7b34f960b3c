//! JSON as editors write it, with comments and commas too many, made into JSON.

/// Takes comments and the commas before a closing bracket away. What is inside strings stays as it is.
pub(super) fn to_json(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut json = String::with_capacity(text.len());
    let mut signs = text.chars().peekable();
    while let Some(sign) = signs.next() {
        match (sign, signs.peek()) {
            ('"', _) => {
                json.push('"');
                while let Some(inside) = signs.next() {
                    json.push(inside);
                    match inside {
                        '\\' => json.extend(signs.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            ('/', Some('/')) => {
                // The line's end stays, so that errors name the right line.
                while signs.peek().is_some_and(|next| *next != '\n') {
                    signs.next();
                }
            }
            ('/', Some('*')) => {
                signs.next();
                let mut last = ' ';
                for inside in signs.by_ref() {
                    if inside == '\n' {
                        json.push('\n');
                    }
                    if (last, inside) == ('*', '/') {
                        break;
                    }
                    last = inside;
                }
            }
            ('}' | ']', _) => {
                let kept = json.trim_end();
                if kept.ends_with(',') {
                    let at = kept.len() - 1;
                    json.remove(at);
                }
                json.push(sign);
            }
            _ => json.push(sign),
        }
    }
    json
}

#[cfg(test)]
mod tests {
    use super::to_json;

    #[test]
    fn comments_and_last_commas_go_and_strings_stay() {
        let table = [
            ("{\"a\": 1, // one\n}", "{\"a\": 1 \n}"),
            ("{/* x\n */\"a\": [1, 2, ], }", "{\n\"a\": [1, 2 ] }"),
            (r#"{"a": "// no, ]", "b": "/* \" */,}"}"#, r#"{"a": "// no, ]", "b": "/* \" */,}"}"#),
            ("\u{feff}{}", "{}"),
            ("/* open", ""),
        ];
        for (before, after) in table {
            assert_eq!(to_json(before), after);
        }
    }
}
