//! Figures as data: what `--plot` draws, for suites that know nothing of drawing.

/// One drawing.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The file's name, without the ending.
    pub file: String,
    /// What stands above it: what is drawn, and the number of the paper's figure it answers.
    pub title: String,
    /// What the horizontal axis is, with its unit.
    pub x: String,
    /// What the vertical axis is, with its unit.
    pub y: String,
    /// What is drawn.
    pub shape: Shape,
}

/// The kinds of drawings.
#[derive(Clone, Debug)]
pub enum Shape {
    /// Bars in clusters, heights from zero.
    Bars(Vec<Bar>),
    /// Curves over a logarithmic horizontal axis.
    Curves(Vec<Curve>),
}

/// One bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// What the legend calls it.
    pub row: String,
    /// The cluster it stands in.
    pub cluster: String,
    /// Its height.
    pub height: f64,
}

/// One curve.
#[derive(Clone, Debug)]
pub struct Curve {
    /// What the legend calls it.
    pub row: String,
    /// Its points, in ascending order.
    pub points: Vec<(f64, f64)>,
}
