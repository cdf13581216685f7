//! Hidden names of directories put aside, with a digest of the original name.

use sha2::{Digest, Sha256};

use super::Why;

/// Bytes of the digest in a name.
const CHECK_BYTES: usize = 8;

/// Different on each call.
pub(super) fn fresh(why: Why, of: &[u8]) -> String {
    use std::hash::{BuildHasher, Hasher};
    // Each `RandomState` has random keys.
    let random = std::hash::RandomState::new().build_hasher().finish();
    given(why, of, &format!("{random:016x}"))
}

/// Generated for the entry `of`.
pub(super) fn is_of(why: Why, of: &[u8], name: &[u8]) -> bool {
    let Some(rest) = name.strip_prefix(why.prefix().as_bytes()) else { return false };
    let Some(random) =
        rest.split_first_chunk::<16>().and_then(|(random, _)| std::str::from_utf8(random).ok())
    else {
        return false;
    };
    given(why, of, random).as_bytes() == name
}

fn given(why: Why, of: &[u8], random: &str) -> String {
    let mut digest = Sha256::new();
    for part in [why.prefix().as_bytes(), random.as_bytes(), of] {
        digest.update(part);
    }
    let check =
        digest.finalize()[..CHECK_BYTES].iter().fold(0_u64, |check, byte| check << 8 | u64::from(*byte));
    format!("{}{random}-{check:016x}", why.prefix())
}

#[cfg(test)]
mod tests {
    use super::{Why, fresh, is_of};

    #[test]
    fn a_name_is_of_one_entry_and_one_purpose() {
        let name = fresh(Why::Detached, b"cache");
        assert!(name.starts_with('.') && name.len() < 60, "{name}");
        assert!(is_of(Why::Detached, b"cache", name.as_bytes()));
        assert!(!is_of(Why::Renewed, b"cache", name.as_bytes()));
        assert!(!is_of(Why::Detached, b"cache2", name.as_bytes()));
        assert_ne!(name, fresh(Why::Detached, b"cache"));
        for cut in 0..name.len() {
            assert!(!is_of(Why::Detached, b"cache", &name.as_bytes()[..cut]));
            let mut other = name.clone().into_bytes();
            other[cut] ^= 1;
            assert!(!is_of(Why::Detached, b"cache", &other), "{cut}");
        }
    }
}
