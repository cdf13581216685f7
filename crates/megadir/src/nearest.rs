//! What to say of a name that is not known: the nearest one, and all that there are.

/// Names further from each other than so many letters left out, added, changed or swapped are not alike.
const DISTANCE_MAX: usize = 2;
/// From so many letters on, a part of a name stands for it.
const PART_MIN: usize = 3;

/// Returns the known name that is most like `name`, if any is like it enough to be a slip of the keys.
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

/// Returns the end of an error about a name that is not known.
///
/// ```
/// let said = megadir::nearest::choices("getdent", ["std", "getdents"]);
/// assert_eq!(said, "did you mean 'getdents'? there are std, getdents");
/// assert_eq!(megadir::nearest::choices("xyz", ["std", "getdents"]), "there are std, getdents");
/// ```
pub fn choices<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let all = known.join(", ");
    match nearest(name, known) {
        Some(nearest) => format!("did you mean '{nearest}'? there are {all}"),
        None => format!("there are {all}"),
    }
}
