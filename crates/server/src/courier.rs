//! Carries notifications over HTTP: webhooks and chats. The engine says what is to be told and when; here is how.
//!
//! Start reading at [`Post`]; `letter` is what a service wants to get, `road` how it gets there and where it never goes,
//! `webhook` and `chat` are the services, `judge` what chats answer, `address` says which addresses are public.

mod address;
mod chat;
mod judge;
mod letter;
mod road;
mod secret;
#[cfg(test)]
mod tests;
mod webhook;

pub use road::RoadError;
pub use secret::{Fetch, Place, Reveal};

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ostler_engine::{Courier, Sending};
use ostler_model::Notification;
use ostler_model::notification::{Outcome, is_address};

use letter::Letter;
use road::Road;

/// Where a target of the configuration is, and how it is spoken to.
#[derive(Debug, Clone)]
pub struct Route {
    pub service: Service,
    /// A name may stand for an address of a private network: the operator says so.
    pub private: bool,
}

#[derive(Debug, Clone)]
pub enum Service {
    /// Without a secret it is not signed.
    Webhook {
        url: Place,
        secret: Option<Reveal>,
    },
    /// An incoming webhook, which has its own channel.
    SlackHook {
        url: Place,
    },
    SlackBot {
        server: Option<String>,
        token: Reveal,
        channel: String,
    },
    Telegram {
        server: Option<String>,
        token: Reveal,
        chat: String,
    },
    Feishu {
        url: Place,
        secret: Option<Reveal>,
    },
    Ntfy {
        server: Option<String>,
        token: Option<Reveal>,
        topic: String,
    },
}

/// All that can be carried.
#[derive(Debug)]
pub struct Post {
    routes: BTreeMap<String, Route>,
    road: Arc<Road>,
}

impl Post {
    pub fn new(routes: BTreeMap<String, Route>) -> Result<Self, RoadError> {
        Ok(Self { routes, road: Arc::new(Road::new()?) })
    }

    /// Of the configuration, or the address that a task brought: nobody has vouched for that one, and there is no secret for it.
    fn route(&self, target: &str) -> Option<Route> {
        let own = self.routes.get(target).cloned();
        own.or_else(|| {
            is_address(target).then(|| Route {
                service: Service::Webhook { url: Place::Known(target.to_owned()), secret: None },
                private: false,
            })
        })
    }

    fn is_of_the_operator(&self, target: &str) -> bool {
        self.routes.contains_key(target)
    }
}

impl Courier for Post {
    fn carry(&self, notification: Notification) -> BoxFuture<'static, Outcome> {
        let road = self.road.clone();
        let route = self.route(&notification.target);
        let is_own = self.is_of_the_operator(&notification.target);
        Box::pin(async move {
            let Some(route) = route else {
                let why = format!("the configuration has no target {}", notification.target);
                return Outcome::NoTarget { why };
            };
            match Letter::write(&route.service, &notification).await {
                Ok(letter) => road.send(letter, is_own, route.private).await,
                // A file or a variable can be put right while it waits.
                Err(why) => Outcome::Failed { why, retry_after_ms: None },
            }
        })
    }

    fn preview(&self, notification: &Notification) -> Result<Sending, String> {
        let route = self.route(&notification.target);
        let route = route.ok_or_else(|| "the configuration has no such target".to_owned())?;
        Ok(letter::preview(&route.service, notification))
    }

    fn check(&self, target: &str) -> Result<(), String> {
        address::check_brought(target)
    }
}
