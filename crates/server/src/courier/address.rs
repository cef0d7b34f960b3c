//! Which addresses are anybody's, and which are of a machine or a network that trusts whoever is in it.

use std::net::IpAddr;

use ostler_model::addresses::not_public;
use reqwest::Url;

pub(super) fn is_public(address: IpAddr) -> bool {
    not_public(address).is_none()
}

/// The address of a host that is written as a number. The parser has made one form of all that there are: `0x7f.1` is
/// `127.0.0.1`.
fn host_ip(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// Whether the operator who wrote this address has named a private one by it.
pub(super) fn names_itself(url: &Url) -> bool {
    url.host_str() == Some("localhost") || host_ip(url).is_some()
}

/// Whether the host is written as a number, and as one that is not public.
pub(super) fn is_private_number(url: &Url) -> bool {
    host_ip(url).is_some_and(|address| !is_public(address))
}

/// An address that a task brings: whoever starts tasks must not make the daemon knock where they could not knock themselves.
pub(super) fn check_brought(address: &str) -> Result<(), String> {
    let shown = format!("{address:?}");
    let url = Url::parse(address).map_err(|error| format!("{shown} is no address: {error}"))?;
    if url.scheme() != "https" {
        return Err(format!("{shown} is not https, so that others could read what is told"));
    }
    if !url.username().is_empty()
        || url.password().is_some()
        || url.query().is_some()
        || url.fragment().is_some()
    {
        return Err(
            "an address with a login, a ? or a # may have a secret in it, and it is written down with the task; name a \
             [notify.NAME] section instead"
                .to_owned(),
        );
    }
    if is_private_number(&url) || url.host_str() == Some("localhost") {
        return Err(format!(
            "{shown} is not public; only the operator may name such an address, in a [notify.NAME] section"
        ));
    }
    Ok(())
}
