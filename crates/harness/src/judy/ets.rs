//! The real `ets` in the programs of the suite `judy`.

use fyris::TableType;

use super::{JudyCase, Pass};
use crate::error::BenchError;
use crate::escript::{Escript, strange};
use crate::report::Memory;

const SCRIPT: &str = include_str!("ets.escript");

/// Nanoseconds of processor time that are told apart from their neighbours.
const ENOUGH: f64 = 10_000_000.0;

/// The process.
pub(super) struct JudyEts(Escript);

impl JudyEts {
    /// Starts Erlang; returns `None` where there is no `escript`.
    pub(super) fn start() -> Result<Option<JudyEts>, BenchError> {
        Ok(Escript::start("judy", SCRIPT)?.map(JudyEts))
    }

    /// Runs every program `repeats` times, each time over fresh tables; returns the sums of the times.
    pub(super) fn pass(
        &mut self,
        table_type: TableType,
        n: usize,
        repeats: usize,
    ) -> Result<Pass, BenchError> {
        let numbers = self.ask(&format!(
            "{{pass, {}, {n}, {repeats}}}",
            table_type.as_str()
        ))?;
        let (times, checked) = numbers.split_at(numbers.len().min(2 * JudyCase::TIMED));
        if times.len() != 2 * JudyCase::TIMED || checked.len() != JudyCase::TIMED {
            return Err(strange(&format!("{numbers:?}")));
        }
        if let Some(at) = checked
            .iter()
            .position(|count| *count != (n * repeats) as f64)
        {
            let (name, count) = (JudyCase::ALL[at].name(), checked[at]);
            return Err(BenchError::WrongAnswer(format!(
                "ets, {name}: {count} keys of {n}"
            )));
        }
        let mut pass = Pass::default();
        for (time, of) in pass.iter_mut().zip(times.chunks(2)) {
            // Erlang counts processor time in milliseconds: too few of them say nothing.
            *time = (of[0], if of[1] < ENOUGH { of[0] } else { of[1] });
        }
        Ok(pass)
    }

    /// Returns the memory of a table by its own account, which is all there is of it.
    pub(super) fn memory(&mut self, table_type: TableType, n: usize) -> Result<Memory, BenchError> {
        match self.ask(&format!("{{memory, {}, {n}}}", table_type.as_str()))?[..] {
            [bytes] => Ok(Memory {
                bytes_per_entry: bytes / n as f64,
                rss_per_entry: bytes / n as f64,
            }),
            _ => Err(strange("more numbers, or fewer")),
        }
    }

    fn ask(&mut self, what: &str) -> Result<Vec<f64>, BenchError> {
        let answer = self.0.ask(what)?;
        let numbers: Result<Vec<f64>, _> = answer.split(' ').map(str::parse).collect();
        numbers.map_err(|_| strange(&answer))
    }
}
