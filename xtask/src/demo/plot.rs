//! A plot over time as an SVG, to stand in a page that brings the colours.

use std::fmt::Write as _;

use super::Point;
use super::chart::Scale;

/// A plot of some lines over the same seconds.
#[derive(Debug)]
pub(super) struct Plot<'a> {
    pub(super) title: &'a str,
    /// How a value is written at the axis.
    pub(super) label: fn(f64) -> String,
    pub(super) log: bool,
    pub(super) lines: &'a [Line<'a>],
    /// The spike, in seconds.
    pub(super) spike: (f64, f64),
    pub(super) seconds: f64,
}

/// One line of a plot.
#[derive(Debug)]
pub(super) struct Line<'a> {
    pub(super) name: &'a str,
    /// Its class in the page's style.
    pub(super) class: &'a str,
    pub(super) points: &'a [Point],
}

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 76.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 30.0;
const RIGHT: f64 = 14.0;

impl Plot<'_> {
    /// The plot, with its title, as a `figure`.
    pub(super) fn figure(&self) -> String {
        let values = || self.lines.iter().flat_map(|line| line.points).map(|point| point.value);
        let highest = values().fold(0.0, f64::max).max(1.0);
        let (ticks, scale) = if self.log {
            let lowest = values().filter(|value| *value > 0.0).fold(highest, f64::min);
            let (low, high) = (lowest.log10().floor() as i32, highest.log10().ceil() as i32);
            let ticks = (low..=high.max(low + 1)).map(|power| 10_f64.powi(power)).collect();
            (ticks, true)
        } else {
            (steps(highest, 4), false)
        };
        let scale = Scale {
            bottom: ticks[0],
            top: ticks[ticks.len() - 1],
            log: scale,
            seconds: self.seconds,
        };
        let x = |seconds: f64| LEFT + seconds / self.seconds * (WIDTH - LEFT - RIGHT);
        let y = |value: f64| HEIGHT - BOTTOM - scale.height(value) * (HEIGHT - TOP - BOTTOM);

        let mut svg = String::new();
        let title = self.title;
        let mut add = |text: std::fmt::Arguments<'_>| {
            svg.write_fmt(text).expect("writing to a string doesn't fail");
        };
        add(format_args!(
            "<figure><figcaption>{title}</figcaption>\n<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             role=\"img\" aria-label=\"{title}\">\n"
        ));
        let (from, to) = (x(self.spike.0), x(self.spike.1.min(self.seconds)));
        add(format_args!(
            "<rect class=\"spike\" x=\"{from:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\">\
             <title>the spike</title></rect>\n",
            to - from,
            HEIGHT - TOP - BOTTOM
        ));
        for tick in ticks {
            let (at, label) = (y(tick), (self.label)(tick));
            let right = WIDTH - RIGHT;
            add(format_args!(
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
                 <text class=\"y\" x=\"{:.1}\" y=\"{:.1}\">{label}</text>\n",
                LEFT - 8.0,
                at + 4.0
            ));
        }
        for tick in steps(self.seconds, 8).into_iter().filter(|tick| *tick <= self.seconds) {
            add(format_args!(
                "<text class=\"x\" x=\"{:.1}\" y=\"{:.1}\">{tick} s</text>\n",
                x(tick),
                HEIGHT - 8.0
            ));
        }
        for line in self.lines {
            let path = line
                .points
                .iter()
                .map(|point| format!("{:.1},{:.1}", x(point.seconds), y(point.value)))
                .collect::<Vec<_>>()
                .join(" ");
            add(format_args!(
                "<polyline class=\"{}\" points=\"{path}\"><title>{}</title></polyline>\n",
                line.class, line.name
            ));
        }
        svg + "</svg></figure>\n"
    }
}

/// Round steps from 0 to `top` or the first above it, about `count` of them.
fn steps(top: f64, count: u32) -> Vec<f64> {
    let rough = top / f64::from(count);
    let power = 10_f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|f| f * power >= rough).unwrap_or(10.0);
    let step = factor * power;
    (0..=(top / step).ceil() as u32).map(|i| f64::from(i) * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round_and_reach_the_top() {
        assert_eq!(steps(90.0, 4), [0.0, 50.0, 100.0]);
        assert_eq!(steps(330_000.0, 4), [0.0, 100_000.0, 200_000.0, 300_000.0, 400_000.0]);
        assert_eq!(steps(31.0, 8), [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0]);
    }

    #[test]
    fn a_line_starts_and_ends_where_its_points_are() {
        let points = [Point { seconds: 0.0, value: 0.0 }, Point { seconds: 10.0, value: 4.0 }];
        let lines = [Line { name: "a", class: "a", points: &points }];
        let label = |value: f64| value.to_string();
        let plot =
            Plot { title: "t", label, log: false, lines: &lines, spike: (2.0, 4.0), seconds: 10.0 };
        let figure = plot.figure();
        assert!(figure.contains("points=\"76.0,230.0 886.0,14.0\""), "{figure}");
    }
}
