//! Functions that hash contents.

use sha2::{Digest, Sha256};

use crate::row::ContentHash;

/// Function of a [`ContentHash`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Sha256,
    Blake3,
}

impl Function {
    pub(crate) fn of(hash: &ContentHash) -> Self {
        match hash {
            ContentHash::Sha256(_) => Self::Sha256,
            ContentHash::Blake3(_) => Self::Blake3,
        }
    }

    pub(crate) fn hash(self, bytes: &[u8]) -> ContentHash {
        let mut hasher = Hasher::new(self);
        hasher.update(bytes);
        hasher.finish()
    }
}

pub(crate) enum Hasher {
    Sha256(Sha256),
    Blake3(Box<blake3::Hasher>),
}

impl Hasher {
    pub(crate) fn new(function: Function) -> Self {
        match function {
            Function::Sha256 => Self::Sha256(Sha256::new()),
            Function::Blake3 => Self::Blake3(Box::default()),
        }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(hasher) => hasher.update(bytes),
            Self::Blake3(hasher) => {
                hasher.update(bytes);
            }
        }
    }

    pub(crate) fn finish(self) -> ContentHash {
        match self {
            Self::Sha256(hasher) => ContentHash::Sha256(hasher.finalize().into()),
            Self::Blake3(hasher) => ContentHash::Blake3(hasher.finalize().into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Function;
    use crate::row::ContentHash;

    #[test]
    fn hashes_are_those_of_sha256sum_and_b3sum() {
        let hex = |hash: &[u8; 32]| hash[..4].iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let ContentHash::Sha256(sha256) = Function::Sha256.hash(b"abc") else { panic!("another function") };
        let ContentHash::Blake3(blake3) = Function::Blake3.hash(b"abc") else { panic!("another function") };
        // printf abc | sha256sum, and b3sum.
        assert_eq!((&*hex(&sha256), &*hex(&blake3)), ("ba7816bf", "6437b3ac"));
    }
}
