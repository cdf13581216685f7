//! Word wrap for paragraphs.

const WIDTH: usize = 100;
const WIDTH_MIN: usize = 30;

pub(crate) fn width(is_terminal: bool) -> usize {
    let of_terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    is_terminal.then(of_terminal).flatten().unwrap_or(WIDTH).clamp(WIDTH_MIN, WIDTH)
}

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

/// A number with groups of digits and its unit are one word.
fn words(paragraph: &str) -> Vec<&str> {
    let (mut words, mut start) = (Vec::new(), 0);
    for (space, _) in paragraph.match_indices(' ') {
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

#[cfg(test)]
mod tests {
    #[test]
    fn a_number_stays_on_one_line_with_its_unit() {
        let mut text = String::new();
        super::wrapped(&mut text, 10, ("", ""), "about 39 063 of 10.1 M, 84 % (of 3 files)");
        assert_eq!(text, "about\n39 063 of\n10.1 M,\n84 % (of 3\nfiles)\n");
    }
}
