//! The program on a terminal of its own, as a person at a keyboard has it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};

/// The longest wait before the test gives up.
const PATIENCE: Duration = Duration::from_secs(120);

/// Rows of the terminal.
pub(crate) const ROWS: u16 = 50;

/// Time between two looks.
const PAUSE: Duration = Duration::from_millis(100);

/// Time between two presses of Ctrl-C: enough for a command to say that it was interrupted.
const AGAIN: Duration = Duration::from_millis(500);

/// A process whose standard streams and whose controlling terminal are one pseudo-terminal.
pub(crate) struct Terminal {
    keyboard: File,
    shown: Receiver<Vec<u8>>,
    /// Output that was not waited for yet.
    text: String,
    child: Child,
}

impl Terminal {
    /// Starts a command on it.
    pub(crate) fn start(command: &mut Command) -> Terminal {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
        let keyboard = openpt(flags).expect("a pseudo-terminal");
        grantpt(&keyboard).expect("ours");
        unlockpt(&keyboard).expect("ours");
        let screen = ioctl_tiocgptpeer(&keyboard, flags).expect("its other side");
        let size = Winsize {
            ws_row: ROWS,
            ws_col: 200,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&keyboard, size).expect("a size");
        // Or Ctrl-C would also throw away what is about to be shown.
        let mut modes = tcgetattr(&keyboard).expect("a terminal");
        modes.local_modes |= LocalModes::NOFLSH;
        tcsetattr(&keyboard, OptionalActions::Now, &modes).expect("its modes");
        let copy = || OwnedFd::try_clone(&screen).expect("a copy");
        command.stdin(copy()).stdout(copy()).stderr(copy());
        // SAFETY: between fork and exec only two system calls are made, which are safe there.
        unsafe {
            command.pre_exec(|| {
                rustix::process::setsid()?;
                Ok(rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?)
            });
        }
        let child = command.spawn().expect("the program runs");
        let keyboard = File::from(keyboard);
        Terminal {
            shown: reader(keyboard.try_clone().expect("a copy")),
            keyboard,
            text: String::new(),
            child,
        }
    }

    /// Types a line, which is shown while it is typed, and enters it.
    pub(crate) fn enters(&mut self, line: &str) {
        self.types(line);
        self.types("\r");
        self.until("\n");
    }

    /// Types something.
    pub(crate) fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("it reads");
    }

    /// Waits until `end` is shown; what was shown before it.
    pub(crate) fn until(&mut self, end: &str) -> String {
        let start = Instant::now();
        loop {
            if let Some(found) = self.find(end) {
                return found;
            }
            self.look(PAUSE);
            assert!(start.elapsed() < PATIENCE, "no {end:?} in {:?}", self.text);
        }
    }

    /// Presses Ctrl-C while a command has the terminal, until `end` is shown. More than once: it may come before the
    /// command has begun.
    pub(crate) fn interrupts_until(&mut self, end: &str) -> String {
        let start = Instant::now();
        let mut pressed: Option<Instant> = None;
        loop {
            self.look(PAUSE);
            if let Some(found) = self.find(end) {
                return found;
            }
            // A line editor turns signals off and reads the key itself.
            let modes = tcgetattr(&self.keyboard).expect("a terminal").local_modes;
            let again = pressed.is_none_or(|at| at.elapsed() > AGAIN);
            if modes.contains(LocalModes::ISIG) && again {
                self.types("\x03");
                pressed = Some(Instant::now());
            }
            assert!(start.elapsed() < PATIENCE, "no {end:?} in {:?}", self.text);
        }
    }

    /// Waits for the end of the program.
    pub(crate) fn ends(mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("our child") {
                return status;
            }
            self.look(PAUSE);
            assert!(start.elapsed() < PATIENCE, "it goes on: {:?}", self.text);
        }
    }

    /// Takes in what is shown, which may be nothing for `time`.
    fn look(&mut self, time: Duration) {
        match self.shown.recv_timeout(time) {
            Ok(bytes) => self.text.push_str(&String::from_utf8_lossy(&bytes)),
            Err(RecvTimeoutError::Timeout) => {}
            // Its side is closed; only the end is waited for.
            Err(RecvTimeoutError::Disconnected) => thread::sleep(time),
        }
    }

    fn find(&mut self, end: &str) -> Option<String> {
        let at = self.text.find(end)?;
        let rest = self.text.split_off(at + end.len());
        let mut before = std::mem::replace(&mut self.text, rest);
        before.truncate(at);
        Some(before)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Hands on what is shown until the program has closed its side.
fn reader(mut screen: File) -> Receiver<Vec<u8>> {
    let (send, shown) = channel();
    thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = screen.read(&mut bytes) {
            if send.send(bytes[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    shown
}
