//! Charts for the terminal, of Unicode blocks.

use super::Point;

/// How a chart is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    /// The value at the bottom; above zero where `log`.
    pub(super) bottom: f64,
    /// The value at the top.
    pub(super) top: f64,
    /// Whether equal heights are equal factors.
    pub(super) log: bool,
    /// The time at the right end, in seconds.
    pub(super) seconds: f64,
}

impl Scale {
    /// How far up `value` stands, 0 to 1.
    pub(super) fn height(&self, value: f64) -> f64 {
        let (value, bottom, top) = if self.log {
            (value.max(self.bottom).ln(), self.bottom.ln(), self.top.ln())
        } else {
            (value, self.bottom, self.top)
        };
        ((value - bottom) / (top - bottom)).clamp(0.0, 1.0)
    }
}

const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Lines of a chart, top first: the highest value of each span of time as a column.
pub(super) fn lines(points: &[Point], scale: Scale, width: usize, height: usize) -> Vec<String> {
    let mut columns = vec![None::<f64>; width];
    for point in points {
        let place = (point.seconds / scale.seconds * width as f64) as usize;
        if let Some(column) = columns.get_mut(place.min(width - 1)) {
            *column = Some(column.map_or(point.value, |value| value.max(point.value)));
        }
    }
    // Between two points the line goes on; after the last there is nothing.
    let last = columns.iter().rposition(Option::is_some).unwrap_or(0);
    let mut before = None;
    for column in &mut columns[..=last] {
        *column = column.or(before);
        before = *column;
    }
    (0..height)
        .rev()
        .map(|row| {
            let line: String = columns
                .iter()
                .map(|column| {
                    let eighths = column.map_or(0.0, |value| {
                        // Whatever is there shows, however small.
                        (scale.height(value) * (height * 8) as f64).max(1.0)
                    });
                    BLOCKS[(eighths.round() as usize).saturating_sub(row * 8).min(8)]
                })
                .collect();
            line.trim_end().to_owned()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: &[f64]) -> Vec<Point> {
        (0..).zip(values).map(|(i, &value)| Point { seconds: f64::from(i), value }).collect()
    }

    #[test]
    fn a_column_is_as_high_as_its_value() {
        let scale = Scale { bottom: 0.0, top: 16.0, log: false, seconds: 4.0 };
        let lines = lines(&points(&[0.0, 4.0, 8.0, 16.0]), scale, 4, 2);
        assert_eq!(lines, ["   █", "▁▄██"]);
    }

    #[test]
    fn equal_factors_are_equal_steps_on_a_log_scale() {
        let scale = Scale { bottom: 1.0, top: 10_000.0, log: true, seconds: 5.0 };
        let lines = lines(&points(&[1.0, 10.0, 100.0, 1000.0, 10_000.0]), scale, 5, 1);
        assert_eq!(lines, ["▁▂▄▆█"]);
    }

    #[test]
    fn a_gap_is_bridged_and_the_end_stays_empty() {
        let scale = Scale { bottom: 0.0, top: 8.0, log: false, seconds: 6.0 };
        let points = [Point { seconds: 0.0, value: 8.0 }, Point { seconds: 2.0, value: 4.0 }];
        assert_eq!(lines(&points, scale, 6, 1), ["██▄"]);
    }
}
