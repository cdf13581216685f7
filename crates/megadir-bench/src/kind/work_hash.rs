//! Hashes that prove that every block of every arm did the same work.

use megadir_record::Counted;

use crate::control::WorkError;

/// Repeats an operation; if results differ, returns a hash that differs from every expected one.
pub(crate) fn repeat(
    operations: u64,
    mut once: impl FnMut() -> Result<Counted, WorkError>,
) -> Result<Counted, WorkError> {
    let mut counted: Option<Counted> = None;
    for _ in 0..operations {
        let seen = once()?;
        counted = match counted {
            Some(first) if (first.entries, first.hash) != (seen.entries, seen.hash) => {
                Some(Counted { hash: !first.hash.wrapping_add(seen.hash), ..seen })
            }
            _ => Some(seen),
        };
    }
    Ok(counted.unwrap_or(Counted { entries: 0, hash: 0, calls: None, written_bytes: 0 }))
}

/// Hash of an entry's name; a directory's hashes are added, in any order. 2.2 ns for 32 bytes on a virtual
/// Xeon, where reading an entry takes about 170 ns.
#[inline]
pub(crate) fn name_hash(name: &[u8]) -> u64 {
    const KEY: u64 = 0x9e37_79b9_7f4a_7c15;
    const OTHER: u64 = 0xd1b5_4a32_d192_ed03;
    let fold = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        (product as u64) ^ (product >> 64) as u64
    };
    let pair = |half: &[u8; 16], key: u64| {
        let both = u128::from_le_bytes(*half);
        fold(both as u64 ^ key, (both >> 64) as u64 ^ key.rotate_left(32))
    };
    let (halves, rest) = name.as_chunks::<16>();
    let (mut sum, mut key) = (0_u64, KEY);
    for half in halves {
        sum = sum.wrapping_add(pair(half, key));
        key = key.wrapping_add(OTHER);
    }
    if let Some(last) = name.last_chunk::<16>() {
        if !rest.is_empty() {
            sum = sum.wrapping_add(pair(last, key));
        }
    } else {
        let mut last = [0; 16];
        last[..rest.len()].copy_from_slice(rest);
        sum = sum.wrapping_add(pair(&last, key));
    }
    fold(sum ^ KEY, OTHER ^ ((name.len() as u64) << 8))
}

#[cfg(test)]
mod tests {
    use super::name_hash;

    #[test]
    fn names_that_differ_have_hashes_that_differ() {
        let mut hashes = std::collections::HashSet::new();
        for length in 1..40 {
            for at in 0..length {
                let mut name = vec![b'a'; length];
                name[at] = b'b';
                assert!(hashes.insert(name_hash(&name)), "{length} {at}");
            }
            assert!(hashes.insert(name_hash(&vec![b'a'; length])));
        }
        for bit in 0..256 {
            let mut name = [b'x'; 32];
            name[bit / 8] ^= 1 << (bit % 8);
            assert!(hashes.insert(name_hash(&name)), "{bit}");
        }
    }
}
