//! Wine 8 follows the host's symbolic links: removing through one removes its target. So the path of an
//! opened entry is compared with the expected one.

use std::os::windows::io::BorrowedHandle;
use std::sync::LazyLock;

use megadir_sys::windows::{facts, system};

static IS_WINE: LazyLock<bool> = LazyLock::new(|| system::wine_version().is_some());

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
