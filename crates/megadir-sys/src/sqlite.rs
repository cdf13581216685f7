//! Queries of a SQLite database by the machine's own `libsqlite3`, found when the program runs.
//!
//! A benchmark compares directories with databases as programs use them. Linking SQLite would put it into every
//! build of the program, for this one purpose.
//!
//! ```text
//!  Library::load -> Database (read only) -> prepare -> run: bind, step, columns, reset
//! ```
//!
//! Reference: <https://www.sqlite.org/c3ref/intro.html>. All functions have been there since version 3.5 (2007).

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::loader;

const SQLITE_OK: c_int = 0;
const SQLITE_ROW: c_int = 100;
const SQLITE_DONE: c_int = 101;
const SQLITE_OPEN_READONLY: c_int = 1;
/// No locks within the library: a connection is used by one thread at a time, which `&mut` ensures.
const SQLITE_OPEN_NOMUTEX: c_int = 0x8000;

macro_rules! functions {
    ($($field:ident = $name:literal ($($argument:ty),*) -> $result:ty;)*) => {
        /// The functions of the library that are used here. They stay valid because the library is never unloaded. Pointers to
        /// databases and statements are opaque to the caller.
        #[derive(Clone, Copy, Debug)]
        pub struct Library {
            $($field: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl Library {
            /// Loads the library. Errors: the machine has none, or this program is linked statically.
            pub fn load() -> io::Result<Self> {
                let library = loader::load("libsqlite3.so.0".as_ref())?;
                $(
                    let address = loader::find(library, $name)?;
                    // SAFETY: the symbol is the function of this name, and sqlite3.h declares it with these types.
                    let $field = unsafe {
                        std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) -> $result>(address)
                    };
                )*
                let loaded = Self { $($field,)* };
                // SAFETY: the call has no condition.
                match unsafe { (loaded.is_threadsafe)() } {
                    0 => Err(io::Error::other("it was compiled for programs with one thread")),
                    _ => Ok(loaded),
                }
            }
        }
    };
}

functions! {
    open = c"sqlite3_open_v2"(*const c_char, *mut *mut c_void, c_int, *const c_char) -> c_int;
    close = c"sqlite3_close"(*mut c_void) -> c_int;
    message = c"sqlite3_errmsg"(*mut c_void) -> *const c_char;
    prepare = c"sqlite3_prepare_v2"(*mut c_void, *const c_char, c_int, *mut *mut c_void, *mut *const c_char) -> c_int;
    bind_text = c"sqlite3_bind_text"(*mut c_void, c_int, *const c_char, c_int, *const c_void) -> c_int;
    step = c"sqlite3_step"(*mut c_void) -> c_int;
    reset = c"sqlite3_reset"(*mut c_void) -> c_int;
    clear_bindings = c"sqlite3_clear_bindings"(*mut c_void) -> c_int;
    finalize = c"sqlite3_finalize"(*mut c_void) -> c_int;
    column_blob = c"sqlite3_column_blob"(*mut c_void, c_int) -> *const c_void;
    column_bytes = c"sqlite3_column_bytes"(*mut c_void, c_int) -> c_int;
    column_int64 = c"sqlite3_column_int64"(*mut c_void, c_int) -> i64;
    is_threadsafe = c"sqlite3_threadsafe"() -> c_int;
}

/// A database that is open for reading, with one compiled statement at a time.
#[derive(Debug)]
pub struct Database {
    library: Library,
    handle: *mut c_void,
    /// Null before the first [`Database::prepare`].
    statement: *mut c_void,
}

impl Database {
    /// Opens a database for reading. Errors: those of `sqlite3_open_v2`. A file that is no database is noticed by the first statement.
    pub fn open(library: Library, path: &Path) -> io::Result<Self> {
        let name = CString::new(path.as_os_str().as_bytes())?;
        let mut handle = std::ptr::null_mut();
        let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX;
        // SAFETY: the path ends with NUL, and the library writes one pointer, which is to be closed even after an error.
        let code = unsafe { (library.open)(name.as_ptr(), &raw mut handle, flags, std::ptr::null()) };
        let database = Self { library, handle, statement: std::ptr::null_mut() };
        database.checked(code).map(|()| database)
    }

    /// Compiles a statement, in place of the one before. Errors: a wrong statement, a missing table, a file that is no database.
    pub fn prepare(&mut self, sql: &CStr) -> io::Result<()> {
        self.finalize();
        let prepare = self.library.prepare;
        let statement = &raw mut self.statement;
        // SAFETY: the database is open, -1 is the length of a text that ends with NUL, and the library writes one pointer: null after an error.
        let code = unsafe { prepare(self.handle, sql.as_ptr(), -1, statement, std::ptr::null_mut()) };
        self.checked(code)
    }

    /// Runs the statement with a text as its first parameter (`None` for a statement without parameters), and passes its rows to `each` until that returns
    /// `false` or an error. Errors: those of `each` and of `sqlite3_step`, e.g. a damaged file.
    pub fn run(
        &mut self,
        parameter: Option<&[u8]>,
        each: &mut dyn FnMut(&Row<'_>) -> io::Result<bool>,
    ) -> io::Result<()> {
        let Self { library, statement, .. } = *self;
        if statement.is_null() {
            return Err(io::Error::other("no statement is prepared"));
        }
        // Also after a panic of `each`, so that the statement never keeps a pointer to a text that is gone.
        let _stepped = Stepped { library, statement };
        if let Some(text) = parameter {
            let length = c_int::try_from(text.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
            // SAFETY: the text has this length. The destructor null is SQLITE_STATIC, with which the library keeps the pointer and copies nothing: the
            // text is borrowed until this function ends, when the binding is cleared.
            let code =
                unsafe { (library.bind_text)(statement, 1, text.as_ptr().cast(), length, std::ptr::null()) };
            self.checked(code)?;
        }
        loop {
            // SAFETY: the statement is compiled, and its database open.
            match unsafe { (library.step)(statement) } {
                SQLITE_ROW if each(&Row { statement, library, of: PhantomData })? => {}
                SQLITE_ROW | SQLITE_DONE => return Ok(()),
                code => return self.checked(code),
            }
        }
    }

    fn finalize(&mut self) {
        let statement = std::mem::replace(&mut self.statement, std::ptr::null_mut());
        // SAFETY: it was compiled by `prepare` and is forgotten here. Null is allowed.
        unsafe { (self.library.finalize)(statement) };
    }

    fn checked(&self, code: c_int) -> io::Result<()> {
        if code == SQLITE_OK {
            return Ok(());
        }
        if self.handle.is_null() {
            return Err(io::Error::other(format!("SQLite failed with code {code}")));
        }
        // SAFETY: the database is open, also after a failed call.
        let text = unsafe { (self.library.message)(self.handle) };
        // SAFETY: the text ends with NUL, and is valid until the next call with this database.
        let text = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
        Err(io::Error::other(format!("SQLite: {text}")))
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.finalize();
        // SAFETY: it was opened by this value, and has no statement left. Null is allowed.
        unsafe { (self.library.close)(self.handle) };
    }
}

/// A statement that is stepped: at the end it is reset and its parameters are forgotten.
struct Stepped {
    library: Library,
    statement: *mut c_void,
}

impl Drop for Stepped {
    fn drop(&mut self) {
        // SAFETY: the statement is compiled. Its code repeats the error of the last step.
        unsafe { (self.library.reset)(self.statement) };
        // SAFETY: as above.
        unsafe { (self.library.clear_bindings)(self.statement) };
    }
}

/// The row at which a statement is.
#[derive(Debug)]
pub struct Row<'s> {
    statement: *mut c_void,
    library: Library,
    of: PhantomData<&'s ()>,
}

impl Row<'_> {
    /// Bytes of a text or blob, counted from 0; empty for NULL. Errors: not enough memory.
    pub fn bytes(&self, column: u8) -> io::Result<&[u8]> {
        let column = c_int::from(column);
        // SAFETY: the statement is at a row. A column that does not exist gives null.
        let start = unsafe { (self.library.column_blob)(self.statement, column) };
        // SAFETY: as above; called after column_blob, the length is that of its bytes.
        let length = unsafe { (self.library.column_bytes)(self.statement, column) };
        match usize::try_from(length) {
            Ok(0) | Err(_) => Ok(&[]),
            Ok(_) if start.is_null() => Err(io::ErrorKind::OutOfMemory.into()),
            // SAFETY: the library keeps these bytes until the statement steps or is reset, for which the row must have ended.
            Ok(length) => Ok(unsafe { std::slice::from_raw_parts(start.cast(), length) }),
        }
    }

    /// Number in a column, counted from 0; 0 for NULL.
    pub fn number(&self, column: u8) -> i64 {
        // SAFETY: the statement is at a row.
        unsafe { (self.library.column_int64)(self.statement, c_int::from(column)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_no_databases_are_refused() {
        let Ok(library) = Library::load() else { return };
        let missing = Database::open(library, "/no such file".as_ref()).unwrap_err().to_string();
        assert!(missing.contains("unable to open"), "{missing}");
        let mut other = Database::open(library, "/proc/self/exe".as_ref()).unwrap();
        assert_eq!(other.run(None, &mut |_| Ok(true)).unwrap_err().to_string(), "no statement is prepared");
        let refused = other.prepare(c"SELECT name FROM sqlar").unwrap_err().to_string();
        assert!(refused.contains("not a database"), "{refused}");
    }
}
