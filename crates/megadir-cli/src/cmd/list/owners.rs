//! User and group names from the system's database.

pub(in crate::cmd) fn user_name(number: u32) -> Option<String> {
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

pub(in crate::cmd) fn user_named(name: &str) -> Option<u32> {
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
