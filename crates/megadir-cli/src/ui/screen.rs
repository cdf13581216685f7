//! Text for a screen: paragraphs with word wrap, columns of figures, bars.

/// Longest line, also on wider terminals.
const WIDTH: usize = 100;
/// On narrower terminals lines break anyhow.
const WIDTH_MIN: usize = 30;

pub(crate) fn width(is_terminal: bool) -> usize {
    let of_terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    is_terminal.then(of_terminal).flatten().unwrap_or(WIDTH).clamp(WIDTH_MIN, WIDTH)
}

/// Words longer than the line stay whole, so that paths and commands can be copied.
pub(crate) fn wrapped(text: &mut String, width: usize, (first, rest): (&str, &str), paragraph: &str) {
    let mut column = first.chars().count();
    text.push_str(first);
    let mut begun = false;
    for word in words(paragraph) {
        let length = word.chars().count();
        if begun && column + 1 + length > width {
            text.push('\n');
            text.push_str(rest);
            column = rest.chars().count();
            begun = false;
        }
        if begun {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
        begun = true;
    }
    text.push('\n');
}

/// A number with groups of digits and its unit are one word, and a quoted path with blanks is.
fn words(paragraph: &str) -> Vec<&str> {
    let (mut words, mut start) = (Vec::new(), 0);
    for (space, _) in paragraph.match_indices(' ') {
        // A space within quotes belongs to a path.
        if is_within_quotes(&paragraph[start..space], &paragraph[space..]) {
            continue;
        }
        let next = &paragraph[space + 1..];
        let next = next.split(' ').next().unwrap_or_default().trim_end_matches(['.', ',', ';', ':', ')']);
        let is_group = next.len() == 3 && next.bytes().all(|byte| byte.is_ascii_digit());
        let continues = is_group || matches!(next, "k" | "M" | "G" | "T" | "P" | "%");
        if !(continues && paragraph[start..space].ends_with(|last: char| last.is_ascii_digit())) {
            words.push(&paragraph[start..space]);
            start = space + 1;
        }
    }
    words.push(&paragraph[start..]);
    words
}

/// A quote opens before a letter and closes after one: an apostrophe does neither.
fn is_within_quotes(word: &str, rest: &str) -> bool {
    let opens = word.strip_prefix(['(', '[']).unwrap_or(word).starts_with('\'');
    let closes = |text: &str| {
        let text = text.trim_end_matches(['.', ',', ';', ':', ')', ']', '?']);
        text.len() > 1 && text.ends_with('\'')
    };
    opens && !closes(word) && rest.split(' ').skip(1).any(closes)
}

/// The headings and then each row, aligned to the right, with two spaces between columns.
pub(crate) fn aligned<const N: usize>(headings: [&str; N], rows: &[[String; N]]) -> Vec<String> {
    let all = || std::iter::once(headings).chain(rows.iter().map(|row| row.each_ref().map(String::as_str)));
    let widths: [usize; N] = std::array::from_fn(|at| all().map(|row| row[at].len()).max().unwrap_or(0));
    let line = |row: [&str; N]| {
        let cells = row.into_iter().zip(widths).map(|(cell, width)| format!("{cell:>width$}"));
        cells.collect::<Vec<_>>().join("  ")
    };
    all().map(line).collect()
}

/// Bars of block characters, in eighths if the terminal supports Unicode.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// `most` has `width` characters; a value above 0 never gives an empty bar.
pub(crate) fn bar(value: u128, most: u128, width: usize, unicode: bool) -> String {
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
    fn a_number_stays_on_one_line_with_its_unit() {
        let mut text = String::new();
        super::wrapped(&mut text, 10, ("", ""), "about 39 063 of 10.1 M, 84 % (of 3 files)");
        assert_eq!(text, "about\n39 063 of\n10.1 M,\n84 % (of 3\nfiles)\n");
    }

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
