//! What `ostler migrate` keeps for Codex outside of Codex's own file, and what is given to each thread of it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use ostler_config::migrate::{OWN_SERVER, Overlay};

use crate::durable::write_durably;
use crate::failure::Failure;
use crate::places::{Places, private_folder};
use crate::settings::failed;

/// The folder of all that `ostler migrate` keeps.
pub(crate) fn folder(places: &Places) -> PathBuf {
    places.state.join("migrate")
}

fn place(places: &Places) -> PathBuf {
    folder(places).join("overlay.json")
}

/// What was migrated last; nothing, if nothing was.
pub(crate) fn load(places: &Places) -> Result<Option<Overlay>, Failure> {
    let place = place(places);
    let text = match fs::read_to_string(&place) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("read", &place, &error)),
    };
    let overlay: Overlay = serde_json::from_str(&text)
        .map_err(|error| failed("read", &place, &io::Error::other(error)))?;
    Ok(Some(overlay))
}

pub(crate) fn save(places: &Places, overlay: &Overlay) -> Result<(), Failure> {
    let place = place(places);
    private_folder(&places.state)?;
    private_folder(&folder(places))?;
    let text = serde_json::to_string_pretty(overlay)
        .map_err(|error| failed("write", &place, &io::Error::other(error)))?;
    write_durably(&place, text.as_bytes()).map_err(|error| failed("write", &place, &error))
}

pub(crate) fn remove(places: &Places) -> Result<(), Failure> {
    let place = place(places);
    match fs::remove_file(&place) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed("remove", &place, &error)),
    }
}

/// Our own tools as `ostler migrate --write` has put them into the file of a Codex home, as JSON text; none where it has not.
pub(crate) fn written_server(home: &Path) -> Option<String> {
    let text = fs::read_to_string(home.join("config.toml")).ok()?;
    let written: toml::Table = text.trim_start_matches('\u{feff}').parse().ok()?;
    let table = written.get("mcp_servers")?.get(OWN_SERVER)?;
    serde_json::to_string(table).ok()
}

/// What a thread of Codex is given. A file that cannot be read costs the servers in it, and nothing else.
pub(crate) fn overrides(places: &Places) -> BTreeMap<String, String> {
    match load(places) {
        Ok(overlay) => overlay.unwrap_or_default().overrides(),
        Err(failure) => {
            tracing::warn!("Codex goes without the migrated MCP servers: {}", failure.message);
            BTreeMap::new()
        }
    }
}
