//! CSV: a header line, then rows; comma, semicolon or tab (the one the header has most of).

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use csv::{ByteRecord, Reader, ReaderBuilder};
use fyris_term::Term;

use super::error::ShellError;
use super::infer::ColumnType;
use super::rows::{RowSource, Schema, Ticker};

/// The longest header line that is looked at for the separator, in bytes.
const HEADER_LIMIT: u64 = 1 << 16;

/// A CSV file.
pub(crate) struct CsvFile {
    path: PathBuf,
}

impl CsvFile {
    /// The file at `path`; nothing is read yet.
    pub(crate) fn new(path: &Path) -> CsvFile {
        CsvFile {
            path: path.to_owned(),
        }
    }

    fn io(&self, source: std::io::Error) -> ShellError {
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
        let file = File::open(&self.path).map_err(|e| self.io(e))?;
        let mut header = Vec::new();
        let mut limited = std::io::Read::take(BufReader::new(file), HEADER_LIMIT);
        limited
            .read_until(b'\n', &mut header)
            .map_err(|e| self.io(e))?;
        let count = |sep: u8| header.iter().filter(|&&b| b == sep).count();
        Ok([b',', b';', b'\t']
            .into_iter()
            .rev()
            .max_by_key(|&sep| count(sep))
            .unwrap_or(b','))
    }

    fn reader(&self) -> Result<Reader<File>, ShellError> {
        let separator = self.separator()?;
        let file = File::open(&self.path).map_err(|e| self.io(e))?;
        Ok(ReaderBuilder::new().delimiter(separator).from_reader(file))
    }

    /// Reads every record after the header.
    fn each(
        &self,
        ticker: &mut Ticker,
        mut row: impl FnMut(&[String], &ByteRecord) -> Result<(), ShellError>,
    ) -> Result<Vec<String>, ShellError> {
        let mut reader = self.reader()?;
        let header = reader.byte_headers().map_err(|e| self.bad(1, e))?.clone();
        let names: Vec<String> = header
            .iter()
            .map(|name| String::from_utf8_lossy(name).trim().to_owned())
            .collect();
        let mut record = ByteRecord::new();
        while reader
            .read_byte_record(&mut record)
            .map_err(|e| self.csv_error(&e))?
        {
            row(&names, &record)?;
            ticker.row(reader.position().byte())?;
        }
        Ok(names)
    }

    fn csv_error(&self, error: &csv::Error) -> ShellError {
        let line = error.position().map_or(0, csv::Position::line);
        match error.kind() {
            csv::ErrorKind::UnequalLengths {
                expected_len, len, ..
            } => self.bad(
                line,
                format!("{len} fields, but the header has {expected_len}"),
            ),
            _ => self.bad(line, error),
        }
    }

    fn field<'r>(&self, record: &'r ByteRecord, i: usize) -> Result<&'r str, ShellError> {
        let line = record.position().map_or(0, csv::Position::line);
        std::str::from_utf8(&record[i])
            .map_err(|e| self.bad(line, format!("field {} is not UTF-8: {e}", i + 1)))
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
        })
    }

    fn rows(
        &self,
        schema: &Schema,
        ticker: &mut Ticker,
        row: &mut dyn FnMut(Vec<Term>) -> Result<(), ShellError>,
    ) -> Result<(), ShellError> {
        self.each(ticker, |_, record| {
            let kinds = schema.types.iter().take(record.len()).enumerate();
            let terms = kinds
                .map(|(i, kind)| Ok(kind.unwrap_or_default().term(self.field(record, i)?)))
                .collect::<Result<Vec<_>, ShellError>>()?;
            row(terms)
        })?;
        Ok(())
    }
}
