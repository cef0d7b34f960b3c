//! Secrets of migrated MCP servers, in a file that only their owner can read.
//!
//! `ostler migrate` puts them there, because Codex's own file and what a thread is given hold names of variables only. From
//! there they go into the environment of the app-servers whose threads have these MCP servers, and nowhere else.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ignore::gitignore::GitignoreBuilder;
use ostler_codex::keeper::environment::Given;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::durable::write_durably;
use crate::failure::{Exit, Failure};
use crate::overlay;
use crate::places::{Places, private_folder};
use crate::settings::failed;

/// What makes a server the program or the address that its secrets are for.
const IDENTITY: [&str; 5] = ["command", "args", "cwd", "env", "url"];

/// Values by variable, by server.
type Servers = BTreeMap<String, BTreeMap<String, String>>;

#[derive(Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct StoredSecrets {
    version: u32,
    /// Of the servers that are given with threads.
    threads: Servers,
    /// Of the servers that were written into a file of Codex's, by that file.
    files: BTreeMap<PathBuf, Servers>,
}

/// Which servers secrets belong to.
#[derive(Clone, Copy)]
pub(crate) enum Of<'a> {
    Threads,
    /// Codex's file, where it really is.
    File(&'a Path),
}

impl StoredSecrets {
    const VERSION: u32 = 1;

    /// What is stored; nothing, if nothing is. A file that others may read is refused.
    pub(crate) fn load(places: &Places) -> Result<Self, Failure> {
        let place = place(places);
        match read(&place)? {
            None => Ok(Self::default()),
            // The parser's words may hold a part of the text.
            Some(text) => serde_json::from_str(&text).map_err(|error| {
                let at = format!("line {} is no JSON of ours", error.line());
                failed("read", &place, &io::Error::other(at))
            }),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.threads.is_empty() && self.files.values().all(BTreeMap::is_empty)
    }

    /// Replaces all that belongs to these servers.
    pub(crate) fn put(&mut self, of: Of<'_>, servers: Servers) {
        match of {
            Of::Threads => self.threads = servers,
            Of::File(file) => {
                self.files.insert(file.to_owned(), servers);
            }
        }
        self.files.retain(|_, servers| !servers.is_empty());
    }

    pub(crate) fn has(&self, of: Of<'_>, server: &str, variable: &str) -> bool {
        let servers = match of {
            Of::Threads => Some(&self.threads),
            Of::File(file) => self.files.get(file),
        };
        let variables = servers.and_then(|servers| servers.get(server));
        variables.is_some_and(|variables| variables.contains_key(variable))
    }

    /// Without any secret there is no file.
    pub(crate) fn save(&self, places: &Places) -> Result<(), Failure> {
        let place = place(places);
        if self.is_empty() {
            return match fs::remove_file(&place) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    Err(failed("remove", &place, &error))
                }
                _ => Ok(()),
            };
        }
        private_folder(&places.state)?;
        private_folder(&overlay::folder(places))?;
        let stored = Self { version: Self::VERSION, ..Self::default() };
        let text = serde_json::to_vec_pretty(&Self {
            threads: self.threads.clone(),
            files: self.files.clone(),
            ..stored
        });
        let text = text.map_err(|error| failed("write", &place, &io::Error::other(error)))?;
        write_durably(&place, &text).map_err(|error| failed("write", &place, &error))
    }

    /// Those that the servers of a thread need: of the ones it is given itself, and of the ones in Codex's file.
    fn needed(
        &self,
        file: &Path,
        config: &BTreeMap<String, String>,
        migrated: &BTreeMap<String, String>,
    ) -> Given {
        let mut found: BTreeMap<&String, &String> = BTreeMap::new();
        if let Some(servers) = self.files.get(file) {
            let text = fs::read_to_string(file).unwrap_or_default();
            let written: toml::Table =
                text.trim_start_matches('\u{feff}').parse().unwrap_or_default();
            for (name, variables) in servers {
                let table = written.get("mcp_servers").and_then(|servers| servers.get(name));
                let table = table.and_then(|table| serde_json::to_value(table).ok());
                let table = table.unwrap_or_default();
                found.extend(variables.iter().filter(|(variable, _)| refers(&table, variable)));
            }
        }
        for (name, variables) in &self.threads {
            let key = format!("mcp_servers.{name}");
            let table = |texts: &BTreeMap<String, String>| -> Option<Value> {
                serde_json::from_str(texts.get(&key)?).ok()
            };
            let (Some(has), Some(ours)) = (table(config), table(migrated)) else { continue };
            // Another server of the same name must not get them.
            if IDENTITY.iter().all(|part| has.get(part) == ours.get(part)) {
                found.extend(variables.iter().filter(|(variable, _)| refers(&has, variable)));
            }
        }
        Given::new(found.into_iter().map(|(name, value)| (name.clone(), value.clone())))
    }
}

/// Where they are.
pub(crate) fn place(places: &Places) -> PathBuf {
    overlay::folder(places).join("secrets.json")
}

/// For an app-server on this Codex home whose threads say this of Codex's configuration. A file that cannot be used costs its
/// secrets, and nothing else.
pub(crate) fn given(places: &Places, home: &Path, config: &BTreeMap<String, String>) -> Given {
    match StoredSecrets::load(places) {
        Ok(stored) if stored.is_empty() => Given::default(),
        Ok(stored) => stored.needed(&codex_file(home), config, &overlay::overrides(places)),
        Err(failure) => {
            tracing::warn!("MCP servers go without their stored secrets: {}", failure.message);
            Given::default()
        }
    }
}

/// Codex's own file of a home, where it really is.
pub(crate) fn codex_file(home: &Path) -> PathBuf {
    let file = home.join("config.toml");
    // One that is not there yet has the name that it will have, whatever links lead to its folder.
    let below = || home.canonicalize().map(|home| home.join("config.toml"));
    file.canonicalize().or_else(|_| below()).unwrap_or(file)
}

/// Why nothing may be stored here.
pub(crate) fn unfit(places: &Places, codex_home: &Path) -> Option<String> {
    let folder = overlay::folder(places);
    let folder = existing(&folder);
    let home = codex_home.canonicalize().unwrap_or_else(|_| codex_home.to_owned());
    let shown = folder.display();
    if folder.starts_with(&home) {
        return Some(format!("{shown} is inside of the Codex home"));
    }
    let file = folder.join("secrets.json");
    let repository = folder
        .ancestors()
        .find(|above| above.join(".git").exists() && !is_ignored(above, &file))?;
    Some(format!(
        "{shown} is inside of the repository {}, which does not ignore it",
        repository.display()
    ))
}

/// The same folder without links, as far as it is there already.
fn existing(folder: &Path) -> PathBuf {
    for above in folder.ancestors() {
        if let Ok(real) = above.canonicalize() {
            let below = folder.strip_prefix(above).unwrap_or(Path::new(""));
            return real.join(below);
        }
    }
    folder.to_owned()
}

/// By the `.gitignore` files from the repository down to the file.
fn is_ignored(repository: &Path, file: &Path) -> bool {
    let mut rules = GitignoreBuilder::new(repository);
    let folders: Vec<&Path> =
        file.ancestors().skip(1).take_while(|folder| folder.starts_with(repository)).collect();
    for folder in folders.into_iter().rev() {
        let rules_file = folder.join(".gitignore");
        if rules_file.is_file() && rules.add(rules_file).is_some() {
            return false;
        }
    }
    let rules = rules.build();
    rules.is_ok_and(|rules| rules.matched_path_or_any_parents(file, false).is_ignore())
}

/// Whether a server takes this variable from the environment.
fn refers(table: &Value, variable: &str) -> bool {
    let is_it = |value: &Value| {
        value.as_str() == Some(variable)
            || value.get("name").and_then(Value::as_str) == Some(variable)
    };
    let listed = table.get("env_vars").and_then(Value::as_array).into_iter().flatten();
    let headers = table.get("env_http_headers").and_then(Value::as_object);
    let headers = headers.into_iter().flat_map(serde_json::Map::values);
    listed.chain(headers).chain(table.get("bearer_token_env_var")).any(is_it)
}

/// `None` if there is no file.
fn read(place: &Path) -> Result<Option<String>, Failure> {
    let unreadable = |error: io::Error| failed("read", place, &error);
    let flags = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default();
    let opened = File::options().read(true).custom_flags(flags).open(place);
    let mut file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    let metadata = file.metadata().map_err(unreadable)?;
    let refused = |why: String| Failure::new(Exit::Failed, format!("{} {why}", place.display()));
    if !metadata.is_file() || metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(refused("is no file of yours, so it is not used".to_owned())
            .hint("remove it, and run `ostler migrate` again"));
    }
    let mode = metadata.mode() & 0o7777;
    if mode & 0o077 != 0 {
        let why = format!("can be read by other users (mode {mode:04o}), so it is not used");
        return Err(refused(why).hint(format!("run `chmod 600 {}`", place.display())));
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(unreadable)?;
    Ok(Some(text))
}
