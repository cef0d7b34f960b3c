//! Files that are not as they should be, disks that are full, and others who write.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Output};

use crate::world::{World, names, refusal, report};

#[test]
fn a_file_that_was_not_there_goes_again() {
    let world = World::new("0.166.0");
    assert_eq!(report(&world.write())["written"], true);
    let mode = fs::metadata(world.config()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(report(&world.undo())["written"], true);
    assert_eq!(world.home(), Vec::<String>::new());

    // Neither does a home that was not there stay, if nothing could be put into it.
    fs::remove_dir(world.path("codex")).unwrap();
    let host = world.path("host.yaml");
    let wanted = ["--write", "--json", "--permissions", ":none", "--from", host.to_str().unwrap()];
    refusal(&world.migrate(&wanted));
    assert!(!world.path("codex").exists());
}

#[test]
fn links_and_rights_stay() {
    let world = World::new("0.166.0");
    let real = world.path("dotfiles");
    fs::create_dir(&real).unwrap();
    fs::write(real.join("codex.toml"), "model = 'x'\n").unwrap();
    fs::set_permissions(real.join("codex.toml"), Permissions::from_mode(0o640)).unwrap();
    symlink("../dotfiles/codex.toml", world.config()).unwrap();
    assert_eq!(report(&world.write())["written"], true);
    assert!(fs::symlink_metadata(world.config()).unwrap().is_symlink());
    let mode = || fs::metadata(world.config()).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(), 0o640);
    assert!(fs::read_to_string(real.join("codex.toml")).unwrap().contains("[mcp_servers.hay]"));
    assert_eq!(report(&world.undo())["written"], true);
    assert_eq!(fs::read_to_string(world.config()).unwrap(), "model = 'x'\n");
    assert_eq!((mode(), names(&real)), (0o640, vec!["codex.toml".to_owned()]));

    fs::remove_file(real.join("codex.toml")).unwrap();
    assert!(
        refusal(&world.write())
            .ends_with("is a link that leads nowhere; make it lead to a file, or remove it")
    );
    fs::remove_file(world.config()).unwrap();
    fs::create_dir(world.config()).unwrap();
    assert!(refusal(&world.write()).ends_with("is no file"));
}

/// Once the file is there, its real name is another than the one by which it was written.
#[test]
fn a_home_behind_a_link_has_no_file_again_when_it_had_none() {
    let world = World::new("0.166.0");
    fs::remove_dir(world.path("codex")).unwrap();
    fs::create_dir_all(world.path("dotfiles/codex")).unwrap();
    symlink("dotfiles/codex", world.path("codex")).unwrap();
    assert_eq!(report(&world.write())["written"], true);
    assert_eq!(names(&world.path("dotfiles/codex")), ["config.toml"]);
    let undone = report(&world.undo());
    let notes = serde_json::json!(["the secrets that were stored are removed"]);
    assert_eq!((&undone["written"], &undone["notes"]), (&true.into(), &notes));
    assert_eq!(world.home(), Vec::<String>::new());
    assert_eq!(names(&world.path("state/migrate")), Vec::<String>::new());
}

/// What is given with each thread is for those whose file is not to be written, and is theirs to take back.
#[test]
fn what_threads_are_given_is_taken_back_whatever_the_file_is() {
    let world = World::new("0.166.0");
    let host = world.path("host.yaml");
    let migrate = || {
        let told = report(&world.migrate(&["--json", "--from", host.to_str().unwrap()]));
        assert_eq!(told["written"], true, "{told}");
    };
    let overlay = world.path("state/migrate/overlay.json");
    for (text, mode) in
        [("model = 'x'\n", 0o444), ("model = \n", 0o644), ("model = 'x'\nmodel = 'y'\n", 0o444)]
    {
        fs::write(world.config(), text).unwrap();
        fs::set_permissions(world.config(), Permissions::from_mode(mode)).unwrap();
        migrate();
        let undone = world.undo();
        assert_eq!(report(&undone)["written"], true, "{undone:?}");
        assert!(undone.status.success() && !overlay.exists(), "{undone:?}");
        assert_eq!(fs::read_to_string(world.config()).unwrap(), text);
        fs::remove_file(world.config()).unwrap();
    }
    symlink("nowhere", world.config()).unwrap();
    migrate();
    assert_eq!(report(&world.undo())["written"], true);
    fs::remove_file(world.config()).unwrap();

    // A file that has our block and is not to be written is told, and the threads are rid of it all the same.
    assert_eq!(report(&world.write())["written"], true);
    let other = world.path("other.yaml");
    fs::write(&other, "mcp_servers:\n  straw: {command: x}\n").unwrap();
    assert!(world.migrate(&["--from", other.to_str().unwrap()]).status.success());
    fs::set_permissions(world.config(), Permissions::from_mode(0o444)).unwrap();
    let undone = world.undo();
    let told = report(&undone);
    assert!(!undone.status.success(), "{told}");
    let why = told["errors"][0].as_str().unwrap();
    assert!(why.ends_with("make it writable with `chmod u+w`"), "{told}");
    assert!(!overlay.exists());
    // Without anything else to take back it is an error.
    assert!(refusal(&world.undo()).ends_with("make it writable with `chmod u+w`"));
    fs::set_permissions(world.config(), Permissions::from_mode(0o600)).unwrap();
    assert_eq!(report(&world.undo())["written"], true);
    assert_eq!(world.home(), Vec::<String>::new());
}

/// What threads are given belongs to the usual home, and to no other.
#[test]
fn another_home_is_undone_alone() {
    let world = World::new("0.166.0");
    let host = world.path("host.yaml");
    assert!(world.migrate(&["--from", host.to_str().unwrap()]).status.success());
    let overlay = world.path("state/migrate/overlay.json");
    let before = fs::read(&overlay).unwrap();
    fs::create_dir(world.path("other")).unwrap();
    let other = world.path("other");
    let other = ["--json", "--to", other.to_str().unwrap()];
    let written =
        world.migrate(&[&["--write", "--from", host.to_str().unwrap()], &other[..]].concat());
    assert_eq!(report(&written)["written"], true);
    assert_eq!(report(&world.migrate(&[&["--undo"], &other[..]].concat()))["written"], true);
    assert_eq!(fs::read(&overlay).unwrap(), before);
    assert_eq!(names(&world.path("other")), Vec::<String>::new());
}

#[test]
fn a_file_that_is_not_to_be_written_is_not() {
    let world = World::new("0.166.0");
    fs::write(world.config(), "model = 'x'\n").unwrap();
    fs::set_permissions(world.config(), Permissions::from_mode(0o444)).unwrap();
    assert!(
        refusal(&world.write())
            .ends_with("is not to be written; make it writable with `chmod u+w`")
    );
    assert_eq!(fs::read_to_string(world.config()).unwrap(), "model = 'x'\n");
    assert_eq!(world.home(), ["config.toml"]);
}

#[test]
fn a_file_that_was_worked_on_keeps_that_work() {
    let world = World::new("0.166.0");
    fs::write(world.config(), "model = 'x'\n").unwrap();
    assert_eq!(report(&world.write())["written"], true);
    let text = fs::read_to_string(world.config()).unwrap();
    fs::write(world.config(), format!("# new\n{text}[tui]\nnotifications = true\n")).unwrap();
    let undone = report(&world.undo());
    assert_eq!(undone["written"], true);
    let left = fs::read_to_string(world.config()).unwrap();
    assert_eq!(left, "# new\nmodel = 'x'\n[tui]\nnotifications = true\n");
    let backup = undone["backup"].as_str().unwrap();
    assert_eq!(fs::read_to_string(backup).unwrap(), "model = 'x'\n");
}

#[test]
fn ten_at_once_leave_one_valid_file() {
    let world = World::new("0.166.0");
    fs::write(world.config(), "model = 'x' # mine\n[tui]\n").unwrap();
    let outputs: Vec<Output> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..10).map(|_| scope.spawn(|| world.write())).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let writers = outputs.iter().filter(|output| report(output)["written"] == true).count();
    assert_eq!(writers, 1, "{outputs:?}");
    let text = fs::read_to_string(world.config()).unwrap();
    assert_eq!(text.matches("[mcp_servers.hay]").count(), 1, "{text}");
    assert_eq!(world.home(), ["config.toml"]);
    assert_eq!(report(&world.write())["written"], false);
    assert_eq!(report(&world.undo())["written"], true);
    assert_eq!(fs::read_to_string(world.config()).unwrap(), "model = 'x' # mine\n[tui]\n");
}

/// Runs a script as root of a mount namespace of its own, in which the Codex home may be another disk.
fn in_namespace(world: &World, script: &str) -> Output {
    let mut command: Command = world.command("unshare");
    command.args(["--mount", "--propagation", "private"]);
    if !rustix::process::geteuid().is_root() {
        command.arg("--map-root-user");
    }
    command
        .args(["sh", "-ec", script])
        .env("OSTLER", env!("CARGO_BIN_EXE_ostler"))
        .env("HOST", world.path("host.yaml"))
        .output()
        .unwrap()
}

#[test]
fn a_full_disk_leaves_the_old_file_and_nothing_else() {
    let world = World::new("0.166.0");
    let script = r#"
        mount -t tmpfs -o size=16k none "$CODEX_HOME"
        printf 'model = "x"\n' > "$CODEX_HOME/config.toml"
        head -c 9000 /dev/zero > "$CODEX_HOME/big"; head -c 100000 /dev/zero > "$CODEX_HOME/rest" || true
        "$OSTLER" migrate --write --from "$HOST" > "$HOME/said" 2>&1 && exit 9
        cat "$CODEX_HOME/config.toml"; ls -A "$CODEX_HOME""#;
    let output = in_namespace(&world, script);
    let said = fs::read_to_string(world.path("said")).unwrap_or_default();
    let found = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(found, "model = \"x\"\nbig\nconfig.toml\nrest\n", "{output:?} {said}");
    assert!(said.contains("No space left on device"), "{said}");
}

#[test]
fn a_rename_that_fails_leaves_the_old_file_and_nothing_else() {
    let world = World::new("0.166.0");
    fs::write(world.config(), "model = \"old\"\n").unwrap();
    fs::write(world.path("other"), "model = \"x\"\n").unwrap();
    // A file that something is mounted on cannot be replaced.
    let script = r#"
        mount --bind "$HOME/other" "$CODEX_HOME/config.toml"
        "$OSTLER" migrate --write --from "$HOST" > "$HOME/said" 2>&1 && exit 9
        cat "$CODEX_HOME/config.toml"; ls -A "$CODEX_HOME""#;
    let output = in_namespace(&world, script);
    let said = fs::read_to_string(world.path("said")).unwrap_or_default();
    let found = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(found, "model = \"x\"\nconfig.toml\n", "{output:?} {said}");
    assert!(said.contains("busy"), "{said}");
    assert_eq!(fs::read_to_string(world.config()).unwrap(), "model = \"old\"\n");
}

#[test]
fn what_a_killed_one_left_behind_is_cleared_away() {
    let world = World::new("0.166.0");
    fs::write(world.config(), "model = 'x'\n").unwrap();
    fs::write(world.path("codex/.config.toml.ostler-1"), "half").unwrap();
    assert_eq!(report(&world.write())["written"], true);
    assert_eq!(world.home(), ["config.toml"]);
}
