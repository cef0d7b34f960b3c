//! What stands in a `config.toml` before it is written again: what an earlier run was asked for, and what the user says themselves.

use toml::{Table, Value};

use super::block::{BlockError, Entry};
use super::markers::PERMISSIONS;
use super::removal::take_out;

/// Settings of the sandbox that a permission profile wins over, in the root and in profiles.
const SANDBOX: [&str; 2] = ["sandbox_mode", "sandbox_workspace_write"];

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Standing {
    /// Whether an earlier run of ours has written here.
    pub has_block: bool,
    /// The permission profile that a block holds.
    pub permissions: Option<String>,
    /// The folders that a block has Codex trust, as they stand there.
    pub trusted: Vec<Entry>,
    /// The user's own setting of the sandbox, by its name.
    pub sandbox: Option<String>,
}

pub fn standing(text: &str) -> Result<Standing, BlockError> {
    let read = |text: &str| -> Table {
        toml::from_str(text.trim_start_matches('\u{feff}')).unwrap_or_default()
    };
    let out = take_out(text)?;
    let (all, users) = (read(text), read(&out.text));
    let permissions = all.get(PERMISSIONS).filter(|_| !users.contains_key(PERMISSIONS));
    Ok(Standing {
        has_block: out.was_there && !out.was_old,
        permissions: permissions.and_then(Value::as_str).map(str::to_owned),
        trusted: trusted(&all, &users),
        sandbox: sandbox(&users),
    })
}

/// Projects that are in the text and not in what is left without its blocks.
fn trusted(all: &Table, users: &Table) -> Vec<Entry> {
    let projects = |config: &Table| -> Table {
        config.get("projects").and_then(Value::as_table).cloned().unwrap_or_default()
    };
    let users = projects(users);
    let ours = projects(all).into_iter().filter(|(folder, _)| !users.contains_key(folder));
    ours.map(|(folder, table)| Entry::new(&["projects", &folder], table)).collect()
}

fn sandbox(users: &Table) -> Option<String> {
    let found = |config: &Table| SANDBOX.into_iter().find(|key| config.contains_key(*key));
    let in_root = found(users).map(str::to_owned);
    let mut profiles = users.get("profiles").and_then(Value::as_table).into_iter().flatten();
    let in_profile = || {
        profiles.find_map(|(name, profile)| {
            found(profile.as_table()?).map(|key| format!("profiles.{name}.{key}"))
        })
    };
    in_root.or_else(in_profile)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::migrate::{permissions_entry, write_block};

    #[test]
    fn what_a_block_holds_is_told_from_what_the_user_says() {
        let table = |text: &str| toml::from_str::<Table>(text).unwrap();
        let project = Entry::new(&["projects", "/inn"], table("trust_level = 'trusted'"));
        let own = "[projects.'/own']\ntrust_level = 'trusted'\n[profiles.x]\nsandbox_mode = 'y'\n";
        let written =
            write_block(own, &[permissions_entry(":read-only"), project.clone()]).unwrap().text;
        let expected = Standing {
            has_block: true,
            permissions: Some(":read-only".to_owned()),
            trusted: vec![project],
            sandbox: Some("profiles.x.sandbox_mode".to_owned()),
        };
        assert_eq!(standing(&written), Ok(expected));
        let users = "default_permissions = ':workspace'\n[sandbox_workspace_write]\n";
        let expected =
            Standing { sandbox: Some("sandbox_workspace_write".to_owned()), ..Standing::default() };
        assert_eq!(standing(users), Ok(expected));
        let old = "# managed by hermes-agent\ndefault_permissions = ':x'\n# end hermes-agent managed section\n";
        let permissions = Some(":x".to_owned());
        assert_eq!(standing(old), Ok(Standing { permissions, ..Standing::default() }));
    }
}
