//! Our block in other people's files: a corpus of them, and whatever a generator comes up with.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use ostler_config::migrate::{Entry, permissions_entry, take_out, write_block};
use proptest::prelude::*;

fn entries() -> Vec<Entry> {
    let table = |text: &str| toml::from_str::<toml::Table>(text).unwrap();
    vec![
        permissions_entry(":workspace"),
        Entry::new(
            &["mcp_servers", "hay"],
            table("command = 'x'\nargs = ['a \"b\"']\nenv = { A = '1' }"),
        ),
        Entry::new(&["mcp_servers", "oats"], table("url = 'http://localhost/mcp'")),
        Entry::new(&["mcp_servers", "ostler-tools"], table("command = '/ostler'")),
        Entry::new(
            &["plugins", "cart@inn"],
            table("enabled = true\nmcp_servers = { s = { enabled = true } }"),
        ),
    ]
}

/// The corpus: what its name says, and its text. What is no UTF-8 never gets here.
fn corpus() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/configs");
    let mut files: Vec<(String, String)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter_map(|entry| {
            let text = String::from_utf8(fs::read(entry.path()).unwrap()).ok()?;
            Some((entry.file_name().into_string().unwrap(), text))
        })
        .collect();
    let many =
        (0..3000).map(|at| format!("[projects.\"/work/{at}\"]\ntrust_level = \"trusted\"\n\n"));
    files.push(("ok-huge.toml".to_owned(), many.collect()));
    files.sort();
    files
}

#[test]
fn the_corpus_goes_through_and_comes_back() {
    let files = corpus();
    assert!(files.len() >= 60, "{}", files.len());
    for (name, text) in files {
        let written = write_block(&text, &entries());
        let kind = name.split('-').next().unwrap();
        // These two are TOML that only Codex refuses.
        let is_for_codex =
            ["bad-codex-refuses.toml", "bad-permissions-without-default.toml"].contains(&&*name);
        if kind == "bad" && !is_for_codex {
            assert!(written.is_err(), "{name}: {written:?}");
            continue;
        }
        let written = written.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(write_block(&written.text, &entries()).unwrap().text, written.text, "{name}");
        let back = take_out(&written.text).unwrap().text;
        assert_eq!(back, written.base, "{name}");
        if kind != "old" {
            assert_eq!(back, text, "{name}");
        }
        // Nothing of the file is inside the block, and the block is one piece.
        let same = common(&written.text, &written.base);
        assert_eq!(same, written.base.len(), "{name}: {}", written.text);
        let read: toml::Table =
            toml::from_str(written.text.trim_start_matches('\u{feff}')).unwrap();
        let has =
            |path: [&str; 2]| read.get(path[0]).and_then(|table| table.get(path[1])).is_some();
        assert!(has(["mcp_servers", "oats"]) && has(["mcp_servers", "ostler-tools"]), "{name}");
        assert_eq!(written.theirs.is_empty(), kind != "theirs", "{name}: {:?}", written.theirs);
        assert!(!written.text.contains("hermes-agent") || name.contains("string"), "{name}");
    }
}

/// How many bytes of `base` the text has before and behind what was put in.
fn common(text: &str, base: &str) -> usize {
    let before = text.bytes().zip(base.bytes()).take_while(|(one, other)| one == other).count();
    let behind =
        text.bytes().rev().zip(base.bytes().rev()).take_while(|(one, other)| one == other).count();
    before.saturating_add(behind).min(base.len())
}

fn check(before: &str, entries: &[Entry], after: &str) {
    assert_eq!(write_block(before, entries).unwrap().text, after);
}

#[test]
fn a_block_stands_above_the_first_table_with_its_comment() {
    let server = Entry::new(
        &["mcp_servers", "hay bale"],
        toml::Table::from_iter([("url".to_owned(), "x".into())]),
    );
    check(
        "model = 'x' # mine\n\n# about it\n[tui]\n",
        &[permissions_entry(":workspace"), server],
        "model = 'x' # mine\n\n\
         # >>> ostler: `ostler migrate --write` wrote this, `ostler migrate --undo` takes it out\n\
         # ostler-holds: {\"holds\":[[\"default_permissions\"],[\"mcp_servers\",\"hay bale\"]],\"joined\":false}\n\
         default_permissions = \":workspace\"\n\n[mcp_servers.\"hay bale\"]\nurl = \"x\"\n# <<< ostler\n\
         # about it\n[tui]\n",
    );
}

/// Codex edits the file with an editor that keeps comments: its new keys come to stand inside our block.
#[test]
fn what_codex_wrote_into_the_block_outlives_it() {
    let mut text = write_block("model_provider = 'a'\n", &entries()).unwrap().text;
    let mut document: toml_edit::DocumentMut = text.parse().unwrap();
    document["model"] = toml_edit::value("new");
    document["projects"]["/work"]["trust_level"] = toml_edit::value("trusted");
    document["mcp_servers"]["hay"]["tools"] = toml_edit::Item::Table(toml_edit::Table::new());
    document["mcp_servers"]["hay"]["tools"]["cut"] =
        toml_edit::Item::Table(toml_edit::Table::new());
    document["mcp_servers"]["hay"]["tools"]["cut"]["approval_mode"] = toml_edit::value("approve");
    text = document.to_string();
    let parsed = |text: &str| toml::from_str::<toml::Table>(text).unwrap();
    let again = write_block(&text, &entries()).unwrap().text;
    assert_eq!(parsed(&again), parsed(&text));
    assert_eq!(write_block(&again, &entries()).unwrap().text, again);
    let expected =
        "model_provider = 'a'\nmodel = 'new'\n[projects.\"/work\"]\ntrust_level = 'trusted'\n";
    for text in [&text, &again] {
        assert_eq!(parsed(&take_out(text).unwrap().text), parsed(expected), "{text}");
    }
}

#[test]
fn a_server_that_goes_takes_what_is_below_it_along() {
    let text =
        write_block("", &entries()).unwrap().text + "[tui]\n\n[mcp_servers.hay.tools.cut]\na = 1\n";
    assert_eq!(take_out(&text).unwrap().text, "[tui]\n\n");
}

/// A plugin is carried over with all that stands in its table; what stands outside of the block is not written twice.
#[test]
fn tables_below_one_of_ours_are_written_once() {
    let below = "[plugins.\"cart@inn\".mcp_servers.s]\nenabled = false\n";
    let written = write_block(below, &entries()).unwrap();
    assert!(written.text.contains("[plugins.\"cart@inn\"]\nenabled = true\n# <<<"), "{written:?}");
    assert_eq!(written.base, below);
    let again = write_block(&written.text, &entries()).unwrap();
    assert_eq!(again.text, written.text);
}

/// Nobody knows where a block ended that has lost its end, so what may be the user's stays, and what goes is told.
#[test]
fn an_old_block_takes_nothing_of_the_users_along() {
    let old = |end: &str| {
        format!(
            "# managed by hermes-agent\ndefault_permissions = \":workspace\"\n\n[mcp_servers.hay]\ncommand = \"old\"\n\n\
             [mcp_servers.hermes-tools]\ncommand = \"old\"\n\n[plugins.\"off@inn\"]\nenabled = false\n\n\
             [permissions.mine.filesystem]\n\":minimal\" = \"read\"\n\n[mcp_servers.mine]\ncommand = \"mine\"\n\n\
             [mcp_servers.mine.env]\nA = \"1\"\n{end}[tui]\n"
        )
    };
    let own = "[plugins.\"off@inn\"]\nenabled = false\n\n[permissions.mine.filesystem]\n\":minimal\" = \"read\"\n\n";
    let server = "[mcp_servers.mine]\ncommand = \"mine\"\n\n[mcp_servers.mine.env]\nA = \"1\"\n";
    let without_end = write_block(&old(""), &entries()).unwrap();
    assert_eq!(without_end.base, format!("{own}{server}[tui]\n"));
    let names = |written: &ostler_config::migrate::Written| -> Vec<String> {
        written.gone.iter().map(|path| path.join(".")).collect()
    };
    assert_eq!(names(&without_end), ["mcp_servers.hermes-tools"]);

    let ended = write_block(&old("# end hermes-agent managed section\n"), &entries()).unwrap();
    assert_eq!(ended.base, format!("{own}[tui]\n"));
    assert_eq!(
        names(&ended),
        ["mcp_servers.hermes-tools", "mcp_servers.mine", "mcp_servers.mine.env"]
    );
}

#[test]
fn the_end_of_the_last_line_goes_with_the_block_only_if_nothing_follows() {
    let text = write_block("a_own = 1", &entries()).unwrap().text;
    assert_eq!(take_out(&text).unwrap().text, "a_own = 1");
    assert_eq!(take_out(&format!("{text}[tui]\n")).unwrap().text, "a_own = 1\n[tui]\n");
}

/// Lines that a config may be made of, in any order; most orders are TOML.
fn lines() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("# comment"),
        Just(""),
        Just("[[jobs]]"),
        Just("[a.b]"),
        Just("[\"q [x]\".c]"),
        Just("k1 = 1"),
        Just("k2.x = \"a\""),
        Just("k3 = [\n[1],\n\"[t]\",\n]"),
        Just("k4 = \"\"\"\n# <<< ostler\n[x]\n\"\"\""),
        Just("k5 = { a = 1 }"),
        Just("[mcp_servers.mine]"),
        Just("[mcp_servers.hay]"),
        Just("[mcp_servers]"),
        Just("command = 'x'"),
        Just("  [tui] # c"),
        Just("default_permissions = ':read-only'"),
        Just("[plugins.\"cart@inn\"]"),
        Just("[plugins.\"cart@inn\".mcp_servers.s]"),
        Just("[mcp_servers.hay.tools.cut]"),
        Just("[mcp_servers.hay.env]"),
        Just("[projects.'/x']"),
        Just("# >>> other"),
    ];
    let end = prop_oneof![4 => Just("\n"), 1 => Just("\r\n")];
    (proptest::collection::vec((line, end), 0..12), any::<bool>(), any::<bool>()).prop_map(
        |(lines, bom, is_cut)| {
            let mut text: String = lines.iter().map(|(line, end)| format!("{line}{end}")).collect();
            if is_cut {
                text.truncate(text.trim_end().len());
            }
            if bom { format!("\u{feff}{text}") } else { text }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn whatever_is_there_comes_back(text in lines()) {
        match write_block(&text, &entries()) {
            Ok(written) => {
                let again = write_block(&written.text, &entries()).unwrap();
                prop_assert_eq!(&again.text, &written.text);
                prop_assert_eq!(&again.theirs, &written.theirs);
                prop_assert_eq!(take_out(&written.text).unwrap().text, text.clone());
                prop_assert_eq!(written.base, text);
            }
            Err(error) => {
                // Only what is no TOML, or has no room for tables, is refused.
                let body = text.trim_start_matches('\u{feff}');
                prop_assert!(toml::from_str::<toml::Table>(body).is_err(), "{} {}", error, text);
            }
        }
    }
}
