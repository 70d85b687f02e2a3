//! The cases of the suite `ets_bench`: the phases of the papers' benchmark, each a case of `core`.

use crate::args::BenchArgs;
use crate::core::case::Case;

/// Name and case, in the order of a pass: filled, mixed, looked up, emptied.
pub(super) const PHASES: [(&str, Case); 7] = [
    ("insert", Case::Insert),
    ("mix50", Case::Mix50),
    ("mix80", Case::Mix80),
    ("mix90", Case::Mix90),
    ("mix99", Case::Mix99),
    ("mix100", Case::Lookup),
    ("delete", Case::Delete),
];

/// The number of keys from which on insertion and deletion are timed: with fewer they are over too soon.
const TIMED_FROM: u32 = 14;

/// Returns the cases that are timed of a table with keys below two to the power of `bits`.
pub(super) fn wanted(args: &BenchArgs, bits: u32) -> Vec<Case> {
    let is_timed = |case| bits >= TIMED_FROM || !matches!(case, Case::Insert | Case::Delete);
    let wanted = PHASES
        .into_iter()
        .filter(|(name, case)| args.wants_case(name) && is_timed(*case));
    wanted.map(|(_, case)| case).collect()
}

/// Returns the cases that must run for the wanted ones to be possible.
pub(super) fn needed(wanted: &[Case]) -> Vec<Case> {
    let all = PHASES.into_iter().map(|(_, case)| case);
    all.filter(|case| *case == Case::Insert || wanted.contains(case))
        .collect()
}

/// Returns the name of a case in this suite.
pub(super) fn name(case: Case) -> &'static str {
    let phase = PHASES.into_iter().find(|(_, of)| *of == case);
    phase.map_or("", |(name, _)| name)
}
