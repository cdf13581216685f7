//! What the system says of an error, for people.

use std::io;

/// Returns what went wrong without the number of the error, which Rust adds.
pub(crate) fn words(error: &io::Error) -> String {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    #[test]
    fn numbers_of_errors_are_left_out() {
        let missing = super::words(&io::Error::from_raw_os_error(2));
        assert!(!missing.is_empty() && !missing.contains("os error"), "{missing}");
        assert_eq!(super::words(&io::Error::other("of its own")), "of its own");
    }
}
