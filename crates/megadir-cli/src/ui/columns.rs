//! Columns of figures below their headings.

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
