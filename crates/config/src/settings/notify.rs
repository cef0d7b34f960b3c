//! `[notify.NAME]`: whom tasks tell what became of them. A secret itself never stands in the file.

use std::path::PathBuf;
use std::time::Duration;

use crate::section::section;
use crate::value::words::words;
use crate::value::{Address, EnvironmentName, HOUR, Invocation, seconds};

words! {
    /// What is told of a task.
    NotifyKind {
        /// It has done what it was to do.
        Finished = "finished",
        /// It failed.
        Failed = "failed",
        /// Something waits to be allowed.
        NeedsApproval = "needs_approval",
        /// A question waits for an answer.
        NeedsInput = "needs_input",
        /// A limit was reached; it goes on by itself.
        Parked = "parked",
        /// Somebody or something stopped it before it was done.
        Cancelled = "cancelled",
    }
}

words! {
    /// How a target is told.
    Via {
        /// Shown by `ostler notify` and `ostler ls`.
        Local = "local",
        /// A program.
        Command = "command",
        /// A signed request.
        Webhook = "webhook",
        /// Slack.
        Slack = "slack",
        /// Telegram.
        Telegram = "telegram",
        /// Feishu, also called Lark.
        Feishu = "feishu",
        /// ntfy.
        Ntfy = "ntfy",
    }
}

section! {
    /// Whom tasks tell what became of them, as many as you like, each by a name of your choice that `ostler start --notify NAME` takes.
    /// What each `via` needs stands in [notifications](notifications.md). Addresses and secrets that nobody may see are named by where
    /// they are, never written here.
    Notify = "notify", _at;

    /// How it is told. It has to be written.
    via: Option<Via> = None;
    /// Whether a task that names nobody tells this one.
    default: bool = false;
    /// What it wants to hear.
    kinds: Vec<NotifyKind> = NotifyKind::ALL.to_vec();
    /// Where it is sent: the webhook, or the server of a chat that is not at its usual place.
    url: Option<Address> = None;
    /// The variable that has the address, where the address itself is a secret: an incoming webhook of Slack or Feishu.
    url_env: Option<EnvironmentName> = None;
    /// The file that has the address, and nothing else. Others must not be able to read it.
    url_file: Option<PathBuf> = None;
    /// The program that prints the address.
    url_command: Option<Invocation> = None;
    /// The variable that has the secret: the key that webhooks are signed with (`whsec_…`), the token of a bot, the secret of
    /// Feishu's signature, the access token of ntfy.
    secret_env: Option<EnvironmentName> = None;
    /// The file that has the secret, and nothing else. Others must not be able to read it.
    secret_file: Option<PathBuf> = None;
    /// The program that prints the secret.
    secret_command: Option<Invocation> = None;
    /// The chat or channel, for Telegram and for a bot of Slack.
    chat: Option<String> = None;
    /// The topic, for ntfy.
    topic: Option<String> = None;
    /// The program that is told, with its arguments; it gets JSON on stdin.
    command: Option<Invocation> = None;
    /// Whether a name in `url` may stand for an address of a private network. An address that is written as a number, and
    /// `localhost`, say so themselves.
    private: bool = false;
    /// How long one attempt may take.
    timeout: Duration = seconds(15), 1..=300;
    /// How long is waited after the first attempt that failed. Each further wait is three times the one before, up to six hours.
    retry: Duration = seconds(5), 1..=HOUR;
    /// After so many attempts it is given up: `ostler notify --dead` shows it, `--replay` sends it again.
    attempts: u32 = 12, 1..=100;
    refused "secret": "name where it is instead, with secret_env, secret_file or secret_command";
    refused "token": "name where it is instead, with secret_env, secret_file or secret_command";
    refused "key": "name where it is instead, with secret_env, secret_file or secret_command";
}

const URLS: [&str; 4] = ["url", "url_env", "url_file", "url_command"];
const SECRETS: [&str; 3] = ["secret_env", "secret_file", "secret_command"];

impl Notify {
    /// `is_given` says whether a key stands in the file, also if its value is wrong.
    pub(crate) fn check(&self, name: &str, is_given: &dyn Fn(&str) -> bool) -> Result<(), String> {
        if name == "none" {
            return Err("has a name that means nobody; choose another".to_owned());
        }
        if !is_given("via") {
            return Err("does not say how it is told; write via".to_owned());
        }
        // What is wrong with its value is told already.
        let Some(via) = self.via else { return Ok(()) };
        let count = |keys: &[&str]| keys.iter().filter(|key| is_given(key)).count();
        let (urls, secrets) = (count(&URLS), count(&SECRETS));
        let known: &[&str] = match via {
            Via::Local => &[],
            Via::Command => &["command"],
            Via::Webhook => &["url", "secret"],
            Via::Slack => &["url", "secret", "chat"],
            Via::Telegram => &["url", "secret", "chat"],
            Via::Feishu => &["url", "secret"],
            Via::Ntfy => &["url", "secret", "topic"],
        };
        let others = [("url", urls), ("secret", secrets)];
        let others = others.into_iter().filter(|(_, count)| *count > 0).map(|(key, _)| key);
        let plain = ["chat", "topic", "command"].into_iter().filter(|key| is_given(key));
        if let Some(other) = others.chain(plain).find(|key| !known.contains(key)) {
            return Err(format!("is told via {}, which has no {other}; leave it out", via.word()));
        }
        if urls > 1 {
            return Err(format!(
                "says more than once where it is sent; keep one of {}",
                URLS.join(", ")
            ));
        }
        if secrets > 1 {
            let all = SECRETS.join(", ");
            return Err(format!("says more than once where its secret is; keep one of {all}"));
        }
        let wants = |what: &str| Err(format!("is told via {}; write {what}", via.word()));
        match via {
            Via::Command if !is_given("command") => wants("command"),
            Via::Webhook | Via::Feishu if urls == 0 => {
                wants("url, or one of url_env, url_file and url_command")
            }
            Via::Telegram if secrets == 0 || !is_given("chat") => wants(
                "chat, and one of secret_env, secret_file and secret_command for the bot's token",
            ),
            Via::Ntfy if !is_given("topic") => wants("topic"),
            Via::Slack if is_given("chat") != (secrets > 0) || (secrets == 0 && urls == 0) => {
                wants(
                    "where its incoming webhook is with one of url_env, url_file and url_command, or chat and where the bot's token is",
                )
            }
            _ => Ok(()),
        }
    }
}
