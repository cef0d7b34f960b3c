//! `[vision]`, `[images]` and `[speech]`: who looks at pictures for the agent, who makes them, who speaks.

use crate::section::section;
use crate::value::words::words;

words! {
    /// How speech is written down.
    SpeechFormat {
        /// Small, and played everywhere.
        Mp3 = "mp3",
        /// Without loss, and large.
        Wav = "wav",
        /// Small, for streaming.
        Opus = "opus",
        /// Without loss.
        Flac = "flac",
        /// Small, for phones.
        Aac = "aac",
    }
}

section! {
    /// Who looks at images, for the tools `vision_analyze` and `browser_vision`.
    Vision = "vision", _at;

    /// One of the providers. Without it the one of `[agent]` is asked.
    provider: Option<String> = None;
    /// A model that sees. Without it the one of `[agent]` is asked.
    model: Option<String> = None;
}

section! {
    /// Who makes images, for the tool `image_generate`. It needs a provider with OpenAI's `/images/generations` and `/images/edits`.
    Images = "images", _at;

    /// One of the providers. Without it no image is made.
    provider: Option<String> = None;
    /// The model.
    model: String = "gpt-image-1".to_owned();
}

section! {
    /// Who speaks, for the tool `text_to_speech`. It needs a provider with OpenAI's `/audio/speech`.
    Speech = "speech", _at;

    /// One of the providers. Without it nothing is spoken.
    provider: Option<String> = None;
    /// The model.
    model: String = "gpt-4o-mini-tts".to_owned();
    /// The voice, in the words of the provider.
    voice: String = "alloy".to_owned();
    /// How the sound is written down, where the name of the file does not say it.
    format: SpeechFormat = SpeechFormat::Mp3;
}
