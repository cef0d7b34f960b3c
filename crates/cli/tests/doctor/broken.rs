//! Machines with one thing really broken.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::world::{Diagnosis, VERSIONS, World};

const OLDEST: &str = VERSIONS[0];
const NEWEST: &str = VERSIONS[2];

#[test]
fn without_codex_there_is_a_problem_and_a_remedy() {
    let world = World::empty();
    fs::remove_file(world.path("bin/npm")).unwrap();
    let mut command = world.command(env!("CARGO_BIN_EXE_ostler"));
    let output = command.arg("doctor").env("PATH", world.path("bin")).output().unwrap();

    let text = String::from_utf8(output.stdout).unwrap();
    let text: Vec<&str> = text.lines().filter(|line| !line.contains(" free")).collect();
    assert_snapshot!(text.join("\n"), @r"
    ✗ codex           there is no Codex on this machine
                      → run `ostler codex install`
    ! app-server      not looked at: there is no Codex to ask
    ! login           not looked at: there is no Codex to ask
    ! sandbox         not looked at: there is no Codex to ask
    ! codex-config    not looked at: there is no Codex to ask
    ! config-layers   not looked at: there is no Codex to ask
    ! mcp-servers     not looked at: there is no Codex to ask
    ! plugins         not looked at: there is no Codex to ask
    ✓ config          ~/config/config.toml is not there, so the defaults hold
    ✓ runtime-folder  ~/run: private, takes sockets
    ✓ databases       there are none yet
    ✓ keepers         none runs
    ✓ leftovers       none
    ! npm             npm is not on PATH; it is needed only to install Codex
                      → install Node.js with npm if `ostler codex install` is to
                        work

    8 ok, 8 warnings, 1 problem
    ");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_broken_codex_config_is_named_with_its_line() {
    for version in VERSIONS {
        let world = World::with(version);
        world.write("codex-home/config.toml", "model = \"x\"\n[oops\n");

        let diagnosis = world.doctor();

        assert_eq!(
            diagnosis.complaints(),
            [
                ("codex-config", "problem"),
                ("config-layers", "warning"),
                ("login", "warning"),
                ("mcp-servers", "warning"),
                ("plugins", "warning"),
            ],
            "{version}: {}",
            diagnosis.text
        );
        assert_eq!(
            diagnosis.check("codex-config"),
            [
                "problem",
                "~/codex-home/config.toml:2:6: unclosed table, expected `]`",
                "correct the file: with it Codex starts but refuses every task",
            ]
        );
        assert_eq!(diagnosis.exit, 1);
    }
}

#[test]
fn a_wrong_setting_is_a_problem_and_a_secret_in_it_is_not_shown() {
    for version in VERSIONS {
        let world = World::with(version);
        world.write("codex-home/config.toml", "model_provider = \"sk-canary0123456789abcdef\"\n");

        let diagnosis = world.doctor();

        let [state, found, _] = diagnosis.check("codex-config");
        let expected = "~/codex-home/config.toml: Model provider `[secret]` not found";
        assert_eq!((state, found), ("problem", expected), "{version}");
        assert!(!diagnosis.text.contains("canary"), "{}", diagnosis.text);
    }
}

#[test]
fn our_own_config_is_judged_too() {
    let world = World::with(NEWEST);
    let good = fs::read_to_string(world.path("config/config.toml")).unwrap();
    world.write("config/config.toml", &format!("{good}verison = 1\n[task]\n"));

    let diagnosis = world.doctor();

    let found = "~/config/config.toml has 2 problems:\n  line 3: codex.verison is unknown; did you mean version?\n  \
                 line 4: task is unknown; did you mean [tasks]?";
    let advice = "correct the file; until then the checks here use the defaults";
    assert_eq!(diagnosis.check("config"), ["problem", found, advice]);
    assert_eq!(diagnosis.exit, 1, "{}", diagnosis.text);

    world.write("config/config.toml", "[codex\n");
    let diagnosis = world.doctor();
    let [state, found, _] = diagnosis.check("config");
    assert_eq!(state, "problem");
    assert!(found.starts_with("~/config/config.toml: line 1: "), "{found}");
    assert_eq!(diagnosis.exit, 1);
}

#[test]
fn a_codex_home_that_is_not_there_is_a_problem() {
    for version in VERSIONS {
        let world = World::with(version);
        fs::remove_dir(world.path("codex-home")).unwrap();

        let diagnosis = world.doctor();

        assert_eq!(
            diagnosis.check("codex-home"),
            [
                "problem",
                "~/codex-home is not there, and CODEX_HOME names it",
                "run `mkdir -p ~/codex-home`, or let CODEX_HOME name another one",
            ],
            "{version}"
        );
        let [state, found, _] = diagnosis.check("app-server");
        assert_eq!(state, "problem", "{version}: {found}");
        assert!(found.ends_with("(exit status: 1)"), "{version}: {found}");
        assert!(!world.path("codex-home").exists());
    }
}

#[test]
fn a_runtime_folder_that_others_can_enter_is_a_problem() {
    let world = World::with(NEWEST);
    let run = world.path("run");
    fs::create_dir(&run).unwrap();
    fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).unwrap();

    let diagnosis = world.doctor();

    let found = "~/run can be entered by other users (mode 0755)";
    assert_eq!(diagnosis.check("runtime-folder"), ["problem", found, "run `chmod 700 ~/run`"]);
    assert_eq!(diagnosis.exit, 1);
    assert!(run.is_dir());
}

#[test]
fn a_runtime_folder_with_a_long_name_is_a_problem() {
    let world = World::with(NEWEST);
    let long = world.path(&"long/".repeat(20));
    let mut command = world.command(env!("CARGO_BIN_EXE_ostler"));
    command.args(["doctor", "--json"]).env("OSTLER_HOME", &long);

    let diagnosis = Diagnosis::read(&command.output().unwrap(), &world.path(""));

    let [state, found, advice] = diagnosis.check("runtime-folder");
    assert_eq!(
        (state, advice),
        ("problem", "set XDG_RUNTIME_DIR or OSTLER_HOME to a shorter path")
    );
    assert!(found.contains(" is too long: socket paths below it have "), "{found}");
    assert!(!world.path("long").exists());
}

/// Codex prefers the `bwrap` on PATH to its own. This one answers as the real one does, and then confines nothing;
/// of root it takes the capabilities, because Codex 0.166 looks for them.
#[test]
fn a_sandbox_that_does_not_confine_is_a_problem() {
    let fake = r#"
        [ "$1" = --help ] && { echo '--argv0 --perms --as-pid-1'; exit 0; }
        name=
        while [ $# -gt 0 ]; do
            case "$1" in
                --argv0) name=$2; shift ;;
                --) shift; break ;;
            esac
            shift
        done
        drop=
        [ "$(id -u)" = 0 ] && drop='setpriv --bounding-set=-all --inh-caps=-all'
        exec $drop bash -c 'exec -a "$0" "$@"' "${name:-$1}" "$@""#;
    for version in VERSIONS {
        let world = World::with(version);
        world.program("bwrap", fake);
        let before = world.files();

        let diagnosis = world.doctor();

        assert_eq!(
            diagnosis.check("sandbox"),
            [
                "problem",
                "does NOT confine: a command that may only read wrote a file; \
                 a command wrote a file outside its workspace",
                "look whether ~/bin/bwrap is the real bubblewrap; until then a command of Codex can do here \
                 whatever you can, so use it only where that does no harm",
            ],
            "{version}"
        );
        assert_eq!(diagnosis.exit, 1);
        assert_eq!(world.files(), before);
    }
}

/// In a user namespace of its own, the doctor finds a kernel that allows no more of them; the machine stays as it is.
#[test]
fn a_kernel_without_user_namespaces_is_named_with_its_switch() {
    let script = r#"echo 0 > /proc/sys/user/max_user_namespaces && exec "$0" doctor --json"#;
    for version in VERSIONS {
        let world = World::with(version);
        let output = world
            .command("unshare")
            .args(["--user", "--map-root-user", "sh", "-c", script])
            .arg(env!("CARGO_BIN_EXE_ostler"))
            .output()
            .unwrap();

        let diagnosis = Diagnosis::read(&output, &world.path("."));

        let [state, found, advice] = diagnosis.check("sandbox");
        assert_eq!(state, "problem", "{version}: {found}");
        assert!(found.starts_with("does not start: bwrap: "), "{version}: {found}");
        assert_eq!(
            advice,
            "switch user namespaces on: `sudo sysctl -w user.max_user_namespaces=15000`"
        );
    }
}

/// Codex 0.130 waits for ever for somebody to write into a config file that is a pipe; so would we for ours.
#[test]
fn what_hangs_is_a_problem_and_does_not_hang_the_doctor() {
    let pipe = |world: &World, name: &str| {
        let made = Command::new("mkfifo").arg(world.path(name)).status().unwrap();
        assert!(made.success());
    };
    let begun = Instant::now();
    let world = World::with(OLDEST);
    pipe(&world, "codex-home/config.toml");
    let diagnosis = world.doctor();
    let [state, found, _] = diagnosis.check("app-server");
    assert_eq!((state, found), ("problem", "does not start: it did not greet within 15 s"));
    let [_, sandbox, _] = diagnosis.check("sandbox");
    assert_eq!(sandbox, "not looked at: the app-server does not start");

    let world = World::empty();
    pipe(&world, "config/config.toml");
    let diagnosis = world.doctor();
    let advice = "look whether a disk or a network drive does not answer";
    assert_eq!(diagnosis.check("config"), ["problem", "stuck: no answer within 5 s", advice]);
    // The two deadlines are 15 s and 5 s.
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}

#[test]
fn a_dead_keeper_is_a_warning_that_says_how_to_end_what_it_left() {
    let world = World::with(NEWEST);
    let codex = ostler_testkit::codex_binary(NEWEST).unwrap();
    let codex = codex.to_str().unwrap();
    let started = world.ostler(&["keeper", "start", "--json", "--codex", codex]);
    let started: Value = serde_json::from_slice(&started.stdout).unwrap();
    let id = started["id"].as_str().unwrap();
    assert_eq!(world.doctor().check("keepers"), ["ok", "1 runs", ""]);

    let pid = i32::try_from(started["record"]["keeper"]["pid"].as_i64().unwrap()).unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z ")) {
        assert!(Instant::now() < deadline, "the keeper did not die");
        std::thread::sleep(Duration::from_millis(10));
    }
    let diagnosis = world.doctor();
    let stopped = world.ostler(&["keeper", "stop", "--now", id]);

    let found = format!("none runs; keeper {id} is dead but its Codex is not");
    let advice = format!("run `ostler keeper stop {id}`");
    assert_eq!(diagnosis.check("keepers"), ["warning", &found, &advice]);
    assert!(stopped.status.success(), "{}", String::from_utf8_lossy(&stopped.stderr));
    let ended = "none runs; 1 ended within the last day";
    assert_eq!(world.doctor().check("keepers"), ["ok", ended, ""]);
}
