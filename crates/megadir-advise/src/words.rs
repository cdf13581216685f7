//! How a name's path is computed, in words, for whoever writes the program.

use megadir::layout::{Layout, Source};

/// Returns how the path of a name is put together.
///
/// ```
/// let layout: megadir::layout::Layout = "digest:2".parse()?;
/// let words = megadir_advise::words::path(&layout);
/// assert_eq!(words, "the first 2 hex digits of the SHA-256 of the name, a slash, the name");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn path(layout: &Layout) -> String {
    let levels = layout.levels();
    let file = if layout.is_trimmed() { "the rest of the name" } else { "the name" };
    let (first, next) = match layout.source() {
        Source::Flat => return "the name".into(),
        Source::Digest => (("the first", "hex digits", " of the SHA-256 of the name"), "the next"),
        Source::Prefix => (("the first", "characters", " of the name"), "the next"),
        Source::Suffix => (("the last", "characters", " of the name"), "before them the"),
        Source::NextToLast => {
            (("the last", "characters", " of the name without its very last one"), "before them the")
        }
        Source::Decimal => return decimal(levels),
        Source::Sequence => return sequence(levels),
        _ => return format!("as the layout {layout} says"),
    };
    let label = match layout.label() {
        "" => String::new(),
        label => format!("'{label}' and "),
    };
    let (begin, what, of) = first;
    let mut parts = Vec::new();
    for (place, width) in levels.iter().enumerate() {
        let what = if *width == 1 { what.trim_end_matches('s') } else { what };
        parts.push(match (place, *width) {
            (0, 1) => format!("{label}{begin} {what}{of}"),
            (0, width) => format!("{label}{begin} {width} {what}{of}"),
            (_, width) => format!("{label}{next} {width}"),
        });
    }
    parts.push(file.into());
    parts.join(", a slash, ")
}

fn decimal(levels: &[u16]) -> String {
    let digits: u16 = levels.iter().sum();
    let groups: Vec<String> = levels.iter().map(ToString::to_string).collect();
    let groups = groups.join(", ");
    format!("the number filled up with zeros to {digits} digits and cut by slashes into groups of {groups}")
}

fn sequence(levels: &[u16]) -> String {
    let counts: Vec<String> = levels.iter().map(ToString::to_string).collect();
    let files = levels.last().copied().unwrap_or(1);
    let counts = counts.join(" times ");
    format!(
        "{counts} directories that are filled one after the other with {files} files each, numbered in hex; a slash, the name"
    )
}

#[cfg(test)]
mod tests {
    use super::path;

    #[test]
    fn every_kind_of_layout_is_said() {
        for (layout, words) in [
            ("flat", "the name"),
            ("digest:1", "the first hex digit of the SHA-256 of the name, a slash, the name"),
            (
                "digest:2/2",
                "the first 2 hex digits of the SHA-256 of the name, a slash, the next 2, a slash, the name",
            ),
            ("git", "the first 2 characters of the name, a slash, the rest of the name"),
            ("nginx", "the last character of the name, a slash, before them the 2, a slash, the name"),
            ("ipfs-flatfs", "the last 2 characters of the name without its very last one, a slash, the name"),
            (
                "paperclip",
                "the number filled up with zeros to 9 digits and cut by slashes into groups of 3, 3, 3",
            ),
            ("prefix:2+label=x_", "'x_' and the first 2 characters of the name, a slash, the name"),
        ] {
            assert_eq!(path(&layout.parse().unwrap()), words, "{layout}");
        }
        for preset in megadir::layout::PRESETS {
            assert!(path(&preset.layout).len() > 10, "{}", preset.name);
        }
    }
}
