//! Output a screen at a time: when the screen is full, a key decides how to go on.
//!
//! The pager counts rows of the screen, not objects: a tall object is paged as well, and a line that wraps counts for
//! the rows that it takes. Keys are read one byte at a time, so what is typed ahead of the end is left for the prompt.

use std::io::{self, Write};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use unicode_width::UnicodeWidthStr;

use super::out::Out;
use crate::shell::error::ShellError;
use crate::shell::interrupt;

/// The longest wait for the rest of a key that sends several bytes, in nanoseconds.
const REST_OF_KEY: i64 = 20_000_000;

/// The longest wait of a Ctrl-C that comes just before the wait for a key begins, and so does not end it, in
/// nanoseconds.
const BETWEEN_LOOKS: i64 = 50_000_000;

/// The state of one listing.
pub(crate) struct Pager {
    /// Columns and rows of the screen; none without a terminal, where everything is printed.
    screen: Option<(usize, usize)>,
    /// Rows until the screen is full.
    room: usize,
}

/// The user's answer after a full screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Page,
    Line,
    Stop,
}

impl Pager {
    /// Returns a pager for a screen of these columns and rows, or one that never stops.
    pub(crate) fn new(screen: Option<(usize, usize)>) -> Pager {
        Pager {
            screen,
            room: screen.map_or(usize::MAX, page),
        }
    }

    /// Prints a line, `text` as `painted`; before that, if the screen is full, asks whether to go on. `shown` is the
    /// number of objects that are out. Returns false, with the line not printed, if the user has seen enough.
    pub(crate) fn line(
        &mut self,
        out: &Out,
        text: &str,
        painted: &str,
        shown: usize,
    ) -> Result<bool, ShellError> {
        if let Some(screen) = self.screen {
            let rows = rows(text, screen.0);
            if rows > self.room && self.room < page(screen) {
                match ask(shown)? {
                    Answer::Page => self.room = page(screen),
                    Answer::Line => self.room = rows,
                    Answer::Stop => return Ok(false),
                }
            }
            self.room = self.room.saturating_sub(rows);
        }
        out.line(painted)?;
        Ok(true)
    }
}

/// Rows of output on a screen, beside the one with the question.
fn page((_, height): (usize, usize)) -> usize {
    height.saturating_sub(1).max(1)
}

/// Rows of the screen that a line takes.
fn rows(text: &str, width: usize) -> usize {
    text.width().div_ceil(width.max(1)).max(1)
}

/// Asks whether to go on; the question disappears with the answer.
fn ask(shown: usize) -> Result<Answer, ShellError> {
    let _keys = KeyMode::enter()?;
    let mut out = io::stdout();
    write!(
        out,
        "-- {shown} shown; Space: next page, Enter: next line, q: stop --"
    )?;
    out.flush()?;
    let answer = loop {
        if let Some(answer) = answer()? {
            break answer;
        }
    };
    write!(out, "\r\x1b[K")?;
    out.flush()?;
    Ok(answer)
}

/// Returns the meaning of the next key; none if it has no meaning here.
fn answer() -> Result<Option<Answer>, ShellError> {
    wait(None)?;
    let key = match read_byte()? {
        None => return Ok(Some(Answer::Stop)),
        Some(0x1b) => return escape_sequence(),
        Some(key) => key,
    };
    Ok(match key {
        b' ' | b'f' => Some(Answer::Page),
        b'\r' | b'\n' | b'j' => Some(Answer::Line),
        // Ctrl-D as well.
        b'q' | b'Q' | 0x04 => Some(Answer::Stop),
        _ => None,
    })
}

/// Returns the meaning of a key whose first byte was Escape: Page Down, Down, or Escape itself.
fn escape_sequence() -> Result<Option<Answer>, ShellError> {
    let mut sequence = Vec::new();
    while wait(Some(REST_OF_KEY))? {
        let Some(byte) = read_byte()? else { break };
        sequence.push(byte);
        // The last byte of a sequence that begins with `[`, or with `O`, whose last byte is its second.
        if sequence.len() > 1 && (0x40..=0x7e).contains(&byte) {
            break;
        }
    }
    Ok(match &sequence[..] {
        [] => Some(Answer::Stop),
        b"[6~" => Some(Answer::Page),
        b"[B" | b"OB" => Some(Answer::Line),
        _ => None,
    })
}

/// Waits for input or Ctrl-C; a blocking read would see Ctrl-C after the next key only. Returns whether there is input
/// before `nanoseconds` have passed.
fn wait(nanoseconds: Option<i64>) -> Result<bool, ShellError> {
    let stdin = io::stdin();
    let timeout = Timespec {
        tv_sec: 0,
        tv_nsec: nanoseconds.unwrap_or(BETWEEN_LOOKS),
    };
    loop {
        interrupt::check()?;
        let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut polled, Some(&timeout)) {
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(ShellError::Output(e.into())),
            Ok(0) if nanoseconds.is_none() => {}
            Ok(ready) => return Ok(ready > 0),
        }
    }
}

/// Reads one byte from the terminal, past the buffers of the standard library; none at the end of input.
fn read_byte() -> Result<Option<u8>, ShellError> {
    let mut byte = [0];
    let read = rustix::io::retry_on_intr(|| rustix::io::read(io::stdin(), &mut byte))
        .map_err(io::Error::from)?;
    Ok((read == 1).then_some(byte[0]))
}

/// A terminal that hands keys over one by one and does not show them; as before when it is dropped.
struct KeyMode {
    before: Termios,
}

impl KeyMode {
    fn enter() -> io::Result<KeyMode> {
        let before = tcgetattr(io::stdin())?;
        let mut modes = before.clone();
        modes
            .local_modes
            .remove(LocalModes::ICANON | LocalModes::ECHO);
        modes.special_codes[SpecialCodeIndex::VMIN] = 1;
        modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(io::stdin(), OptionalActions::Now, &modes)?;
        Ok(KeyMode { before })
    }
}

impl Drop for KeyMode {
    fn drop(&mut self) {
        // Nothing can be done about a terminal that has gone.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_and_wide_lines_count_their_rows() {
        assert_eq!(rows("", 80), 1);
        assert_eq!(rows(&"x".repeat(80), 80), 1);
        assert_eq!(rows(&"x".repeat(81), 80), 2);
        assert_eq!(rows(&"界".repeat(41), 80), 2);
    }
}
