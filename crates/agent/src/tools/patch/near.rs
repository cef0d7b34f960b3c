//! What a text that is not in a file may have meant.

/// Longer files are not searched for lines that only look alike.
const MOST_LINES: usize = 20_000;
const SHOWN: usize = 3;

/// As alike as a typing error makes two lines.
const ALIKE: f64 = 0.7;

/// Says that the text is not there, and where something like it is.
pub(super) fn misses(text: &str, old: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let wanted: Vec<&str> = old.lines().collect();
    let near = blanks_apart(&lines, &wanted)
        .or_else(|| first_line(&lines, &wanted))
        .or_else(|| alike(&lines, &wanted));
    let near = near.unwrap_or_else(|| "Nothing in the file is like it; read it again".to_owned());
    format!("`old_text` is not in the file. {near}. Nothing was changed")
}

/// The whole text is there, with other blanks.
fn blanks_apart(lines: &[&str], wanted: &[&str]) -> Option<String> {
    let is_same = |window: &&[&str]| {
        window.iter().zip(wanted).all(|(line, wanted)| words(line).eq(words(wanted)))
    };
    let at = lines.windows(wanted.len().max(1)).position(|window| is_same(&window))?;
    Some(format!(
        "It differs only in blanks from line {}:\n{}",
        at + 1,
        excerpt(lines, at, wanted.len())
    ))
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split_whitespace()
}

fn first_line(lines: &[&str], wanted: &[&str]) -> Option<String> {
    let first = wanted.iter().map(|line| line.trim()).find(|line| !line.is_empty())?;
    let places: Vec<_> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.trim() == first)
        .map(|(at, _)| at)
        .collect();
    let at = *places.first()?;
    let numbers: Vec<_> = places.iter().take(SHOWN).map(|at| (at + 1).to_string()).collect();
    Some(format!(
        "Its first line is line {}, but what follows is different:\n{}",
        numbers.join(", "),
        excerpt(lines, at, wanted.len())
    ))
}

fn alike(lines: &[&str], wanted: &[&str]) -> Option<String> {
    let first = wanted.iter().map(|line| line.trim()).find(|line| !line.is_empty())?;
    let lines = lines.get(..lines.len().min(MOST_LINES))?;
    // Lines of very different length cannot be alike, and comparing them takes long.
    let rated = lines.iter().enumerate().filter_map(|(at, line)| {
        let (long, short) =
            (line.trim().len().max(first.len()), line.trim().len().min(first.len()));
        (short * 2 >= long && long < 1000)
            .then(|| (strsim::normalized_levenshtein(line.trim(), first), at))
    });
    let (likeness, at) = rated.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (likeness >= ALIKE).then(|| {
        format!(
            "Line {} is most like its first line:\n{}",
            at + 1,
            excerpt(lines, at, wanted.len())
        )
    })
}

/// Some lines with their numbers.
fn excerpt(lines: &[&str], at: usize, count: usize) -> String {
    let shown = lines.iter().enumerate().skip(at).take(count.clamp(1, SHOWN));
    shown.map(|(at, line)| format!("{:>6}\t{line}", at + 1)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::misses;

    const TEXT: &str = "fn main() {\n    let number = 1;\n    print(number);\n}\n";

    #[test]
    fn a_near_miss_is_shown_with_its_line() {
        let cases = [
            (
                "let number  = 1;\nprint(number);",
                "`old_text` is not in the file. It differs only in blanks from line 2:\n     2\t    let number = 1;\n     3\t    print(number);. Nothing was changed",
            ),
            (
                "fn main() {\n    other();",
                "`old_text` is not in the file. Its first line is line 1, but what follows is different:\n     1\tfn main() {\n     2\t    let number = 1;. Nothing was changed",
            ),
            (
                "let numbr = 1;",
                "`old_text` is not in the file. Line 2 is most like its first line:\n     2\t    let number = 1;. Nothing was changed",
            ),
            (
                "quite another thing",
                "`old_text` is not in the file. Nothing in the file is like it; read it again. Nothing was changed",
            ),
        ];
        for (old, wanted) in cases {
            assert_eq!(misses(TEXT, old), wanted);
        }
    }
}
