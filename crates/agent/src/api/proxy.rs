//! The proxy that providers and searches are asked through.

use reqwest::{NoProxy, Proxy};

/// This machine is never reached through a proxy, which may be another one, whatever anybody says.
const NEVER: &str = "localhost,127.0.0.0/8,::1";

/// A proxy, and who is asked without it. Neither is taken from the environment here: only `cli` reads that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThroughProxy {
    pub url: String,
    /// As `NO_PROXY` has it: names with all below them, addresses and networks, with commas between.
    pub not_for: String,
}

impl ThroughProxy {
    /// For a client. None if the URL is none.
    pub(crate) fn proxy(&self) -> Option<Proxy> {
        let not_for = format!("{NEVER},{}", self.not_for);
        Some(Proxy::all(&self.url).ok()?.no_proxy(NoProxy::from_string(&not_for)))
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::ThroughProxy;

    /// Answers every request with one header by which it is known.
    async fn server(name: &'static str) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = [0; 4096];
                if stream.read(&mut request).await.is_ok_and(|count| count > 0) {
                    let answer =
                        format!("HTTP/1.1 204 -\r\nwho: {name}\r\nconnection: close\r\n\r\n");
                    stream.write_all(answer.as_bytes()).await.unwrap();
                }
            }
        });
        address
    }

    #[tokio::test]
    async fn this_machine_and_who_is_named_are_reached_without_the_proxy() {
        let (proxy, direct) = (server("proxy").await, server("direct").await);
        let cases = [
            ("inn.example", "", "proxy"),
            ("inn.example", "other.example, 10.0.0.0/8", "proxy"),
            ("inn.example", "inn.example", "direct"),
            ("inn.example", "other.example, .example", "direct"),
            ("localhost", "", "direct"),
            ("127.0.0.1", "other.example", "direct"),
        ];
        for (host, not_for, wanted) in cases {
            let through =
                ThroughProxy { url: format!("http://{proxy}"), not_for: not_for.to_owned() };
            let client = reqwest::Client::builder()
                .no_proxy()
                .proxy(through.proxy().unwrap())
                .resolve("inn.example", direct)
                .resolve("localhost", direct)
                .build()
                .unwrap();
            let url = format!("http://{host}:{}/", direct.port());
            let answer = client.get(url).send().await.unwrap();
            assert_eq!(answer.headers().get("who").unwrap(), wanted, "{host} but {not_for:?}");
        }
    }
}
