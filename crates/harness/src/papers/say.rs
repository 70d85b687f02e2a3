//! Sentences about lines and figures, true by the way they are made.

use crate::figure::{Bar, Curve, Figure, Shape, Value, number};

/// Whether a claim holds in what was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Holds,
    Fails,
    /// The quartiles allow either.
    Open,
}

/// Returns whether a value is above a limit.
pub(super) fn above(value: Value, limit: f64) -> Verdict {
    let (low, high) = value.bounds();
    match (low > limit, high <= limit) {
        (true, _) => Verdict::Holds,
        (_, true) => Verdict::Fails,
        _ => Verdict::Open,
    }
}

/// Returns whether a value is at or below a limit.
pub(super) fn below(value: Value, limit: f64) -> Verdict {
    match above(value, limit) {
        Verdict::Holds => Verdict::Fails,
        Verdict::Fails => Verdict::Holds,
        Verdict::Open => Verdict::Open,
    }
}

/// Returns whether all of several claims hold; `None` if there are none.
pub(super) fn all(verdicts: impl Iterator<Item = Verdict>) -> Option<Verdict> {
    verdicts.reduce(|a, b| match (a, b) {
        (Verdict::Fails, _) | (_, Verdict::Fails) => Verdict::Fails,
        (Verdict::Open, _) | (_, Verdict::Open) => Verdict::Open,
        _ => Verdict::Holds,
    })
}

/// What a paper found, each with whether it holds in what was measured.
#[derive(Default)]
pub(super) struct Claims(Vec<(Verdict, String)>);

impl Claims {
    /// Adds a claim, which reads behind "that" and "whether"; `None`: nothing was measured that says so or not.
    pub(super) fn add(&mut self, verdict: Option<Verdict>, claim: &str) {
        self.0
            .extend(verdict.map(|verdict| (verdict, claim.to_owned())));
    }

    /// Returns true if a claim does not hold.
    pub(super) fn fail(&self) -> bool {
        self.0.iter().any(|(verdict, _)| *verdict == Verdict::Fails)
    }

    /// Returns the claims as sentences.
    pub(super) fn text(&self) -> String {
        let part = |wanted: Verdict, begin: &str, word: &str| {
            let claims = self.0.iter().filter(|(verdict, _)| *verdict == wanted);
            let claims: Vec<String> = claims.map(|(_, claim)| format!("{word} {claim}")).collect();
            match claims.is_empty() {
                true => String::new(),
                false => format!("{begin} {}.", claims.join("; ")),
            }
        };
        joined(&[
            part(Verdict::Holds, "As in the paper, it holds", "that"),
            part(
                Verdict::Fails,
                "Unlike in the paper, it does not hold",
                "that",
            ),
            part(Verdict::Open, "The error bars leave open", "whether"),
        ])
    }
}

/// Returns sentences behind each other.
pub(super) fn joined(sentences: &[String]) -> String {
    let some = sentences.iter().map(String::as_str);
    let some: Vec<&str> = some.filter(|s| !s.is_empty()).collect();
    some.join(" ")
}

/// Returns the values of the curves at the last place of any.
pub(super) fn at_end(figure: &Figure, unit: &str) -> String {
    let ends = curves(figure)
        .iter()
        .filter_map(|curve| curve.points.last());
    let last = ends.map(|point| point.0).max_by(f64::total_cmp);
    last.map_or(String::new(), |last| at(figure, last, unit))
}

/// Returns the values of the curves at a place: "At 7M keys: `a` 40, `b` 42.", the least first.
pub(super) fn at(figure: &Figure, x: f64, unit: &str) -> String {
    let value = |curve: &Curve| {
        curve
            .points
            .iter()
            .find(|point| point.0 == x)
            .map(|point| point.1.median)
    };
    let values = curves(figure)
        .iter()
        .filter_map(|curve| Some((curve.row.as_str(), value(curve)?)));
    let values: Vec<(&str, f64)> = values.collect();
    match values.is_empty() {
        true => String::new(),
        false => format!("At {} {unit}: {}.", place(x), ranked(values)),
    }
}

fn curves(figure: &Figure) -> &[Curve] {
    match &figure.shape {
        Shape::Curves(curves) => curves,
        Shape::Bars(_) => &[],
    }
}

/// Returns a place on a logarithmic axis: a large power of two as such.
fn place(x: f64) -> String {
    match x.log2() {
        power if power.fract() == 0.0 && power > 12.0 => format!("2^{power}"),
        power if power.fract() == 0.0 => x.to_string(),
        _ => number(x),
    }
}

/// Names and values that are all said; of more, the first and the last.
const SAID: usize = 8;

/// Returns names and values, the least first.
fn ranked(mut values: Vec<(&str, f64)>) -> String {
    values.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut texts: Vec<String> = values
        .iter()
        .map(|(name, value)| format!("{name} {}", number(*value)))
        .collect();
    if texts.len() > SAID {
        let last = texts.split_off(texts.len() - SAID / 2);
        texts.truncate(SAID / 2);
        texts.push("...".to_owned());
        texts.extend(last);
    }
    texts.join(", ")
}

fn bars(figure: &Figure) -> &[Bar] {
    match &figure.shape {
        Shape::Bars(bars) => bars,
        Shape::Curves(_) => &[],
    }
}

/// Returns how many times each cluster's first bar its second one is, in the order of that.
pub(super) fn gains(figure: &Figure) -> String {
    let mut values = Vec::new();
    for pair in bars(figure).chunk_by(|a, b| a.cluster == b.cluster) {
        if let [one, two] = pair {
            values.push((one.cluster.as_str(), two.value.median / one.value.median));
        }
    }
    match values.is_empty() {
        true => String::new(),
        false => format!(
            "A second thread multiplies throughput by: {}.",
            ranked(values)
        ),
    }
}

/// Returns the best and the worst cluster by their last bars.
pub(super) fn extremes(figure: &Figure, unit: &str) -> String {
    let bars = bars(figure);
    let Some(row) = bars.last().map(|bar| bar.row.as_str()) else {
        return String::new();
    };
    let of_row = bars.iter().filter(|bar| bar.row == row);
    let mut values: Vec<(&str, f64)> = of_row
        .map(|bar| (bar.cluster.as_str(), bar.value.median))
        .collect();
    values.sort_by(|a, b| a.1.total_cmp(&b.1));
    match (values.first(), values.last()) {
        (Some(least), Some(most)) if values.len() > 1 => format!(
            "With {row} the most is {} {unit} ({}), the least {} ({}).",
            number(most.1),
            most.0,
            number(least.1),
            least.0
        ),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(low: f64, median: f64, high: f64) -> Value {
        Value {
            median,
            spread: Some((low, high)),
        }
    }

    #[test]
    fn a_claim_is_open_where_error_bars_overlap() {
        let ratio = value(9.0, 10.0, 11.0).over(value(4.0, 5.0, 6.0));
        assert_eq!(ratio, value(1.5, 2.0, 2.75));
        assert_eq!(above(ratio, 1.0), Verdict::Holds);
        assert_eq!(above(ratio, 2.0), Verdict::Open);
        assert_eq!(below(ratio, 2.75), Verdict::Holds);
        let mut claims = Claims::default();
        claims.add(Some(above(ratio, 3.0)), "it is much");
        claims.add(Some(above(ratio, 1.0)), "it is more");
        claims.add(
            all([Verdict::Holds, Verdict::Open].into_iter()),
            "all is so",
        );
        claims.add(None, "nobody looked");
        assert!(claims.fail());
        assert_eq!(
            claims.text(),
            "As in the paper, it holds that it is more. Unlike in the paper, it does not hold that it is much. The \
             error bars leave open whether all is so."
        );
    }

    #[test]
    fn of_many_values_the_first_and_the_last_are_said() {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
        let values = names
            .into_iter()
            .zip([9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0]);
        assert_eq!(
            ranked(values.collect()),
            "i 1, h 2, g 3, f 4, ..., d 6, c 7, b 8, a 9"
        );
    }
}
