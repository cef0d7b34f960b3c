//! Names of variables with room for more than one.

/// `*` stands for any text, also none, and `%` for the edge of a word, which is where not both neighbours are letters;
/// letters match in either case.
///
/// Only the last `*` is ever tried again: whatever an earlier one could take instead, the last one can take as well.
pub(super) fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let is_letter = |at: usize| name.get(at).is_some_and(u8::is_ascii_alphabetic);
    let is_edge = |at: usize| at == 0 || !is_letter(at - 1) || !is_letter(at);
    let (mut in_pattern, mut in_name) = (0, 0);
    let mut last_star = None;
    loop {
        match (pattern.get(in_pattern), name.get(in_name)) {
            (None, None) => return true,
            (Some(b'*'), _) => {
                in_pattern += 1;
                last_star = Some((in_pattern, in_name));
                continue;
            }
            (Some(b'%'), _) if is_edge(in_name) => {
                in_pattern += 1;
                continue;
            }
            (Some(wanted), Some(given)) if wanted.eq_ignore_ascii_case(given) => {
                in_pattern += 1;
                in_name += 1;
                continue;
            }
            _ => {}
        }
        match last_star {
            Some((after, taken_to)) if taken_to < name.len() => {
                in_pattern = after;
                in_name = taken_to + 1;
                last_star = Some((after, in_name));
            }
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_takes_any_text_and_the_edges_of_words() {
        let table = [
            ("A*C", "ABC", true),
            ("a*c", "AC", true),
            ("A*C", "ACB", false),
            ("*A*B*", "xxAxxBxx", true),
            ("*AB*AC", "ABABACAC", true),
            ("*%PAT%*", "PAT", true),
            ("*%PAT%*", "X_PATH_PAT", true),
            ("*%PAT%*", "X_PATH", false),
            ("*PASS%*", "PASSPASS", true),
            ("%*%", "", true),
            ("", "A", false),
        ];
        for (pattern, name, expected) in table {
            assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
        // A name may be as long as the kernel allows an argument to be.
        assert!(matches(b"*TOKEN%*", &[b"T".repeat(128 * 1024), b"_TOKEN".to_vec()].concat()));
    }
}
