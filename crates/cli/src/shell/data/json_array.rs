//! The elements of a JSON array one by one, each as its text: memory holds one of them, however long the array is.

use std::io::{self, BufRead};

use super::rows::ROW_LIMIT;

/// Why there is no next element.
pub(super) enum Stop {
    /// The file could not be read.
    Io(io::Error),
    /// The line, and the problem there.
    Bad(u64, String),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Io(error)
    }
}

/// An array on its way through a reader.
pub(super) struct Elements<R> {
    reader: R,
    /// The line of the next byte, from 1.
    line: u64,
    /// Bytes that were read.
    pub(super) at: u64,
    /// Is the next element the first one?
    first: bool,
    /// Has the array been closed?
    over: bool,
}

/// Returns whether a file's first character that is no space opens an array.
pub(super) fn is_array(reader: &mut impl BufRead) -> io::Result<bool> {
    let mut first = true;
    loop {
        let bytes = reader.fill_buf()?;
        let text = match first {
            true => bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes),
            false => bytes,
        };
        match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(byte) => return Ok(*byte == b'['),
            None if bytes.is_empty() => return Ok(false),
            None => {
                let length = bytes.len();
                reader.consume(length);
                first = false;
            }
        }
    }
}

impl<R: BufRead> Elements<R> {
    /// Begins with the array of a file, which [`is_array`] has seen.
    pub(super) fn new(reader: R) -> Result<Elements<R>, Stop> {
        let mut elements = Elements {
            reader,
            line: 1,
            at: 0,
            first: true,
            over: false,
        };
        // Space, and the mark that some programs put at the beginning of a file.
        while elements.byte()?.is_some_and(|byte| byte != b'[') {}
        Ok(elements)
    }

    /// Reads the next element into `text`; returns the line where it begins, or none after the last one.
    pub(super) fn next(&mut self, text: &mut Vec<u8>) -> Result<Option<u64>, Stop> {
        text.clear();
        if self.over {
            return Ok(None);
        }
        let (mut depth, mut quoted, mut escaped) = (0usize, false, false);
        let mut begins = self.line;
        loop {
            let line = self.line;
            let Some(byte) = self.byte()? else {
                return Err(Stop::Bad(line, "the file ends inside the array".into()));
            };
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = quoted,
                b'"' => quoted = !quoted,
                _ if quoted => {}
                b',' if depth == 0 => break,
                b']' if depth == 0 => {
                    self.end()?;
                    if text.is_empty() && self.first {
                        return Ok(None);
                    }
                    break;
                }
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth -= 1,
                _ => {}
            }
            if text.is_empty() && byte.is_ascii_whitespace() {
                continue;
            }
            if text.is_empty() {
                begins = line;
            }
            if text.len() as u64 == ROW_LIMIT {
                let problem = format!("an element is longer than {ROW_LIMIT} bytes");
                return Err(Stop::Bad(begins, problem));
            }
            text.push(byte);
        }
        self.first = false;
        match text.is_empty() {
            true => Err(Stop::Bad(begins, "expected a JSON object".into())),
            false => Ok(Some(begins)),
        }
    }

    /// Takes note of the end of the array, which nothing but space may follow.
    fn end(&mut self) -> Result<(), Stop> {
        self.over = true;
        loop {
            let line = self.line;
            match self.byte()? {
                None => return Ok(()),
                Some(byte) if byte.is_ascii_whitespace() => {}
                Some(_) => return Err(Stop::Bad(line, "something follows the array".into())),
            }
        }
    }

    fn byte(&mut self) -> io::Result<Option<u8>> {
        let Some(&byte) = self.reader.fill_buf()?.first() else {
            return Ok(None);
        };
        self.reader.consume(1);
        self.at += 1;
        self.line += u64::from(byte == b'\n');
        Ok(Some(byte))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the elements with their lines, or the line and the problem.
    fn elements(text: &str) -> Result<Vec<(u64, String)>, (u64, String)> {
        assert!(is_array(&mut text.as_bytes()).expect("it is in memory"));
        let problem = |stop| match stop {
            Stop::Bad(line, problem) => (line, problem),
            Stop::Io(error) => panic!("{error}"),
        };
        let mut found = Vec::new();
        let mut elements = Elements::new(text.as_bytes()).map_err(problem)?;
        let mut bytes = Vec::new();
        while let Some(line) = elements.next(&mut bytes).map_err(problem)? {
            let text = String::from_utf8(bytes.clone()).expect("text");
            found.push((line, text.trim().to_owned()));
        }
        Ok(found)
    }

    #[test]
    fn elements_come_one_by_one() {
        let text = "\u{feff} [\n {\"a\": [1, {}]},\n\n  {\"b\": \"x,]\\\"\"} ]\n";
        let wanted = [(2, "{\"a\": [1, {}]}"), (4, "{\"b\": \"x,]\\\"\"}")];
        let wanted = wanted.map(|(line, text)| (line, text.to_owned()));
        assert_eq!(elements(text), Ok(wanted.to_vec()));
        assert_eq!(elements("[ ]"), Ok(Vec::new()));
        assert!(!is_array(&mut "{}".as_bytes()).expect("it is in memory"));
        assert!(!is_array(&mut " ".as_bytes()).expect("it is in memory"));
    }

    #[test]
    fn problems_have_a_line() {
        for (text, line, problem) in [
            ("[\n{},", 2, "the file ends inside the array"),
            ("[{}\n,]", 2, "expected a JSON object"),
            ("[,{}]", 1, "expected a JSON object"),
            ("[{}]\n {}", 2, "something follows the array"),
        ] {
            assert_eq!(elements(text), Err((line, problem.to_owned())), "{text}");
        }
    }
}
