//! Small ext4 images that fill up soon, and names of any length computed from a seed and an index.

use std::path::PathBuf;

use megadir::Dir;
use megadir::limits::{Assumptions, Limits, NameLengths, limits};
use megadir_testkit::mount::{self, Mount, Recipe};
use megadir_testkit::rng::mix;
use rustix::fs::{FileType, Mode, mknodat};
use rustix::io::Errno;

/// Parameters of an image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) block_bytes: u64,
    pub(crate) metadata_csum: bool,
    /// Additional features, in mke2fs syntax.
    pub(crate) features: &'static str,
    pub(crate) inodes: u64,
    /// Space for directories, bytes.
    pub(crate) directory_bytes: u64,
    /// Seed of the directory hash.
    pub(crate) seed: u64,
}

impl Shape {
    /// Creates and mounts the image with an empty directory.
    pub(crate) fn make(&self) -> Result<Image, String> {
        let features = format!(
            "^has_journal,^resize_inode{}{}",
            if self.metadata_csum { "" } else { ",^metadata_csum" },
            self.features
        );
        // The superblock holds the hash seed: with the same seed an image always fills in the same way.
        let seed = format!("hash_seed=00000000-0000-4000-8000-{:012x}", self.seed);
        let (block, inodes) = (self.block_bytes.to_string(), self.inodes.to_string());
        let words =
            ["mkfs.ext4", "-q", "-F", "-m", "0", "-I", "128", "-E", &seed, "-b", &block, "-N", &inodes];
        let words = words.iter().map(|word| (*word).to_owned()).chain(["-O".to_owned(), features]);
        // Recipes need static strings; there are a few hundred of these.
        let mkfs: Vec<&'static str> = words.map(|word| &*String::leak(word)).collect();
        let image_bytes = (self.inodes * 140 + self.directory_bytes + (8 << 20)).next_multiple_of(1 << 20);
        let recipe = Recipe { name: "a small ext4", mkfs: Vec::leak(mkfs), image_bytes, ..mount::EXT4 };
        let mount = Mount::make(&recipe)?;
        let path = mount.path().join("filled");
        std::fs::create_dir(&path).map_err(|error| error.to_string())?;
        let directory = Dir::open(&path).map_err(|error| error.to_string())?;
        Ok(Image { directory, path, mount })
    }
}

/// A mounted image with a directory to be filled.
#[derive(Debug)]
pub(crate) struct Image {
    /// Declared before the mount, so that it is closed before the unmount.
    pub(crate) directory: Dir,
    pub(crate) path: PathBuf,
    pub(crate) mount: Mount,
}

impl Image {
    /// Creates a file.
    pub(crate) fn create(&self, name: &[u8]) -> Result<(), Errno> {
        mknodat(&self.directory, name, FileType::RegularFile, Mode::from_raw_mode(0o644), 0)
    }

    pub(crate) fn remove(&self, name: &[u8]) {
        rustix::fs::unlinkat(&self.directory, name, rustix::fs::AtFlags::empty()).unwrap();
    }

    /// Creates files until one is refused. Returns their number and the error. `at` is called before each.
    pub(crate) fn fill(&self, names: &Names, from: u64, mut at: impl FnMut(u64)) -> (u64, Errno) {
        for index in from.. {
            at(index);
            if let Err(error) = self.create(names.write(index, &mut [0; 255])) {
                return (index - from, error);
            }
        }
        unreachable!("every file system fills up")
    }

    pub(crate) fn limits(&self) -> Limits {
        limits(&self.directory, &Assumptions::MORE_OF_THE_SAME).unwrap()
    }

    /// Prediction for an empty directory and names of these lengths.
    pub(crate) fn limits_of(&self, lengths: &str) -> Limits {
        let names: NameLengths = lengths.parse().unwrap();
        limits(&self.directory, &Assumptions { names: Some(&names), ..Assumptions::MORE_OF_THE_SAME })
            .unwrap()
    }
}

/// Names of one length, or of several lengths in equal parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names {
    pub(crate) lengths: &'static [u16],
    pub(crate) seed: u64,
}

impl Names {
    /// The lengths in the syntax of `limits`.
    pub(crate) fn text(&self) -> String {
        self.lengths.iter().map(u16::to_string).collect::<Vec<_>>().join(",")
    }

    /// Writes the name of an index; different indices have different names.
    pub(crate) fn write<'a>(&self, index: u64, buffer: &'a mut [u8; 255]) -> &'a [u8] {
        const LETTERS: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-";
        let random = mix(index.wrapping_add(mix(self.seed)));
        let length = usize::from(self.lengths[(random % self.lengths.len() as u64) as usize]);
        // 48 bits make eight letters. Multiplying by an odd number keeps indices distinct.
        let mut bits = index.wrapping_mul(0x9e37_79b9_7f4b).wrapping_add(self.seed) & ((1 << 48) - 1);
        for (at, letter) in buffer[..length].iter_mut().enumerate() {
            if at > 0 && at % 8 == 0 {
                bits = mix(random.wrapping_add(at as u64));
            }
            *letter = LETTERS[(bits % 64) as usize];
            bits /= 64;
        }
        &buffer[..length]
    }
}
