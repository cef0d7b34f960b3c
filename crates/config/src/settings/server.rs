//! `[server]`: the page and the API for programs, over TCP.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::section::section;
use crate::value::Address;

section! {
    /// The page and the HTTP API over TCP, beside the daemon's own socket. Every request needs a token or a login, also on this
    /// machine; `ostler open` logs a browser in, `ostler token` makes tokens.
    Server = "server", _at;

    /// The address to listen on; `ostler serve --listen` beats it. Without it there is no TCP at all. Port 0 lets the system
    /// choose. An address that other machines reach needs a certificate.
    listen: Option<SocketAddr> = None;
    /// The names by which browsers reach it, beside `localhost` and the address itself, as they stand in the address bar, with the port
    /// unless it is the usual one: `"ostler.example.org"`, `"box:8137"`. A request for any other name is refused, and so is a page
    /// of any other origin.
    hosts: Vec<String> = vec![];
    /// The certificate with those above it, as PEM. With it only TLS is spoken.
    tls_certificate: Option<PathBuf> = None;
    /// The key of the certificate, as PEM.
    tls_key: Option<PathBuf> = None;
    /// Where people reach the page, for links in notifications. Without it they have none.
    public_url: Option<Address> = None;
    /// Whether a login or token with the scope `decide` also counts for a process of yours on this machine that cannot be looked at, such
    /// as an SSH tunnel or a browser in a container. The default is no: it could be a program that an agent has started.
    unseen_may_decide: bool = false;
}
