//! Junctions are listed as links and never followed below the named directory.

use megadir::{BACKENDS, Dir, ErrorKind, FileType, Walk, WalkItem, WalkOptions};
use megadir_testkit::require;
use megadir_testkit::seen::list;

use super::support::choice;

#[test]
fn junctions_are_links_and_not_followed() {
    let scratch = tempfile::tempdir().unwrap();
    let (target, place) = (scratch.path().join("target"), scratch.path().join("place"));
    std::fs::create_dir_all(target.join("below")).unwrap();
    std::fs::create_dir(&place).unwrap();
    let mut command = std::process::Command::new("cmd");
    command.args(["/c", "mklink", "/J"]).arg(place.join("junction")).arg(&target);
    let made = command.stdin(std::process::Stdio::null()).output();
    if require::is_wine() {
        return require::unavailable("junctions_are_links_and_not_followed", "Wine shows none");
    }
    assert!(made.unwrap().status.success());
    assert!(std::fs::symlink_metadata(place.join("junction")).unwrap().is_symlink());
    let directory = Dir::open(&place).unwrap();
    for backend in BACKENDS.iter().filter(|backend| backend.probe(&directory).is_ok()) {
        let options = choice(&directory, *backend, "open-each", 4 << 10).listing.options;
        let found = list(*backend, &directory, &options).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].kind, FileType::Symlink, "{}", backend.name());
    }
    assert_eq!(directory.kind_of(b"junction").unwrap(), FileType::Symlink);
    assert_eq!(directory.open_below(b"junction").unwrap_err().kind(), ErrorKind::NotADirectory);
    let options = WalkOptions {
        buffer_bytes: 4 << 10,
        threads: 1,
        threads_max: 1,
        read_ahead: megadir::ReadAhead::Auto,
        queue_directories_max: 9,
        cross_mounts: true,
        examine: None,
        report_ends: false,
        looks_again: false,
        conditions: None,
    };
    let mut walk = Walk::new(directory, &options).unwrap();
    while let Some(item) = walk.next_item() {
        let WalkItem::Batch { batch, .. } = item else { panic!("{item:?}") };
        assert!(batch.entries().all(|entry| entry.name == b"junction"));
    }
    // If the caller names it, it is followed.
    assert!(Dir::open(place.join("junction")).unwrap().open_below(b"below").is_ok());
}
