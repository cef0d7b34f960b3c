//! Machines that are well.

use std::fs;

use serde_json::json;

use super::world::{Diagnosis, VERSIONS, World};

const PROVIDER: &str = "# mine\nmodel_provider = \"local\"\n[model_providers.local]\nname = \"local\"\n\
                        base_url = \"http://127.0.0.1:9/v1\"\nwire_api = \"responses\"\n";

#[test]
fn a_machine_that_is_well_has_nothing_but_ok() {
    for version in VERSIONS {
        let world = World::with(version);
        world.write("codex-home/config.toml", PROVIDER);
        let before = world.files();

        let diagnosis = world.doctor();

        assert_eq!(diagnosis.complaints(), [], "{version}: {}", diagnosis.text);
        assert_eq!((diagnosis.exit, diagnosis.counts), (0, [17, 0, 0]));
        let [_, sandbox, _] = diagnosis.check("sandbox");
        assert!(
            sandbox
                .starts_with("confines: read-only holds, writes stay in the workspace, no network"),
            "{version}: {sandbox}"
        );
        let [_, codex, _] = diagnosis.check("codex");
        let start = format!("{version}, the path in our config file: ");
        assert!(codex.starts_with(&start), "{codex}");
        let login = ["ok", "the configured model provider needs none", ""];
        assert_eq!(diagnosis.check("login"), login);
        let modes = [
            "read-only: nothing can be written, no network",
            "workspace-write: files in the workspace, not in its .git, nothing beside it, no network",
            "workspace-write with network allowed: network",
        ];
        assert_eq!(diagnosis.details("sandbox"), modes, "{version}");
        let layers = [
            "ours: ~/config/config.toml sets 1 setting; by the environment: codex.home (CODEX_HOME)",
            "Codex: yours, ~/codex-home/config.toml: sets 4 keys",
            "Codex: the machine's, /etc/codex/config.toml: sets nothing",
        ];
        assert_eq!(diagnosis.details("config-layers"), layers, "{version}");
        assert_eq!(diagnosis.check("mcp-servers"), ["ok", "none is configured", ""]);
        assert_eq!(diagnosis.check("plugins"), ["ok", "none is in use", ""]);
        assert_eq!(diagnosis.check("databases"), ["ok", "there are none yet", ""]);
        assert_eq!(diagnosis.check("leftovers"), ["ok", "none", ""]);

        assert_eq!(world.files(), before, "{version}: the doctor left something behind");
    }
}

/// Codex fills its home as soon as it starts; the user's own stays as it is, and one that is not there is not made.
#[test]
fn the_user_s_codex_home_is_read_and_not_written() {
    for version in VERSIONS {
        let world = World::with(version);
        let home = world.path(".codex");
        fs::rename(world.path("codex-home"), &home).unwrap();
        world.write(".codex/config.toml", "model_instructions_file = \"mine.md\"\n");
        world.write(".codex/mine.md", "Be brief.\n");
        world.write(".codex/auth.json", r#"{"OPENAI_API_KEY": "sk-canary0123456789abcdef"}"#);
        let before = world.files();
        let doctor = || {
            let mut command = world.command(env!("CARGO_BIN_EXE_ostler"));
            command.args(["doctor", "--json"]).env_remove("CODEX_HOME");
            Diagnosis::read(&command.output().unwrap(), &world.path(""))
        };

        let diagnosis = doctor();

        assert_eq!(diagnosis.complaints(), [], "{version}: {}", diagnosis.text);
        assert_eq!(diagnosis.check("login"), ["ok", "an API key", ""], "{version}");
        assert_eq!(world.files(), before, "{version}: the doctor wrote into the home");

        fs::remove_dir_all(&home).unwrap();
        let before = world.files();
        let diagnosis = doctor();
        assert_eq!(diagnosis.complaints(), [("login", "warning")], "{}", diagnosis.text);
        assert_eq!(world.files(), before, "{version}: the doctor made a home");
    }
}

#[test]
fn nobody_logged_in_is_a_warning_and_no_problem() {
    for version in VERSIONS {
        let diagnosis = World::with(version).doctor();

        assert_eq!(diagnosis.complaints(), [("login", "warning")], "{}", diagnosis.text);
        assert_eq!((diagnosis.exit, diagnosis.counts), (0, [16, 1, 0]));
        assert_eq!(
            diagnosis.check("login"),
            ["warning", "nobody is logged in", "run `codex login`, or the demo works without"]
        );
    }
}

#[test]
fn an_api_key_is_seen_and_not_shown() {
    for version in VERSIONS {
        let world = World::with(version);
        let key = "sk-canary0123456789abcdef";
        let text = json!({"auth_mode": "apikey", "OPENAI_API_KEY": key}).to_string();
        world.write("codex-home/auth.json", &text);

        let diagnosis = world.doctor();

        assert_eq!(diagnosis.check("login"), ["ok", "an API key", ""], "{version}");
        assert!(!diagnosis.text.contains("canary"), "{}", diagnosis.text);
    }
}

/// The identity token of a ChatGPT login is unsigned here; Codex reads it without asking anybody.
#[test]
fn a_chatgpt_account_is_shown_without_its_name() {
    // {"alg":"none"} . {"email":"somebody@example.org","https://api.openai.com/auth":{"chatgpt_plan_type":"plus",
    // "chatgpt_account_id":"a"}} . x
    let id_token = "eyJhbGciOiJub25lIn0.eyJlbWFpbCI6InNvbWVib2R5QGV4YW1wbGUub3JnIiwiaHR0cHM6Ly9hcGkub3BlbmFpLmNvbS9h\
                    dXRoIjp7ImNoYXRncHRfcGxhbl90eXBlIjoicGx1cyIsImNoYXRncHRfYWNjb3VudF9pZCI6ImEifX0.eA";
    for version in VERSIONS {
        let world = World::with(version);
        let tokens = json!({
            "id_token": id_token, "access_token": "canary", "refresh_token": "canary", "account_id": "a",
        });
        let text = json!({
            "auth_mode": "chatgpt", "tokens": tokens, "last_refresh": "2999-01-01T00:00:00Z",
        });
        world.write("codex-home/auth.json", &text.to_string());
        world.write("codex-home/config.toml", "chatgpt_base_url = \"http://127.0.0.1:9/\"\n");

        let diagnosis = world.doctor();

        let expected = match version {
            // It wants to hear about the account from the network first.
            "0.166.0" => [
                "warning",
                "Codex does not say who is logged in: workspace routing discovery failed",
                "look whether the network is there; `codex login status` says more",
            ],
            _ => ["ok", "ChatGPT account s…@example.org, plan plus", ""],
        };
        assert_eq!(diagnosis.check("login"), expected, "{version}");
        assert!(!diagnosis.text.contains("canary"), "{}", diagnosis.text);
    }
}

#[test]
fn the_page_fits_a_terminal_and_ends_in_a_sum() {
    let output = World::with(VERSIONS[0]).ostler(&["doctor"]);

    let text = String::from_utf8(output.stdout).unwrap();
    let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(widest <= 80, "{text}");
    assert_eq!(text.lines().last(), Some("16 ok, 1 warning, 0 problems"));
    assert!(text.starts_with(&format!("✓ codex           {}, ", VERSIONS[0])), "{text}");
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

/// The settings name the home of tasks, so it is the one to look at; what the shell says beats it.
#[test]
fn the_home_of_our_config_file_is_looked_at() {
    let world = World::with("0.166.0");
    let home = world.path("elsewhere");
    fs::create_dir(&home).unwrap();
    world.write("elsewhere/config.toml", PROVIDER);
    let own = fs::read_to_string(world.path("config/config.toml")).unwrap();
    world.write("config/config.toml", &format!("{own}home = {home:?}\n"));
    let doctor = || {
        let mut command = world.command(env!("CARGO_BIN_EXE_ostler"));
        command.args(["doctor", "--json"]).env_remove("CODEX_HOME");
        Diagnosis::read(&command.output().unwrap(), &world.path(""))
    };

    let login = ["ok", "the configured model provider needs none", ""];
    assert_eq!(doctor().check("login"), login);
    assert_eq!(world.doctor().complaints(), [("login", "warning")]);

    fs::remove_dir_all(&home).unwrap();
    let expected = [
        "problem",
        "~/elsewhere is not there, and codex.home in our config file names it",
        "run `mkdir -p ~/elsewhere`, or let codex.home in our config file name another one",
    ];
    assert_eq!(doctor().check("codex-home"), expected);
}
