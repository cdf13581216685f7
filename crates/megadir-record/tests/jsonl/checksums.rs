//! The running checksum detects any change of a line after it was written.

use megadir_record::{Cut, Line, ReadError, Writer, jsonl};

use crate::example::{end, file, lines, old_file};

fn lines_of(file: &[u8]) -> Vec<Vec<u8>> {
    file.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

/// Returns the number of the rejected line, and the reason.
fn refused(lines: &[Vec<u8>]) -> (u64, String) {
    match jsonl::read(&lines.concat()[..]) {
        Err(ReadError::BadLine { line, reason }) => (line, reason),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_line_that_is_dropped_repeated_or_moved_is_noticed() {
    let lines = lines_of(&file());
    for place in 1..lines.len() - 1 {
        let mut dropped = lines.clone();
        dropped.remove(place);
        let (line, reason) = refused(&dropped);
        assert_eq!(line, place as u64 + 1);
        assert!(
            reason.contains("1 line is missing before it") && reason.contains("unchanged copy"),
            "{reason}"
        );
        let mut swapped = lines.clone();
        swapped.swap(place, place + 1);
        assert_eq!(refused(&swapped).0, place as u64 + 1);
    }
    for place in 1..lines.len() {
        let mut repeated = lines.clone();
        repeated.insert(place, lines[place].clone());
        let (line, reason) = refused(&repeated);
        assert_eq!(line, place as u64 + 2);
        assert!(
            reason.contains(&format!("written as line {} and is duplicated or out of order", place + 1)),
            "{reason}"
        );
    }
}

#[test]
fn every_byte_that_is_changed_is_noticed() {
    let (whole, mut changed) = (file(), file());
    for place in 0..whole.len() - 1 {
        // Digits to digits and letters to letters: most lines stay JSON.
        changed[place] ^= 1;
        let read = jsonl::read(&changed[..]);
        assert!(
            read.is_err(),
            "byte {place}: {}",
            String::from_utf8_lossy(&changed[place.saturating_sub(40)..=place])
        );
        changed[place] = whole[place];
    }
    assert!(jsonl::read(&changed[..]).is_ok());
}

#[test]
fn a_line_of_another_record_and_a_line_without_checksum_do_not_fit() {
    let mut foreign = lines_of(&file());
    let elsewhere = String::from_utf8(foreign[8].clone()).unwrap().replace("\"round\":1", "\"round\":0");
    foreign[8] = elsewhere.into_bytes();
    assert_eq!(refused(&foreign).0, 9);
    let mut bare = lines_of(&file());
    bare[5] = lines_of(&old_file())[5].clone();
    let (line, reason) = refused(&bare);
    assert!(line == 6 && reason.starts_with("it has no checksum"), "{line}: {reason}");
}

#[test]
fn header_states_whether_the_record_has_checksums() {
    let old = jsonl::read(&old_file()[..]).unwrap();
    assert_eq!((old.chain, old.samples.len(), old.end.is_some()), (None, 7, true));
    // Neither half of the header can be lost unnoticed.
    let mut lines = lines_of(&file());
    lines[0] =
        String::from_utf8(lines[0].clone()).unwrap().replace("\"version\":4", "\"version\":3").into_bytes();
    assert_eq!(refused(&lines).0, 1);
    let mut lines = lines_of(&old_file());
    lines[0] =
        String::from_utf8(lines[0].clone()).unwrap().replace("\"version\":3", "\"version\":4").into_bytes();
    assert_eq!(refused(&lines).0, 1);
}

#[test]
fn a_record_that_is_resumed_is_one_chain_wherever_it_was_cut() {
    let (whole, all) = (file(), lines());
    let starts: Vec<usize> = lines_of(&whole)
        .iter()
        .scan(0, |at, line| {
            *at += line.len();
            Some(*at)
        })
        .collect();
    for cut in starts[0]..whole.len() {
        let begun = jsonl::read(&whole[..cut]).unwrap();
        let chain = begun.chain.expect("it has checksums");
        let kept = cut - begun.cut.map_or(0, |cut| cut.bytes as usize);
        let mut file = whole[..kept].to_vec();
        if file.last() != Some(&b'\n') {
            file.push(b'\n');
        }
        let mut writer = Writer::resume(file, Some(chain));
        for line in &all[chain.lines() as usize - 1..] {
            writer.write(line).unwrap();
        }
        assert_eq!(writer.into_inner(), whole, "{cut} bytes");
    }
}

#[test]
fn record_of_an_older_version_continues_without_checksums() {
    let whole = old_file();
    let begun = jsonl::read(&whole[..whole.len() - 20]).unwrap();
    let kept = whole.len() - 20 - begun.cut.expect("it was cut").bytes as usize;
    let mut writer = Writer::resume(whole[..kept].to_vec(), begun.chain);
    writer.write(&Line::End(end())).unwrap();
    assert_eq!(writer.into_inner(), whole);
}

#[test]
fn carriage_returns_do_not_matter_and_a_torn_line_is_still_a_cut() {
    let text = String::from_utf8(file()).unwrap().replace('\n', "\r\n");
    assert!(jsonl::read(text.as_bytes()).is_ok_and(|record| record.end.is_some()));
    let file = file();
    let cut = jsonl::read(&file[..file.len() - 5]).unwrap().cut;
    assert!(matches!(cut, Some(Cut { line: 15, .. })), "{cut:?}");
}

/// Checksum after its description, from zlib's polynomial alone.
fn zlib_crc32(text: &[u8], before: u32) -> u32 {
    !text.iter().fold(!before, |crc, byte| {
        (0..8).fold(
            crc ^ u32::from(*byte),
            |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 },
        )
    })
}

#[test]
fn the_checksum_equals_the_crc32_of_zlib_over_all_lines_before() {
    let file = String::from_utf8(file()).unwrap();
    let mut crc32 = 0;
    for (place, line) in file.lines().enumerate() {
        let (body, sum) = line.rsplit_once(",\"crc32\":").expect("it has one");
        crc32 = zlib_crc32(body.as_bytes(), crc32);
        assert_eq!(sum, format!("\"{crc32:08x}\"}}"));
        assert!(body.ends_with(&format!(",\"number\":{}", place + 1)), "{body}");
    }
}
