use insta::assert_snapshot;
use proptest::prelude::*;

use super::wrap::visible;
use super::*;

fn plain(text: &str, width: usize) -> String {
    anstream::adapter::strip_str(&render(text, width).join("\n")).to_string()
}

const EVERYTHING: &str = "\
# Plan

Some **bold** and *soft* words with `code`, a [link](https://example.org/a) and https://example.org.

- one
- two with a text that is long enough to be wrapped
  - inner
    1. deep
- [x] done

1. first

2. second

> quoted
> text

```rust
fn main() {
\tprintln!(\"hi\");
}
```

| name | size |
|------|-----:|
| a    |   10 |
| bb   |    5 |

---
end
";

#[test]
fn everything_models_write_has_its_look() {
    assert_snapshot!(plain(EVERYTHING, 44), @r#"
    Plan

    Some bold and soft words with code, a link
    (https://example.org/a) and
    https://example.org.

    • one
    • two with a text that is long enough to be
      wrapped
      • inner
        1. deep
    • [x] done

    1. first
    2. second

    │ quoted text

      fn main() {
          println!("hi");
      }

    name │ size
    ─────┼─────
    a    │   10
    bb   │    5

    ────────────────────────────────────────

    end
    "#);
}

#[test]
fn a_table_that_does_not_fit_is_read_row_by_row() {
    let table = "| name | what it does |\n|---|---|\n| steer | puts a text into the turn |\n| stop | ends it |\n";
    assert_snapshot!(plain(table, 24), @r"
    name: steer
    what it does: puts a
      text into the turn
    ──
    name: stop
    what it does: ends it
    ");
}

#[test]
fn looks_are_escape_sequences_and_what_comes_from_the_model_is_none() {
    assert_eq!(render("**a** `b`", 40), ["\u{1b}[1ma\u{1b}[0m \u{1b}[36mb\u{1b}[0m"]);
    assert_eq!(render("```diff\n+x\n```", 40), ["  \u{1b}[32m+x\u{1b}[0m"]);
    assert_eq!(plain("\u{1b}[2J`\u{1b}]0;x\u{7}`", 60), "\\u{1b}[2J\\u{1b}]0;x\\u{7}");
}

#[test]
fn a_growing_text_is_given_out_once_and_whole() {
    for size in [1, 3, 7, 1000] {
        let mut growing = Growing::default();
        let mut rows = Vec::new();
        let characters: Vec<char> = EVERYTHING.chars().collect();
        for piece in characters.chunks(size) {
            rows.extend(growing.push(&piece.iter().collect::<String>(), 44));
        }
        rows.extend(growing.finish(44));
        let rows = anstream::adapter::strip_str(&rows.join("\n")).to_string();
        assert_eq!(rows, plain(EVERYTHING, 44), "in pieces of {size}");
    }
}

#[test]
fn words_are_seen_before_their_block_has_ended() {
    let mut growing = Growing::default();
    assert_eq!(growing.push("Hello wor", 40), Vec::<String>::new());
    assert_eq!(growing.live(40), ["Hello wor"]);
    assert!(!growing.was_given());
    assert_eq!(growing.push("ld.\n\nNext", 40), ["Hello world."]);
    assert_eq!(growing.live(40), ["", "Next"]);
    // Of a long block only the end is drawn anew.
    let long: String = (0..40).map(|number| format!("- item {number}\n")).collect();
    let given = growing.push(&format!("\n\n{long}"), 40);
    assert_eq!(given.len() + growing.live(40).len(), 43);
    assert_eq!(growing.live(40).len(), LIVE_ROWS);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_breaks_the_rows(text in "([-*#>|`~ \\[\\]()0-9.\n\ta-zäß界]|\\PC){0,120}", width in 20usize..80) {
        for row in render(&text, width) {
            prop_assert!(!row.contains('\n'));
            // Deep lists leave little room; then eight columns are used all the same.
            prop_assert!(visible(&row) <= width.max(60), "{row:?}");
        }
        let mut growing = Growing::default();
        for character in text.chars() {
            growing.push(character.encode_utf8(&mut [0; 4]), width);
        }
        growing.finish(width);
    }
}
