//! Equal work: the output of each arm is read one time, and must match the directory's content.

use super::arms::{Arm, Proof};
use super::child::Bench;
use super::fill::{Content, NAME_BYTES};
use crate::process;
use std::borrow::Cow;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// Size of the kernel's record of one file: 19 bytes, the name and its NUL, rounded up to a multiple of 8.
const RECORD_BYTES: u64 = (19 + NAME_BYTES as u64 + 1).next_multiple_of(8);
/// Records of `.` and `..`.
const DOT_BYTES: u64 = 2 * 24;

/// Runs an arm and checks its output.
pub(crate) fn content(bench: &Bench<'_>, arm: &Arm, expected: &Content) -> Result<(), String> {
    let mut command = bench.command(arm)?;
    let (mut child, output) = start(&mut command)?;
    let seen = read(BufReader::with_capacity(1 << 16, output), arm.proof);
    let status = child.wait().map_err(|error| process::cannot("wait for", &command, &error))?;
    let seen = seen.map_err(|error| format!("{}: {error}", arm.name))?;
    process::judge(&command, status)?;
    match seen {
        Seen::Names(seen) if seen == *expected => Ok(()),
        Seen::Names(seen) if seen.entries == expected.entries => Err(format!("{}: wrong names", arm.name)),
        Seen::Names(Content { entries, .. }) => wrong(arm, entries, expected.entries),
        Seen::Number(number) if arm.proof == Proof::RecordBytes => {
            let bytes = expected.entries * RECORD_BYTES + DOT_BYTES;
            if number == bytes { Ok(()) } else { wrong(arm, number, bytes) }
        }
        Seen::Number(number) if number == expected.entries => Ok(()),
        Seen::Number(number) => wrong(arm, number, expected.entries),
    }
}

/// Runs two arms and compares their outputs byte by byte.
pub(crate) fn same(bench: &Bench<'_>, arms: [&Arm; 2]) -> Result<bool, String> {
    let [mut one, mut other] = [bench.command(arms[0])?, bench.command(arms[1])?];
    let (mut first, one) = start(&mut one)?;
    let (mut second, other) = start(&mut other)?;
    let same = same_bytes(&mut BufReader::new(one), &mut BufReader::new(other));
    // After a difference, neither output is read further.
    for child in [&mut first, &mut second] {
        child.wait().map_err(|error| error.to_string())?;
    }
    same.map_err(|error| error.to_string())
}

fn wrong(arm: &Arm, seen: u64, expected: u64) -> Result<(), String> {
    Err(format!("{}: {seen}, expected {expected}", arm.name))
}

fn start(command: &mut Command) -> Result<(Child, ChildStdout), String> {
    let mut child = process::start(command.stdout(Stdio::piped()))?;
    let output = child.stdout.take().ok_or("no pipe")?;
    Ok((child, output))
}

enum Seen {
    Names(Content),
    Number(u64),
}

/// Reads an output to its end.
fn read(mut output: impl BufRead, proof: Proof) -> std::io::Result<Seen> {
    if matches!(proof, Proof::Count | Proof::RecordBytes) {
        let mut text = String::new();
        output.read_to_string(&mut text)?;
        return Ok(Seen::Number(text.trim().parse().map_err(std::io::Error::other)?));
    }
    let (mut content, mut line) = (Content::default(), Vec::new());
    loop {
        line.clear();
        if output.read_until(b'\n', &mut line)? == 0 {
            return Ok(Seen::Names(content));
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        let name = match proof {
            Proof::Json => json_name(text).map(Cow::from),
            Proof::LastColumn => last_column(text).map(Cow::from),
            Proof::SizeTimeName => size_time_name(text).map(Cow::from),
            _ => last_part(text).map(Cow::from),
        };
        if let Some(name) = name {
            content.add(&name);
        }
    }
}

/// Returns the name in a line; `None` for the line of the directory itself.
fn last_part(line: &[u8]) -> Option<&[u8]> {
    let name = line.rsplit(|&byte| byte == b'/').next()?;
    Some(name).filter(|name| !name.is_empty() && *name != super::arms::DIRECTORY.as_bytes())
}

/// Returns the name in a line of columns; `None` for the line with the total.
fn last_column(line: &[u8]) -> Option<&[u8]> {
    if line.starts_with(b"total ") {
        return None;
    }
    line.rsplit(|&byte| byte == b' ' || byte == b'\t').next()
}

/// Returns size, time to the nanosecond and name, in the format of [`examined`]; `None` for the directory
/// itself.
fn size_time_name(line: &[u8]) -> Option<Vec<u8>> {
    let mut columns = line.splitn(3, |&byte| byte == b' ' || byte == b'\t');
    let (size, time) = (columns.next()?, columns.next()?);
    let name = last_part(columns.next()?)?;
    // find prints ten decimals, the last always 0.
    let point = time.iter().position(|&byte| byte == b'.')?;
    let time = &time[..time.len().min(point + 10)];
    Some([size, time, name].join(&b' '))
}

/// Returns the expected content for [`Proof::SizeTimeName`], by the standard library.
pub(crate) fn examined(directory: &Path) -> Result<Content, String> {
    let read = || -> std::io::Result<Content> {
        let mut content = Content::default();
        for entry in std::fs::read_dir(directory)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            let (seconds, nanoseconds) = (metadata.mtime(), metadata.mtime_nsec());
            let mut line = format!("{} {seconds}.{nanoseconds:09} ", metadata.len()).into_bytes();
            line.extend_from_slice(entry.file_name().as_bytes());
            content.add(&line);
        }
        Ok(content)
    };
    read().map_err(|error| format!("cannot examine {}: {error}", directory.display()))
}

/// Returns the name in a JSON object whose names need no escapes.
fn json_name(line: &[u8]) -> Option<&[u8]> {
    const KEY: &[u8] = b"\"name\":\"";
    let at = line.windows(KEY.len()).position(|window| window == KEY)? + KEY.len();
    line[at..].split(|&byte| byte == b'"').next()
}

fn same_bytes(one: &mut impl BufRead, other: &mut impl BufRead) -> std::io::Result<bool> {
    loop {
        let (left, right) = (one.fill_buf()?, other.fill_buf()?);
        let bytes = left.len().min(right.len());
        if left[..bytes] != right[..bytes] {
            return Ok(false);
        }
        if bytes == 0 {
            return Ok(left.len() == right.len());
        }
        one.consume(bytes);
        other.consume(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str, proof: Proof) -> Content {
        match read(text.as_bytes(), proof).unwrap() {
            Seen::Names(content) => content,
            Seen::Number(number) => panic!("{number}"),
        }
    }

    #[test]
    fn paths_and_the_directory_itself_make_no_difference() {
        let plain = names("a\nb\n", Proof::Names);
        assert_eq!(plain.entries, 2);
        assert_eq!(names("d\nd/b\nd/a\n", Proof::Names), plain);
        assert_eq!(names("d/\n./d/b\n./d/a", Proof::Names), plain);
        let json = "{\"v\":1,\"name\":\"b\",\"type\":\"file\"}\n{\"v\":1,\"name\":\"a\"}\n";
        assert_eq!(names(json, Proof::Json), plain);
        assert_ne!(names("a\nc\n", Proof::Names), plain);
    }

    #[test]
    fn columns_hold_names_at_their_end() {
        let plain = names("a\nb\n", Proof::Names);
        assert_eq!(
            names("total 0\n-rw-r--r-- 1 root root 0 Nov 21 08:00 a\n0 b\n", Proof::LastColumn),
            plain
        );
        assert_eq!(names("-rw-r--r--\t0\ta\n-rw-r--r--\t0\tb\n", Proof::LastColumn), plain);
    }

    #[test]
    fn attributes_are_the_same_however_they_are_written() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("a"), "four").unwrap();
        let modified = std::fs::metadata(directory.path().join("a")).unwrap();
        let time = format!("{}.{:09}", modified.mtime(), modified.mtime_nsec());
        let expected = examined(directory.path()).unwrap();
        assert_eq!(names(&format!("4\t{time}\ta\n"), Proof::SizeTimeName), expected);
        assert_eq!(names(&format!("40 1.5 d\n4 {time}0 d/a\n"), Proof::SizeTimeName), expected);
        assert_ne!(names(&format!("5\t{time}\ta\n"), Proof::SizeTimeName), expected);
    }

    #[test]
    fn numbers_are_numbers() {
        assert!(matches!(read(" 12\n".as_bytes(), Proof::Count), Ok(Seen::Number(12))));
        assert!(read("twelve".as_bytes(), Proof::RecordBytes).is_err());
        assert_eq!(RECORD_BYTES, 56);
    }

    #[test]
    fn streams_are_compared_whatever_their_pieces() {
        let same = |one: &str, other: &str| {
            let mut one = BufReader::with_capacity(2, one.as_bytes());
            same_bytes(&mut one, &mut BufReader::with_capacity(3, other.as_bytes())).unwrap()
        };
        assert!(same("abcdefg", "abcdefg"));
        assert!(same("", ""));
        assert!(!same("abcdefg", "abcdefh"));
        assert!(!same("abc", "abcd"));
        assert!(!same("abcd", ""));
    }
}
