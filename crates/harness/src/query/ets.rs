//! The real `ets` in the cases of the suite `query`: an Erlang process that is told what to do, where Erlang is
//! installed.

use fyris::TableType;

use super::case::QueryCase;
use super::fyris::QueryPass;
use super::kind::ObjectKind;
use crate::error::BenchError;
use crate::escript::{Escript, strange};

const SCRIPT: &str = include_str!("ets.escript");

/// Nanoseconds of processor time that are told apart from their neighbours.
const ENOUGH: usize = 10_000_000;

/// The process.
pub(super) struct QueryEts(Escript);

impl QueryEts {
    /// Starts Erlang; returns `None` where there is no `escript`.
    pub(super) fn start() -> Result<Option<QueryEts>, BenchError> {
        Ok(Escript::start("ets", SCRIPT)?.map(QueryEts))
    }

    /// Fills a table, in the place of the one before.
    pub(super) fn fill(
        &mut self,
        table_type: TableType,
        kind: ObjectKind,
        n: usize,
    ) -> Result<(), BenchError> {
        let (table_type, kind) = (table_type.as_str(), kind.word());
        match self.0.ask(&format!("{{new, {table_type}, {kind}, {n}}}"))? {
            answer if answer == "ok" => Ok(()),
            answer => Err(strange(&answer)),
        }
    }

    /// Does a case.
    pub(super) fn run(&mut self, case: QueryCase) -> Result<QueryPass, BenchError> {
        let answer = self.0.ask(&format!("{{run, {}}}", case.name()))?;
        let numbers: Result<Vec<usize>, _> = answer.split(' ').map(str::parse).collect();
        match numbers.as_deref() {
            Ok(&[wall, cpu, units, answer]) => Ok(QueryPass {
                wall: wall as f64,
                // Erlang counts processor time in milliseconds: too few of them say nothing.
                cpu: if cpu < ENOUGH { wall } else { cpu } as f64,
                units,
                answer,
            }),
            _ => Err(strange(&answer)),
        }
    }
}
