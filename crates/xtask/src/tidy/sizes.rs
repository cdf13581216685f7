//! File sizes. Clippy measures functions (`too_many_lines`, threshold in `clippy.toml`).

use super::source::{Finding, Source};

const LINES_USUAL: usize = 600;
/// Hard limit, except for tests and tables.
const LINES_MAX: usize = 900;

/// Finds Rust files that are too long.
pub(crate) fn find(sources: &[Source]) -> Vec<Finding> {
    let rust = sources.iter().filter(|source| source.is_rust());
    rust.filter_map(find_in).collect()
}

fn find_in(source: &Source) -> Option<Finding> {
    let lines = source.text.lines().count();
    let name = source.path.rsplit('/').next().unwrap_or_default();
    let may_be_long = source.is_test() || name.contains("table");
    if lines > LINES_MAX && !may_be_long {
        return Some(
            source.finding(lines, format!("{lines} lines, over {LINES_MAX}: split the file by subject")),
        );
    }
    let note = format!("{lines} lines, usually under {LINES_USUAL}: consider splitting the file");
    (lines > LINES_USUAL).then(|| Finding { fails: false, ..source.finding(lines, note) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(path: &str, lines: usize) -> Option<bool> {
        find(&[Source::new(path, "//\n".repeat(lines))]).first().map(|finding| finding.fails)
    }

    #[test]
    fn long_files_are_noted_and_too_long_ones_fail() {
        assert_eq!(verdict("crates/a/src/lib.rs", 600), None);
        assert_eq!(verdict("crates/a/src/lib.rs", 601), Some(false));
        assert_eq!(verdict("crates/a/src/lib.rs", 901), Some(true));
    }

    #[test]
    fn tests_and_tables_may_be_long() {
        assert_eq!(verdict("crates/a/tests/all.rs", 901), Some(false));
        assert_eq!(verdict("crates/a/src/mount_table.rs", 901), Some(false));
        assert_eq!(verdict("README.md", 9000), None);
    }
}
