//! What is printed and written, word for word.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use insta::assert_snapshot;
use ostler_testkit::codex_binary;
use tempfile::TempDir;

struct World {
    folder: TempDir,
}

impl World {
    fn new(config: &str) -> Self {
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        fs::create_dir(folder.path().join("config")).unwrap();
        let world = Self { folder };
        fs::write(world.config_file(), config).unwrap();
        world
    }

    fn with_codex(rest: &str) -> Self {
        let codex = codex_binary("0.130.0").unwrap();
        Self::new(&format!("[codex]\npath = '{}'\n{rest}", codex.display()))
    }

    fn config_file(&self) -> PathBuf {
        self.folder.path().join("config/config.toml")
    }

    /// Behind the lines about Codex, whose path differs from machine to machine.
    fn config(&self) -> String {
        let text = fs::read_to_string(self.config_file()).unwrap();
        text.lines().filter(|line| !line.starts_with("path = ")).collect::<Vec<_>>().join("\n")
    }

    fn run(&self, arguments: &[&str]) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_ostler"))
            .args(arguments)
            .env_clear()
            .env("PATH", self.folder.path().join("bin"))
            .env("HOME", self.folder.path())
            .env("OSTLER_HOME", self.folder.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        let code = output.status.code().unwrap();
        let text = format!("{stdout}--- stderr\n{stderr}--- exit {code}");
        text.replace(self.folder.path().to_str().unwrap(), "[HOME]")
    }
}

#[test]
fn without_codex_nothing_is_switched_on() {
    let world = World::new("# mine\n");
    assert_snapshot!(world.run(&["runtime"]), @r"
    runtime: auto
    codex: not available: no Codex was found; `ostler codex install` fetches one
    --- stderr
    --- exit 0
    ");
    assert_snapshot!(world.run(&["runtime", "on"]), @r"
    --- stderr
    note: no Codex was found; nothing was changed; `ostler codex install` fetches one
    --- exit 1
    ");
    assert_snapshot!(world.run(&["runtime", "codex", "--json"]), @r#"
    {"success":false,"old":"auto","new":"auto","message":"no Codex was found; nothing was changed; `ostler codex install` fetches one","requires_new_session":false,"codex_ok":false,"codex_version":null}
    --- stderr
    note: no Codex was found; nothing was changed; `ostler codex install` fetches one
    --- exit 1
    "#);
    assert_snapshot!(world.run(&["runtime", "off"]), @r"
    runtime: auto, as it was
    --- stderr
    --- exit 0
    ");
    assert_eq!(world.config(), "# mine");
}

#[test]
fn with_codex_it_is_switched_on_and_off() {
    let world = World::with_codex("[agent]\nmodel = 'm' # mine\n");
    assert_snapshot!(world.run(&["runtime", "CODEX"]), @r"
    runtime: auto → codex_app_server
    codex: 0.130.0
    it holds from the next session on
    MCP servers for Codex: ostler-tools
    login: nobody is logged in to Codex in [HOME]/.codex; run `codex login`
    tools: Codex has its own commands and files, and gets the agent's tools but terminal, read_file, write_file, patch, search_files, delegate_task, skill_manage
    --- stderr
    --- exit 0
    ");
    assert_eq!(
        world.config(),
        "[codex]\n[agent]\nmodel = 'm' # mine\nruntime = \"codex_app_server\""
    );
    assert_snapshot!(world.run(&["runtime", "enable"]), @r"
    runtime: codex_app_server, as it was
    MCP servers for Codex: ostler-tools
    login: nobody is logged in to Codex in [HOME]/.codex; run `codex login`
    tools: Codex has its own commands and files, and gets the agent's tools but terminal, read_file, write_file, patch, search_files, delegate_task, skill_manage
    --- stderr
    --- exit 0
    ");
    assert_snapshot!(world.run(&["runtime", "show", "--json"]), @r#"
    {"success":true,"old":"codex_app_server","new":"codex_app_server","message":"runtime: codex_app_server\ncodex: 0.130.0","requires_new_session":false,"codex_ok":true,"codex_version":"0.130.0"}
    --- stderr
    runtime: codex_app_server
    codex: 0.130.0
    --- exit 0
    "#);
    assert_snapshot!(world.run(&["runtime", "disable", "--json"]), @r#"
    {"success":true,"old":"codex_app_server","new":"auto","message":"runtime: codex_app_server → auto\nit holds from the next session on","requires_new_session":true,"codex_ok":null,"codex_version":null}
    --- stderr
    runtime: codex_app_server → auto
    it holds from the next session on
    --- exit 0
    "#);
    assert_eq!(world.config(), "[codex]\n[agent]\nmodel = 'm' # mine\nruntime = \"auto\"");
}

#[test]
fn a_switch_without_effect_and_a_wrong_word_say_so() {
    let world = World::with_codex(
        "[agent]\nprovider = 'local'\n[providers.local]\nbase_url = 'http://127.0.0.1:1/v1'\nkey_env = 'K'\n",
    );
    assert_snapshot!(world.run(&["runtime", "on"]), @r"
    runtime: auto → codex_app_server (no effect while agent.provider is `local`: Codex runs turns of openai and codex only)
    codex: 0.130.0
    it holds from the next session on
    MCP servers for Codex: ostler-tools
    login: nobody is logged in to Codex in [HOME]/.codex; run `codex login`
    tools: Codex has its own commands and files, and gets the agent's tools but terminal, read_file, write_file, patch, search_files, delegate_task, skill_manage
    --- stderr
    --- exit 0
    ");
    assert_snapshot!(world.run(&["runtime", "codexx"]), @r"
    --- stderr
    error: `codexx` is no runtime; say auto (off, default, disable, ostler) or codex_app_server (on, codex, enable)
    --- exit 2
    ");
    let broken = World::new("[agent]\nruntime = 'codex'\n");
    assert_snapshot!(broken.run(&["runtime", "on"]), @r#"
    --- stderr
    error: [HOME]/config/config.toml: line 2: agent.runtime must be "auto" or "codex_app_server", not the text "codex"
      correct the file; `ostler config check` shows the places
    --- exit 2
    "#);
}

#[test]
fn a_migration_that_fails_does_not_fail_the_switch() {
    let world = World::with_codex("[migrate]\nfrom = ['/nowhere/mcp.json']\n");
    assert_snapshot!(world.run(&["runtime", "on"]), @r"
    runtime: auto → codex_app_server
    codex: 0.130.0
    it holds from the next session on
    MCP servers for Codex: ostler-tools; left out: 1 (`ostler migrate` says why)
    login: nobody is logged in to Codex in [HOME]/.codex; run `codex login`
    tools: Codex has its own commands and files, and gets the agent's tools but terminal, read_file, write_file, patch, search_files, delegate_task, skill_manage
    --- stderr
    --- exit 0
    ");
    let world = World::with_codex("");
    fs::write(world.folder.path().join("state"), "no folder").unwrap();
    assert_snapshot!(world.run(&["runtime", "on"]), @r"
    runtime: auto → codex_app_server
    codex: 0.130.0
    it holds from the next session on
    MCP servers were not migrated: cannot read [HOME]/state/migrate/overlay.json: Not a directory (os error 20)
    login: nobody is logged in to Codex in [HOME]/.codex; run `codex login`
    tools: Codex has its own commands and files, and gets the agent's tools but terminal, read_file, write_file, patch, search_files, delegate_task, skill_manage
    --- stderr
    --- exit 0
    ");
}
