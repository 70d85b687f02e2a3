//! Progress of long loads and saves: what was done, the rate, the time left.
//!
//! Drawn on stderr and only on a terminal, so that scripts and pipes see results alone.

use std::fmt::Write;

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// A bar over bytes of a file or over objects.
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Starts a bar for `total` bytes.
    pub(crate) fn bytes(what: &str, total: u64) -> Progress {
        let style = "{prefix} {bar:24} {percent:>3}% {bytes}/{total_bytes} at {bytes_per_sec}, {eta} left, {msg}";
        Progress::new(what, total, style)
    }

    /// Starts a bar for `total` objects.
    pub(crate) fn objects(what: &str, total: u64) -> Progress {
        let style =
            "{prefix} {bar:24} {percent:>3}% {human_pos}/{human_len} objects at {rate}, {eta} left";
        Progress::new(what, total, style)
    }

    fn new(what: &str, total: u64, style: &str) -> Progress {
        let bar =
            ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(10));
        bar.set_style(
            ProgressStyle::with_template(style)
                .unwrap_or_else(|_| ProgressStyle::default_bar())
                .with_key("rate", rate),
        );
        bar.set_prefix(what.to_owned());
        Progress { bar }
    }

    /// Says how far along the total it is and how many objects came of it.
    pub(crate) fn at(&self, position: u64, objects: u64) {
        self.bar.set_position(position);
        self.bar.set_message(format!("{objects} objects"));
    }
}

/// Writes the number of objects a second, without a fraction.
fn rate(state: &ProgressState, out: &mut dyn Write) {
    // The bar has no way to take an error.
    let _ = write!(out, "{}/s", HumanCount(state.per_sec() as u64));
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
