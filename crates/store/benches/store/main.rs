//! What storing costs, and whether answers take as long with much as with little. Ratios of one run; absolute figures are this
//! machine's. Each budget is told with its figure; a run that misses one by more than noise explains fails.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a benchmark speaks and fails by panicking"
)]

mod fill;
mod reading;
mod writing;

use std::time::{Duration, Instant};

fn main() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        writing::a_long_turn().await;
        writing::at_a_real_pace().await;
        writing::one_commit_beside_one_sync().await;
        reading::little_and_much().await;
    });
}

/// Tells a budget with its figure. True if the figure is within it.
pub(crate) fn tell(what: &str, figure: f64, most: f64, unit: &str, note: &str) -> bool {
    let verdict = if figure <= most { "ok    " } else { "MISSED" };
    println!("{verdict} {what}: {figure:.2} {unit} of {most} ({note})");
    figure <= most
}

/// Beside what is built, so that it is the same disk and nobody finds it among the sources.
pub(crate) fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Sorted samples.
pub(crate) struct Samples(Vec<Duration>);

impl Samples {
    pub(crate) async fn take(count: usize, mut sample: impl AsyncFnMut(usize)) -> Self {
        let mut samples = Vec::with_capacity(count);
        for number in 0..count {
            let begin = Instant::now();
            sample(number).await;
            samples.push(begin.elapsed());
        }
        Self::of(samples)
    }

    pub(crate) fn of(mut samples: Vec<Duration>) -> Self {
        samples.sort();
        Self(samples)
    }

    pub(crate) fn median_us(&self) -> f64 {
        self.at(50)
    }

    pub(crate) fn p99_us(&self) -> f64 {
        self.at(99)
    }

    fn at(&self, percent: usize) -> f64 {
        let sample = self.0.get(self.0.len() * percent / 100).unwrap();
        sample.as_secs_f64() * 1e6
    }
}
