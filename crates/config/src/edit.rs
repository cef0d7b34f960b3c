//! Changes to the file that leave comments, order and everything else as the user wrote it.

use std::path::PathBuf;

use semver::Version;
use toml_edit::{DocumentMut, Item, Table, TableLike, value};

use crate::problem::Problem;
use crate::settings::Runtime;

/// Which Codex the user settles on. Each choice replaces the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CodexChoice {
    Version(Version),
    Path(PathBuf),
    /// No choice: whatever is found.
    Clear,
}

/// The file's new text.
pub fn choose_codex(text: &str, choice: &CodexChoice) -> Result<String, Problem> {
    let mut document = document(text)?;
    let (key, setting) = match choice {
        CodexChoice::Clear => {
            if let Some(table) = document.get_mut("codex").and_then(Item::as_table_like_mut) {
                table.remove("path");
                table.remove("version");
            }
            return Ok(document.to_string());
        }
        CodexChoice::Version(version) => ("version", version.to_string()),
        CodexChoice::Path(path) => ("path", path_text(path)?),
    };
    let table = section(&mut document, text, "codex")?;
    let other = if key == "path" { "version" } else { "path" };
    table.remove(other);
    set(table, key, setting);
    Ok(document.to_string())
}

/// The file's new text, with this runtime of the agent.
pub fn choose_runtime(text: &str, runtime: Runtime) -> Result<String, Problem> {
    let mut document = document(text)?;
    set(section(&mut document, text, "agent")?, "runtime", runtime.word().to_owned());
    Ok(document.to_string())
}

fn document(text: &str) -> Result<DocumentMut, Problem> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        Problem::at(text, error.span().map_or(0, |span| span.start), error.message())
    })
}

fn section<'d>(
    document: &'d mut DocumentMut,
    text: &str,
    name: &str,
) -> Result<&'d mut dyn TableLike, Problem> {
    let found = document.entry(name).or_insert_with(|| Item::Table(Table::new()));
    found.as_table_like_mut().ok_or_else(|| {
        Problem::at(text, text.find(name).unwrap_or(0), "is a section")
            .about(name)
            .advise(format!("write [{name}]"))
    })
}

fn set(table: &mut dyn TableLike, key: &str, setting: String) {
    match table.get_mut(key).and_then(Item::as_value_mut) {
        // The old value's decor holds the comment behind it.
        Some(old) => {
            let decor = old.decor().clone();
            *old = setting.into();
            *old.decor_mut() = decor;
        }
        None => {
            table.insert(key, value(setting));
        }
    }
}

fn path_text(path: &std::path::Path) -> Result<String, Problem> {
    let text = path.to_str().ok_or_else(|| {
        let message = format!("{} cannot be written into TOML: it is not UTF-8", path.display());
        Problem::at("", 0, message)
    })?;
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: &str, choice: &CodexChoice, after: &str) {
        assert_eq!(choose_codex(before, choice).as_deref(), Ok(after));
    }

    #[test]
    fn a_choice_leaves_the_rest_as_it_was() {
        let version = CodexChoice::Version(Version::new(0, 142, 5));
        check("", &version, "[codex]\nversion = \"0.142.5\"\n");
        check(
            "# mine\n[other]  # keep\nx = 1\n\n[codex]\n# why\nversion = '0.130.0' # pinned\nnew = 2\n",
            &version,
            "# mine\n[other]  # keep\nx = 1\n\n[codex]\n# why\nversion = \"0.142.5\" # pinned\nnew = 2\n",
        );
        check(
            "codex = { path = '/x', new = 1 }\n",
            &version,
            "codex = { new = 1 , version = \"0.142.5\" }\n",
        );
        let path = CodexChoice::Path(PathBuf::from("/opt/a b/codex"));
        check("[codex]\nversion = '0.130.0'\n", &path, "[codex]\npath = \"/opt/a b/codex\"\n");
    }

    #[test]
    fn a_runtime_is_written_where_it_stands_or_at_the_end() {
        let choose = |before: &str, runtime| choose_runtime(before, runtime).unwrap();
        let (auto, codex) = (Runtime::Auto, Runtime::CodexAppServer);
        assert_eq!(choose("", codex), "[agent]\nruntime = \"codex_app_server\"\n");
        assert_eq!(
            choose("[agent]\nmodel = 'm' # mine\nruntime = 'auto' # why\n[tasks]\n", codex),
            "[agent]\nmodel = 'm' # mine\nruntime = \"codex_app_server\" # why\n[tasks]\n"
        );
        assert_eq!(choose("[agent]\nruntime = 'x'\n", auto), "[agent]\nruntime = \"auto\"\n");
        let error = choose_runtime("agent = 1\n", auto).unwrap_err();
        assert_eq!(error.to_string(), "line 1: agent is a section; write [agent]");
    }

    #[test]
    fn clearing_takes_both_away_and_nothing_else() {
        check("", &CodexChoice::Clear, "");
        check(
            "[codex]\npath = '/x'\nversion = '0.130.0'\nnew = 1\n",
            &CodexChoice::Clear,
            "[codex]\nnew = 1\n",
        );
    }

    #[test]
    fn a_file_that_is_not_toml_is_not_touched() {
        let error = choose_codex("a = 1\n[codex\n", &CodexChoice::Clear).unwrap_err();
        assert_eq!(error.line, 2);
        let version = CodexChoice::Version(Version::new(0, 142, 5));
        let error = choose_codex("x = 1\ncodex = 3\n", &version).unwrap_err();
        assert_eq!(error.to_string(), "line 2: codex is a section; write [codex]");
    }
}
