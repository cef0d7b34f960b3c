//! The rule itself. The first row that matches a name decides; the page `docs/environment.md` shows the same rows.

use super::pattern::matches;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Keep,
    Strip,
    /// Withheld, and no setting brings it back.
    Own,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// A name in which `*` stands for any text and `%` for the edge of a word.
    pub pattern: &'static str,
    pub verdict: Verdict,
    pub reason: &'static str,
}

const PLACE: &str = "a place, no secret: an ostler command below codex finds the same daemon";
const OWN: &str = "our own settings and tokens: an agent must never act as ostler";
const SESSION: &str = "marks of another codex session that started us; they would mislead this one";
const HOSTING: &str = "git hosting: pushes and reviews in the user's name";
const CODEX: &str = "codex's own settings and login";
const PROVIDER: &str = "a model provider codex may be configured for";
const BEDROCK: &str = "codex's Bedrock provider; names and places, or a key that opens only models";
const NETWORK: &str = "codex reaches its provider through it, even if it holds a password";
const BASICS: &str = "programs need it to run at all";
const KEYRING: &str = "codex may keep its login in the desktop's keyring";
const CHAT: &str = "chat, mail and notifications: messages in the user's name";
const CLOUD: &str = "cloud and secret stores: spends money, opens machines";
const PACKAGES: &str = "package registries: publishes in the user's name";
const DATABASE: &str = "databases: often production, often with the password inside";
const AGENT: &str = "key agents and password prompts: signs in with the user's keys";
const CI: &str = "the CI job that started us: acts as the job";
const MANAGER: &str = "the service manager's line to the service that started us, not to codex";
const HARMLESS: &str = "looks like a secret to the next row, but is none";
const GENERIC: &str = "by its name a secret of a service unknown to us";

/// In this order: what must never pass, exceptions, what codex works with, what opens other doors, the general case.
pub const ROWS: &[Row] = &[
    row("OSTLER_HOME", Verdict::Keep, PLACE),
    row("OSTLER_*", Verdict::Own, OWN),
    row("CODEX_SANDBOX*", Verdict::Strip, SESSION),
    row("CODEX_THREAD_ID", Verdict::Strip, SESSION),
    row("CODEX_GITHUB_*", Verdict::Strip, HOSTING),
    row("CODEX_*", Verdict::Keep, CODEX),
    row("OPENAI_*", Verdict::Keep, CODEX),
    row("AZURE_OPENAI_*", Verdict::Keep, PROVIDER),
    row("OPENROUTER_API_KEY", Verdict::Keep, PROVIDER),
    row("MISTRAL_API_KEY", Verdict::Keep, PROVIDER),
    row("GROQ_API_KEY", Verdict::Keep, PROVIDER),
    row("GEMINI_API_KEY", Verdict::Keep, PROVIDER),
    row("DEEPSEEK_API_KEY", Verdict::Keep, PROVIDER),
    row("XAI_API_KEY", Verdict::Keep, PROVIDER),
    row("TOGETHER_API_KEY", Verdict::Keep, PROVIDER),
    row("FIREWORKS_API_KEY", Verdict::Keep, PROVIDER),
    row("CEREBRAS_API_KEY", Verdict::Keep, PROVIDER),
    row("OLLAMA_*", Verdict::Keep, PROVIDER),
    row("LITELLM_API_KEY", Verdict::Keep, PROVIDER),
    row("AWS_BEARER_TOKEN_BEDROCK", Verdict::Keep, BEDROCK),
    row("AWS_REGION", Verdict::Keep, BEDROCK),
    row("AWS_DEFAULT_REGION", Verdict::Keep, BEDROCK),
    row("AWS_PROFILE", Verdict::Keep, BEDROCK),
    row("AWS_CONFIG_FILE", Verdict::Keep, BEDROCK),
    row("AWS_CA_BUNDLE", Verdict::Keep, BEDROCK),
    row("HTTP_PROXY", Verdict::Keep, NETWORK),
    row("HTTPS_PROXY", Verdict::Keep, NETWORK),
    row("ALL_PROXY", Verdict::Keep, NETWORK),
    row("NO_PROXY", Verdict::Keep, NETWORK),
    row("HOME", Verdict::Keep, BASICS),
    row("PATH", Verdict::Keep, BASICS),
    row("LANG", Verdict::Keep, BASICS),
    row("LC_*", Verdict::Keep, BASICS),
    row("DBUS_SESSION_BUS_ADDRESS", Verdict::Keep, KEYRING),
    row("SLACK_*", Verdict::Strip, CHAT),
    row("DISCORD_*", Verdict::Strip, CHAT),
    row("TELEGRAM_*", Verdict::Strip, CHAT),
    row("MATRIX_*", Verdict::Strip, CHAT),
    row("MATTERMOST_*", Verdict::Strip, CHAT),
    row("ROCKETCHAT_*", Verdict::Strip, CHAT),
    row("ZULIP_*", Verdict::Strip, CHAT),
    row("WHATSAPP_*", Verdict::Strip, CHAT),
    row("SIGNAL_*", Verdict::Strip, CHAT),
    row("TEAMS_*", Verdict::Strip, CHAT),
    row("TWILIO_*", Verdict::Strip, CHAT),
    row("PUSHOVER_*", Verdict::Strip, CHAT),
    row("NTFY_*", Verdict::Strip, CHAT),
    row("SMTP_*", Verdict::Strip, CHAT),
    row("SENDGRID_*", Verdict::Strip, CHAT),
    row("MAILGUN_*", Verdict::Strip, CHAT),
    row("GITHUB_TOKEN", Verdict::Strip, HOSTING),
    row("GITHUB_PAT*", Verdict::Strip, HOSTING),
    row("GITHUB_APP_*", Verdict::Strip, HOSTING),
    row("GH_TOKEN", Verdict::Strip, HOSTING),
    row("GH_ENTERPRISE_TOKEN", Verdict::Strip, HOSTING),
    row("GITLAB_*", Verdict::Strip, HOSTING),
    row("BITBUCKET_*", Verdict::Strip, HOSTING),
    row("GITEA_*", Verdict::Strip, HOSTING),
    row("FORGEJO_*", Verdict::Strip, HOSTING),
    row("GIT_CONFIG_COUNT", Verdict::Strip, HOSTING),
    row("GIT_CONFIG_KEY_*", Verdict::Strip, HOSTING),
    row("GIT_CONFIG_VALUE_*", Verdict::Strip, HOSTING),
    row("GIT_CONFIG_PARAMETERS", Verdict::Strip, HOSTING),
    row("AWS_*", Verdict::Strip, CLOUD),
    row("GOOGLE_APPLICATION_CREDENTIALS", Verdict::Strip, CLOUD),
    row("CLOUDSDK_*", Verdict::Strip, CLOUD),
    row("GCP_*", Verdict::Strip, CLOUD),
    row("AZURE_*", Verdict::Strip, CLOUD),
    row("ARM_*", Verdict::Strip, CLOUD),
    row("MODAL_*", Verdict::Strip, CLOUD),
    row("DAYTONA_*", Verdict::Strip, CLOUD),
    row("E2B_*", Verdict::Strip, CLOUD),
    row("DIGITALOCEAN_*", Verdict::Strip, CLOUD),
    row("CLOUDFLARE_*", Verdict::Strip, CLOUD),
    row("CF_API_*", Verdict::Strip, CLOUD),
    row("FLY_*", Verdict::Strip, CLOUD),
    row("HEROKU_*", Verdict::Strip, CLOUD),
    row("VERCEL_*", Verdict::Strip, CLOUD),
    row("NETLIFY_*", Verdict::Strip, CLOUD),
    row("HCLOUD_*", Verdict::Strip, CLOUD),
    row("LINODE_*", Verdict::Strip, CLOUD),
    row("RAILWAY_*", Verdict::Strip, CLOUD),
    row("SUPABASE_*", Verdict::Strip, CLOUD),
    row("PULUMI_*", Verdict::Strip, CLOUD),
    row("TF_VAR_*", Verdict::Strip, CLOUD),
    row("TF_TOKEN_*", Verdict::Strip, CLOUD),
    row("VAULT_*", Verdict::Strip, CLOUD),
    row("DOPPLER_*", Verdict::Strip, CLOUD),
    row("OP_*", Verdict::Strip, CLOUD),
    row("BW_*", Verdict::Strip, CLOUD),
    row("KUBECONFIG", Verdict::Strip, CLOUD),
    row("DOCKER_AUTH_CONFIG", Verdict::Strip, CLOUD),
    row("NPM_TOKEN", Verdict::Strip, PACKAGES),
    row("NODE_AUTH_TOKEN", Verdict::Strip, PACKAGES),
    row("NPM_CONFIG_*AUTH*", Verdict::Strip, PACKAGES),
    row("CARGO_REGISTRY_*", Verdict::Strip, PACKAGES),
    row("CARGO_REGISTRIES_*_TOKEN", Verdict::Strip, PACKAGES),
    row("PYPI_*", Verdict::Strip, PACKAGES),
    row("TWINE_*", Verdict::Strip, PACKAGES),
    row("UV_PUBLISH_*", Verdict::Strip, PACKAGES),
    row("POETRY_PYPI_*", Verdict::Strip, PACKAGES),
    row("POETRY_HTTP_BASIC_*", Verdict::Strip, PACKAGES),
    row("GEM_HOST_API_KEY", Verdict::Strip, PACKAGES),
    row("NUGET_*", Verdict::Strip, PACKAGES),
    row("*DATABASE_URL*", Verdict::Strip, DATABASE),
    row("*%DSN%*", Verdict::Strip, DATABASE),
    row("*CONNECTION_STRING*", Verdict::Strip, DATABASE),
    row("PGPASSWORD", Verdict::Strip, DATABASE),
    row("PGPASSFILE", Verdict::Strip, DATABASE),
    row("PGSERVICEFILE", Verdict::Strip, DATABASE),
    row("MYSQL_PWD", Verdict::Strip, DATABASE),
    row("REDIS_URL", Verdict::Strip, DATABASE),
    row("MONGO*_UR*", Verdict::Strip, DATABASE),
    row("SSH_AUTH_SOCK", Verdict::Strip, AGENT),
    row("SSH_AGENT_PID", Verdict::Strip, AGENT),
    row("GPG_AGENT_INFO", Verdict::Strip, AGENT),
    row("KRB5CCNAME", Verdict::Strip, AGENT),
    row("GIT_ASKPASS", Verdict::Strip, AGENT),
    row("SSH_ASKPASS", Verdict::Strip, AGENT),
    row("VSCODE_GIT_*", Verdict::Strip, AGENT),
    row("ACTIONS_*", Verdict::Strip, CI),
    row("CI_JOB_*", Verdict::Strip, CI),
    row("SYSTEM_ACCESSTOKEN", Verdict::Strip, CI),
    row("NOTIFY_SOCKET", Verdict::Strip, MANAGER),
    row("LISTEN_FDS", Verdict::Strip, MANAGER),
    row("LISTEN_PID", Verdict::Strip, MANAGER),
    row("LISTEN_FDNAMES", Verdict::Strip, MANAGER),
    row("WATCHDOG_*", Verdict::Strip, MANAGER),
    row("CREDENTIALS_DIRECTORY", Verdict::Strip, MANAGER),
    row("MAX_*TOKENS", Verdict::Keep, HARMLESS),
    row("*_MAX_*TOKENS", Verdict::Keep, HARMLESS),
    row("*%BYPASS", Verdict::Keep, HARMLESS),
    row("*%COMPASS", Verdict::Keep, HARMLESS),
    row("*_KEY_BINDING*", Verdict::Keep, HARMLESS),
    row("*TOKEN%*", Verdict::Strip, GENERIC),
    row("*TOKENS%*", Verdict::Strip, GENERIC),
    row("*SECRET*", Verdict::Strip, GENERIC),
    row("*PASSWORD*", Verdict::Strip, GENERIC),
    row("*PASSWD*", Verdict::Strip, GENERIC),
    row("*PASSPHRASE*", Verdict::Strip, GENERIC),
    row("*PASSCODE*", Verdict::Strip, GENERIC),
    row("*PASS%*", Verdict::Strip, GENERIC),
    row("*_PWD%*", Verdict::Strip, GENERIC),
    row("*%PAT%*", Verdict::Strip, GENERIC),
    row("*APIKEY*", Verdict::Strip, GENERIC),
    row("*PRIVKEY*", Verdict::Strip, GENERIC),
    row("*_KEY%*", Verdict::Strip, GENERIC),
    row("*_KEYS%*", Verdict::Strip, GENERIC),
    row("*CREDENTIAL*", Verdict::Strip, GENERIC),
    row("*%CRED%*", Verdict::Strip, GENERIC),
    row("*%CREDS%*", Verdict::Strip, GENERIC),
    row("*%JWT%*", Verdict::Strip, GENERIC),
    row("*%BEARER%*", Verdict::Strip, GENERIC),
    row("*AUTHORIZATION*", Verdict::Strip, GENERIC),
    row("*AUTH%*", Verdict::Strip, GENERIC),
    row("*COOKIE*", Verdict::Strip, GENERIC),
    row("*WEBHOOK*", Verdict::Strip, GENERIC),
];

/// What such names hold is secret also where codex gets it: the generic rows would withhold `OPENAI_API_KEY` as well, if
/// no earlier row kept it.
const SECRET_REASONS: [&str; 3] = [NETWORK, DATABASE, GENERIC];

/// Whether the value of a variable of this name is never shown, also if codex gets it.
pub(super) fn is_secret(name: &[u8]) -> bool {
    let mut rows = ROWS.iter().filter(|row| SECRET_REASONS.contains(&row.reason));
    rows.any(|row| matches(row.pattern.as_bytes(), name))
}

pub(super) fn first_match(name: &[u8]) -> Option<&'static Row> {
    let mut rows = ROWS.iter();
    rows.find(|row| matches(row.pattern.as_bytes(), name))
}

/// The rows as the page shows them: neighbours with the same verdict and reason share a line.
#[cfg(test)]
pub(super) fn as_markdown() -> String {
    let mut text = String::from("| names | codex | why |\n|---|---|---|\n");
    for rows in ROWS.chunk_by(|a, b| (a.verdict, a.reason) == (b.verdict, b.reason)) {
        let names: Vec<String> = rows.iter().map(|row| format!("`{}`", row.pattern)).collect();
        let verdict = match rows[0].verdict {
            Verdict::Keep => "gets it",
            Verdict::Strip => "does not",
            Verdict::Own => "never",
        };
        text += &format!("| {} | {verdict} | {} |\n", names.join(" "), rows[0].reason);
    }
    text
}

const fn row(pattern: &'static str, verdict: Verdict, reason: &'static str) -> Row {
    Row { pattern, verdict, reason }
}
