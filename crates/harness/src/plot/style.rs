//! The colours: those of Okabe and Ito, which people with any colour vision tell apart.

use plotters::style::RGBColor;

/// The palette, the colours that stand out on white first.
const PALETTE: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(213, 94, 0),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
    RGBColor(240, 228, 66),
];

/// Returns the colour of a row.
pub(super) fn color(row: usize) -> RGBColor {
    PALETTE[row % PALETTE.len()]
}

/// Returns a colour that is seen on a bar of the row and beside it.
pub(super) fn ink(row: usize) -> RGBColor {
    match color(row) {
        RGBColor(0, 0, 0) => RGBColor(140, 140, 140),
        _ => RGBColor(0, 0, 0),
    }
}

/// The form of a row's mark, which tells rows of one colour apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A full line and discs, or full bars.
    Disc,
    /// A dashed line and rings, or hollow bars.
    Ring,
    /// A full line and squares, or full bars.
    Square,
}

/// Returns the form of a row.
pub(super) fn form(row: usize) -> Form {
    [Form::Disc, Form::Ring, Form::Square][row / PALETTE.len() % 3]
}
