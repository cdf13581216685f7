//! Line breaks in generated code.

/// Maximum length of a line, in characters.
const LINE: usize = 100;

/// On one line or, with a comma after each, on separate lines.
pub(super) fn list(indent: &str, head: &str, items: &[String], tail: &str) -> String {
    let one = format!("{indent}{head}{}{tail}", items.join(", "));
    if one.len() <= LINE {
        return one + "\n";
    }
    let lines: String = items.iter().map(|item| format!("{indent}{}{item},\n", step(indent))).collect();
    format!("{indent}{}\n{lines}{indent}{tail}\n", head.trim_end())
}

/// A tab or spaces.
pub(super) fn step(indent: &str) -> &'static str {
    if indent.starts_with('\t') { "\t" } else { "    " }
}

pub(super) fn fits(line: &str) -> bool {
    line.len() <= LINE
}

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
