//! Pictures and speech: looked at, made and spoken by the operator's providers.

mod endpoint;
mod files;
mod generate;
mod image;
mod multipart;
mod speech;
mod vision;

pub use endpoint::Endpoint;
pub use files::MediaFolder;
pub use generate::{ImageGenerate, ImageSettings};
pub use image::ImageSource;
pub use speech::{SpeechSettings, TextToSpeech};
pub use vision::{Connect, Vision, VisionAnalyze};
