//! Chats: each gets its own documented form. What an agent wrote is plain text everywhere: it mentions nobody and hides no link.

use data_encoding::BASE64;
use jiff::Timestamp;
use ostler_engine::Sending;
use ostler_model::Notification;
use ostler_model::notification::{Kind, Outcome};
use ring::hmac;
use serde_json::{Value, json};

use super::letter::{Answer, Follows, Letter};
use super::{Service, judge};

const SLACK: &str = "https://slack.com/api";
const TELEGRAM: &str = "https://api.telegram.org";
const NTFY: &str = "https://ntfy.sh";

/// What Slack takes as a head.
const SLACK_HEAD: usize = 150;

pub(super) async fn letter(
    service: &Service,
    notification: &Notification,
) -> Result<Letter, String> {
    let mut body = body(service, notification);
    let mut secrets = Vec::new();
    let mut headers = Vec::new();
    let (url, judge): (String, fn(&Answer) -> Outcome) = match service {
        Service::Webhook { .. } => return Err("a webhook is no chat".to_owned()),
        Service::SlackHook { url } => (url.find().await?.0, judge::status),
        Service::SlackBot { server, token, .. } => {
            let token = token.fetch().await?;
            headers.push(("authorization", format!("Bearer {token}")));
            secrets.push(token);
            (format!("{}/chat.postMessage", base(server.as_ref(), SLACK)), judge::slack)
        }
        Service::Telegram { server, token, .. } => {
            let token = token.fetch().await?;
            let url = format!("{}/bot{token}/sendMessage", base(server.as_ref(), TELEGRAM));
            secrets.push(token);
            (url, judge::telegram)
        }
        Service::Feishu { url, secret } => {
            if let Some(secret) = secret {
                let key = secret.fetch().await?;
                sign_feishu(&mut body, &key, Timestamp::now().as_second());
                secrets.push(key);
            }
            (url.find().await?.0, judge::feishu)
        }
        Service::Ntfy { server, token, .. } => {
            if let Some(token) = token {
                let token = token.fetch().await?;
                headers.push(("authorization", format!("Bearer {token}")));
                secrets.push(token);
            }
            (format!("{}/", base(server.as_ref(), NTFY)), judge::ntfy)
        }
    };
    if let Service::SlackHook { .. } | Service::Feishu { .. } | Service::Telegram { .. } = service {
        secrets.push(url.clone());
    }
    let body = body.to_string();
    Ok(Letter { url, headers, body, secrets, follows: Follows::Nothing, judge })
}

pub(super) fn preview(service: &Service, notification: &Notification) -> Sending {
    let to = match service {
        Service::Webhook { url, .. } | Service::SlackHook { url } | Service::Feishu { url, .. } => {
            url.shown()
        }
        Service::SlackBot { server, .. } => {
            format!("{}/chat.postMessage", base(server.as_ref(), SLACK))
        }
        Service::Telegram { server, token, .. } => {
            let server = base(server.as_ref(), TELEGRAM);
            format!("{server}/bot[the token in {}]/sendMessage", token.name)
        }
        Service::Ntfy { server, .. } => format!("{}/", base(server.as_ref(), NTFY)),
    };
    Sending { to, body: body(service, notification) }
}

fn base<'a>(server: Option<&'a String>, usual: &'a str) -> &'a str {
    server.map_or(usual, |server| server.trim_end_matches('/'))
}

/// Without signatures and times, which are of one attempt.
fn body(service: &Service, notification: &Notification) -> Value {
    let Notification { kind, content, .. } = notification;
    let (head, text) = (content.headline(*kind), content.text());
    match service {
        Service::Webhook { .. } => ostler_engine::payload(notification),
        Service::SlackHook { .. } => slack(&head, &text),
        Service::SlackBot { channel, .. } => {
            let mut body = slack(&head, &text);
            if let Some(fields) = body.as_object_mut() {
                fields.insert("channel".to_owned(), json!(channel));
                fields.insert("unfurl_links".to_owned(), json!(false));
            }
            body
        }
        Service::Telegram { chat, .. } => json!({
            "chat_id": chat,
            "text": format!("{head}\n{text}"),
            "link_preview_options": { "is_disabled": true },
        }),
        Service::Feishu { .. } => json!({
            "msg_type": "text",
            "content": { "text": without_mentions(&format!("{head}\n{text}")) },
        }),
        Service::Ntfy { topic, .. } => {
            let mut body = json!({
                "topic": topic,
                "title": head,
                "message": text,
                // From 1 to 5; 3 is the usual one.
                "priority": if kind.is_urgent() { 4 } else { 3 },
                "tags": [tag(*kind)],
            });
            if let (Some(link), Some(fields)) = (&content.link, body.as_object_mut()) {
                fields.insert("click".to_owned(), json!(link));
            }
            body
        }
    }
}

/// `text` is what a phone shows; the blocks are plain text, in which nothing is a mention or a link.
fn slack(head: &str, text: &str) -> Value {
    let escaped = head.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let head: String = head.chars().take(SLACK_HEAD).collect();
    let plain = |text: &str| json!({ "type": "plain_text", "text": text, "emoji": false });
    json!({
        "text": escaped,
        "blocks": [
            { "type": "header", "text": plain(&head) },
            { "type": "section", "text": plain(text) },
        ],
    })
}

/// Feishu reads `<at user_id="all">` in a text as a call to everybody.
fn without_mentions(text: &str) -> String {
    text.replace('<', "‹")
}

/// A name of ntfy's that it shows as a picture.
fn tag(kind: Kind) -> &'static str {
    match kind {
        Kind::Finished => "white_check_mark",
        Kind::Failed => "x",
        Kind::NeedsApproval | Kind::NeedsInput => "raised_hand",
        Kind::Parked => "hourglass",
        Kind::Cancelled => "stop_button",
    }
}

/// The key is time and secret, and nothing is signed with it: that is how Feishu has it.
pub(super) fn sign_feishu(body: &mut Value, secret: &str, time: i64) {
    let key = hmac::Key::new(hmac::HMAC_SHA256, format!("{time}\n{secret}").as_bytes());
    let sign = BASE64.encode(hmac::sign(&key, b"").as_ref());
    if let Some(fields) = body.as_object_mut() {
        fields.insert("timestamp".to_owned(), json!(time.to_string()));
        fields.insert("sign".to_owned(), json!(sign));
    }
}
