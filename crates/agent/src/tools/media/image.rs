//! An image that a model names: on the web, in a file, or written out.

use std::path::Path;
use std::sync::Arc;

use tokio::io::AsyncReadExt;

use crate::input::{MOST_IMAGE_BYTES, kind_of};
use crate::tools::path;
use crate::tools::web::Fetcher;

/// Where images come from.
#[derive(Clone)]
pub struct ImageSource {
    fetcher: Arc<Fetcher>,
}

/// What it is, by its first bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Image {
    pub(super) kind: &'static str,
    pub(super) bytes: Vec<u8>,
}

impl ImageSource {
    pub fn new(fetcher: Arc<Fetcher>) -> Self {
        Self { fetcher }
    }

    /// An address, a `data:` URL, or a path that is absolute or below the workspace.
    pub(super) async fn image(&self, named: &str, cwd: &Path) -> Result<Image, String> {
        let named = named.trim();
        let shown: String = named.chars().take(200).collect();
        let bytes = if let Some(data) = named.strip_prefix("data:") {
            inside(data).ok_or("the `data:` URL has no base64 in it")?
        } else if named.starts_with("http://") || named.starts_with("https://") {
            self.fetched(named).await.map_err(|why| format!("{shown} was not fetched: {why}"))?
        } else if named.contains("://") {
            return Err(format!("{shown} is neither a web address nor a file"));
        } else {
            let real = path::real(named, cwd)?;
            read(&real).await.map_err(|why| format!("{}: {why}", real.display()))?
        };
        let kind = kind_of(&bytes);
        let kind = kind.ok_or_else(|| format!("{shown} is no PNG, JPEG, GIF or WebP image"))?;
        Ok(Image { kind, bytes })
    }

    async fn fetched(&self, named: &str) -> Result<Vec<u8>, String> {
        let url = self.fetcher.guard().parse(named).map_err(|refused| refused.to_string())?;
        let fetched = self.fetcher.fetch(&url, MOST_IMAGE_BYTES).await;
        fetched.map(|it| it.body).map_err(|error| error.to_string())
    }
}

impl Image {
    pub(super) fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.kind, data_encoding::BASE64.encode(&self.bytes))
    }
}

fn inside(data: &str) -> Option<Vec<u8>> {
    let (head, body) = data.split_once(',')?;
    let is_base64 = head.split(';').any(|part| part.eq_ignore_ascii_case("base64"));
    is_base64.then(|| data_encoding::BASE64.decode(body.trim().as_bytes()).ok()).flatten()
}

async fn read(real: &Path) -> Result<Vec<u8>, String> {
    let file = tokio::fs::File::open(real).await.map_err(|error| error.to_string())?;
    let found = file.metadata().await.map_err(|error| error.to_string())?;
    if !found.is_file() {
        return Err("it is no file".to_owned());
    }
    let mut bytes = Vec::new();
    let mut file = file.take(MOST_IMAGE_BYTES + 1);
    file.read_to_end(&mut bytes).await.map_err(|error| error.to_string())?;
    match bytes.len() as u64 > MOST_IMAGE_BYTES {
        true => Err(format!("it is longer than {} MiB", MOST_IMAGE_BYTES / 1024 / 1024)),
        false => Ok(bytes),
    }
}
