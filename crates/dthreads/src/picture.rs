//! A schedule as a picture, after figure 5 of the CONVERSION paper: a line for each thread, from left to right.

use std::fmt::Write;

use crate::report::{Point, Report};

const WIDTH: f64 = 1000.0;
const LEFT: f64 = 90.0;
const ROW: f64 = 36.0;

/// Draws the first `most` synchronization points as SVG: solid lines where a thread computes, dashed ones where it
/// waits for the token or for another thread, disks where it has the token, with the number of pages that it committed
/// there above, if any. O(points).
pub fn svg(report: &Report, most: usize) -> String {
    let points: Vec<Point> = report.points().take(most).collect();
    let threads = points
        .iter()
        .map(|point| point.thread + 1)
        .max()
        .unwrap_or(1);
    let end = points
        .iter()
        .map(|point| point.ended.max(point.began))
        .max()
        .unwrap_or(1);
    let start = points.iter().map(|point| point.arrived).min().unwrap_or(0);
    let x =
        |time: u64| LEFT + time.saturating_sub(start) as f64 / (end - start).max(1) as f64 * WIDTH;
    let y = |thread: usize| 40.0 + thread as f64 * ROW;
    let mut out = String::new();
    let (width, height) = (LEFT + WIDTH + 30.0, y(threads) + 20.0);
    // Writing to a string does not fail.
    let _ = writeln!(
        out,
        "<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' font-family='sans-serif' \
         font-size='12'>\n<rect width='100%' height='100%' fill='white'/>"
    );
    let line = |out: &mut String, thread: usize, from: u64, to: u64, style: &str| {
        let _ = writeln!(
            out,
            "<line x1='{:.1}' x2='{:.1}' y1='{y}' y2='{y}' stroke='black' {style}/>",
            x(from),
            x(to),
            y = y(thread),
        );
    };
    for thread in 0..threads {
        let _ = writeln!(
            out,
            "<text x='8' y='{}'>thread {thread}</text>",
            y(thread) + 4.0
        );
        let mut computes: Option<u64> = None;
        for point in points.iter().filter(|point| point.thread == thread) {
            if let Some(from) = computes {
                line(&mut out, thread, from, point.arrived, "stroke-width='2'");
            }
            line(
                &mut out,
                thread,
                point.arrived,
                point.began,
                "stroke-dasharray='3 3'",
            );
            let ended = point.ended.max(point.began);
            let _ = writeln!(
                out,
                "<circle cx='{:.1}' cy='{}' r='4'><title>{} {:#x}, {} us, {} pages</title></circle>",
                x(point.began),
                y(thread),
                point.operation.name(),
                point.object,
                (ended - point.began) / 1000,
                point.pages,
            );
            if point.pages > 0 {
                let _ = writeln!(
                    out,
                    "<text x='{:.1}' y='{}' font-size='8' text-anchor='middle'>{}</text>",
                    x(point.began),
                    y(thread) - 7.0,
                    point.pages,
                );
            }
            computes = Some(ended);
        }
    }
    let _ = writeln!(
        out,
        "<text x='{LEFT}' y='{:.0}'>{} us</text>\n</svg>",
        height - 8.0,
        (end - start) / 1000
    );
    out
}
