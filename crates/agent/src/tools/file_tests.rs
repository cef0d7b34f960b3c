//! What the tools for files say and do, in a workspace of their own.

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;

use ostler_model::Decision;
use ostler_model::ask::{AskKind, FileChangeAsk, FileChangeKind, FileDiff};
use ostler_model::task::{Approval, Sandbox, SandboxMode};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::fakes::{Answer, FakeAsks, context};
use super::{Patch, ReadFile, WriteFile};
use crate::sandbox::{Boundary, Confinement};
use crate::tool::{Tool, ToolResult};

struct Place {
    _folder: TempDir,
    root: PathBuf,
    boundary: Arc<Boundary>,
    asks: Arc<FakeAsks>,
}

/// `work` may be written, `other` is beside it, `work/home` is protected.
fn place(mode: SandboxMode, approval: Approval, answer: Answer) -> Place {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for name in ["work/.git", "other"] {
        std::fs::create_dir_all(root.join(name)).unwrap();
    }
    symlink(root.join("other"), root.join("work/link")).unwrap();
    let confinement = Confinement {
        sandbox: Sandbox { mode, ..Sandbox::default() },
        approval,
        cwd: root.join("work"),
        temporary: Vec::new(),
        protected: vec![root.join("work/home")],
    };
    let boundary = Arc::new(confinement.resolve());
    Place { _folder: folder, root, boundary, asks: FakeAsks::answering(answer) }
}

impl Place {
    fn put(&self, name: &str, content: &[u8]) {
        std::fs::write(self.root.join("work").join(name), content).unwrap();
    }

    fn get(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.root.join("work").join(name)).ok()
    }

    async fn call(&self, tool: &dyn Tool, arguments: Value) -> ToolResult {
        let result = tool.call(arguments, &context(&self.asks, self.root.join("work"))).await;
        let content = result.content.replace(self.root.to_str().unwrap(), "ROOT");
        ToolResult { content, ..result }
    }

    async fn read(&self, arguments: Value) -> String {
        self.call(&ReadFile, arguments).await.content
    }

    async fn write(&self, path: &str, content: &str) -> ToolResult {
        let tool = WriteFile::new(self.boundary.clone());
        self.call(&tool, json!({ "path": path, "content": content })).await
    }

    async fn patch(&self, path: &str, old: &str, new: &str) -> ToolResult {
        let tool = Patch::new(self.boundary.clone());
        self.call(&tool, json!({ "path": path, "old_text": old, "new_text": new })).await
    }
}

fn workspace() -> Place {
    place(SandboxMode::WorkspaceWrite, Approval::OnRequest, Answer::denied("no"))
}

const DECLINED: &str =
    "declined by ada (test): no\nIt was not done. Do not try the same in another way.";

#[tokio::test]
async fn reading_gives_numbered_lines_and_says_what_is_no_text() {
    let place = workspace();
    place.put("a.txt", b"one\r\ntwo\nthree");
    place.put("empty", b"");
    place.put("binary", b"a\0b");
    place.put("image.png", b"\x89PNG\r\n\x1a\n\0");
    place.put("long", format!("{}\nend\n", "x".repeat(3000)).as_bytes());
    let cases = [
        (json!({ "path": "a.txt" }), "     1\tone\n     2\ttwo\n     3\tthree\n".to_owned()),
        (
            json!({ "path": "a.txt", "offset": 2, "limit": 1 }),
            "     2\ttwo\n[… more follows; go on with offset 3. The file has 14 bytes …]"
                .to_owned(),
        ),
        (json!({ "path": "a.txt", "offset": 9 }), "the file has only 3 lines".to_owned()),
        (json!({ "path": "empty" }), "ROOT/work/empty is empty".to_owned()),
        (
            json!({ "path": "binary" }),
            "ROOT/work/binary is no text (3 bytes); use a command to look into it".to_owned(),
        ),
        (
            json!({ "path": "image.png" }),
            "ROOT/work/image.png is an image (PNG, 9 bytes); this tool reads text".to_owned(),
        ),
        (
            json!({ "path": "long" }),
            format!("     1\t{} [… of 3001 bytes …]\n     2\tend\n", "x".repeat(2000)),
        ),
        (
            json!({ "path": "." }),
            "ROOT/work is a folder; `search_files` with mode `name` lists what is in it".to_owned(),
        ),
        (
            json!({ "path": "none" }),
            "ROOT/work/none: No such file or directory (os error 2)".to_owned(),
        ),
        (json!({ "path": "/dev/null" }), "/dev/null is no file".to_owned()),
    ];
    for (arguments, wanted) in cases {
        assert_eq!(place.read(arguments.clone()).await, wanted, "{arguments}");
    }
}

#[tokio::test]
async fn a_file_of_any_length_is_read_in_parts() {
    let place = workspace();
    place.put("big", "line\n".repeat(1_000_000).as_bytes());
    let said = place.read(json!({ "path": "big", "offset": 900_000 })).await;
    assert!(said.len() < 50 * 1024, "{}", said.len());
    assert!(said.starts_with("900000\tline\n"), "{}", &said[..40]);
    let end = "[… more follows; go on with offset 902000. The file has 5000000 bytes …]";
    assert!(said.ends_with(end), "{}", &said[said.len() - 90..]);
}

#[tokio::test]
async fn inside_the_workspace_files_are_written_without_asking() {
    let place = workspace();
    place.put("windows.txt", b"\xef\xbb\xbfone\r\ntwo\r\n");

    let made = place.write("a/b.txt", "one\ntwo\n").await;
    let again = place.write("a/b.txt", "one\ntwo\n").await;
    place.write("windows.txt", "1\n2\n").await;

    assert_eq!(made, ToolResult::said("ROOT/work/a/b.txt made: 8 bytes, 2 lines"));
    assert_eq!(again, ToolResult::said("ROOT/work/a/b.txt has this content already"));
    assert_eq!(place.get("a/b.txt").unwrap(), "one\ntwo\n");
    assert_eq!(place.get("windows.txt").unwrap(), "\u{feff}1\r\n2\r\n");
    assert_eq!(place.asks.asks(), []);
}

#[tokio::test]
async fn outside_and_where_later_programs_look_a_person_is_asked_with_the_real_place() {
    for (path, real) in [
        ("../other/x", "other/x"),
        ("link/x", "other/x"),
        (".git/config", "work/.git/config"),
        ("sub/.codex/x", "work/sub/.codex/x"),
    ] {
        let place = workspace();
        let result = place.write(path, "new\n").await;

        let file = FileDiff {
            path: place.root.join(real).to_str().unwrap().to_owned(),
            change: FileChangeKind::Add,
            diff: "new\n".to_owned(),
        };
        let kinds: Vec<_> = place.asks.asks().into_iter().map(|ask| ask.kind).collect();
        let wanted = FileChangeAsk { files: vec![file], grant_root: None };
        assert_eq!(kinds, [AskKind::FileChange(wanted)]);
        assert_eq!(result, ToolResult::failed(DECLINED));
        assert!(!place.root.join(real).exists());
    }
}

#[tokio::test]
async fn what_is_allowed_is_written_and_the_person_saw_the_diff() {
    let place = place(SandboxMode::ReadOnly, Approval::OnRequest, Answer::of(Decision::Once));
    place.put("a.txt", b"one\ntwo\n");

    let result = place.patch("a.txt", "two", "three").await;

    let diff = "--- ROOT/work/a.txt\n+++ ROOT/work/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n";
    assert_eq!(result, ToolResult::said(format!("changed in place:\n{diff}")));
    assert_eq!(place.get("a.txt").unwrap(), "one\nthree\n");
    let asks = place.asks.asks();
    let AskKind::FileChange(asked) = &asks[0].kind else { panic!("{asks:?}") };
    assert_eq!(asked.files[0].diff, diff.replace("ROOT", place.root.to_str().unwrap()));
}

#[tokio::test]
async fn nothing_is_written_where_nobody_is_asked_or_reached_or_what_is_protected() {
    use Approval::{Never, OnRequest, Untrusted};
    use SandboxMode::{DangerFullAccess, ReadOnly, WorkspaceWrite};
    let once = || Answer::of(Decision::Once);
    let protected = "ROOT/work/home/memories/MEMORY.md belongs to Ostler or Codex itself and is not written by this tool: \
        memories are for the `memory` tool, skills for `skill_manage`, settings for the user";
    let unreachable = "declined, because nobody could be asked (the daemon cannot be reached: no socket)\nIt was not done. Tell the user.";
    let cases = [
        (
            WorkspaceWrite,
            Never,
            once(),
            "../other/x",
            "declined: nobody is asked here (approval is `never`), and ROOT/other/x is outside of what may be written here",
        ),
        (WorkspaceWrite, Untrusted, Answer::denied("no"), "x", DECLINED),
        (ReadOnly, OnRequest, Answer::Unreachable, "x", unreachable),
        (WorkspaceWrite, OnRequest, once(), "home/memories/MEMORY.md", protected),
        (DangerFullAccess, OnRequest, once(), "home/memories/MEMORY.md", protected),
    ];
    for (mode, approval, answer, path, wanted) in cases {
        let place = place(mode, approval, answer);
        assert_eq!(place.write(path, "x").await, ToolResult::failed(wanted));
        assert_eq!(place.get(path), None);
    }
}

#[tokio::test]
async fn a_patch_fits_exactly_once_or_says_why_not() {
    let place = workspace();
    place.put("a.txt", b"x = 1\r\ny = 2\r\nx = 1\r\n");
    place.put("latin", b"\xe4");
    let cases = [
        (
            "a.txt",
            "x = 1",
            "z",
            "`old_text` is there 2 times (lines 1, 3); give more of what stands around it, or `replace_all`. Nothing was changed",
        ),
        (
            "a.txt",
            "y  = 2",
            "z",
            "`old_text` is not in the file. It differs only in blanks from line 2:\n     2\ty = 2. Nothing was changed",
        ),
        ("a.txt", "", "z", "`old_text` is empty; give the text that is to be replaced"),
        ("a.txt", "x", "x", "`old_text` and `new_text` are the same"),
        ("none", "x", "z", "ROOT/work/none does not exist; `write_file` makes files"),
        ("latin", "x", "z", "ROOT/work/latin is no text in UTF-8; use a command to change it"),
    ];
    for (path, old, new, wanted) in cases {
        assert_eq!(place.patch(path, old, new).await, ToolResult::failed(wanted));
    }
    assert!(!place.patch("a.txt", "x = 1\ny = 2\n", "x = 3\ny = 4\n").await.is_error);
    assert_eq!(place.get("a.txt").unwrap(), "x = 3\r\ny = 4\r\nx = 1\r\n");
    let tool = Patch::new(place.boundary.clone());
    let all = json!({ "path": "a.txt", "old_text": " = ", "new_text": ": ", "replace_all": true });
    assert!(place.call(&tool, all).await.content.starts_with("changed in 3 places:\n"));
    assert_eq!(place.get("a.txt").unwrap(), "x: 3\r\ny: 4\r\nx: 1\r\n");
}
