//! Bars of block characters, in eighths if the terminal supports Unicode.

const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// `most` has `width` characters; a value above 0 never gives an empty bar.
pub(in crate::cmd) fn bar(value: u128, most: u128, width: usize, unicode: bool) -> String {
    if value == 0 || most == 0 {
        return String::new();
    }
    let share = value as f64 / most as f64;
    if !unicode {
        return "#".repeat(((share * width as f64).round() as usize).max(1));
    }
    let eighths = ((share * 8.0 * width as f64).round() as usize).max(1);
    let last = (eighths % 8).checked_sub(1).map(|index| EIGHTHS[index]);
    std::iter::repeat_n('█', eighths / 8).chain(last).collect()
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn the_most_fills_the_width_and_little_is_seen() {
        assert_eq!(bar(80, 80, 4, true), "████");
        assert_eq!(bar(40, 80, 4, true), "██");
        assert_eq!(bar(45, 80, 4, true), "██▎");
        assert_eq!(bar(1, 1 << 100, 4, true), "▏");
        assert_eq!(bar(0, 80, 4, true), "");
        assert_eq!(bar(0, 0, 4, true), "");
        assert_eq!(bar(u128::MAX, u128::MAX, 30, true).chars().count(), 30);
        assert_eq!((bar(80, 80, 4, false), bar(1, 80, 4, false)), ("####".into(), "#".into()));
    }
}
