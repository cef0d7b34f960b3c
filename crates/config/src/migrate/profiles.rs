//! The names of Codex's permission profiles.

use semver::Version;
use thiserror::Error;
use toml::Table;

/// The first version that calls the profile without walls `:danger-full-access`. 0.130.0 calls it otherwise, 0.142.5 so;
/// between them nobody has looked, and a name that is wrong is refused by Codex itself before anything is written.
const NEW_NAMES: Version = Version::new(0, 131, 0);

const OLD: [&str; 3] = [":read-only", ":workspace", ":danger-no-sandbox"];
const NEW: [&str; 3] = [":read-only", ":workspace", ":danger-full-access"];

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadProfile {
    #[error("Codex {version} has no permission profile {name}; it has {known}")]
    BuiltIn { name: String, version: Version, known: String },
    #[error(
        "there is no [permissions.{0}] in the file; write one, or take one of Codex's own, such as :workspace"
    )]
    Own(String),
}

/// Whether this version knows the profile: one of its own, or one of the user's in this file. `told` are the names that
/// Codex itself has told, where it can.
pub fn check_profile(
    name: &str,
    version: &Version,
    told: Option<&[String]>,
    config: &Table,
) -> Result<(), BadProfile> {
    if !name.starts_with(':') {
        let own = config.get("permissions").and_then(|all| all.get(name));
        return own.map(drop).ok_or_else(|| BadProfile::Own(name.to_owned()));
    }
    let usual = if *version < NEW_NAMES { OLD } else { NEW };
    let usual = usual.map(str::to_owned);
    let known = told.unwrap_or(&usual);
    if known.iter().any(|one| one == name) {
        return Ok(());
    }
    let built_in: Vec<&str> =
        known.iter().map(String::as_str).filter(|one| one.starts_with(':')).collect();
    let (name, known) = (name.to_owned(), built_in.join(", "));
    Err(BadProfile::BuiltIn { name, version: version.clone(), known })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_version() {
        let check = |name: &str, version: &str, told: Option<&[String]>, config: &str| {
            let version = version.parse().unwrap();
            let config = toml::from_str(config).unwrap();
            check_profile(name, &version, told, &config).map_err(|error| error.to_string())
        };
        for (name, old, new) in [
            (":workspace", true, true),
            (":read-only", true, true),
            (":danger-no-sandbox", true, false),
            (":danger-full-access", false, true),
            (":workspace-write", false, false),
        ] {
            assert_eq!(check(name, "0.130.0", None, "").is_ok(), old, "{name}");
            assert_eq!(check(name, "0.166.0", None, "").is_ok(), new, "{name}");
        }
        let told = [":new".to_owned(), "mine".to_owned()];
        assert_eq!(check(":new", "0.166.0", Some(&told), ""), Ok(()));
        assert_eq!(
            check(":workspace", "0.166.0", Some(&told), "").unwrap_err(),
            "Codex 0.166.0 has no permission profile :workspace; it has :new"
        );
        assert_eq!(check("mine", "0.130.0", None, "[permissions.mine.filesystem]\n"), Ok(()));
        assert!(check("mine", "0.166.0", None, "").is_err());
    }
}
