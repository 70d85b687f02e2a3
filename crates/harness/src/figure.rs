//! Figures as data: what `--plot` draws, for suites that know nothing of drawing.

/// One drawing.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The file's name, without the ending.
    pub file: String,
    /// The title: the quantity drawn, and the number of the paper's figure that it answers.
    pub title: String,
    /// The label of the horizontal axis, with its unit.
    pub x: String,
    /// The label of the vertical axis, with its unit.
    pub y: String,
    /// The shape of the drawing.
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
    /// The name in the legend.
    pub row: String,
    /// The cluster it stands in.
    pub cluster: String,
    /// Its height.
    pub height: f64,
}

/// One curve.
#[derive(Clone, Debug)]
pub struct Curve {
    /// The name in the legend.
    pub row: String,
    /// Its points, in ascending order.
    pub points: Vec<(f64, f64)>,
}
