//! Lines of code that are broken where they would be too long.

/// The longest line that is not broken, characters.
const LINE: usize = 100;

/// Puts items between `head` and `tail`, on one line or, with a comma after each, on a line each.
pub(super) fn list(indent: &str, head: &str, items: &[String], tail: &str) -> String {
    let one = format!("{indent}{head}{}{tail}", items.join(", "));
    if one.len() <= LINE {
        return one + "\n";
    }
    let lines: String = items.iter().map(|item| format!("{indent}{}{item},\n", step(indent))).collect();
    format!("{indent}{}\n{lines}{indent}{tail}\n", head.trim_end())
}

/// One level more of the indentation that there is: tabs or spaces.
pub(super) fn step(indent: &str) -> &'static str {
    if indent.starts_with('\t') { "\t" } else { "    " }
}

/// Tells whether a line is short enough.
pub(super) fn fits(line: &str) -> bool {
    line.len() <= LINE
}

/// Writes a number in groups of three digits.
pub(super) fn digits(number: u64, between: &str) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped += between;
        }
        grouped.push(digit);
    }
    grouped
}
