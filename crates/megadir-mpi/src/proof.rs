//! Proof that two processes run the same program with the same arguments.

use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

const PIECE_BYTES: u64 = 256 << 10;

/// Not cryptographic: it finds mistakes, not attacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof {
    program: u64,
    arguments: u64,
}

impl Proof {
    /// Reads length, beginning and end: a linker writes a hash of the rest near the beginning.
    pub fn of(program: &Path, arguments: &[OsString]) -> io::Result<Self> {
        let (mut file, mut hash) = (std::fs::File::open(program)?, DefaultHasher::new());
        let length = file.metadata()?.len();
        hash.write_u64(length);
        for offset in [0, length.saturating_sub(PIECE_BYTES)] {
            let mut piece = Vec::new();
            file.seek(SeekFrom::Start(offset))?;
            (&mut file).take(PIECE_BYTES).read_to_end(&mut piece)?;
            hash.write(&piece);
        }
        let mut of_arguments = DefaultHasher::new();
        arguments.hash(&mut of_arguments);
        Ok(Self { program: hash.finish(), arguments: of_arguments.finish() })
    }

    pub(crate) fn to_bytes(self) -> [u8; 16] {
        (u128::from(self.program) << 64 | u128::from(self.arguments)).to_le_bytes()
    }

    pub(crate) fn from_bytes(bytes: [u8; 16]) -> Self {
        let both = u128::from_le_bytes(bytes);
        Self { program: (both >> 64) as u64, arguments: both as u64 }
    }

    pub(crate) fn compare(self, first: Self) -> Result<(), String> {
        match (self.program == first.program, self.arguments == first.arguments) {
            (true, true) => Ok(()),
            (false, _) => {
                Err("its program is another one than that of rank 0; install the same one on all hosts"
                    .into())
            }
            (true, false) => {
                Err("its arguments are other ones than those of rank 0; give all ranks the same".into())
            }
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::Proof;

    #[test]
    fn programs_and_arguments_are_compared() {
        let proof = |program: &str, arguments: &[&str]| {
            let arguments: Vec<_> = arguments.iter().map(Into::into).collect();
            Proof::of(program.as_ref(), &arguments).unwrap()
        };
        let first = proof("/bin/ls", &["a", "b"]);
        assert_eq!(Proof::from_bytes(first.to_bytes()), first);
        assert_eq!(proof("/bin/ls", &["a", "b"]).compare(first), Ok(()));
        let reason = |proof: Proof| proof.compare(first).unwrap_err();
        assert!(reason(proof("/bin/cat", &["a", "b"])).starts_with("its program"));
        assert!(reason(proof("/bin/ls", &["ab"])).starts_with("its arguments"));
    }
}
