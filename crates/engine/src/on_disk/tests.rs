//! States of folders with git, without a Codex: what a "command" of the test writes between begin and end.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use ostler_model::{Input, Task, TaskId, TaskSettings, TurnId};
use tempfile::TempDir;

use super::{DiskDiff, DiskDiffOf, OnDisk};
use crate::engine::new_task;

struct Place {
    root: TempDir,
    disk: OnDisk,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("work")).unwrap();
        let path: std::ffi::OsString = "/usr/local/bin:/usr/bin:/bin".into();
        let environment = [("PATH".into(), path), ("HOME".into(), root.path().into())];
        let disk = OnDisk::new(root.path().join("changes"), &environment);
        Self { root, disk }
    }

    fn work(&self) -> std::path::PathBuf {
        self.root.path().join("work")
    }

    fn put(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.work().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn git(&self, arguments: &[&str]) {
        self.git_in(&self.work(), arguments);
    }

    fn git_in(&self, folder: &Path, arguments: &[&str]) {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=x", "-c", "user.email=x@x"]).args(arguments);
        let done = git.current_dir(folder).env("HOME", self.root.path()).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    }

    fn task(&self, id: &str) -> Task {
        let settings = TaskSettings::in_folder(self.work().display().to_string());
        let input = Input::text("go");
        new_task(settings, input, String::new(), None, &TaskId::new(id), None).0
    }

    async fn turn(&self, task: &Task, turn: &str, work: impl FnOnce()) {
        self.disk.begin(task).await;
        work();
        self.disk.ended(task, &TurnId::new(turn));
    }

    async fn known(&self, task: &Task, of: DiskDiffOf) -> (String, Vec<String>) {
        match self.disk.diff(task, &of).await {
            DiskDiff::Known { diff, notes } => (diff, notes),
            DiskDiff::Unknown { why } => panic!("{why}"),
        }
    }
}

fn turn(name: &str) -> DiskDiffOf {
    DiskDiffOf::Turn(TurnId::new(name))
}

/// Every file below a folder, with what is in it.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => drop(found.insert(path.display().to_string(), fs::read(&path).unwrap())),
            }
        }
    }
    found
}

#[tokio::test]
async fn a_checkout_is_not_touched_and_nothing_of_it_runs() {
    let place = Place::new();
    place.git(&["init", "-q"]);
    place.put("fodder.txt", "oats\n");
    place.put("noted.txt", "one\n");
    place.put(".gitignore", "*.log\n");
    place.git(&["add", "."]);
    place.git(&["commit", "-q", "-m", "begin"]);
    // From here on, whatever of it runs leaves this behind.
    let canary = place.root.path().join("canary");
    let program = place.root.path().join("program");
    fs::write(&program, format!("#!/bin/sh\ntouch {}\ncat\n", canary.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let program = program.to_str().unwrap();
    for (name, value) in [
        ("filter.evil.clean", program),
        ("filter.evil.process", program),
        ("diff.evil.textconv", program),
        ("diff.evil.command", program),
        ("diff.external", program),
        ("core.fsmonitor", program),
        ("core.hooksPath", place.root.path().to_str().unwrap()),
    ] {
        place.git(&["config", name, value]);
    }
    place.put(".gitattributes", "* filter=evil diff=evil\n");
    place.put("noted.txt", "one\nuncommitted before\n");
    let before = files(&place.work().join(".git"));
    assert!(!canary.exists());

    let task = place.task("t1");
    let work = || {
        place.put("fodder.txt", "oats\nhay\n");
        place.put("new/made.txt", "straw\n");
        place.put("picture.bin", [0, 1, 2, 0]);
        place.put("build.log", "ignored\n");
    };
    place.turn(&task, "one", work).await;
    let (diff, notes) = place.known(&task, turn("one")).await;
    for part in ["+hay", "+++ b/new/made.txt", "+straw", "picture.bin"] {
        assert!(diff.contains(part), "{part} is missing: {diff}");
    }
    for part in ["uncommitted", "build.log", "noted.txt", ".gitattributes"] {
        assert!(!diff.contains(part), "{part} is no change of the task: {diff}");
    }
    assert_eq!(notes, [""; 0]);
    assert!(!canary.exists(), "a program of the checkout has run");
    assert_eq!(files(&place.work().join(".git")), before);

    // What a person does between two turns belongs to none of them.
    place.put("noted.txt", "a person's\n");
    place.turn(&task, "two", || fs::remove_file(place.work().join("new/made.txt")).unwrap()).await;
    let (diff, _) = place.known(&task, turn("two")).await;
    assert!(diff.contains("deleted file") && !diff.contains("person"), "{diff}");
    place.turn(&task, "three", || {}).await;
    assert_eq!(place.known(&task, turn("three")).await.0, "");
}

#[tokio::test]
async fn a_folder_without_git_is_seen_too_and_repositories_inside_are_named() {
    let place = Place::new();
    place.put("old.txt", "old\n");
    place.put("inner/file.txt", "x\n");
    let inner = place.work().join("inner");
    let made = Command::new("git").args(["init", "-q"]).current_dir(inner).status().unwrap();
    assert!(made.success());
    let task = place.task("t1");
    place.turn(&task, "one", || place.put("old.txt", "new\n")).await;
    let (diff, notes) = place.known(&task, turn("one")).await;
    assert!(diff.contains("-old") && diff.contains("+new"), "{diff}");
    assert_eq!(notes, ["repositories inside of the folder are not looked into: inner"]);
}

/// A repository with a filter of its own, made in `folder` in the way a command in a sandbox can make one.
fn trap(place: &Place, folder: &Path) {
    let ran = place.root.path().join("ran");
    place.git_in(folder, &["init", "-q"]);
    fs::write(folder.join("f"), "one\n").unwrap();
    place.git_in(folder, &["add", "f"]);
    place.git_in(folder, &["commit", "-q", "-m", "o"]);
    let program = format!("touch '{}'; cat", ran.display());
    place.git_in(folder, &["config", "filter.x.clean", &program]);
    fs::write(folder.join(".git/info/attributes"), "f filter=x\n").unwrap();
    // Git looks into a file whose time says that it has changed.
    let file = fs::File::options().write(true).open(folder.join("f")).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    let status = Command::new("git").args(["status", "--porcelain"]).current_dir(folder).status();
    assert!(status.unwrap().success() && ran.exists(), "the trap works");
    fs::remove_file(ran).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1))
        .unwrap();
}

#[tokio::test]
async fn a_repository_in_the_place_of_a_file_runs_nothing() {
    for in_a_checkout in [true, false] {
        a_file_becomes_a_repository(in_a_checkout).await;
    }
}

async fn a_file_becomes_a_repository(in_a_checkout: bool) {
    let place = Place::new();
    for name in ["foo", "bar", "odd", "deep/er"] {
        place.put(name, "there\n");
    }
    if in_a_checkout {
        place.git(&["init", "-q"]);
        place.git(&["add", "."]);
        place.git(&["commit", "-q", "-m", "begin"]);
    }
    let task = place.task("t1");
    let at = |name: &str| place.work().join(name);
    let work = || {
        fs::remove_file(at("foo")).unwrap();
        fs::create_dir(at("foo")).unwrap();
        trap(&place, &at("foo"));
        fs::remove_file(at("odd")).unwrap();
        place.put("odd/in a folder", "new\n");
        fs::remove_dir_all(at("deep")).unwrap();
        place.put("deep", "a file\n");
    };
    place.turn(&task, "one", work).await;
    let (diff, notes) = place.known(&task, turn("one")).await;
    let headers = diff.lines().filter(|line| line.starts_with("diff --git"));
    let mut headers: Vec<&str> = headers.collect();
    headers.sort_unstable();
    assert_eq!(
        headers,
        [
            "diff --git a/deep b/deep",
            "diff --git a/deep/er b/deep/er",
            "diff --git a/foo b/foo",
            "diff --git a/odd b/odd",
            "diff --git a/odd/in a folder b/odd/in a folder",
        ],
        "{diff}"
    );
    let named = ["repositories inside of the folder are not looked into: foo"];
    assert_eq!(notes, named);
    place.turn(&task, "two", || place.put("bar", "changed\n")).await;
    let (diff, notes) = place.known(&task, turn("two")).await;
    assert!(diff.contains("+changed") && !diff.contains("foo"), "{diff}");
    assert_eq!(notes, named);
    assert!(!place.root.path().join("ran").exists(), "a filter of the task has run");
}

#[tokio::test]
async fn a_repository_in_the_place_of_a_submodule_runs_nothing() {
    let place = Place::new();
    place.git(&["init", "-q"]);
    place.put("sub/f", "one\n");
    let sub = place.work().join("sub");
    trap(&place, &sub);
    place.git(&["add", "sub"]);
    place.put("file", "one\n");
    place.git(&["add", "file"]);
    place.git(&["commit", "-q", "-m", "begin"]);
    fs::rename(&sub, place.root.path().join("aside")).unwrap();
    fs::create_dir(&sub).unwrap();
    drop(fs::remove_file(place.root.path().join("ran")));

    let task = place.task("t1");
    let work = || {
        fs::remove_dir(&sub).unwrap();
        fs::rename(place.root.path().join("aside"), &sub).unwrap();
        place.put("file", "two\n");
    };
    place.turn(&task, "one", work).await;
    let (diff, notes) = place.known(&task, turn("one")).await;
    assert!(diff.contains("+two") && !diff.contains("sub"), "{diff}");
    assert_eq!(notes, ["repositories inside of the folder are not looked into: sub"]);
    // A folder that is no repository is one like all others, also where the checkout has a link for it.
    let work = || {
        fs::remove_dir_all(sub.join(".git")).unwrap();
        place.put("sub/f", "plain\n");
    };
    place.turn(&task, "two", work).await;
    let (diff, notes) = place.known(&task, turn("two")).await;
    assert!(diff.contains("+plain"), "{diff}");
    assert_eq!(notes, [""; 0]);
    assert!(!place.root.path().join("ran").exists(), "a filter of the task has run");
}

/// A merge that was not finished leaves three entries of one name.
#[tokio::test]
async fn what_is_in_conflict_is_seen() {
    let place = Place::new();
    place.git(&["init", "-q", "-b", "main"]);
    for (branch, text) in [("main", "one\n"), ("other", "two\n"), ("main", "three\n")] {
        match text {
            "one\n" => {}
            "two\n" => place.git(&["checkout", "-q", "-b", branch]),
            _ => place.git(&["checkout", "-q", branch]),
        }
        place.put("a", text);
        place.put("gone", text);
        place.git(&["add", "."]);
        place.git(&["commit", "-q", "-m", text]);
    }
    let mut merge = Command::new("git");
    merge.args(["-c", "user.name=x", "-c", "user.email=x@x", "merge", "-q", "other"]);
    let merged = merge.current_dir(place.work()).output().unwrap();
    assert_eq!(merged.status.code(), Some(1), "{merged:?}");
    let task = place.task("t1");
    let work = || {
        place.put("a", "joined\n");
        fs::remove_file(place.work().join("gone")).unwrap();
    };
    place.turn(&task, "one", work).await;
    let (diff, notes) = place.known(&task, turn("one")).await;
    assert!(diff.contains("+joined") && diff.contains("deleted file"), "{diff}");
    assert_eq!(notes, [""; 0]);
}

/// Its checkout would say that nothing changed.
#[tokio::test]
async fn a_folder_that_its_checkout_ignores_is_seen() {
    let place = Place::new();
    place.git(&["init", "-q"]);
    place.put(".gitignore", "/scratch/\n");
    place.put("scratch/here/old.txt", "old\n");
    place.git(&["add", "."]);
    place.git(&["commit", "-q", "-m", "begin"]);
    let mut task = place.task("t1");
    task.settings.cwd = place.work().join("scratch/here").display().to_string();
    let work = || place.put("scratch/here/old.txt", "new\n");
    place.turn(&task, "one", work).await;
    let (diff, notes) = place.known(&task, turn("one")).await;
    assert!(diff.contains("-old") && diff.contains("+new"), "{diff}");
    assert_eq!(notes, [""; 0]);
}

#[tokio::test]
async fn what_is_too_large_is_unknown_and_not_nothing() {
    let place = Place::new();
    let large = fs::File::create(place.work().join("large")).unwrap();
    large.set_len(super::tree::MOST_BYTES + 1).unwrap();
    let task = place.task("t1");
    place.turn(&task, "one", || place.put("new.txt", "new\n")).await;
    for of in [turn("one"), DiskDiffOf::All] {
        let DiskDiff::Unknown { why } = place.disk.diff(&task, &of).await else { panic!() };
        assert!(why.contains("256 MB are the most"), "{why}");
    }
}

#[tokio::test]
async fn turns_that_nobody_saw_are_unknown_and_what_others_did_is_said() {
    let place = Place::new();
    let (task, other) = (place.task("t1"), place.task("t2"));
    place.disk.begin(&task).await;
    place.turn(&other, "other", || place.put("other.txt", "x\n")).await;
    place.disk.ended(&task, &TurnId::new("one"));
    let (diff, notes) = place.known(&task, turn("one")).await;
    assert!(diff.contains("other.txt") && notes.len() == 1, "{diff} {notes:?}");
    assert!(notes[0].contains("other tasks worked in the same folder") && notes[0].ends_with("t2"));
    assert!(matches!(place.disk.diff(&task, &turn("two")).await, DiskDiff::Unknown { .. }));

    // The daemon is killed in a turn, and a later one hears of its end.
    place.disk.begin(&task).await;
    let path: std::ffi::OsString = "/usr/local/bin:/usr/bin:/bin".into();
    let next = OnDisk::new(place.root.path().join("changes"), &[("PATH".into(), path)]);
    place.put("meanwhile.txt", "x\n");
    next.ended(&task, &TurnId::new("two"));
    let DiskDiff::Known { diff, notes } = next.diff(&task, &turn("two")).await else { panic!() };
    assert!(diff.contains("meanwhile.txt") && notes[0].contains("was not there"), "{notes:?}");
    next.forget(&task.id).await;
    assert!(!place.root.path().join("changes/t1").exists());
}

#[tokio::test]
async fn a_file_with_a_login_is_not_kept_and_named() {
    const LOGIN: &str = "zebra.canary.of.the.login";
    let place = Place::new();
    let home = place.root.path().join(".codex");
    fs::create_dir(&home).unwrap();
    fs::write(home.join("auth.json"), format!("{{\"OPENAI_API_KEY\":\"{LOGIN}\"}}")).unwrap();
    place.put("before.txt", "oats\n");
    let task = place.task("t1");
    let large = [vec![b'x'; 256 * 1024 - 5], LOGIN.into(), vec![b'y'; 300 * 1024]].concat();
    let work = || {
        place.put("before.txt", format!("oats\n{LOGIN}\n"));
        place.put("plain.txt", "hay\n");
        place.put("across/pieces.bin", &large);
        place.put(&format!("named {LOGIN}/made.txt"), "straw\n");
        std::os::unix::fs::symlink(format!("/{LOGIN}"), place.work().join("link")).unwrap();
        std::os::unix::fs::symlink(home.join("auth.json"), place.work().join("fine")).unwrap();
    };
    place.turn(&task, "one", work).await;
    let (diff, notes) = place.known(&task, turn("one")).await;
    assert!(diff.contains("+hay") && diff.contains("b/fine"), "{diff}");
    let note = "these hold a secret, so they are not kept and what changed in them is not here: \
                across/pieces.bin, before.txt, link, named ‹redacted›/made.txt";
    assert_eq!(notes, [note]);
    let kept = place.root.path().join("changes/t1");
    let objects = Command::new("git")
        .arg("--git-dir")
        .arg(&kept)
        .args(["cat-file", "--batch-all-objects", "--batch"])
        .output()
        .unwrap();
    let holds = |bytes: &[u8]| bytes.windows(LOGIN.len()).any(|it| it == LOGIN.as_bytes());
    assert!(objects.status.success() && !holds(&objects.stdout) && !holds(diff.as_bytes()));
    for (file, bytes) in files(&kept) {
        assert!(!holds(&bytes), "{file}");
    }

    // Without it they are files like others.
    place.turn(&task, "two", || place.put("before.txt", "oats\nrye\n")).await;
    let (diff, notes) = place.known(&task, turn("two")).await;
    assert!(diff.contains("+rye") && !diff.contains("hay"), "{diff}");
    assert_eq!(notes, [note], "it held one before the turn");
}
