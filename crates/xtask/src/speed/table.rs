//! Figures as text, and Markdown tables that are readable as plain text.

use megadir_stats::{Estimate, Interval, log_ratios, median, median_interval, paired_ratio};

/// Confidence of intervals.
const CONFIDENCE: f64 = 0.95;

/// Value with its interval; `None` with too few rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Figure {
    pub(crate) value: f64,
    /// 95 % interval.
    pub(crate) interval: Option<Interval>,
}

impl Figure {
    /// Median; `None` without samples.
    pub(crate) fn median(samples: &[f64]) -> Option<Self> {
        let sure = median_interval(samples, CONFIDENCE).map(Self::from);
        sure.or_else(|| Some(Self { value: median(samples)?, interval: None }))
    }

    /// Ratio of paired rounds; `None` without rounds or for unequal numbers.
    pub(crate) fn ratio(of: &[f64], to: &[f64]) -> Option<Self> {
        let sure = paired_ratio(of, to, CONFIDENCE).map(Self::from);
        sure.or_else(|| Some(Self { value: median(&log_ratios(of, to)?)?.exp(), interval: None }))
    }

    /// Multiplies value and interval.
    pub(crate) fn times(self, factor: f64) -> Self {
        let scaled =
            |interval: Interval| Interval { low: interval.low * factor, high: interval.high * factor };
        Self { value: self.value * factor, interval: self.interval.map(scaled) }
    }

    /// Formats with three significant digits.
    pub(crate) fn text(&self) -> String {
        let value = number(self.value);
        self.interval.map_or(value.clone(), |interval| {
            format!("{value} [{}, {}]", number(interval.low), number(interval.high))
        })
    }
}

impl From<Estimate> for Figure {
    fn from(estimate: Estimate) -> Self {
        Self { value: estimate.value, interval: Some(estimate.interval) }
    }
}

/// Formats a number with three significant digits; whole numbers keep all digits.
pub(crate) fn number(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

/// Writes a table; the first column is text, the rest are numbers.
pub(crate) fn markdown(header: &[&str], rows: &[Vec<String>]) -> String {
    let cell = |row: &Vec<String>, column: usize| row.get(column).cloned().unwrap_or_default();
    let widths: Vec<usize> = (0..header.len())
        .map(|column| {
            let cells = rows.iter().map(|row| cell(row, column).chars().count());
            cells.chain([header[column].chars().count(), 3]).max().unwrap_or(3)
        })
        .collect();
    let line = |cells: Vec<String>| {
        let padded = cells.iter().zip(&widths).enumerate().map(|(column, (text, &width))| {
            if column == 0 { format!("{text:<width$}") } else { format!("{text:>width$}") }
        });
        format!("| {} |\n", padded.collect::<Vec<_>>().join(" | "))
    };
    let mut text = line(header.iter().map(|&word| word.to_owned()).collect());
    let rule = |(column, &width): (usize, &usize)| {
        if column == 0 { "-".repeat(width) } else { format!("{}:", "-".repeat(width - 1)) }
    };
    text += &line(widths.iter().enumerate().map(rule).collect());
    for row in rows {
        text += &line((0..header.len()).map(|column| cell(row, column)).collect());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_that_count() {
        let texts = [1234.5, 123.4, 12.34, 1.234, 0.1234].map(number);
        assert_eq!(texts, ["1234", "123", "12.3", "1.23", "0.123"]);
    }

    #[test]
    fn figures_have_intervals_from_six_rounds_on() {
        let times = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        assert_eq!(Figure::median(&times).unwrap().text(), "3.50 [1.00, 6.00]");
        assert_eq!(Figure::median(&times[..3]).unwrap().text(), "2.00");
        assert_eq!(Figure::median(&[]), None);
        let doubled = times.map(|time| time * 2.0);
        assert_eq!(Figure::ratio(&doubled, &times).unwrap().text(), "2.00 [2.00, 2.00]");
        assert!((Figure::ratio(&doubled[..2], &times[..2]).unwrap().value - 2.0).abs() < 1e-12);
        assert_eq!(Figure::ratio(&doubled, &times[..2]), None);
        assert_eq!(Figure::median(&times).unwrap().times(10.0).text(), "35.0 [10.0, 60.0]");
    }

    #[test]
    fn tables_are_aligned() {
        let rows = [vec!["a".to_owned(), "1".to_owned()], vec!["longer".to_owned()]];
        let expected = "\
            | arm    | wall |\n\
            | ------ | ---: |\n\
            | a      |    1 |\n\
            | longer |      |\n";
        assert_eq!(markdown(&["arm", "wall"], &rows), expected);
    }
}
