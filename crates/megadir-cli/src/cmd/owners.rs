//! User and group names from the system's database; none on Windows.

#[cfg(unix)]
pub(in crate::cmd) fn user_name(number: u32) -> Option<String> {
    Some(uzers::get_user_by_uid(number)?.name().to_string_lossy().into_owned())
}

#[cfg(unix)]
pub(in crate::cmd) fn group_name(number: u32) -> Option<String> {
    Some(uzers::get_group_by_gid(number)?.name().to_string_lossy().into_owned())
}

#[cfg(unix)]
pub(in crate::cmd) fn user_named(name: &str) -> Option<u32> {
    Some(uzers::get_user_by_name(name)?.uid())
}

#[cfg(not(unix))]
pub(in crate::cmd) fn user_name(_: u32) -> Option<String> {
    None
}

#[cfg(not(unix))]
pub(in crate::cmd) use user_name as group_name;

#[cfg(not(unix))]
pub(in crate::cmd) fn user_named(_: &str) -> Option<u32> {
    None
}
