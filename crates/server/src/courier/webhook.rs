//! Webhooks as Standard Webhooks says: an id that stays, a time, and a signature over both and the body.

use data_encoding::BASE64;
use jiff::Timestamp;
use ostler_model::Notification;
use ostler_model::notification::Outcome;
use ring::hmac;

use super::letter::{Answer, Follows, Letter};
use super::secret::{Place, Reveal};

/// What stands before the key, so that it is known for what it is.
const PREFIX: &str = "whsec_";

/// As the specification has it: enough that nobody guesses it, and no more than anybody needs.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

pub(super) async fn letter(
    url: &Place,
    secret: Option<&Reveal>,
    notification: &Notification,
) -> Result<Letter, String> {
    let (address, is_secret) = url.find().await?;
    let id = notification.id.as_str();
    // Of this attempt: receivers refuse what is older than some minutes, because it may be somebody who repeats it.
    let time = Timestamp::now().as_second();
    let body = ostler_engine::payload(notification).to_string();
    let mut headers = vec![("webhook-id", id.to_owned()), ("webhook-timestamp", time.to_string())];
    let mut secrets = Vec::new();
    if let Some(secret) = secret {
        let key = secret.fetch().await?;
        let signature =
            sign(&key, id, time, &body).map_err(|why| format!("{}: {why}", secret.name))?;
        headers.push(("webhook-signature", signature));
        secrets.push(key);
    }
    let follows = if is_secret { Follows::Nothing } else { Follows::Redirects };
    if is_secret {
        secrets.push(address.clone());
    }
    Ok(Letter { url: address, headers, body, secrets, follows, judge })
}

/// Over `id.timestamp.body`.
pub(super) fn sign(secret: &str, id: &str, time: i64, body: &str) -> Result<String, String> {
    let wrong = || format!("the secret must be {PREFIX} and {KEY_BYTES:?} bytes as base64");
    let key = secret.strip_prefix(PREFIX).ok_or_else(wrong)?;
    let key = BASE64.decode(key.as_bytes()).map_err(|_| wrong())?;
    if !KEY_BYTES.contains(&key.len()) {
        return Err(wrong());
    }
    let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
    let tag = hmac::sign(&key, format!("{id}.{time}.{body}").as_bytes());
    Ok(format!("v1,{}", BASE64.encode(tag.as_ref())))
}

/// Any 2xx is a receipt. Of everything else only 410 says that it will never be taken.
fn judge(answer: &Answer) -> Outcome {
    match answer.status {
        // What a receiver says beside it is its own matter.
        _ if answer.is_success() => {
            Outcome::Delivered { answer: format!("HTTP {}", answer.status) }
        }
        410 => answer.refused(),
        _ => answer.failed(),
    }
}
