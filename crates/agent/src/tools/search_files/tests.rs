use ostler_model::Decision;
use serde_json::{Value, json};

use super::SearchFiles;
use crate::tool::Tool;
use crate::tools::fakes::{Answer, FakeAsks, context};

async fn search(arguments: Value) -> String {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    };
    put("src/main.rs", "fn main() {\n    needle();\n}\n");
    put("src/deep/Other.rs", "// needle\n");
    put("notes.md", "needle\nneedle\n");
    put("out/generated.rs", "needle\n");
    put(".gitignore", "out/\n");
    put(".hidden", "needle\n");
    put(".git/config", "needle\n");
    put("binary", "needle\0");
    let asks = FakeAsks::answering(Answer::of(Decision::Deny));
    let result = SearchFiles.call(arguments, &context(&asks, folder.path())).await;
    result.content.replace(&folder.path().canonicalize().unwrap().display().to_string(), "ROOT")
}

#[tokio::test]
async fn lines_and_names_are_found_as_git_sees_the_folder() {
    let cases = [
        (
            json!({ "pattern": "need+le" }),
            ".hidden:1:needle\nnotes.md:1:needle\nnotes.md:2:needle\nsrc/deep/Other.rs:1:// needle\nsrc/main.rs:2:    needle();",
        ),
        (
            json!({ "pattern": "needle", "glob": "*.rs" }),
            "src/deep/Other.rs:1:// needle\nsrc/main.rs:2:    needle();",
        ),
        (json!({ "pattern": "needle", "glob": "src/*.rs" }), "src/main.rs:2:    needle();"),
        (json!({ "pattern": "needle", "path": "src/main.rs" }), "main.rs:2:    needle();"),
        (
            json!({ "pattern": "needle", "limit": 1 }),
            ".hidden:1:needle\n[there may be more: that is the limit; be more precise, or raise `limit`]",
        ),
        (json!({ "pattern": "other", "mode": "name" }), "src/deep/Other.rs"),
        (json!({ "pattern": "*.rs", "mode": "name" }), "src/deep/Other.rs\nsrc/main.rs"),
        (json!({ "pattern": "deep", "mode": "name" }), "src/deep/"),
        (json!({ "pattern": "haystack" }), "nothing was found"),
        (json!({ "pattern": "x", "path": "nowhere" }), "ROOT/nowhere does not exist"),
    ];
    for (arguments, wanted) in cases {
        assert_eq!(search(arguments.clone()).await, wanted, "{arguments}");
    }
}

#[tokio::test]
async fn a_pattern_that_is_none_is_told() {
    let said = search(json!({ "pattern": "(" })).await;
    assert!(said.starts_with("`pattern` is no regular expression: "), "{said}");
    let said = search(json!({ "pattern": "x", "glob": "a[" })).await;
    assert!(said.starts_with("this is no glob: "), "{said}");
}
