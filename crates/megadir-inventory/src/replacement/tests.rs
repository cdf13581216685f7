//! Tests of replacing files: the result, and leftovers.

use super::Replacement;
use crate::{CSV_HEADER, FileKind};
use std::fs;
use std::io::Write;

/// An inventory of an empty tree.
const OLD: &[u8] = CSV_HEADER.as_bytes();

#[test]
fn the_old_file_stays_until_the_new_one_is_whole() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("inventory");
    fs::write(&path, OLD).unwrap();
    let names = || fs::read_dir(directory.path()).unwrap().count();
    let mut file = Replacement::create(&path, FileKind::Inventory).unwrap();
    file.write_all(b"PAR1 new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), OLD);
    let error = Replacement::create(&path, FileKind::Inventory).unwrap_err();
    assert!(error.to_string().contains("another process is writing"), "{error}");
    drop(file);
    assert_eq!((fs::read(&path).unwrap(), names()), (OLD.to_vec(), 1));
    let mut file = Replacement::create(&path, FileKind::Inventory).unwrap();
    file.write_all(b"PAR1 new").unwrap();
    assert_eq!(file.finish().unwrap(), 8);
    assert_eq!((fs::read(&path).unwrap(), names()), (b"PAR1 new".to_vec(), 1));
}

#[test]
fn files_open_elsewhere_are_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("inventory");
    fs::write(&path, OLD).unwrap();
    let mut file = Replacement::create(&path, FileKind::Inventory).unwrap();
    file.write_all(b"PAR1 new").unwrap();
    let excluded = file.excluded();
    assert_eq!(excluded.len(), 2, "{excluded:?}");
    assert!(excluded.iter().all(|file| file.inode.is_some()) && excluded[0].inode != excluded[1].inode);
    let reader = fs::File::open(&path).unwrap();
    match file.finish() {
        Ok(8) => assert_eq!(fs::read(&path).unwrap(), b"PAR1 new"),
        // Wine 8 cannot replace an open file and reports that; the new file is kept.
        Err(error) if megadir_testkit::require::is_wine() => {
            megadir_testkit::require::unavailable("what_others_have_open", &error.to_string());
            assert_eq!(fs::read(&path).unwrap(), OLD);
            let partial = directory.path().join(".inventory.megadir-partial");
            assert_eq!(fs::read(&partial).unwrap(), b"PAR1 new");
            assert!(error.to_string().contains("the complete inventory is in"), "{error}");
            fs::remove_file(partial).unwrap();
        }
        other => panic!("{other:?}"),
    }
    drop(reader);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left behind");
}

#[test]
fn unplaceable_replacement_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("inventory");
    let mut file = Replacement::create(&path, FileKind::Inventory).unwrap();
    file.write_all(b"PAR1 new").unwrap();
    // Meanwhile a directory takes the name.
    fs::create_dir(&path).unwrap();
    let error = file.finish().unwrap_err().to_string();
    let partial = directory.path().join(".inventory.megadir-partial");
    assert!(
        error.contains("the complete inventory is in '") && error.contains(".megadir-partial"),
        "{error}"
    );
    assert_eq!(fs::read(&partial).unwrap(), b"PAR1 new");
}

#[test]
fn files_of_other_programs_are_not_replaced_even_if_they_begin_like_inventories() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("precious.parquet");
    for foreign in [
        &parquet_of_another_program()[..],
        b"PAR1 my data",
        b"PAR1",
        b"root,parent,name",
        b"root,parent,name\r\n0,a,b\r\n",
        CSV_HEADER.trim_end().as_bytes(),
        b"{\"v\":1,\"root\":0,\"parent\":\"a\"}\n",
        b"{\"v\":1,",
        b"",
    ] {
        fs::write(&path, foreign).unwrap();
        let error = Replacement::create(&path, FileKind::Inventory).map(drop).unwrap_err();
        let shown = String::from_utf8_lossy(foreign);
        assert!(error.to_string().contains("is not an inventory and would be lost"), "{shown}: {error}");
        assert!(error.to_string().contains("would be lost: name another file"), "{shown}: {error}");
        assert_eq!(fs::read(&path).unwrap(), foreign, "{shown}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "{shown}");
    }
}

/// A valid file of the same columns, without the metadata of an inventory.
fn parquet_of_another_program() -> Vec<u8> {
    use parquet::file::properties::WriterProperties;
    use parquet::schema::parser::parse_message_type;
    let message = "message inventory { required int32 root; required binary parent; required binary name; }";
    let schema = parse_message_type(message).unwrap().into();
    let properties = WriterProperties::builder().build().into();
    parquet::file::writer::SerializedFileWriter::new(Vec::new(), schema, properties)
        .unwrap()
        .into_inner()
        .unwrap()
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_read_is_not_replaced() {
    use std::os::unix::fs::PermissionsExt;
    if !rustix::process::geteuid().is_root() {
        return megadir_testkit::require::not_run("a_file_that_cannot_be_read", "needs another user's file");
    }
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let path = directory.path().join("secret");
    fs::write(&path, "my keys").unwrap();
    fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    megadir_testkit::unprivileged::unprivileged(|| {
        let error = Replacement::create(&path, FileKind::Inventory).map(drop).unwrap_err().to_string();
        assert!(error.contains("Permission denied") && error.contains("name another"), "{error}");
    });
    assert_eq!(fs::read(&path).unwrap(), b"my keys");
}

#[cfg(windows)]
#[test]
fn read_only_files_are_refused_before_writing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("inventory");
    fs::write(&path, OLD).unwrap();
    let before = fs::metadata(&path).unwrap().permissions();
    let mut marked = before.clone();
    marked.set_readonly(true);
    fs::set_permissions(&path, marked).unwrap();
    let error = Replacement::create(&path, FileKind::Inventory).unwrap_err().to_string();
    assert!(error.contains("read-only"), "{error}");
    fs::set_permissions(&path, before).unwrap();
    assert_eq!(fs::read(&path).unwrap(), OLD);
}

#[cfg(windows)]
#[test]
fn who_may_read_the_old_file_may_read_the_new_one() {
    use megadir::AccessList;
    let directory = tempfile::tempdir().unwrap();
    let [path, beside] = ["inventory", "beside"].map(|name| directory.path().join(name));
    fs::write(&path, OLD).unwrap();
    fs::write(&beside, OLD).unwrap();
    let list = |path: &std::path::Path| AccessList::of(&fs::File::open(path).unwrap()).unwrap();
    assert_eq!(list(&path), list(&beside));
    let command = |program: &str| {
        let mut command = std::process::Command::new(program);
        command.current_dir(directory.path()).stdin(std::process::Stdio::null());
        command
    };
    if megadir_testkit::require::is_wine() {
        // Wine maps access lists to modes of the host. It starts host programs, but neither reports success nor
        // waits for them.
        let _ = command("Z:\\bin\\chmod").args(["0606", "inventory"]).status();
        let begun = std::time::Instant::now();
        while list(&path) == list(&beside) {
            assert!(begun.elapsed().as_secs() < 60, "the mode did not change");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    } else {
        // Converts inherited entries to explicit ones.
        let made = command("icacls").args(["inventory", "/inheritance:d"]).output().unwrap();
        assert!(made.status.success(), "{made:?}");
    }
    let narrow = list(&path);
    assert_ne!(narrow, list(&beside));
    let mut file = Replacement::create(&path, FileKind::Inventory).unwrap();
    assert_eq!(
        list(&directory.path().join(".inventory.megadir-partial")),
        narrow,
        "before anything is written"
    );
    file.write_all(b"PAR1 new").unwrap();
    file.finish().unwrap();
    assert_eq!((list(&path), fs::read(&path).unwrap()), (narrow, b"PAR1 new".to_vec()));
}

#[cfg(unix)]
#[test]
fn another_group_may_not_read_the_new_file() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    if !rustix::process::geteuid().is_root() {
        return megadir_testkit::require::not_run("another_group", "root alone can give files away");
    }
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let path = directory.path().join("inventory");
    fs::write(&path, OLD).unwrap();
    chown(&path, Some(1234), Some(4321)).unwrap();
    fs::set_permissions(&path, PermissionsExt::from_mode(0o664)).unwrap();
    megadir_testkit::unprivileged::unprivileged(|| {
        let mut replacement = Replacement::create(&path, FileKind::Inventory).unwrap();
        replacement.write_all(b"PAR1 new").unwrap();
        replacement.finish().unwrap();
    });
    let status = fs::metadata(&path).unwrap();
    assert_eq!((status.gid(), status.mode() & 0o7777), (65534, 0o604));
}

#[cfg(unix)]
#[test]
fn whose_the_old_file_is_the_new_one_is() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    if !rustix::process::geteuid().is_root() {
        return megadir_testkit::require::not_run("whose_the_old_file_is", "root alone can give files away");
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("inventory");
    let partial = directory.path().join(".inventory.megadir-partial");
    for killed in [false, true] {
        fs::write(&path, OLD).unwrap();
        chown(&path, Some(65534), Some(65533)).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
        if killed {
            fs::write(&partial, "PAR1").unwrap();
            chown(&partial, Some(65534), Some(65533)).unwrap();
        }
        let mut replacement = Replacement::create(&path, FileKind::Inventory).unwrap();
        replacement.write_all(b"PAR1 new").unwrap();
        replacement.finish().unwrap();
        let status = fs::metadata(&path).unwrap();
        assert_eq!((status.uid(), status.gid(), status.mode() & 0o7777), (65534, 65533, 0o640));
    }
}

#[cfg(unix)]
#[test]
fn foreign_entry_at_the_temporary_name_stays() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("inventory");
    let partial = directory.path().join(".inventory.megadir-partial");
    let refused = |case: &str| {
        let error = Replacement::create(&path, FileKind::Inventory).unwrap_err().to_string();
        assert!(error.contains("the name of its temporary file is taken"), "{case}: {error}");
    };
    let precious = directory.path().join("precious");
    fs::write(&precious, "PAR1 precious").unwrap();
    fs::hard_link(&precious, &partial).unwrap();
    refused("another name of a file");
    assert_eq!(fs::read(&precious).unwrap(), b"PAR1 precious");
    fs::remove_file(&partial).unwrap();
    std::os::unix::fs::symlink(&precious, &partial).unwrap();
    Replacement::create(&path, FileKind::Inventory).unwrap_err();
    assert_eq!(fs::read(&precious).unwrap(), b"PAR1 precious");
    fs::remove_file(&partial).unwrap();
    if !rustix::process::geteuid().is_root() {
        return megadir_testkit::require::not_run("what_waits", "root alone can give files away");
    }
    for _replaced in [false, true] {
        fs::write(&partial, "").unwrap();
        std::os::unix::fs::chown(&partial, Some(65534), None).unwrap();
        refused("a file of another user");
        assert_eq!(fs::read(&partial).unwrap(), b"");
        fs::remove_file(&partial).unwrap();
        fs::write(&path, OLD).unwrap();
    }
}

#[test]
fn leftover_of_a_killed_process_is_reused_and_foreign_ones_are_not() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("inventory");
    let partial = directory.path().join(".inventory.megadir-partial");
    for left in ["", "PA", "PAR1 and much more than a head is long"] {
        fs::write(&partial, left).unwrap();
        let mut file = Replacement::create(&path, FileKind::Inventory).unwrap();
        file.write_all(b"PAR1").unwrap();
        file.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"PAR1", "after {left:?}");
        fs::remove_file(&path).unwrap();
    }
    fs::write(&partial, "my notes").unwrap();
    let error = Replacement::create(&path, FileKind::Inventory).unwrap_err();
    assert!(error.to_string().contains("the name of its temporary file is taken"), "{error}");
    assert_eq!(fs::read(&partial).unwrap(), b"my notes");
}
