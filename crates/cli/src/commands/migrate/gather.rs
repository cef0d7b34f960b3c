//! All that is to be given to Codex, out of the files that declare it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ostler_codex::keeper::environment::{EnvironmentRule, is_passed, may_be_given};
use ostler_codex::keeper::redact;
use ostler_config::Config;
use ostler_config::migrate::{
    InUse, KeyNote, OWN_SERVER, SecretValue, Source, Variable, read_source, translate,
};
use toml::Table;

use super::own_tools;
use super::report::{Report, ServerShown, ServerState, SourceShown, VariableShown};
use crate::bench::Bench;
use crate::failure::{Exit, Failure};
use crate::overlay;
use crate::places;
use crate::running::own_program;
use crate::stored_secrets::{self, Of, StoredSecrets};

/// Larger than any file of settings; whatever is, is another file.
const LARGEST_SOURCE_BYTES: u64 = 16 * 1024 * 1024;

/// Where other programs keep their servers, below the home folder. They are named, not read: a server is a program that
/// runs outside of every sandbox.
const KNOWN: [&str; 11] = [
    ".claude.json",
    ".config/Claude/claude_desktop_config.json",
    ".cursor/mcp.json",
    ".codeium/windsurf/mcp_config.json",
    ".config/Code/User/mcp.json",
    ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
    ".config/zed/settings.json",
    ".gemini/settings.json",
    ".config/goose/config.yaml",
    ".config/opencode/opencode.json",
    ".hermes/config.yaml",
];

pub(super) struct Gathered {
    pub(super) from: Vec<PathBuf>,
    pub(super) servers: Vec<Found>,
    sources: Vec<SourceShown>,
    /// Whether their secrets are to be stored.
    stores: bool,
    notes: Vec<String>,
    errors: Vec<String>,
}

pub(super) struct Found {
    pub(super) name: String,
    pub(super) table: Table,
    renamed_from: Option<String>,
    source: Option<PathBuf>,
    keys: Vec<KeyNote>,
    variables: Vec<Variable>,
    secrets: BTreeMap<String, SecretValue>,
}

/// What becomes of the secrets in the files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Secrets {
    Stored,
    LeftOut,
    /// Stored if an earlier run has stored any: nobody is asked here.
    #[default]
    AsBefore,
}

/// Which files servers are taken from.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wanted<'a> {
    pub(crate) from: &'a [PathBuf],
    /// And no files of earlier runs.
    pub(crate) only: bool,
    pub(crate) secrets: Secrets,
}

/// Reads the files of the settings, those of earlier runs, and those that are named.
pub(super) fn gather(bench: &Bench, home: &Path, wanted: Wanted<'_>) -> Result<Gathered, Failure> {
    let named = wanted.from;
    let mut from: Vec<PathBuf> = bench.config.config().migrate.from.clone();
    let earlier = overlay::load(&bench.places)?.unwrap_or_default().from;
    let kept = earlier.iter().filter(|_| !wanted.only);
    for file in kept.chain(named) {
        let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
        if !from.contains(&file) {
            from.push(file);
        }
    }
    let stored = StoredSecrets::load(&bench.places)?;
    let stores = match wanted.secrets {
        Secrets::Stored => true,
        Secrets::LeftOut => false,
        Secrets::AsBefore => !stored.is_empty(),
    };
    let unfit = stored_secrets::unfit(&bench.places, home).filter(|_| stores);
    let program = own_program()?;
    let mut gathered = Gathered {
        from: Vec::new(),
        servers: vec![own_server(&program, bench.config.config())],
        sources: Vec::new(),
        stores: stores && unfit.is_none(),
        notes: Vec::new(),
        errors: Vec::new(),
    };
    gathered.notes.extend(unfit.map(|why| format!("secrets are not stored: {why}")));
    for file in earlier.iter().filter(|file| !from.contains(*file)) {
        let file = file.display();
        gathered.notes.push(format!("the servers of {file} are not taken any more"));
    }
    let mut sources = Vec::new();
    for file in &from {
        let is_named =
            named.iter().any(|one| std::path::absolute(one).is_ok_and(|one| one == *file));
        match read(file) {
            Ok(source) => {
                gathered.from.push(file.clone());
                sources.push((file, source));
            }
            // Somebody asked for this very file.
            Err(why) if is_named => {
                return Err(Failure::new(Exit::Failed, format!("{} {why}", file.display()))
                    .hint("nothing was changed"));
            }
            // It may come back.
            Err(why) => {
                gathered.errors.push(format!("{} {why}", file.display()));
                gathered.from.push(file.clone());
            }
        }
    }
    let mut in_use = match gathered.stores {
        true => InUse::storing(may_be_given),
        false => InUse::default(),
    };
    for server in sources.iter().flat_map(|(_, source)| &source.servers) {
        in_use.note_references(server);
    }
    for (file, source) in &sources {
        gathered.take(file, source, &mut in_use);
    }
    if from.is_empty() {
        gathered.hint_at_known();
    }
    Ok(gathered)
}

fn own_server(program: &Path, config: &Config) -> Found {
    Found {
        name: OWN_SERVER.to_owned(),
        table: own_tools::table(program, config),
        renamed_from: None,
        source: None,
        keys: Vec::new(),
        variables: Vec::new(),
        secrets: BTreeMap::new(),
    }
}

fn read(file: &Path) -> Result<Source, String> {
    let size = std::fs::metadata(file).map_err(|error| format!("cannot be read: {error}"))?.len();
    if size > LARGEST_SOURCE_BYTES {
        return Err("is too large to be a file of settings".to_owned());
    }
    let bytes = std::fs::read(file).map_err(|error| format!("cannot be read: {error}"))?;
    let text = String::from_utf8(bytes).map_err(|_| "is no UTF-8 text".to_owned())?;
    read_source(&text).map_err(|error| error.to_string())
}

impl Gathered {
    fn take(&mut self, file: &Path, source: &Source, in_use: &mut InUse) {
        let shown = SourceShown { file: file.to_owned(), servers: source.servers.len() };
        self.sources.push(shown);
        let place = file.display();
        self.notes.extend(source.notes.iter().map(|note| format!("{place}: {note}")));
        let shapes = |text: &str| redact(text, &[]) != text;
        for server in &source.servers {
            let name = &server.name;
            match translate(server, in_use, &shapes) {
                Ok(done) => {
                    // The user's own server of that name wins.
                    if done.name == OWN_SERVER {
                        self.servers.retain(|found| found.name != OWN_SERVER);
                        self.notes.push(format!(
                            "{place}: {name} is yours, so Ostler's own tools are left out"
                        ));
                    }
                    self.servers.push(Found {
                        name: done.name,
                        table: done.table,
                        renamed_from: done.renamed_from,
                        source: Some(file.to_owned()),
                        keys: done.keys,
                        variables: done.variables,
                        secrets: done.secrets,
                    });
                }
                Err(refusal) => self.errors.push(format!("{place}: {name} {refusal}")),
            }
        }
    }

    fn hint_at_known(&mut self) {
        let Some(home) = places::variable("HOME").map(PathBuf::from) else { return };
        let found = KNOWN.iter().map(|name| home.join(name)).filter(|file| file.is_file());
        self.notes.extend(
            found.map(|file| {
                format!("there is {0}; take its servers with --from {0}", file.display())
            }),
        );
    }

    /// The secrets of those servers that are taken, in place of those that were stored of them before.
    pub(super) fn store(
        &self,
        bench: &Bench,
        of: Of<'_>,
        is_taken: impl Fn(&Found) -> bool,
    ) -> Result<StoredSecrets, Failure> {
        let taken = self.servers.iter().filter(|found| self.stores && is_taken(found));
        let with_any = taken.filter(|found| !found.secrets.is_empty());
        let servers = with_any.map(|found| {
            let values = found.secrets.iter();
            let values = values.map(|(name, value)| (name.clone(), value.expose().to_owned()));
            (found.name.clone(), values.collect())
        });
        let mut stored = StoredSecrets::load(&bench.places)?;
        stored.put(of, servers.collect());
        Ok(stored)
    }

    /// Everything into the report; `state` says what became of a server.
    pub(super) fn tell(
        self,
        bench: &Bench,
        state: impl Fn(&str) -> ServerState,
        is_stored: impl Fn(&str, &str) -> bool,
        report: &mut Report,
    ) {
        let rule = EnvironmentRule {
            keep: bench
                .config
                .config()
                .environment
                .pass
                .iter()
                .map(|it| it.as_str().to_owned())
                .collect(),
            ..EnvironmentRule::default()
        };
        report.sources = self.sources;
        report.notes.extend(self.notes);
        report.errors.extend(self.errors);
        for found in self.servers {
            let state = state(&found.name);
            let is_theirs = state == ServerState::Theirs;
            for Variable { name, holds, has_default } in
                found.variables.into_iter().filter(|_| !is_theirs)
            {
                let value = places::variable(&name);
                let is_passed = is_passed(&name, value.as_deref(), &rule);
                let (server, is_set) = (found.name.clone(), value.is_some());
                let is_stored = is_stored(&server, &name);
                if is_stored {
                    report.secrets_file = Some(stored_secrets::place(&bench.places));
                }
                let shown = VariableShown {
                    name,
                    server,
                    holds,
                    has_default,
                    is_set,
                    is_passed,
                    is_stored,
                };
                report.variables.push(shown);
            }
            let Found { name, renamed_from, source, keys, .. } = found;
            report.servers.push(ServerShown { name, renamed_from, source, state, keys });
        }
    }
}
