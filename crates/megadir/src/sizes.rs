//! Human-readable sizes as in `ls -h`: `512`, `1.5K`, `23M` (powers of 1024).

use std::io::Write;

/// Appends a number of bytes with at most three digits and a unit, rounded up.
///
/// ```
/// let mut text = Vec::new();
/// megadir::sizes::human(&mut text, 1537_u64);
/// assert_eq!(text, b"1.6K");
/// ```
pub fn human(text: &mut Vec<u8>, bytes: impl Into<u128>) {
    const UNITS: [&str; 8] = ["K", "M", "G", "T", "P", "E", "Z", "Y"];
    let mut unit = 1u128;
    let mut name = "";
    let bytes: u128 = bytes.into();
    for next in UNITS {
        if bytes.div_ceil(unit) < 1024 {
            break;
        }
        unit *= 1024;
        name = next;
    }
    let tenths = (bytes * 10).div_ceil(unit);
    let _ = match tenths < 100 && !name.is_empty() {
        true => write!(text, "{}.{}{name}", tenths / 10, tenths % 10),
        false => write!(text, "{}{name}", bytes.div_ceil(unit)),
    };
}

/// Formats a number of bytes as [`human`], with the word `bytes` below 1024.
///
/// ```
/// assert_eq!(megadir::sizes::text(1536_u64), "1.5K");
/// assert_eq!(megadir::sizes::text(512_u64), "512 bytes");
/// ```
pub fn text(bytes: impl Into<u128>) -> String {
    let bytes: u128 = bytes.into();
    let mut text = Vec::new();
    human(&mut text, bytes);
    let unit = match bytes {
        1 => " byte",
        0..1024 => " bytes",
        _ => "",
    };
    format!("{}{unit}", String::from_utf8_lossy(&text))
}

#[cfg(test)]
mod tests {
    #[test]
    fn sizes_are_written_as_ls_writes_them() {
        let human = |bytes: u128| {
            let mut text = Vec::new();
            super::human(&mut text, bytes);
            String::from_utf8(text).unwrap()
        };
        for (bytes, text) in [
            (0, "0"),
            (1023, "1023"),
            (1024, "1.0K"),
            (1025, "1.1K"),
            (10 * 1024 - 1, "10K"),
            (10 * 1024 + 1, "11K"),
            (1023 * 1024, "1023K"),
            (1023 * 1024 + 1, "1.0M"),
            (1 << 40, "1.0T"),
            (u64::MAX.into(), "16E"),
            (3000 << 60, "3.0Z"),
        ] {
            assert_eq!(human(bytes), text, "{bytes}");
        }
        assert_eq!([0u32, 1, 1023, 1536].map(super::text), ["0 bytes", "1 byte", "1023 bytes", "1.5K"]);
    }
}
