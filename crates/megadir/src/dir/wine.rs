//! Wine, which is not Windows where symbolic links are concerned.
//!
//! Wine 8 follows the symbolic links of the system below it and says that they are what they lead to; a file that is removed through one is
//! what it leads to. So what a name was opened as is held against the path that it should have. Only below Wine: Windows opens a
//! link itself where that is asked for.

use std::os::windows::io::BorrowedHandle;
use std::sync::LazyLock;

use megadir_sys::windows::{facts, system};

static IS_WINE: LazyLock<bool> = LazyLock::new(|| system::wine_version().is_some());

/// Tells whether Wine has gone elsewhere than to the entry of a directory that has a name, or may have.
pub(crate) fn leads_away(parent: BorrowedHandle<'_>, name: &[u16], opened: BorrowedHandle<'_>) -> bool {
    if !*IS_WINE {
        return false;
    }
    let (Ok(parent), Ok(opened)) = (facts::object_name(parent), facts::object_name(opened)) else {
        return true;
    };
    let lower = |path: &[u16]| String::from_utf16_lossy(path).to_lowercase();
    let (parent, name) = (lower(&parent), lower(name));
    lower(&opened) != format!("{}\\{name}", parent.trim_end_matches('\\'))
}
