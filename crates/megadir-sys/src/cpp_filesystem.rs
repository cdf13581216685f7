//! C++'s `std::filesystem`: the regular files of a directory with their times, as a C++ program finds them out.
//!
//! For benchmarks only, and only with the feature `cpp`; `cpp_filesystem.cpp` is compiled by the build script where a C++ compiler is
//! found. Without either, [`unavailable`] says so and nothing of C++ is linked.

use std::io;
use std::path::Path;

/// Tells why C++ cannot be asked, if it cannot.
pub fn unavailable() -> Option<&'static str> {
    if cfg!(megadir_cpp) {
        None
    } else if cfg!(feature = "cpp") {
        Some("this program was built where no C++ compiler was found")
    } else {
        Some("this program was built without C++ (cargo feature cpp)")
    }
}

/// Lists a directory by `directory_iterator`, asks for the `last_write_time` of every regular file, keeps both in a vector, and then
/// gives each row: the name, and seconds since 1970 with nanoseconds after them.
///
/// Symbolic links are not followed; a file that vanishes meanwhile is left out.
///
/// # Errors
///
/// The operating system's, as C++ tells it; `Unsupported` where [`unavailable`] says why.
#[cfg(not(megadir_cpp))]
pub fn regular_files(_directory: &Path, _row: &mut dyn FnMut(&[u8], i64, u32)) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, unavailable().unwrap_or_default()))
}

#[cfg(megadir_cpp)]
pub use compiled::regular_files;

#[cfg(megadir_cpp)]
mod compiled {
    use super::{Path, io};
    use std::ffi::{CString, c_char, c_int, c_void};
    use std::os::unix::ffi::OsStrExt;

    /// Takes one row.
    type Row = extern "C" fn(
        context: *mut c_void,
        name: *const c_char,
        name_bytes: usize,
        seconds: i64,
        nanoseconds: u32,
    );

    unsafe extern "C" {
        /// Returns 0, or an error number of the system.
        fn megadir_cpp_regular_files(directory: *const c_char, context: *mut c_void, row: Row) -> c_int;
    }

    /// What the C++ side hands back with every row.
    struct Context<'a> {
        row: &'a mut dyn FnMut(&[u8], i64, u32),
    }

    extern "C" fn take(
        context: *mut c_void,
        name: *const c_char,
        name_bytes: usize,
        seconds: i64,
        nanoseconds: u32,
    ) {
        // SAFETY: the pointer is that of the Context on the stack of `regular_files`, handed back unchanged by the C++ function that it
        // was passed to, which calls this from the same thread and before it returns; nobody else uses it meanwhile.
        let context = unsafe { &mut *context.cast::<Context<'_>>() };
        // SAFETY: the C++ side gives data and size of a std::string of its vector, which it does not change during the call.
        let name = unsafe { std::slice::from_raw_parts(name.cast::<u8>(), name_bytes) };
        (context.row)(name, seconds, nanoseconds);
    }

    /// See the documentation of the same function where C++ is not to be had.
    ///
    /// # Errors
    ///
    /// The operating system's, as C++ tells it.
    pub fn regular_files(directory: &Path, row: &mut dyn FnMut(&[u8], i64, u32)) -> io::Result<()> {
        let directory = CString::new(directory.as_os_str().as_bytes())?;
        let mut context = Context { row };
        // SAFETY: the path ends with a NUL and lives through the call; the function is noexcept and catches every exception, calls
        // `take` with `context` only, which lives through the call too, and keeps neither.
        let error = unsafe { megadir_cpp_regular_files(directory.as_ptr(), (&raw mut context).cast(), take) };
        if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
    }
}

#[cfg(test)]
mod tests {
    use super::{regular_files, unavailable};
    use std::collections::BTreeMap;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn cpp_tells_the_times_that_the_system_tells_or_says_why_not() {
        let parent = std::env::temp_dir().join(format!("megadir-cpp-{}", std::process::id()));
        std::fs::create_dir(&parent).unwrap();
        let mut expected = BTreeMap::new();
        for (name, before) in [("one", 0), ("two", 1_500_000_001), ("before 1970", 3_000_000_000)] {
            let file = std::fs::File::create(parent.join(name)).unwrap();
            let time = std::time::SystemTime::now() - std::time::Duration::new(before, 7);
            file.set_modified(time).unwrap();
            let metadata = file.metadata().unwrap();
            expected.insert(name.as_bytes().to_vec(), (metadata.mtime(), metadata.mtime_nsec() as u32));
        }
        std::fs::create_dir(parent.join("directory")).unwrap();
        std::os::unix::fs::symlink("one", parent.join("link")).unwrap();
        std::os::unix::fs::symlink("nowhere", parent.join("broken")).unwrap();
        let mut found = BTreeMap::new();
        let mut row = |name: &[u8], seconds, nanoseconds| {
            assert!(found.insert(name.to_vec(), (seconds, nanoseconds)).is_none());
        };
        let result = regular_files(&parent, &mut row);
        let missing = regular_files(&parent.join("nothing"), &mut |_, _, _| {});
        std::fs::remove_dir_all(&parent).unwrap();
        match unavailable() {
            None => {
                result.unwrap();
                assert_eq!(found, expected);
                assert_eq!(missing.unwrap_err().kind(), std::io::ErrorKind::NotFound);
            }
            Some(reason) => {
                assert_eq!(result.unwrap_err().to_string(), reason);
                assert!(found.is_empty());
            }
        }
    }
}
