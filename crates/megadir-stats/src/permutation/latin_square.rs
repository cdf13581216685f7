//! Orders of arms that are balanced for position and for the preceding arm.

/// Returns the rows of a Williams design of `n` arms: orders of 0 to n - 1, one a round. Every arm occurs
/// equally often at every position, and equally often directly after every other arm. An even `n` needs n rows,
/// an odd one 2n: the square and its mirror image. No rows for 0 arms. Reference: Williams, *Australian Journal
/// of Scientific Research A* 2 (1949).
///
/// ```
/// use megadir_stats::permutation::balanced_latin_square;
/// assert_eq!(balanced_latin_square(2), [[0, 1], [1, 0]]);
/// assert_eq!(balanced_latin_square(4)[0], [0, 3, 1, 2]);
/// assert_eq!(balanced_latin_square(5).len(), 10);
/// ```
#[must_use]
pub fn balanced_latin_square(n: usize) -> Vec<Vec<usize>> {
    // The first row zigzags 0, n-1, 1, n-2, ...: neighbours have all differences. The other rows are shifted by
    // 1, 2, ...
    let zigzag = (0..n).map(|place| if place % 2 == 0 { place / 2 } else { n - 1 - place / 2 });
    let first: Vec<usize> = zigzag.collect();
    let shifted = |shift: usize| first.iter().map(|arm| (arm + shift) % n).collect();
    let mut rows: Vec<Vec<usize>> = (0..n).map(shifted).collect();
    if n % 2 == 1 {
        let mirrored = rows.iter().map(|row| row.iter().rev().copied().collect());
        rows.extend(mirrored.collect::<Vec<_>>());
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_neighbours_are_balanced() {
        for n in 1..=12 {
            let rows = balanced_latin_square(n);
            assert_eq!(rows.len(), if n % 2 == 0 { n } else { 2 * n });
            let mut at_place = vec![vec![0; n]; n];
            let mut after = vec![vec![0; n]; n];
            for row in &rows {
                row.iter().enumerate().for_each(|(place, &arm)| at_place[place][arm] += 1);
                row.windows(2).for_each(|pair| after[pair[0]][pair[1]] += 1);
            }
            assert!(at_place.iter().flatten().all(|&count| count == rows.len() / n));
            for (arm, counts) in after.iter().enumerate() {
                let others = counts.iter().enumerate().filter(|(other, _)| *other != arm);
                assert!(others.clone().all(|(_, &count)| count == rows.len() / n));
                assert_eq!(counts[arm], 0);
            }
        }
        assert!(balanced_latin_square(0).is_empty());
    }
}
