//! The cases that encode terms as key bytes.

use super::args::BenchArgs;
use super::case::Case;
use super::report::Line;

/// Times the encoding cases.
pub(super) fn run(_cases: &[Case], _args: &BenchArgs) -> Vec<Line> {
    Vec::new()
}
