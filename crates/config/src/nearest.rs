//! What somebody meant who wrote something else.

/// The word that is nearest to the one that was written, if it is near enough to be a slip of the pen.
pub fn nearest<'w>(written: &str, words: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let written = written.to_lowercase().replace('-', "_");
    // A third of the letters may be wrong; of a very short word one.
    let allowed = (written.chars().count() / 3).max(1);
    words
        .into_iter()
        .map(|word| (strsim::osa_distance(&written, &word.replace('-', "_")), word))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_understood_and_other_words_are_not() {
        let words = ["sandbox", "approval", "on_crash", "model", "age"];
        for (written, meant) in [
            ("sandbx", Some("sandbox")),
            ("snadbox", Some("sandbox")),
            ("Sandbox", Some("sandbox")),
            ("on-crash", Some("on_crash")),
            ("aprovall", Some("approval")),
            ("ag", Some("age")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(written, words), meant, "{written}");
        }
    }
}
