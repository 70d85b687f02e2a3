//! Several processes: this test program starts itself again as a child that takes commands over a pipe.
//!
//! Dying and stopping at a step needs the failpoints, which only builds with debug assertions have.

mod child;
mod count;
mod fork;
#[cfg(debug_assertions)]
mod grow;
#[cfg(debug_assertions)]
mod kill;
mod model;
#[cfg(debug_assertions)]
mod moves;
#[path = "../names/mod.rs"]
mod names;
mod reader;
mod starve;
#[cfg(debug_assertions)]
mod stop;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use fyris_segment::{Options, Tracking};

pub(crate) use names::Name;

/// Says to a child which segment to use; without it the test `child_main` does nothing.
const NAME: &str = "FYRIS_SEGMENT_TEST_CHILD";

/// Not a test: what a child runs.
#[test]
fn child_main() {
    if let Ok(name) = std::env::var(NAME) {
        child::run(&name);
    }
}

/// Returns the options for a word, so that they can be passed to a child.
pub(crate) fn options(word: &str) -> Options {
    let tracking = match word {
        "signal" => Tracking::Signal,
        "userfault" => Tracking::Userfault,
        "declared" => Tracking::Declared,
        _ => Tracking::Auto,
    };
    Options::new()
        .tracking(tracking)
        .in_place(word == "in_place")
}

/// A child process with a checkout.
pub(crate) struct Peer {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Peer {
    pub(crate) fn new(name: &str, tracking: &str) -> Peer {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["child_main", "--exact", "--nocapture", "--test-threads=1"])
            .env(NAME, format!("{name} {tracking}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let from = BufReader::new(child.stdout.take().unwrap());
        Peer {
            to: child.stdin.take(),
            from,
            child,
        }
    }

    /// Sends a command and returns the answer; `None` if the child has died.
    pub(crate) fn ask(&mut self, command: &str) -> Option<String> {
        self.tell(command);
        self.answer()
    }

    /// Sends a command.
    pub(crate) fn tell(&mut self, command: &str) {
        // A dead child is noticed when it does not answer.
        if let Some(to) = &mut self.to {
            let _ = writeln!(to, "{command}");
        }
    }

    /// Returns the next answer; `None` if the child has died.
    pub(crate) fn answer(&mut self) -> Option<String> {
        let mut line = String::new();
        loop {
            line.clear();
            if self.from.read_line(&mut line).unwrap_or(0) == 0 {
                return None;
            }
            // Lines of the test harness do not have this mark.
            if let Some((_, answer)) = line.split_once('>') {
                return Some(answer.trim().to_owned());
            }
        }
    }

    #[cfg(debug_assertions)]
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
    }

    pub(crate) fn pid(&self) -> i32 {
        self.child.id() as i32
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.to = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
