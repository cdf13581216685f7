//! Pictures within a line of text: bars, which start at zero and are never cut, and sparklines.

use super::Style;

/// Maximum length of a bar next to a table, characters.
pub(super) const BESIDE_MAX: usize = 16;
/// Minimum space for bars next to a table, characters.
pub(super) const BESIDE_MIN: usize = 4;
const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The same in ASCII.
const LEVELS_ASCII: [char; 8] = ['_', '.', '-', '~', '=', '+', '*', '#'];

/// Bars next to the rows of a table.
pub(crate) struct Bars {
    /// Quantity shown.
    pub(crate) what: &'static str,
    /// Lengths by row; `None` for rows without a bar.
    pub(crate) values: Vec<Option<f64>>,
    /// `true` if optional columns give way to the bars.
    pub(crate) needed: bool,
}

impl Bars {
    /// Returns the bar of a row; the longest bar takes `width` characters.
    pub(super) fn bar(&self, row: usize, width: usize, style: Style) -> String {
        let longest = self.values.iter().flatten().copied().fold(0.0, f64::max);
        let value = self.values.get(row).copied().flatten().filter(|_| longest > 0.0);
        value.map(|value| bar(value / longest, width, style)).unwrap_or_default()
    }
}

/// Returns a bar for this fraction of a width; values above zero are visible.
pub(super) fn bar(part: f64, width: usize, style: Style) -> String {
    let part = part.clamp(0.0, 1.0);
    if !style.unicode {
        return "#".repeat(((part * width as f64).round() as usize).max(1));
    }
    let eighths = ((part * 8.0 * width as f64).round() as usize).max(1);
    let mut bar = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        bar.push(EIGHTHS[eighths % 8]);
    }
    bar
}

/// Returns a sparkline from zero to the maximum: at most `width` columns, each the median of its share.
pub(super) fn course(values: &[f64], width: usize, style: Style) -> String {
    let size = values.len().div_ceil(width.max(1)).max(1);
    let medians: Vec<f64> = values
        .chunks(size)
        .filter_map(|chunk| megadir_stats::median(chunk).filter(|m| m.is_finite()))
        .collect();
    let highest = medians.iter().copied().fold(0.0, f64::max);
    let levels = if style.unicode { LEVELS } else { LEVELS_ASCII };
    let level = |value: &f64| {
        let part = if highest > 0.0 { value / highest } else { 0.0 };
        levels[((part * 8.0).ceil() as usize).clamp(1, 8) - 1]
    };
    medians.iter().map(level).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNICODE: Style = Style { color: false, unicode: true };
    const ASCII: Style = Style { color: false, unicode: false };

    #[test]
    fn bars_and_courses_start_at_nothing() {
        let bars =
            Bars { what: "time", values: vec![Some(4.0), Some(1.0), None, Some(0.001)], needed: false };
        let drawn = |style| [0, 1, 2, 3].map(|row| bars.bar(row, 8, style));
        assert_eq!(drawn(UNICODE), ["████████", "██", "", "▏"]);
        assert_eq!(drawn(ASCII), ["########", "##", "", "#"]);
        assert_eq!(course(&[8.0, 8.1, 4.0, 1.0], 4, UNICODE), "██▄▁");
        assert_eq!(course(&[8.0, 8.0, 4.0, 4.0], 2, ASCII), "#~");
        assert_eq!(course(&[], 4, UNICODE), "");
        assert_eq!(course(&[0.0], 4, UNICODE), "▁");
    }
}
