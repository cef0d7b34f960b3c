//! `tests/TRAPS.md` names tests; they must exist, and none of ours may be missing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The tests that the page names, as `file::test`.
fn named(page: &str) -> BTreeSet<&str> {
    page.split('`').filter(|word| word.contains(".rs::")).collect()
}

#[test]
fn every_test_that_the_page_names_exists() {
    let page = std::fs::read_to_string(root().join("tests/TRAPS.md")).unwrap();
    let missing = named(&page).into_iter().filter(|name| {
        let (file, test) = name.rsplit_once("::").unwrap();
        let source = std::fs::read_to_string(root().join(file)).unwrap_or_default();
        !source.contains(&format!("fn {test}("))
    });
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn every_test_here_is_on_the_page() {
    let page = std::fs::read_to_string(root().join("tests/TRAPS.md")).unwrap();
    let named = named(&page);
    let folder = root().join("tests/e2e/traps");
    let mut missing = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_str().unwrap();
        let source = std::fs::read_to_string(&path).unwrap();
        let tests = source.split("#[rstest]\n").skip(1);
        for test in tests.filter_map(|test| test.split("fn ").nth(1)?.split('(').next()) {
            let name = format!("tests/e2e/traps/{file}::{test}");
            if !named.contains(name.as_str()) {
                missing.push(name);
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn every_fact_has_its_row() {
    let page = std::fs::read_to_string(root().join("tests/TRAPS.md")).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    let numbers: Vec<u32> = rows.filter_map(|number| number.parse().ok()).collect();
    assert_eq!(numbers, (1..=20).collect::<Vec<_>>());
}
