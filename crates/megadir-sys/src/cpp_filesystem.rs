//! C++ `std::filesystem` as a C++ program lists a directory; for benchmarks only (feature `cpp`). The build
//! script compiles `cpp_filesystem.cpp` if it finds a compiler; otherwise [`unavailable`] gives the reason.

use std::io;
use std::path::Path;

pub fn unavailable() -> Option<&'static str> {
    if cfg!(megadir_cpp) {
        None
    } else if cfg!(not(feature = "cpp")) {
        Some("this program was built without C++ (cargo feature cpp)")
    } else if cfg!(any(target_os = "linux", all(windows, target_env = "gnu"))) {
        Some("this program was built where no C++ compiler was found")
    } else {
        Some("C++ is compiled on Linux, and by mingw for Windows")
    }
}

/// On Windows the C library rejects `?` and long paths.
pub fn unavailable_on(directory: &Path) -> Option<&'static str> {
    unavailable().or_else(|| refused(directory))
}

#[cfg(not(windows))]
fn refused(_directory: &Path) -> Option<&'static str> {
    None
}

/// The C library below libstdc++ rejects wildcards and long paths.
#[cfg(windows)]
fn refused(directory: &Path) -> Option<&'static str> {
    use std::os::windows::ffi::OsStrExt;
    /// Longest directory, UTF-16 units; the rest of the C library's 259 is for names.
    const UNITS_MAX: usize = 200;
    let wildcard = |unit: u16| unit == u16::from(b'?') || unit == u16::from(b'*');
    let full = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    if directory.as_os_str().encode_wide().any(wildcard) {
        return Some(
            "C++'s std::filesystem, as mingw has it, takes no path with `?`, such as \\\\?\\C:\\folder",
        );
    }
    let long = full.as_os_str().encode_wide().count() > UNITS_MAX;
    long.then_some("C++'s std::filesystem, as mingw has it, takes no long paths")
}

/// Passes on the name (WTF-8 on Windows), seconds since 1970 and nanoseconds of every regular file, collected
/// in a C++ vector before. Symbolic links are followed only on Windows, where C++ does not recognise them;
/// files that vanish meanwhile are left out. Fails with `Unsupported` if C++ is [`unavailable`].
#[cfg(not(megadir_cpp))]
pub fn regular_files(_directory: &Path, _row: &mut dyn FnMut(&[u8], i64, u32)) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, unavailable().unwrap_or_default()))
}

#[cfg(megadir_cpp)]
pub use compiled::regular_files;

#[cfg(megadir_cpp)]
mod compiled {
    use self::system::Unit;
    use super::{Path, io};
    use std::ffi::{c_int, c_void};

    type Row = extern "C" fn(
        context: *mut c_void,
        name: *const Unit,
        name_units: usize,
        seconds: i64,
        nanoseconds: u32,
    );

    unsafe extern "C" {
        /// Returns 0 or an errno value.
        fn megadir_cpp_regular_files(directory: *const Unit, context: *mut c_void, row: Row) -> c_int;
    }

    type Each<'a> = &'a mut dyn FnMut(&[u8], i64, u32);

    extern "C" fn take(
        context: *mut c_void,
        name: *const Unit,
        name_units: usize,
        seconds: i64,
        nanoseconds: u32,
    ) {
        // SAFETY: the pointer is to the variable `row` of `regular_files`, passed back unchanged by the C++ function,
        // which calls this from the same thread before it returns; nothing else uses it meanwhile.
        let row = unsafe { &mut *context.cast::<Each<'_>>() };
        // SAFETY: the C++ side passes data and size of a string in its vector, which it does not change during
        // the call; its characters have the size of `Unit`.
        let name = unsafe { std::slice::from_raw_parts(name, name_units) };
        row(&system::name(name), seconds, nanoseconds);
    }

    pub fn regular_files(directory: &Path, mut row: Each<'_>) -> io::Result<()> {
        let directory = system::path(directory)?;
        // SAFETY: the path ends with a NUL and lives through the call; the function is noexcept and catches every exception,
        // calls `take` with `row` only, which lives through the call too, and keeps neither.
        let error = unsafe { megadir_cpp_regular_files(directory.as_ptr(), (&raw mut row).cast(), take) };
        if error == 0 { Ok(()) } else { Err(system::error(error)) }
    }

    #[cfg(not(windows))]
    mod system {
        use std::borrow::Cow;
        use std::ffi::CString;
        use std::io;
        use std::os::unix::ffi::OsStrExt;
        use std::path::Path;

        pub(super) type Unit = u8;

        pub(super) fn path(path: &Path) -> io::Result<Vec<Unit>> {
            Ok(CString::new(path.as_os_str().as_bytes())?.into_bytes_with_nul())
        }

        pub(super) fn name(name: &[Unit]) -> Cow<'_, [u8]> {
            Cow::Borrowed(name)
        }

        pub(super) fn error(errno: i32) -> io::Error {
            io::Error::from_raw_os_error(errno)
        }
    }

    #[cfg(windows)]
    mod system {
        //! Paths, names and errors of C++ on Windows: UTF-16, and the C library's error numbers.

        use std::borrow::Cow;
        use std::ffi::OsString;
        use std::io;
        use std::os::windows::ffi::{OsStrExt, OsStringExt};
        use std::path::Path;

        pub(super) type Unit = u16;

        const ERRORS: [(i32, i32); 5] = [
            (2, 2),    // ENOENT, ERROR_FILE_NOT_FOUND
            (12, 8),   // ENOMEM, ERROR_NOT_ENOUGH_MEMORY
            (13, 5),   // EACCES, ERROR_ACCESS_DENIED
            (20, 267), // ENOTDIR, ERROR_DIRECTORY
            (22, 123), // EINVAL, ERROR_INVALID_NAME
        ];

        pub(super) fn path(path: &Path) -> io::Result<Vec<Unit>> {
            let mut units: Vec<Unit> = path.as_os_str().encode_wide().collect();
            if units.contains(&0) {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "a path with a NUL in it"));
            }
            units.push(0);
            Ok(units)
        }

        pub(super) fn name(name: &[Unit]) -> Cow<'_, [u8]> {
            Cow::Owned(OsString::from_wide(name).into_encoded_bytes())
        }

        pub(super) fn error(errno: i32) -> io::Error {
            match ERRORS.iter().find(|(of_c, _)| *of_c == errno) {
                Some((_, of_system)) => io::Error::from_raw_os_error(*of_system),
                None => io::Error::other(format!("std::filesystem failed: errno {errno}")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{regular_files, unavailable, unavailable_on};
    use std::collections::BTreeMap;
    use std::time::{Duration, UNIX_EPOCH};

    /// As from libstdc++.
    const WHOLE_SECONDS: bool = cfg!(windows);

    #[test]
    fn cpp_times_match_the_system_or_are_refused_with_the_reason() {
        let parent = std::env::temp_dir().join(format!("megadir-cpp-{}", std::process::id()));
        std::fs::create_dir(&parent).unwrap();
        let mut expected = BTreeMap::new();
        let mut files = vec![("one", 0), ("two \u{e4}\u{65e5}", 1_500_000_001)];
        if !WHOLE_SECONDS {
            files.push(("before 1970", 3_000_000_000));
        }
        for (name, before) in files {
            let file = std::fs::File::create(parent.join(name)).unwrap();
            // In units of 100 ns, which every system keeps.
            let time = std::time::SystemTime::now() - Duration::new(before, 700);
            file.set_modified(time).unwrap();
            let modified = file.metadata().unwrap().modified().unwrap();
            let since = modified.duration_since(UNIX_EPOCH);
            let nanoseconds = |nanoseconds| if WHOLE_SECONDS { 0 } else { nanoseconds };
            let times = match since {
                Ok(since) => (since.as_secs() as i64, nanoseconds(since.subsec_nanos())),
                Err(earlier) => {
                    let before = earlier.duration();
                    (-(before.as_secs() as i64) - 1, nanoseconds(1_000_000_000 - before.subsec_nanos()))
                }
            };
            expected.insert(name.as_bytes().to_vec(), times);
        }
        std::fs::create_dir(parent.join("directory")).unwrap();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("one", parent.join("link")).unwrap();
            std::os::unix::fs::symlink("nowhere", parent.join("broken")).unwrap();
        }
        let mut found = BTreeMap::new();
        let mut row = |name: &[u8], seconds, nanoseconds| {
            assert!(found.insert(name.to_vec(), (seconds, nanoseconds)).is_none());
        };
        let result = regular_files(&parent, &mut row);
        let missing = regular_files(&parent.join("nothing"), &mut |_, _, _| {});
        let refused = unavailable_on(&parent);
        std::fs::remove_dir_all(&parent).unwrap();
        assert_eq!(refused, unavailable());
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
