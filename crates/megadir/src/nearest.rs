//! Suggestions for an unknown name.

/// Letters inserted, removed, replaced or swapped.
const DISTANCE_MAX: usize = 2;
/// A shorter part does not suggest the whole name.
const PART_MIN: usize = 3;

/// Returns the known name nearest to `name`, if it is near enough to be a typing error.
///
/// ```
/// use megadir::nearest::nearest;
/// assert_eq!(nearest("getdent", ["std", "getdents"]), Some("getdents"));
/// assert_eq!(nearest("bulkstat", ["statx", "xfs-bulkstat"]), Some("xfs-bulkstat"));
/// assert_eq!(nearest("xyz", ["std", "getdents"]), None);
/// ```
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |candidate: &str| match strsim::damerau_levenshtein(name, candidate) {
        far if far > DISTANCE_MAX && name.len() >= PART_MIN && candidate.contains(name) => DISTANCE_MAX,
        distance => distance,
    };
    let distances = known.into_iter().map(|candidate| (distance(candidate), candidate));
    distances.min().filter(|(distance, _)| *distance <= DISTANCE_MAX).map(|(_, candidate)| candidate)
}

/// Returns the end of an error message about an unknown name.
///
/// ```
/// let text = megadir::nearest::choices("getdent", ["std", "getdents"]);
/// assert_eq!(text, "did you mean 'getdents'? expected one of std, getdents");
/// assert_eq!(megadir::nearest::choices("xyz", ["std", "getdents"]), "expected one of std, getdents");
/// ```
pub fn choices<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let all = known.join(", ");
    match nearest(name, known) {
        Some(nearest) => format!("did you mean '{nearest}'? expected one of {all}"),
        None => format!("expected one of {all}"),
    }
}
