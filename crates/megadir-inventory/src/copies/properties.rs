//! Properties of an entry that a copy may keep, and their comparison.

use megadir::FileType;

use crate::named_set::named_set;
use crate::row::Facts;

/// Set of properties.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Properties(u8);

const NAMES: [(Properties, &str); 7] = [
    (Properties::TYPE, "type"),
    (Properties::SIZE, "size"),
    (Properties::MODIFIED, "mtime"),
    (Properties::MODE, "mode"),
    (Properties::OWNER, "owner"),
    (Properties::TARGET, "target"),
    (Properties::CONTENTS, "contents"),
];

impl Properties {
    /// Empty set.
    pub const NOTHING: Self = Self(0);
    /// Type. Nothing else is compared if it differs.
    pub const TYPE: Self = Self(1);
    /// Size of files and of symbolic links.
    pub const SIZE: Self = Self(1 << 1);
    /// mtime of everything but directories.
    pub const MODIFIED: Self = Self(1 << 2);
    /// Permission bits of everything but symbolic links.
    pub const MODE: Self = Self(1 << 3);
    /// User and group, by number.
    pub const OWNER: Self = Self(1 << 4);
    /// Target of symbolic links.
    pub const TARGET: Self = Self(1 << 5);
    /// Size and contents of files.
    pub const CONTENTS: Self = Self(1 << 6);
}

named_set!(Properties, NAMES);

impl FromIterator<Properties> for Properties {
    fn from_iter<I: IntoIterator<Item = Properties>>(sets: I) -> Self {
        sets.into_iter().fold(Self::NOTHING, Self::with)
    }
}

/// Result of a comparison by facts: properties that differ, and requested ones that a side does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Compared {
    pub(super) differing: Properties,
    pub(super) unknown: [Properties; 2],
}

impl Compared {
    fn add<T: PartialEq + Copy>(
        &mut self,
        property: Properties,
        values: [Option<T>; 2],
        is_same: impl Fn(T, T) -> bool,
    ) {
        match values {
            [Some(a), Some(b)] if is_same(a, b) => {}
            [Some(_), Some(_)] => self.differing = self.differing.with(property),
            values => {
                for (unknown, value) in self.unknown.iter_mut().zip(values) {
                    *unknown = if value.is_none() { unknown.with(property) } else { *unknown };
                }
            }
        }
    }
}

/// Compares two entries as far as rows have the values: everything but contents and targets of equal size. A value that
/// a side lacks is no difference and no agreement.
pub(super) fn by_facts(wanted: Properties, [a, b]: [&Facts; 2], two_seconds: bool) -> Compared {
    let mut compared = Compared::default();
    if a.kind != b.kind {
        compared.differing = Properties::TYPE;
        return compared;
    }
    let kind = a.kind;
    let has_size = matches!(kind, FileType::File | FileType::Symlink);
    let needs_size = wanted.contains(Properties::SIZE)
        || kind == FileType::File && wanted.contains(Properties::CONTENTS)
        || kind == FileType::Symlink && wanted.contains(Properties::TARGET);
    if has_size && needs_size {
        // Contents and targets of different length differ, whether the size was requested or not.
        let property = match (wanted.contains(Properties::SIZE), kind) {
            (true, _) => Properties::SIZE,
            (false, FileType::File) => Properties::CONTENTS,
            (false, _) => Properties::TARGET,
        };
        compared.add(property, [a.size_bytes, b.size_bytes], |a, b| a == b);
    }
    if kind != FileType::Directory && wanted.contains(Properties::MODIFIED) {
        let is_same = |a, b| is_same_time(a, b, two_seconds);
        compared.add(Properties::MODIFIED, [a.modified_ns, b.modified_ns], is_same);
    }
    if kind != FileType::Symlink && wanted.contains(Properties::MODE) {
        compared.add(Properties::MODE, [a.mode, b.mode], |a, b| a == b);
    }
    if wanted.contains(Properties::OWNER) {
        let owner = |facts: &Facts| facts.user.zip(facts.group);
        compared.add(Properties::OWNER, [owner(a), owner(b)], |a, b| a == b);
    }
    compared
}

/// Units in which file systems and programs store times, nanoseconds: NTFS and SMB, UDF, archives, exFAT, and whole seconds (ext3, sshfs, tar).
const UNITS_NS: [i64; 5] = [100, 1_000, 1_000_000, 10_000_000, 1_000_000_000];

/// `true` if one time is the other, cut to a unit. `two_seconds`: one side is on FAT, to which Linux rounds down and Windows up.
fn is_same_time(a: i64, b: i64, two_seconds: bool) -> bool {
    let (low, high) = (a.min(b), a.max(b));
    let apart_ns = i128::from(high) - i128::from(low);
    apart_ns == 0
        || two_seconds && apart_ns < 2_000_000_000
        || UNITS_NS.iter().any(|unit| low % unit == 0 && apart_ns < i128::from(*unit))
}

#[cfg(test)]
mod tests {
    use super::{Properties, by_facts, is_same_time};
    use crate::row::Facts;
    use megadir::FileType;

    const S: i64 = 1_000_000_000;

    #[test]
    fn a_time_equals_its_value_in_a_coarser_unit() {
        let time = 1_700_000_001 * S + 123_456_789;
        for cut in [1, 100, 1_000, 1_000_000, 10_000_000, S] {
            let coarse = time - time.rem_euclid(cut);
            assert!(is_same_time(time, coarse, false) && is_same_time(coarse, time, false), "{cut}");
        }
        for other in
            [time + 1, time - 1, time - S, time + S, 1_700_000_000 * S, 1_700_000_002 * S, i64::MIN + 1]
        {
            assert!(!is_same_time(time, other, false), "{other}");
        }
        // Two whole seconds are never equal to their neighbours, unless a side keeps only even ones.
        assert!(!is_same_time(7 * S, 8 * S, false));
        assert!(is_same_time(7 * S, 8 * S, true) && is_same_time(7 * S, 6 * S, true));
        assert!(!is_same_time(6 * S, 8 * S, true));
        // Before 1970 a whole second is below its parts, too.
        assert!(is_same_time(-S - 1, -2 * S, false) && !is_same_time(-S - 1, -S, false));
    }

    #[test]
    fn each_property_is_compared_only_if_requested_and_where_it_means_something() {
        let old = Facts {
            kind: FileType::File,
            size_bytes: Some(1),
            modified_ns: Some(2),
            mode: Some(0o644),
            user: Some(3),
            group: Some(4),
            ..Facts::NOTHING
        };
        let all = [Properties::SIZE, Properties::MODIFIED, Properties::MODE, Properties::OWNER];
        let changed = [
            Facts { size_bytes: Some(0), ..old },
            Facts { modified_ns: Some(1), ..old },
            Facts { mode: Some(0), ..old },
            Facts { group: Some(0), ..old },
        ];
        for (property, new) in all.into_iter().zip(&changed) {
            for wanted in all {
                let compared = by_facts(wanted, [&old, new], false);
                assert_eq!(!compared.differing.is_empty(), wanted == property, "{wanted:?} {property:?}");
            }
            let every = all.into_iter().collect();
            assert_eq!(by_facts(every, [&old, new], false).differing, property);
            let of = |kind| [Facts { kind, ..old }, Facts { kind, ..*new }];
            let [a, b] = of(FileType::Directory);
            let ignored = [Properties::SIZE, Properties::MODIFIED].contains(&property);
            assert_eq!(by_facts(every, [&a, &b], false).differing.is_empty(), ignored, "{property:?}");
            let [a, b] = of(FileType::Symlink);
            let ignored = property == Properties::MODE;
            assert_eq!(by_facts(every, [&a, &b], false).differing.is_empty(), ignored, "{property:?}");
        }
        let fifo = Facts { kind: FileType::Fifo, ..old };
        assert_eq!(by_facts(Properties::NOTHING, [&old, &fifo], false).differing, Properties::TYPE);
        let unknown = Facts { mode: None, ..old };
        let compared = by_facts(Properties::MODE, [&old, &unknown], false);
        assert!(compared.differing.is_empty());
        assert_eq!(compared.unknown, [Properties::NOTHING, Properties::MODE]);
    }

    #[test]
    fn contents_of_another_length_differ_without_being_read() {
        let of = |kind, size| Facts { kind, size_bytes: Some(size), ..Facts::NOTHING };
        let compared = |wanted, kind| by_facts(wanted, [&of(kind, 1), &of(kind, 2)], false).differing;
        assert_eq!(compared(Properties::CONTENTS, FileType::File), Properties::CONTENTS);
        assert_eq!(compared(Properties::TARGET, FileType::Symlink), Properties::TARGET);
        assert_eq!(compared(Properties::CONTENTS, FileType::Symlink), Properties::NOTHING);
    }

    #[test]
    fn names_come_back() {
        for name in Properties::all_names() {
            let set = Properties::from_name(name).unwrap();
            assert_eq!(set.names().collect::<Vec<_>>(), [name]);
        }
        assert!(Properties::from_name("ctime").is_none());
    }
}
