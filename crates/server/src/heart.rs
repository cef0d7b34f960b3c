//! Proof of life for a service manager's watchdog: it is told "alive" only when every loop that does work has gone round.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Interval, MissedTickBehavior, interval};

/// Whether anybody watches. Where nobody does, no loop is woken for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pulse {
    Every(Duration),
    Never,
}

/// All loops that must stay alive.
#[derive(Debug)]
pub struct Heart {
    pulse: Pulse,
    parts: Mutex<Vec<Part>>,
}

#[derive(Debug)]
struct Part {
    name: &'static str,
    has_beaten: Arc<AtomicBool>,
}

/// One loop's own: `() = beat.next() => {}` stands among what the loop waits for.
#[derive(Debug)]
pub struct Beat {
    has_beaten: Arc<AtomicBool>,
    interval: Option<Interval>,
}

impl Heart {
    pub fn new(pulse: Pulse) -> Self {
        Self { pulse, parts: Mutex::new(Vec::new()) }
    }

    /// Registers a loop, which counts as alive until it is first asked. Only inside a runtime.
    pub fn part(&self, name: &'static str) -> Beat {
        let has_beaten = Arc::new(AtomicBool::new(true));
        if let Ok(mut parts) = self.parts.lock() {
            parts.push(Part { name, has_beaten: has_beaten.clone() });
        }
        let interval = match self.pulse {
            Pulse::Never => None,
            Pulse::Every(period) => {
                let mut interval = interval(period);
                interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
                Some(interval)
            }
        };
        Beat { has_beaten, interval }
    }

    /// The loops that have not gone round since this was last asked.
    pub fn silent(&self) -> Vec<&'static str> {
        let Ok(parts) = self.parts.lock() else { return vec!["the heart itself"] };
        let silent = parts.iter().filter(|part| !part.has_beaten.swap(false, Ordering::Relaxed));
        silent.map(|part| part.name).collect()
    }
}

impl Beat {
    /// Waits for the next beat and gives it; where nobody watches this never ends.
    pub async fn next(&mut self) {
        match &mut self.interval {
            Some(interval) => {
                interval.tick().await;
                self.has_beaten.store(true, Ordering::Relaxed);
            }
            None => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_loop_that_stands_still_is_named() {
        let heart = Heart::new(Pulse::Every(Duration::from_millis(1)));
        let (mut first, _second) = (heart.part("first"), heart.part("second"));
        assert_eq!(heart.silent(), [""; 0]);
        assert_eq!(heart.silent(), ["first", "second"]);
        first.next().await;
        assert_eq!(heart.silent(), ["second"]);
    }
}
