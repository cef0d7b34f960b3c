//! The work folder of one install.

use std::fs;
use std::path::PathBuf;

use jiff::Timestamp;

use super::InstallError;
use crate::binary::cache::{Cache, CacheError, VersionLock, failed};
use crate::binary::digest::record_files;
use crate::binary::manifest::{FILE_NAME, FORMAT, Manifest, PackageRecord};
use crate::binary::npm::read_packages;
use crate::binary::platform::{Platform, Vendor};

/// Removed when dropped; when the process is killed instead, the next install sweeps it.
pub(super) struct Staging {
    folder: PathBuf,
    lock: VersionLock,
}

impl Staging {
    pub(super) fn create(cache: &Cache, lock: VersionLock) -> Result<Self, CacheError> {
        let staging = Self { folder: cache.fresh_staging(&lock)?, lock };
        let npm = staging.npm();
        fs::create_dir(&npm).map_err(failed("create", &npm))?;
        Ok(staging)
    }

    /// Where npm works.
    pub(super) fn npm(&self) -> PathBuf {
        self.folder.join("npm")
    }

    pub(super) fn vendor(&self, platform: Platform) -> Result<Vendor, InstallError> {
        platform.vendor_below(&self.npm().join("node_modules")).ok_or_else(|| {
            let package = platform.package();
            self.incomplete(format!(
                "there is no native binary for {} in {package}",
                platform.triple
            ))
        })
    }

    /// Puts the vendor folder and its manifest together and makes them count.
    pub(super) fn publish(self, cache: &Cache, vendor: &Vendor) -> Result<(), InstallError> {
        let ready = self.folder.join("ready");
        fs::create_dir(&ready).map_err(failed("create", &ready))?;
        let Some(triple) = vendor.folder.file_name() else {
            return Err(self.incomplete("its vendor folder has no name".to_owned()));
        };
        let kept = ready.join(triple);
        fs::rename(&vendor.folder, &kept).map_err(failed("move", &vendor.folder))?;
        let binary = format!("{}/{}", triple.to_string_lossy(), vendor.binary);
        let files = record_files(&ready).map_err(failed("read", &ready))?;
        let Some(record) = files.get(&binary).cloned() else {
            return Err(self.incomplete(format!("{binary} went away")));
        };
        let manifest = Manifest {
            format: FORMAT,
            version: self.lock.version().clone(),
            installed_at: Timestamp::now(),
            binary,
            size_bytes: record.size_bytes,
            sha256: record.sha256,
            packages: self.packages()?,
            files,
        };
        let text = serde_json::to_string_pretty(&manifest)
            .map_err(|error| self.incomplete(error.to_string()))?;
        let place = ready.join(FILE_NAME);
        fs::write(&place, text + "\n").map_err(failed("write", &place))?;
        Ok(cache.publish(&self.lock, &ready)?)
    }

    /// npm's record of what it verified. Without an integrity string nothing was verified, so nothing counts.
    fn packages(&self) -> Result<Vec<PackageRecord>, InstallError> {
        let place = self.npm().join("node_modules/.package-lock.json");
        let text = fs::read(&place).map_err(failed("read", &place))?;
        let packages = read_packages(&text)
            .map_err(|error| self.incomplete(format!("{}: {error}", place.display())))?;
        if packages.is_empty() {
            return Err(self.incomplete("npm recorded no integrity checksums".to_owned()));
        }
        Ok(packages)
    }

    fn incomplete(&self, reason: String) -> InstallError {
        InstallError::Incomplete { version: self.lock.version().clone(), reason }
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // npm may have been killed a moment ago and still hold a file; what stays is swept by the next install.
        if let Err(error) = fs::remove_dir_all(&self.folder) {
            tracing::debug!(%error, folder = %self.folder.display(), "left for the next sweep");
        }
    }
}
