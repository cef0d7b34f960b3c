//! `tests/TRAPS.md` and `tests/REGRESSIONS.md` name tests; they must exist, and none of ours may be missing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rstest::rstest;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The tests that the page names, as `file::test`.
fn named(page: &str) -> BTreeSet<&str> {
    page.split('`').filter(|word| word.contains(".rs::") || word.contains(".mjs::")).collect()
}

/// The numbers in the first column of the page's tables.
fn numbered(page: &str) -> Vec<u32> {
    let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    rows.filter_map(|number| number.parse().ok()).collect()
}

#[rstest]
fn every_test_that_the_page_names_exists(
    #[values("tests/TRAPS.md", "tests/REGRESSIONS.md")] page: &str,
) {
    let page = std::fs::read_to_string(root().join(page)).unwrap();
    let missing = named(&page).into_iter().filter(|name| {
        let (file, test) = name.rsplit_once("::").unwrap();
        let source = std::fs::read_to_string(root().join(file)).unwrap_or_default();
        // A test of the page is named by its text.
        !source.contains(&format!("fn {test}(")) && !source.contains(&format!("test('{test}'"))
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
        if file == "table.rs" {
            continue;
        }
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

#[rstest]
#[case("tests/TRAPS.md", 20)]
#[case("tests/REGRESSIONS.md", 25)]
fn every_row_is_there(#[case] page: &str, #[case] rows: u32) {
    let page = std::fs::read_to_string(root().join(page)).unwrap();
    assert_eq!(numbered(&page), (1..=rows).collect::<Vec<_>>());
}

#[test]
fn a_regression_without_a_test_is_open() {
    let page = std::fs::read_to_string(root().join("tests/REGRESSIONS.md")).unwrap();
    let rows = page.lines().filter(|line| !numbered(line).is_empty());
    let untested = rows.filter(|row| named(row).is_empty() && !row.contains("**open**"));
    assert_eq!(untested.collect::<Vec<_>>(), Vec::<&str>::new());
}
