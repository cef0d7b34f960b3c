//! `docs/configuration.md` and the example beside it are made of the table of settings. `OSTLER_WRITE_EXPECTED=1` writes
//! them anew.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use ostler_config::{Key, SectionGuide, Surroundings, guide, parse};

const WRITE_EXPECTED: &str = "OSTLER_WRITE_EXPECTED";

const INTRODUCTION: &str = "\
# Configuration

<!-- Made of the table in crates/config/src/settings; `OSTLER_WRITE_EXPECTED=1 cargo test -p ostler-config` writes it anew. -->

Ostler reads one file, `~/.config/ostler/config.toml` (`$XDG_CONFIG_HOME/ostler/config.toml`, or
`$OSTLER_HOME/config/config.toml` if that is set). Everything has a default, so the file need not be there.

- `ostler config path` says where the file is
- `ostler config check [FILE]` looks at it and shows all that is wrong at once, each with its line
- `ostler config show [KEY]` shows every setting that holds, and whether it is the default, stands in the file, or comes from
  the environment

A file with a mistake in it is not used at all: every command that needs it fails with exit code 2 and names all mistakes. An
unknown key is a mistake, because a slip of the pen would otherwise silently become a default. The daemon reads the file when
it starts, and again on SIGHUP (`systemctl --user reload ostler`): new values hold from then on for what begins after it, but for
`store.path`, `daemon.socket`, `daemon.log`, `[server]` and `[worktree]`, which need `ostler daemon restart`. A file with a mistake changes nothing.
The log says which keys have changed.

Times are texts with a unit: `\"30s\"`, `\"5m\"`, `\"2h\"`, `\"7d\"`, also `\"1h30m\"`. Sizes are texts with a unit: `\"512MiB\"`,
`\"2GiB\"`, also `\"5GB\"`. `\"off\"` means no limit, where it is taken. Paths are absolute or start with `~/`.
[config.example.toml](config.example.toml) has every key with its default, to copy from.
";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn sections() -> Vec<SectionGuide> {
    guide(&Surroundings::usual())
}

fn manual() -> String {
    let mut text = INTRODUCTION.to_owned();
    for section in sections() {
        write!(text, "\n## `{}`\n\n{}\n\n", section.header, section.about).unwrap();
        text.push_str("| key | value | default | what it does |\n|---|---|---|---|\n");
        for key in &section.keys {
            let default = default_of(&section, key);
            let Key { name, about, .. } = key;
            writeln!(text, "| `{name}` | {} | {default} | {about} |", form_of(key)).unwrap();
        }
    }
    text
}

fn form_of(key: &Key) -> String {
    match &key.range {
        Some(range) => format!("{}; {range}", key.form),
        None => key.form.clone(),
    }
}

fn default_of(section: &SectionGuide, key: &Key) -> String {
    match &key.default {
        // The one key that has to be written.
        Some(_) if (section.header.as_str(), key.name) == ("[[policy]]", "decision") => {
            "–".to_owned()
        }
        Some(default) => format!("`{default}`"),
        None => "not set".to_owned(),
    }
}

/// Every key as a comment, with its default where it has one.
fn example() -> String {
    let mut text = "# Every setting of Ostler with its default. What each does stands in docs/configuration.md.\n".to_owned();
    for section in sections() {
        if section.header == "[providers.NAME]" {
            text.push_str(
                "\n# [providers.local]\n# base_url = \"http://127.0.0.1:11434/v1\"\n# wire = \"chat\"\n\
                 # key_env = \"LOCAL_KEY\"\n# headers = { X-Team = \"MY_TEAM\" }\n",
            );
            continue;
        }
        if section.header == "[notify.NAME]" {
            text.push_str(
                "\n# [notify.ops]\n# via = \"webhook\"\n# url = \"https://example.org/hooks/ostler\"\n\
                 # secret_env = \"OPS_WEBHOOK_SECRET\"\n# kinds = [\"failed\", \"needs_approval\"]\n# default = true\n",
            );
            continue;
        }
        if section.header == "[[policy]]" {
            text.push_str(
                "\n# [[policy]]\n# decision = \"allow\"\n# command = [\"cargo\", \"test\"]\n# outside_sandbox = false\n\
                 # cwd = \"~/src\"\n\
                 # scope = \"everywhere\"\n# expires = 2030-01-31T18:00:00Z\n",
            );
            continue;
        }
        write!(text, "\n{}\n", section.header).unwrap();
        for key in &section.keys {
            match &key.default {
                Some(default) => writeln!(text, "# {} = {default}", key.name).unwrap(),
                None => writeln!(text, "# {} = {}", key.name, sample(key.name)).unwrap(),
            }
        }
    }
    text
}

/// Something to write where nothing is the default.
fn sample(name: &str) -> &'static str {
    match name {
        "path" => "\"/opt/codex/bin/codex\"",
        "version" => "\"0.166.0\"",
        "home" => "\"~/.codex\"",
        "command" => "[\"~/bin/approve\"]",
        "model" | "review_model" => "\"gpt-5.2-codex\"",
        "effort" => "\"medium\"",
        "identity" => "\"~/.config/ostler/identity.md\"",
        "memory_sync" => "[\"~/bin/remember\"]",
        "search" => "\"searxng\"",
        "search_url" => "\"http://127.0.0.1:8888\"",
        "search_key_env" => "\"SEARCH_KEY\"",
        "search_key_file" => "\"~/.config/ostler/search.key\"",
        "search_key_command" => "[\"pass\", \"show\", \"search\"]",
        "program" => "\"/usr/bin/chromium\"",
        "provider" => "\"openai\"",
        "listen" => "\"127.0.0.1:8137\"",
        "public_url" => "\"https://ostler.example.org\"",
        "tls_certificate" => "\"~/.config/ostler/certificate.pem\"",
        "tls_key" => "\"~/.config/ostler/key.pem\"",
        _ => "",
    }
}

#[test]
fn the_documents_are_those_of_the_table() {
    #[expect(clippy::disallowed_methods, reason = "tests have no door that could hand it down")]
    let writes = std::env::var_os(WRITE_EXPECTED).is_some();
    for (name, text) in [("configuration.md", manual()), ("config.example.toml", example())] {
        let place = folder().join(name);
        if writes {
            std::fs::write(&place, &text).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&place).unwrap(), text, "{name}");
    }
}

#[test]
fn the_example_means_the_defaults_also_without_its_comment_signs() {
    let surroundings = Surroundings::usual();
    let example = example();
    let defaults = parse("", &surroundings).unwrap().config;
    assert_eq!(parse(&example, &surroundings).unwrap().config, defaults);

    // A sentence is no setting; all the other comments are.
    let (_, settings) = example.split_once('\n').unwrap();
    let mut config = parse(&settings.replace("# ", ""), &surroundings).unwrap().config;
    assert_eq!(config.policy.len(), 1);
    config.policy.clear();
    assert_eq!(config.providers.len(), 1);
    config.providers.clear();
    assert_eq!(config.notify.len(), 1);
    config.notify.clear();
    config.agent.model = None;
    config.agent.effort = None;
    config.agent.identity = None;
    config.agent.review_model = None;
    config.agent.memory_sync = None;
    config.codex = defaults.codex.clone();
    config.tasks.model = None;
    config.tasks.effort = None;
    config.approver.command = None;
    config.web = defaults.web.clone();
    config.browser.program = None;
    config.vision = defaults.vision.clone();
    config.images.provider = None;
    config.speech.provider = None;
    config.server = defaults.server.clone();
    assert_eq!(config, defaults);
}

#[test]
fn every_key_is_documented_in_whole_sentences() {
    for section in sections() {
        for text in section.keys.iter().map(|key| &key.about).chain([&section.about]) {
            assert!(text.ends_with(['.', '…']) && !text.contains(['\n', '|']), "{text}");
            assert!(text.starts_with(|first: char| first.is_uppercase() || "`".contains(first)));
        }
    }
}
