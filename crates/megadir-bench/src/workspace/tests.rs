//! By system: what a run is killed in the middle of differs.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(windows)]
mod windows;
