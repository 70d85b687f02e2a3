//! A line through times that grow with the number of pages.

/// Nanoseconds whatever the number of pages, and for each page.
#[derive(Clone, Copy, Debug)]
pub(super) struct FittedLine {
    pub(super) fixed: f64,
    pub(super) slope: f64,
}

/// Returns the line closest to the points by *relative* error: noise grows with the time measured, and with plain least
/// squares the largest number of pages would decide the fixed cost.
pub(super) fn fit(points: &[(f64, f64)]) -> FittedLine {
    let (mut w, mut wx, mut wy, mut wxx, mut wxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for &(x, y) in points {
        let weight = 1.0 / (y * y).max(1.0);
        w += weight;
        wx += weight * x;
        wy += weight * y;
        wxx += weight * x * x;
        wxy += weight * x * y;
    }
    let slope = (w * wxy - wx * wy) / (w * wxx - wx * wx);
    FittedLine {
        fixed: (wy - slope * wx) / w,
        slope,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_again() {
        let points = [10.0, 100.0, 1000.0].map(|x| (x, 3000.0 + 40.0 * x));
        let line = fit(&points);
        assert!((line.fixed - 3000.0).abs() < 1e-6 && (line.slope - 40.0).abs() < 1e-9);
    }

    #[test]
    fn one_large_time_that_is_off_does_not_move_the_fixed_cost_far() {
        let mut points = [10.0, 30.0, 100.0, 1000.0].map(|x| (x, 3000.0 + 40.0 * x));
        points[3].1 *= 1.1;
        let line = fit(&points);
        assert!((line.fixed - 3000.0).abs() < 100.0, "{line:?}");
    }
}
