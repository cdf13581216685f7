//! Names of users and groups, from the system's own lookup.

/// Returns the name of a user.
pub(super) fn user_name(number: u32) -> Option<String> {
    #[cfg(unix)]
    {
        Some(uzers::get_user_by_uid(number)?.name().to_string_lossy().into_owned())
    }
    #[cfg(not(unix))]
    {
        let _ = number;
        None
    }
}

/// Returns the name of a group.
pub(super) fn group_name(number: u32) -> Option<String> {
    #[cfg(unix)]
    {
        Some(uzers::get_group_by_gid(number)?.name().to_string_lossy().into_owned())
    }
    #[cfg(not(unix))]
    {
        let _ = number;
        None
    }
}

/// Returns the number of the user of a name.
pub(super) fn user_named(name: &str) -> Option<u32> {
    #[cfg(unix)]
    {
        Some(uzers::get_user_by_name(name)?.uid())
    }
    #[cfg(not(unix))]
    {
        let _ = name;
        None
    }
}
