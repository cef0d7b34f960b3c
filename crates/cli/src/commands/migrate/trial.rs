//! Real Codex on a text that is not in its home yet. It runs in a scratch home with links to the user's files, as for
//! `ostler doctor`, so that nothing of it comes into the real one.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ostler_codex::app_server::{AppServer, CallError};
use ostler_codex::peer::{Events, PeerSettings, RequestError};
use ostler_codex::protocol::request::account::{
    ConfigRead, PermissionProfileList, Plugin, PluginList,
};
use ostler_codex::protocol::request::initialize::{Capabilities, ClientInfo, Initialize};
use ostler_codex::transport::StdioStart;
use semver::Version;
use tokio::time::timeout;

use super::super::doctor::borrowed_home::{BorrowedHome, Login};
use super::super::doctor::scratch::Scratch;
use crate::bench::Bench;

/// Codex greets after 0.4 s with a fresh home, and was seen to take two seconds on a loaded machine.
const GREETING_DEADLINE: Duration = Duration::from_secs(30);

/// What is asked is answered from memory and from files of the home.
const ANSWER_DEADLINE: Duration = Duration::from_secs(20);

/// Codex ends within 0.1 s of its stdin; then it is killed.
const END_DEADLINE: Duration = Duration::from_secs(2);

/// A `.codex` above the scratch folder is not the home that Codex was given.
const ALWAYS: [&str; 2] = ["-c", "project_root_markers=[]"];

/// Codex fetches its list of plugins from the network when it starts; to load a file it needs none.
const WITHOUT_PLUGINS: [&str; 2] = ["-c", "features.plugins=false"];

/// What Codex tells of a home.
pub(super) struct Told {
    pub(super) version: Version,
    /// Whether it can load the configuration.
    pub(super) loads: Result<(), String>,
    /// The ids of the plugins that are installed, enabled and available.
    pub(super) plugins: Result<Vec<String>, String>,
    /// The names of its permission profiles, from those who can be asked.
    pub(super) profiles: Option<Vec<String>>,
}

/// Asks Codex about a home as it would be with this text.
pub(super) async fn look(
    bench: &Bench,
    codex: &Path,
    home: &Path,
    text: &str,
) -> Result<Told, String> {
    let scratch = Stage::set(bench, home, text, Plugins::Linked).map_err(|error| cannot(&error))?;
    let (app_server, mut events, mut child) = scratch.start(bench, codex, &[]).await?;
    let ask = async {
        let loads = loads(&app_server).await;
        let plugins = app_server.call_within(&PluginList { cwds: None }, ANSWER_DEADLINE).await;
        let plugins = plugins.map_err(words).map(|found| {
            let all = found.marketplaces.into_iter().flat_map(|market| market.plugins);
            all.filter(Plugin::is_in_use).map(|plugin| plugin.id).collect()
        });
        let profiles = app_server.call_within(&PermissionProfileList {}, ANSWER_DEADLINE).await;
        let profiles = profiles.ok().map(|found| {
            let allowed = found.data.into_iter().filter(|profile| profile.allowed != Some(false));
            allowed.map(|profile| profile.id).collect()
        });
        (loads, plugins, profiles)
    };
    let answers = listening(&mut events, ask).await;
    events.close().await;
    drop(child.wait(END_DEADLINE).await);
    let (loads, plugins, profiles) = answers?;
    let version = app_server.version().semver().clone();
    Ok(Told {
        version,
        loads: loads.map_err(|why| scratch.home.name_the_real(&why)),
        plugins,
        profiles,
    })
}

/// Whether Codex can load this text in that home.
pub(super) async fn load(
    bench: &Bench,
    codex: &Path,
    home: &Path,
    text: &str,
) -> Result<(), String> {
    let scratch = Stage::set(bench, home, text, Plugins::Left).map_err(|error| cannot(&error))?;
    let (app_server, mut events, mut child) = scratch.start(bench, codex, &WITHOUT_PLUGINS).await?;
    let answer = listening(&mut events, loads(&app_server)).await;
    events.close().await;
    drop(child.wait(END_DEADLINE).await);
    answer?.map_err(|why| scratch.home.name_the_real(&why))
}

async fn loads(app_server: &AppServer) -> Result<(), String> {
    let config = ConfigRead { include_layers: false, cwd: None };
    app_server.call_within(&config, ANSWER_DEADLINE).await.map(drop).map_err(words)
}

/// Reads on, as every connection needs.
async fn listening<T>(events: &mut Events, work: impl Future<Output = T>) -> Result<T, String> {
    let listen = async { while events.next().await.is_some() {} };
    tokio::select! {
        done = work => Ok(done),
        () = listen => Err("the app-server ended meanwhile".to_owned()),
    }
}

/// Codex's own words where it has some.
fn words(error: CallError) -> String {
    match error {
        CallError::Request { source: RequestError::Rpc(rpc), .. } => rpc.message.trim().to_owned(),
        other => other.to_string(),
    }
}

fn cannot(error: &io::Error) -> String {
    format!("no scratch home can be made: {error}")
}

#[derive(Clone, Copy)]
enum Plugins {
    Linked,
    Left,
}

struct Stage {
    scratch: Scratch,
    home: BorrowedHome,
}

impl Stage {
    fn set(bench: &Bench, home: &Path, text: &str, plugins: Plugins) -> io::Result<Self> {
        let scratch = Scratch::below(&bench.places.state)?;
        let folder = scratch.codex_home();
        // No login is needed, nor to be renewed.
        let real = Some(home.to_owned());
        let borrowed = BorrowedHome::lay_out(folder.clone(), real, false, Login::LeftOut)?;
        if borrowed.path == folder {
            let config = folder.join("config.toml");
            // It is a link to the text that is to be replaced.
            if fs::symlink_metadata(&config).is_ok() {
                fs::remove_file(&config)?;
            }
            fs::write(config, text)?;
            if let Plugins::Linked = plugins {
                link_plugins(&home.join("plugins/cache"), &folder.join("plugins/cache"))?;
            }
        }
        Ok(Self { scratch, home: borrowed })
    }

    async fn start(
        &self,
        bench: &Bench,
        codex: &Path,
        more: &[&str],
    ) -> Result<(AppServer, Events, ostler_codex::transport::StdioChild), String> {
        let arguments = ALWAYS.iter().chain(more).map(OsString::from).collect();
        let start = StdioStart {
            codex: codex.to_owned(),
            arguments,
            environment: bench.environment.for_codex(Some(self.home.path.clone())),
            working_directory: self.scratch.workspace(),
        };
        let (transport, mut child) = start.spawn().map_err(|error| error.to_string())?;
        let hello = Initialize {
            client_info: ClientInfo {
                name: "ostler".to_owned(),
                title: None,
                version: env!("CARGO_PKG_VERSION").to_owned(),
            },
            capabilities: Capabilities::default(),
        };
        let settings = PeerSettings::default();
        let greeted = timeout(GREETING_DEADLINE, AppServer::greet(transport, &hello, &settings));
        match greeted.await {
            Ok(Ok((app_server, events))) => Ok((app_server, events, child)),
            Ok(Err(error)) => {
                drop(child.wait(END_DEADLINE).await);
                Err(format!("Codex does not start: {error}"))
            }
            Err(_) => Err(format!("Codex did not greet within {} s", GREETING_DEADLINE.as_secs())),
        }
    }
}

/// Each plugin by a link of its own: what Codex does with the folders above them stays in the scratch home.
fn link_plugins(real: &Path, scratch: &Path) -> io::Result<()> {
    for market in fs::read_dir(real).into_iter().flatten().flatten() {
        let below = scratch.join(market.file_name());
        fs::create_dir_all(&below)?;
        let plugins: Vec<PathBuf> = fs::read_dir(market.path())
            .into_iter()
            .flatten()
            .flatten()
            .map(|plugin| plugin.path())
            .collect();
        for plugin in plugins {
            if let Some(name) = plugin.file_name() {
                symlink(&plugin, below.join(name))?;
            }
        }
    }
    Ok(())
}
