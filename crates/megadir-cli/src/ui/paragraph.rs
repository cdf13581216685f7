//! Word wrap for paragraphs.

/// Width without a terminal, columns.
const WIDTH: usize = 100;
const WIDTH_MIN: usize = 50;

pub(crate) fn width(is_terminal: bool) -> usize {
    let of_terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    is_terminal.then(of_terminal).flatten().unwrap_or(WIDTH).clamp(WIDTH_MIN, WIDTH)
}

/// `first` starts the first line, `rest` the others.
pub(crate) fn wrapped(text: &mut String, width: usize, (first, rest): (&str, &str), paragraph: &str) {
    let mut column = first.chars().count();
    text.push_str(first);
    let mut begun = false;
    for word in paragraph.split(' ') {
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
