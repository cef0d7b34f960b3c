//! Who lives on which Codex home.
//!
//! Codex up to 0.142.5 destroys threads of 0.166.0 by opening them, and each version may bring the databases in the home up
//! to its own layout. So two versions never live on one home at once. A newer one that wants to move in has a claim: while it
//! waits, nobody of an older version moves in any more, and so its turn comes.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ostler_codex::protocol::CodexVersion;
use tokio::sync::watch;

#[derive(Debug, Clone)]
pub(super) struct Homes {
    homes: Arc<Mutex<HashMap<PathBuf, Home>>>,
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Home {
    /// How many app-servers of each version live on it.
    tenants: BTreeMap<CodexVersion, usize>,
    /// How many wait for it.
    claims: BTreeMap<CodexVersion, usize>,
}

/// Held by one app-server until nothing of it is left.
#[derive(Debug)]
pub(super) struct Tenancy {
    homes: Homes,
    home: PathBuf,
    version: CodexVersion,
}

/// Held by one who waits to move in.
#[derive(Debug)]
pub(super) struct Claim {
    homes: Homes,
    home: PathBuf,
    version: CodexVersion,
}

impl Homes {
    /// `changed` is told whenever somebody has moved out or has given up waiting.
    pub(super) fn new(changed: watch::Sender<()>) -> Self {
        Self { homes: Arc::default(), changed }
    }

    /// A place on the home; none while another version lives there or a newer one waits.
    pub(super) fn enter(&self, home: &Path, version: &CodexVersion) -> Option<Tenancy> {
        let is_free = self.with(home, |home| {
            let others = home.tenants.keys().any(|tenant| tenant != version);
            let is_free = !others && !home.is_claimed_over(version);
            if is_free {
                *home.tenants.entry(version.clone()).or_default() += 1;
            }
            is_free
        });
        is_free.then(|| self.tenancy(home, version))
    }

    /// For one that lives there already, whoever else does.
    pub(super) fn occupy(&self, home: &Path, version: &CodexVersion) -> Tenancy {
        self.with(home, |home| *home.tenants.entry(version.clone()).or_default() += 1);
        self.tenancy(home, version)
    }

    pub(super) fn claim(&self, home: &Path, version: &CodexVersion) -> Claim {
        self.with(home, |home| *home.claims.entry(version.clone()).or_default() += 1);
        Claim { homes: self.clone(), home: home.to_owned(), version: version.clone() }
    }

    /// Whether a newer version waits for the home.
    pub(super) fn is_claimed_over(&self, home: &Path, version: &CodexVersion) -> bool {
        self.with(home, |home| home.is_claimed_over(version))
    }

    /// The other versions that live there.
    pub(super) fn others(&self, home: &Path, version: &CodexVersion) -> Vec<CodexVersion> {
        self.with(home, |home| {
            home.tenants.keys().filter(|tenant| *tenant != version).cloned().collect()
        })
    }

    fn tenancy(&self, home: &Path, version: &CodexVersion) -> Tenancy {
        Tenancy { homes: self.clone(), home: home.to_owned(), version: version.clone() }
    }

    fn with<T>(&self, home: &Path, act: impl FnOnce(&mut Home) -> T) -> T {
        let mut homes = self.homes.lock().unwrap_or_else(PoisonError::into_inner);
        let known = homes.entry(home.to_owned()).or_default();
        let done = act(known);
        if known.tenants.is_empty() && known.claims.is_empty() {
            homes.remove(home);
        }
        done
    }
}

impl Tenancy {
    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    pub(super) fn version(&self) -> &CodexVersion {
        &self.version
    }
}

impl Home {
    fn is_claimed_over(&self, version: &CodexVersion) -> bool {
        self.claims.last_key_value().is_some_and(|(newest, _)| newest > version)
    }
}

impl Drop for Tenancy {
    fn drop(&mut self) {
        self.homes.with(&self.home, |home| less(&mut home.tenants, &self.version));
        self.homes.changed.send_replace(());
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.homes.with(&self.home, |home| less(&mut home.claims, &self.version));
        self.homes.changed.send_replace(());
    }
}

fn less(counts: &mut BTreeMap<CodexVersion, usize>, version: &CodexVersion) {
    if let Some(count) = counts.get_mut(version) {
        *count = count.saturating_sub(1);
        if *count == 0 {
            counts.remove(version);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_take_turns_on_a_home_and_a_newer_one_that_waits_is_next() {
        let (changed, mut seen) = watch::channel(());
        let homes = Homes::new(changed);
        let (here, there) = (Path::new("/here"), Path::new("/there"));
        let version = |text: &str| CodexVersion::parse(text).unwrap();
        let (old, new) = (version("0.142.5"), version("0.166.0"));

        let first = homes.enter(here, &old).unwrap();
        let second = homes.enter(here, &old).unwrap();
        assert!(homes.enter(here, &new).is_none());
        assert!(homes.enter(there, &new).is_some());
        assert_eq!(homes.others(here, &new), std::slice::from_ref(&old));

        let claim = homes.claim(here, &new);
        assert!(homes.is_claimed_over(here, &old) && !homes.is_claimed_over(here, &new));
        assert!(homes.enter(here, &old).is_none(), "nobody of an older version comes first");
        drop(first);
        assert!(homes.enter(here, &new).is_none());
        seen.mark_unchanged();
        drop(second);
        assert!(seen.has_changed().unwrap());
        let moved_in = homes.enter(here, &new).unwrap();
        drop(claim);
        assert!(homes.enter(here, &old).is_none());
        drop(moved_in);
        assert!(homes.enter(here, &old).is_some());
        assert!(homes.homes.lock().unwrap().is_empty(), "nothing is left of those who have gone");
    }
}
