//! Whatever stands in the file: no panic, every problem has a place in it, and what is shown means what was read.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ostler_config::{Origin, Reading, Surroundings, guide, parse};
use proptest::prelude::*;

/// Text that is nearly a config file: real headers and keys with values that are right, wrong or cut off.
fn nearly_a_file() -> impl Strategy<Value = String> {
    let surroundings = Surroundings::usual();
    let sections = guide(&surroundings);
    let headers: Vec<String> = sections.iter().map(|section| section.header.clone()).collect();
    let keys: Vec<String> = sections
        .iter()
        .flat_map(|section| section.keys.iter().map(|key| key.name.to_owned()))
        .collect();
    let values: Vec<String> = sections
        .iter()
        .flat_map(|section| section.keys.iter().filter_map(|key| key.default.clone()))
        .chain(
            [
                "1",
                "-5",
                "'x'",
                "\"off\"",
                "['a', 3]",
                "{ a = 1 }",
                "[",
                "'",
                "\"\"\"",
                "1979-05-27",
                "true",
                "ä",
            ]
            .map(str::to_owned),
        )
        .collect();
    let line = prop_oneof![
        2 => prop::sample::select(headers),
        6 => (prop::sample::select(keys), prop::sample::select(values))
            .prop_map(|(key, value)| format!("{key} = {value}")),
        1 => "\\PC{0,20}",
    ];
    prop::collection::vec(line, 0..30).prop_map(|lines| lines.join("\n"))
}

/// The settings that hold as the text of a file.
fn written(reading: &Reading) -> String {
    let mut text = String::new();
    let mut header = String::new();
    for setting in reading.settings() {
        // A rule begins where its number changes.
        let block = setting.key.rsplit_once('.').unwrap().0.to_owned();
        if block != header {
            writeln!(text, "{}", setting.header).unwrap();
            header = block;
        }
        if let Some(value) = &setting.value {
            writeln!(text, "{} = {value}", setting.name).unwrap();
        }
    }
    text
}

fn check(text: &str) -> Result<(), TestCaseError> {
    let surroundings = Surroundings::usual();
    match parse(text, &surroundings) {
        Ok(reading) => {
            let again = parse(&written(&reading), &surroundings);
            prop_assert_eq!(again.map(|again| again.config), Ok(reading.config));
        }
        Err(problems) => {
            prop_assert!(!problems.is_empty());
            let lines: Vec<&str> = text.split('\n').collect();
            for problem in &problems {
                let line = lines.get(problem.line - 1);
                prop_assert!(line.is_some(), "{problem}");
                let columns = line.unwrap().chars().count() + 1;
                prop_assert!((1..=columns).contains(&problem.column), "{problem:?}");
            }
            prop_assert!(problems.is_sorted_by_key(|problem| problem.line), "{problems:?}");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,200}") {
        check(&text)?;
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&String::from_utf8_lossy(&bytes))?;
    }

    #[test]
    fn nearly_right_files_never_panic(text in nearly_a_file()) {
        check(&text)?;
    }
}

/// The generator above would prove little if none of its files could be read.
#[test]
fn each_default_is_written_as_it_is_read() {
    let surroundings = Surroundings::usual();
    let reading = parse("", &surroundings).unwrap();
    let again = parse(&written(&reading), &surroundings).unwrap();
    assert_eq!(again.config, reading.config);
    let shown: BTreeMap<String, Option<String>> =
        reading.settings().into_iter().map(|setting| (setting.key, setting.value)).collect();
    for section in guide(&surroundings) {
        for key in section.keys.iter().filter(|_| {
            !["[[policy]]", "[providers.NAME]", "[notify.NAME]"].contains(&section.header.as_str())
        }) {
            let name = format!("{}.{}", section.header.trim_matches(['[', ']']), key.name);
            assert_eq!(shown.get(&name), Some(&key.default), "{name}");
        }
    }
    assert!(reading.settings().iter().all(|setting| setting.origin == Origin::Default));
}
