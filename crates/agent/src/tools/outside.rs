//! The tools that reach out of the machine, made of one set of settings: for the agent's own loop, and for whoever offers them to others.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::browser::{BrowserSettings, BrowserVision, Browsers, browser_tools};
use super::media::{
    ImageGenerate, ImageSettings, ImageSource, MediaFolder, SpeechSettings, TextToSpeech, Vision,
    VisionAnalyze,
};
use super::web::{Fetcher, Guard, SearchSettings, WebExtract, WebSearch};
use crate::sandbox::Boundary;
use crate::tool::Tool;

/// What may be reached, and by whom.
pub struct OutsideSettings {
    pub web: WebSettings,
    pub browser: BrowserSettings,
    pub vision: Vision,
    pub images: Option<ImageSettings>,
    pub speech: Option<SpeechSettings>,
    /// Where pictures and speech are put.
    pub media: PathBuf,
}

pub struct WebSettings {
    /// None if nobody searches.
    pub search: Option<SearchSettings>,
    /// Hosts, or hosts with their port, that are fetched although they are not on the public internet.
    pub allowed_hosts: Vec<String>,
    /// For a page.
    pub timeout: Duration,
    pub most_bytes: u64,
}

/// In the order in which a model is told of them. All are always there, so that what a provider keeps of a conversation's beginning
/// holds; one that is not set up says what to set.
pub fn outside_tools(settings: OutsideSettings, boundary: &Arc<Boundary>) -> Vec<Arc<dyn Tool>> {
    let web = settings.web;
    let guard = Arc::new(Guard::new(&web.allowed_hosts));
    let fetcher = Arc::new(Fetcher::new(guard.clone(), web.timeout));
    let source = ImageSource::new(fetcher.clone());
    let folder = MediaFolder::at(settings.media);
    let browsers = Arc::new(Browsers::new(settings.browser, guard));
    let mut tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(WebSearch::new(web.search)),
        Arc::new(WebExtract::new(fetcher, web.most_bytes)),
    ];
    tools.extend(browser_tools(&browsers));
    let vision = settings.vision;
    tools.extend([
        Arc::new(BrowserVision::new(browsers, vision.clone(), folder.clone())) as Arc<dyn Tool>,
        Arc::new(VisionAnalyze::new(vision, source.clone())),
        Arc::new(ImageGenerate::new(settings.images, source, folder.clone())),
        Arc::new(TextToSpeech::new(settings.speech, folder, boundary.clone())),
    ]);
    tools
}
