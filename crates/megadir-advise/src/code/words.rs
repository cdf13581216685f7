//! Layouts in plain words.

use megadir::layout::{Layout, Source};
use megadir_record::axes::grouped;

use crate::code::rule::{Depths, Rule};

/// Describes in one to three sentences how a name's path is computed, with an example.
/// ```
/// use megadir_advise::code::words;
/// assert_eq!(
///     words(&"digest:2/2".parse()?),
///     "In the name's SHA-256 (lower-case hex), the first 2 digits are a directory and the 2 after them a directory in it; the \
///      file keeps its whole name. abcdef is at be/f5/abcdef."
/// );
/// # Ok::<(), megadir::layout::LayoutError>(())
/// ```
pub fn words(layout: &Layout) -> String {
    let widths = layout.levels();
    let mut text = match layout.source() {
        Source::Flat => "All files lie in one directory, each under its own name.".to_owned(),
        Source::Prefix => taken(layout, "The first", "character", " of the name", "after"),
        Source::Suffix => taken(layout, "The last", "character", " of the name", "before"),
        Source::NextToLast => {
            let last = "Without the last character of the name, the last";
            taken(layout, last, "character", "", "before")
        }
        Source::Digest => {
            taken(layout, "In the name's SHA-256 (lower-case hex), the first", "digit", "", "after")
        }
        Source::Decimal => decimal(layout),
        Source::Sequence => sequence(widths),
        _ => format!("See the layout {layout}."),
    };
    let Ok(rule) = Rule::new(layout) else { return text };
    text += &rule.growth.as_ref().map(grows).unwrap_or_default();
    let example = &rule.example;
    let with =
        if rule.growth.is_some() { format!(", {} deep,", levels(example.depth)) } else { String::new() };
    text + &format!(" {}{with} is at {}.", example.name, example.path)
}

/// One sentence for layouts by parts of a name, from either end: the caller gives the words that differ.
/// Equal levels are not all named, since the pattern is clear after two.
fn taken(layout: &Layout, first: &str, unit: &str, whose: &str, next: &str) -> String {
    let widths = layout.levels();
    let count = |width: u16| match width {
        1 => unit.to_owned(),
        _ => format!("{width} {unit}s"),
    };
    let is = |width: u16| if width == 1 { "is" } else { "are" };
    let mut text = match widths {
        [] => String::new(),
        [width, ..] => format!("{first} {}{whose} {} a directory", count(*width), is(*width)),
    };
    let even = widths.windows(2).all(|pair| pair[0] == pair[1]);
    // In a run of equal levels, the second shows the pattern.
    let named = if even && widths.len() > 3 { 2 } else { widths.len() };
    for (level, width) in widths.iter().enumerate().take(named).skip(1) {
        let last = if level + 1 == named && named == widths.len() { " and" } else { "," };
        let pronoun = if widths[level - 1] == 1 { "it" } else { "them" };
        let number = if *width == 1 { "one".to_owned() } else { width.to_string() };
        text += &format!("{last} the {number} {next} {pronoun} a directory in it");
    }
    if named < widths.len() {
        text += &format!(" and so on, {} levels in all", widths.len());
    }
    if !layout.label().is_empty() {
        text += &format!(", each with {} before its name", layout.label());
    }
    if !layout.ending().is_empty() {
        text += &format!(", not counting {} at the end, which every name has", layout.ending());
    }
    text += match layout.is_trimmed() {
        true => "; the file keeps the rest of its name.",
        false => "; the file keeps its whole name.",
    };
    text
}

fn decimal(layout: &Layout) -> String {
    let widths = layout.levels();
    let all: u16 = widths.iter().sum();
    let groups: Vec<String> = widths.iter().map(u16::to_string).collect();
    let filled = format!("The name, a decimal number, is padded with zeros to {all} digits");
    match groups.as_slice() {
        [_] => format!("{filled}: this is the file name."),
        _ => format!(
            "{filled} and cut into groups of {}: the last is the file name, the others are nested \
             directories.",
            groups.join(", ")
        ),
    }
}

fn sequence(counts: &[u16]) -> String {
    let (Some(top), Some(files)) = (counts.first(), counts.last()) else { return String::new() };
    let mut text =
        "The name is a number in 8 upper-case hex digits. In the order of these numbers ".to_owned();
    text += &format!("every {files} files share a directory");
    for count in counts.iter().skip(1).rev() {
        text += &format!(", every {count} of these directories share a parent");
    }
    let top = if *top == 1 { "the only one".to_owned() } else { format!("the last of {top}") };
    text + &format!(
        ", and after {top} the first is used again. Directories are numbered in hex from 00 on; the file keeps \
         its whole name."
    )
}

fn levels(count: usize) -> String {
    if count == 1 { "1 level".to_owned() } else { format!("{count} levels") }
}

fn grows(depths: &Depths) -> String {
    let below = depths.below.iter().take(3).enumerate().map(|(at, (files, depth))| {
        let unit = if at == 0 { " files" } else { "" };
        format!("{} below {}{unit}", levels(*depth), grouped(*files))
    });
    let below: Vec<String> = below.collect();
    if below.is_empty() {
        return format!(" The depth is always {}.", levels(depths.last));
    }
    let more = if depths.below.len() > below.len() { ", and so on up to" } else { ", then" };
    format!(
        " The depth depends on the total number of files: {}{more} {}. Existing files stay where they are.",
        below.join(", "),
        levels(depths.last)
    )
}

/// Longest line of generated code, the default of rustfmt.
const LINE: usize = 100;

/// A list on one line, or, if it is too long, one item a line with a comma after the last.
pub(super) fn list(indent: &str, head: &str, items: &[String], tail: &str) -> String {
    let line = format!("{indent}{head}{}{tail}", items.join(", "));
    if line.len() <= LINE {
        return line + "\n";
    }
    let lines: String = items.iter().map(|item| format!("{indent}{indent}{item},\n")).collect();
    format!("{indent}{}\n{lines}{indent}{tail}\n", head.trim_end())
}

/// `line`, or `several` if it is too long.
pub(super) fn fitting(line: String, several: String) -> String {
    if line.len() <= LINE { line + "\n" } else { several }
}

pub(super) fn digits(number: u64) -> String {
    grouped(number).replace(' ', "_")
}
