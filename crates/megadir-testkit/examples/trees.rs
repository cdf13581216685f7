//! Creates the directories that the Windows suites read, because Wine would take minutes: `trees DIRECTORY`.
//! Set `MEGADIR_TREES` to the directory's Windows path to use them. Files differ in size and time, so that
//! mixed-up attributes are noticed.

use std::fs::{File, FileTimes};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use megadir_testkit::rng::mix;
use megadir_testkit::tree::Flat;

fn main() {
    let Some(parent) = std::env::args_os().nth(1).map(std::path::PathBuf::from) else {
        panic!("trees: give the directory to make them in");
    };
    for flat in megadir_testkit::tree::of_windows() {
        differ(&flat, &flat.ensure(&parent));
    }
}

/// Sparse sizes up to 8 GiB cost no space, and times follow from the index.
fn differ(flat: &Flat, directory: &Path) {
    for index in 0..flat.entries {
        let name = flat.name(index);
        let path = directory.join(String::from_utf8_lossy(&name).as_ref());
        let made = File::options().write(true).open(&path).and_then(|file| {
            file.set_len(mix(index) % (1 << 33))?;
            let modified = UNIX_EPOCH + Duration::from_nanos(mix(index + 1) >> 2);
            file.set_times(FileTimes::new().set_modified(modified))
        });
        if let Err(error) = made {
            panic!("trees: {}: {error}", path.display());
        }
    }
}
