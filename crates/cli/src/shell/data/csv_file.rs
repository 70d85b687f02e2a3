//! CSV: a header line unless there is none, then rows; comma, semicolon or tab (the one the first line has most of), or
//! another delimiter that is given. Without a header the columns are `c1`, `c2` and so on.
//!
//! The `csv` crate takes whatever comes. Two things are not taken here: a row of more than [`ROW_LIMIT`] bytes, and
//! a quote that is still open at the end of the file, which has swallowed every row behind it.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use csv::{ByteRecord, Position, ReaderBuilder};
use fyris_term::Term;

use super::infer::ColumnType;
use super::readings::Reading;
use super::rows::{ROW_LIMIT, RowSource, Schema, Ticker};
use crate::shell::error::ShellError;

/// The longest header line that is looked at for the separator, in bytes.
const HEADER_LIMIT: u64 = 1 << 16;

/// A CSV file.
pub(crate) struct CsvFile {
    path: PathBuf,
    delimiter: Option<u8>,
    has_header: bool,
}

impl CsvFile {
    /// Returns the file at `path`; nothing is read yet.
    pub(crate) fn new(path: &Path, delimiter: Option<u8>, has_header: bool) -> CsvFile {
        CsvFile {
            path: path.to_owned(),
            delimiter,
            has_header,
        }
    }

    fn io(&self, source: io::Error) -> ShellError {
        ShellError::Io {
            path: self.path.clone(),
            source,
        }
    }

    fn bad(&self, line: u64, problem: impl ToString) -> ShellError {
        ShellError::Data {
            path: self.path.clone(),
            place: format!("line {line}"),
            problem: problem.to_string(),
        }
    }

    fn separator(&self) -> Result<u8, ShellError> {
        if let Some(delimiter) = self.delimiter {
            return Ok(delimiter);
        }
        let file = File::open(&self.path).map_err(|e| self.io(e))?;
        let mut header = Vec::new();
        let mut limited = Read::take(BufReader::new(file), HEADER_LIMIT);
        limited
            .read_until(b'\n', &mut header)
            .map_err(|e| self.io(e))?;
        // Names that hold one stand in quotes.
        let outside = header.split(|&byte| byte == b'"').step_by(2);
        let outside: Vec<u8> = outside.flatten().copied().collect();
        let count = |sep: u8| outside.iter().filter(|&&b| b == sep).count();
        Ok([b',', b';', b'\t']
            .into_iter()
            .rev()
            .max_by_key(|&sep| count(sep))
            .unwrap_or(b','))
    }

    /// Reads every record, but for the header.
    fn each(
        &self,
        ticker: &mut Ticker,
        mut row: impl FnMut(&[String], &ByteRecord) -> Result<(), ShellError>,
    ) -> Result<Vec<String>, ShellError> {
        let separator = self.separator()?;
        let left = Cell::new(ROW_LIMIT);
        let file = File::open(&self.path).map_err(|e| self.io(e))?;
        let mut reader = ReaderBuilder::new()
            .delimiter(separator)
            .has_headers(self.has_header)
            .from_reader(Bounded { file, left: &left });
        let header = reader.byte_headers().map_err(|e| self.csv_error(1, &e))?;
        let names = if self.has_header {
            self.names(header)?
        } else {
            (1..=header.len()).map(|i| format!("c{i}")).collect()
        };
        let mut last = Position::new();
        let mut record = ByteRecord::new();
        while reader
            .read_byte_record(&mut record)
            .map_err(|e| self.csv_error(reader.position().line(), &e))?
        {
            left.set(ROW_LIMIT);
            row(&names, &record)?;
            ticker.row(reader.position().byte())?;
            last = record.position().cloned().unwrap_or(last);
        }
        match self.ends_in_quotes(last.byte(), separator) {
            Ok(false) => Ok(names),
            Ok(true) => Err(self.bad(last.line(), "a quote is opened and never closed")),
            Err(e) => Err(self.io(e)),
        }
    }

    fn names(&self, header: &ByteRecord) -> Result<Vec<String>, ShellError> {
        (0..header.len())
            .map(|i| Ok(self.field(header, i)?.trim().to_owned()))
            .collect()
    }

    /// Returns whether a quoted field is open at the end of the file, whose last row begins at byte `begin`.
    fn ends_in_quotes(&self, begin: u64, separator: u8) -> io::Result<bool> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(begin))?;
        let mut state = Quotes::FieldBegins;
        for byte in BufReader::new(file).bytes() {
            state = state.after(byte?, separator);
        }
        Ok(state == Quotes::Inside)
    }

    /// Returns an error of the `csv` crate, which knows the line of some; of others it is the one that was being read.
    fn csv_error(&self, line: u64, error: &csv::Error) -> ShellError {
        let line = error.position().map_or(line, Position::line);
        match error.kind() {
            csv::ErrorKind::UnequalLengths {
                expected_len, len, ..
            } => self.bad(
                line,
                format!("number of fields: {len}, in the first line: {expected_len}"),
            ),
            csv::ErrorKind::Io(e) => self.bad(line, e),
            _ => self.bad(line, error),
        }
    }

    fn field<'r>(&self, record: &'r ByteRecord, i: usize) -> Result<&'r str, ShellError> {
        let line = record.position().map_or(1, Position::line);
        std::str::from_utf8(&record[i]).map_err(|e| {
            let byte = e.valid_up_to() + 1;
            self.bad(line, format!("field {} is not UTF-8 at byte {byte}", i + 1))
        })
    }
}

/// A file of which only `left` bytes may be read before the caller allows more: this bounds the length of a row.
struct Bounded<'a> {
    file: File,
    left: &'a Cell<u64>,
}

impl Read for Bounded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left.get() == 0 {
            let problem = format!("the row is longer than {ROW_LIMIT} bytes");
            return Err(io::Error::other(problem));
        }
        let read = self.file.read(buffer)?;
        self.left.set(self.left.get().saturating_sub(read as u64));
        Ok(read)
    }
}

/// The state of quotes at a byte of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotes {
    FieldBegins,
    Outside,
    Inside,
    /// Behind a quote inside: the end of the field, or the first half of a doubled quote.
    MaybeOver,
}

impl Quotes {
    fn after(self, byte: u8, separator: u8) -> Quotes {
        match (self, byte) {
            (Quotes::Inside, b'"') => Quotes::MaybeOver,
            (Quotes::Inside, _) => Quotes::Inside,
            (Quotes::FieldBegins | Quotes::MaybeOver, b'"') => Quotes::Inside,
            (_, b'\n' | b'\r') => Quotes::FieldBegins,
            (_, byte) if byte == separator => Quotes::FieldBegins,
            _ => Quotes::Outside,
        }
    }
}

impl RowSource for CsvFile {
    fn schema(&self, ticker: &mut Ticker) -> Result<Schema, ShellError> {
        let mut types: Vec<ColumnType> = Vec::new();
        let names = self.each(ticker, |names, record| {
            types.resize(names.len(), ColumnType::Empty);
            for (i, kind) in types.iter_mut().enumerate() {
                *kind = kind.widen(self.field(record, i)?);
            }
            Ok(())
        })?;
        types.resize(names.len(), ColumnType::Empty);
        let types = types.into_iter().map(Some).collect();
        Ok(Schema {
            names,
            types,
            rows: ticker.count(),
            ..Schema::default()
        })
    }

    fn rows(
        &self,
        schema: &Schema,
        ticker: &mut Ticker,
        row: &mut dyn FnMut(Vec<Term>) -> Result<(), ShellError>,
    ) -> Result<(), ShellError> {
        self.each(ticker, |names, record| {
            let kinds = schema.types.iter().take(record.len()).enumerate();
            let terms = kinds.map(|(i, kind)| {
                let field = self.field(record, i)?;
                match schema.readings.of(i) {
                    Reading::Auto => Ok(kind.unwrap_or_default().term(field)),
                    reading => reading.field(field).map_err(|problem| {
                        let line = record.position().map_or(1, Position::line);
                        self.bad(line, format!("column {:?}: {problem}", names[i]))
                    }),
                }
            });
            row(terms.collect::<Result<Vec<_>, ShellError>>()?)
        })?;
        Ok(())
    }
}
