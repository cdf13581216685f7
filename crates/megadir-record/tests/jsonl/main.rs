//! Reader of records: complete and truncated ones, and files that are not records.

mod checksums;
mod contradictions;
mod example;

use megadir_record::{
    ArmId, Cut, DataId, Epoch, GroupRule, Line, Note, Phase, Plan, ReadError, Record, Sample, UsedByArms,
    VoidReason, Writer, jsonl,
};

use example::{built, end, epoch, file, header, lines, old_file, sample, self_check, used};

/// Returns a file without checksums, with a line inserted before line `number`, counted from 1.
fn with_line(number: usize, line: &[u8]) -> Vec<u8> {
    let file = old_file();
    let mut parts: Vec<&[u8]> = file.split_inclusive(|&byte| byte == b'\n').collect();
    parts.insert(number - 1, line);
    parts.concat()
}

fn bad_line(file: &[u8]) -> (u64, String) {
    match jsonl::read(file) {
        Err(ReadError::BadLine { line, reason }) => (line, reason),
        other => panic!("{other:?}"),
    }
}

fn not_a_record(file: &[u8]) -> String {
    match jsonl::read(file) {
        Err(error @ ReadError::NotARecord(_)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn written_records_are_read() {
    let voided = |sample: Sample| Sample { voided: Some(VoidReason::StolenTime), ..sample };
    let warm_up = Sample { phase: Phase::WarmUp, ..sample(1, 0, 0) };
    let samples = vec![
        // Round 1 of the warm-up is not the measured round 1, which was voided.
        warm_up,
        sample(0, 0, 0),
        sample(0, 0, 1),
        voided(sample(1, 0, 0)),
        voided(sample(1, 0, 1)),
        sample(1, 1, 0),
        sample(1, 1, 1),
    ];
    let note = Note { kind: "stolen-time".into(), text: "4 % of a round, größer als erlaubt".into() };
    let (self_check, built) = (Some(self_check()), Some(built()));
    let (notes, resumed, end) = (vec![note], Vec::new(), Some(end()));
    let expected = Record {
        header: header(),
        samples,
        self_check,
        built,
        used: vec![used()],
        epochs: vec![epoch()],
        notes,
        resumed,
        end,
        cut: None,
        chain: None,
    };
    let read = jsonl::read(&file()[..]).unwrap();
    assert_eq!(read.chain.map(|chain| chain.lines()), Some(15));
    assert_eq!(Record { chain: None, ..read }, expected);
}

#[test]
fn every_prefix_of_the_header_is_no_record_and_every_longer_one_is() {
    let file = file();
    let header_bytes = file.iter().position(|&byte| byte == b'\n').unwrap();
    for length in 0..header_bytes {
        assert!(matches!(jsonl::read(&file[..length]), Err(ReadError::NotARecord(_))), "{length} bytes");
    }
    let whole = jsonl::read(&file[..]).unwrap();
    let mut line_start = header_bytes + 1;
    for length in header_bytes..=file.len() {
        let record = jsonl::read(&file[..length]).unwrap_or_else(|error| panic!("{length} bytes: {error}"));
        assert!(record.samples.len() <= whole.samples.len());
        assert_eq!(record.end.is_some(), length + 1 >= file.len());
        // A line without its newline is complete if all of it is there.
        let here = length.saturating_sub(line_start) as u64;
        let number = file[..line_start].iter().filter(|&&byte| byte == b'\n').count() as u64 + 1;
        let lacks_newline = file.get(length) == Some(&b'\n');
        let expected = (here > 0 && !lacks_newline).then_some(Cut { line: number, bytes: here });
        if file[length - 1] == b'\n' && length > line_start {
            line_start = length;
            assert_eq!(record.cut, None);
        } else {
            assert_eq!(record.cut, expected, "{length} bytes");
        }
    }
}

#[test]
fn a_newer_version_is_named_whatever_else_it_holds() {
    let error =
        jsonl::read(&b"{\"line\":\"header\",\"version\":7,\"shape\":\"of tomorrow\"}\n"[..]).unwrap_err();
    assert!(matches!(error, ReadError::Newer { version: 7 }));
    assert!(error.to_string().contains("format version 7, newer than 4"));
}

#[test]
fn garbage_in_the_middle_is_named_by_its_line() {
    for garbage in
        [&b"garbage\n"[..], b"\n", b"{}\n", b"{\"line\":\"of tomorrow\"}\n", b"\xff\xfe\x00\n", b"[1,2]\n"]
    {
        assert_eq!(bad_line(&with_line(4, garbage)).0, 4, "{garbage:?}");
    }
}

#[test]
fn a_line_that_was_begun_after_the_end_is_a_cut_and_other_bytes_are_damage() {
    // A resumed run continues after the end.
    let record = jsonl::read(&[&file()[..], b"{\"line\""].concat()[..]).unwrap();
    assert_eq!(record.cut, Some(Cut { line: 16, bytes: 7 }));
    for junk in [&b"\xff\xfe{\"line\""[..], &[0; 9]] {
        let (line, reason) = bad_line(&[&file()[..], junk].concat());
        assert_eq!(
            (line, &reason[..]),
            (16, "the record ended before it, and 9 more bytes follow; remove them")
        );
    }
}

#[test]
fn a_second_header_and_an_arm_without_plan_are_damage() {
    let file = file();
    let header = file.split_inclusive(|&byte| byte == b'\n').next().unwrap();
    assert_eq!(bad_line(&with_line(3, header)), (3, "a second header".into()));
    let mut stray = serde_json::to_vec(&Line::Sample(sample(0, 0, 9))).unwrap();
    stray.push(b'\n');
    assert_eq!(bad_line(&with_line(2, &stray)), (2, "arm 9 is not in the plan".into()));
}

#[test]
fn a_line_that_never_ends_is_damage_and_not_a_cut() {
    let huge = vec![b'x'; (16 << 20) + 10];
    let (line, reason) = bad_line(&with_line(5, &huge));
    assert_eq!(line, 5);
    assert!(reason.contains("exceeds"), "{reason}");
    assert!(not_a_record(&huge).contains("exceeds"));
}

#[test]
fn files_that_are_no_records_are_refused_in_a_sentence() {
    assert_eq!(not_a_record(b""), "not a megadir record: it is empty");
    for other in
        [&b"\n"[..], b"hello\n", b"\x7fELF\x02\x01\n", b"\xff\xfe", b"{\"version\":\"x\"}\n", b"{}\n"]
    {
        assert!(
            not_a_record(other).starts_with("not a megadir record: its first line is not a header"),
            "{other:?}"
        );
    }
    let end = serde_json::to_vec(&Line::End(end())).unwrap();
    assert!(not_a_record(&end).contains("its first line is not a header"));
    let old_shape = b"{\"line\":\"header\",\"version\":1}\n";
    assert!(not_a_record(old_shape).contains("its header cannot be read"));
}

#[test]
fn a_failing_input_is_an_error_of_reading() {
    struct Failing;
    impl std::io::Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the cable is out"))
        }
    }
    let error = jsonl::read(std::io::BufReader::new(Failing)).unwrap_err();
    assert!(matches!(error, ReadError::Io(_)));
    assert_eq!(error.to_string(), "the cable is out");
}

#[test]
fn samples_outside_the_plan_are_damage() {
    let stray =
        |line: &Line| bad_line(&with_line(12, &[&serde_json::to_vec(line).unwrap()[..], b"\n"].concat()));
    let late = Sample { start_ns: u64::MAX, ..sample(1, 1, 0) };
    let of_data_2 = Line::Used(UsedByArms { data: DataId(2), ..used() });
    for (line, reason) in [
        (Line::Sample(Sample { epoch: 5, ..sample(1, 1, 0) }), "epoch 5 is not in the plan"),
        (Line::Sample(late), "the end time is out of range"),
        (Line::Sample(sample(u32::MAX, 1, 0)), "the round or attempt is out of range"),
        (Line::Epoch(Epoch { epoch: 9, ..epoch() }), "epoch 9 is not in the plan"),
        (of_data_2, "data set 2 is not in the plan"),
    ] {
        assert_eq!(stray(&line), (12, reason.into()));
    }
    // The next line is of an earlier epoch.
    let later = serde_json::to_vec(&Line::Sample(Sample { epoch: 1, ..sample(1, 1, 0) })).unwrap();
    let line = with_line(13, &[&later[..], b"\n"].concat());
    assert_eq!(bad_line(&line), (14, "epoch 0 follows epoch 1".into()));
}

#[test]
fn plan_with_undefined_references_is_no_record() {
    type Spoil = fn(&mut Plan);
    let spoils: [(Spoil, &str); 5] = [
        (|plan| plan.arms.clear(), "the plan has no arms"),
        (|plan| plan.arms[1].id = ArmId(7), "arm at index 1 has id 7"),
        (|plan| plan.arms[1].data = DataId(2), "data set 2 is not in the plan"),
        (|plan| plan.data[0].id = DataId(1), "data set at index 0 has id 1"),
        (|plan| plan.groups[0].rule = GroupRule::Compare { baseline: ArmId(2) }, "arm 2 is not in the plan"),
    ];
    for (spoil, reason) in spoils {
        let mut header = header();
        spoil(&mut header.plan);
        let file = Writer::start(Vec::new(), header).unwrap().into_inner();
        assert_eq!(not_a_record(&file), format!("not a megadir record: {reason}"));
    }
}

#[test]
fn after_a_line_that_was_torn_no_other_is_written() {
    /// Accepts this number of bytes, fails one time, and works again.
    struct Full(Vec<u8>, usize, bool);
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let free = self.1.saturating_sub(self.0.len());
            let taken = if self.2 { bytes.len() } else { free.min(bytes.len()) };
            if taken == 0 {
                self.2 = true;
                return Err(std::io::ErrorKind::StorageFull.into());
            }
            self.0.extend_from_slice(&bytes[..taken]);
            Ok(taken)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let header_bytes = file().iter().position(|&byte| byte == b'\n').unwrap() + 1;
    let mut writer = Writer::start(Full(Vec::new(), header_bytes + 10, false), header()).unwrap();
    let error = writer.write(&lines()[0]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    assert!(writer.write(&Line::End(end())).is_err());
    let record = jsonl::read(&writer.into_inner().0[..]).unwrap();
    assert_eq!((record.end, record.cut), (None, Some(Cut { line: 2, bytes: 10 })));
}

#[test]
fn a_record_that_is_damaged_is_read_up_to_the_damage() {
    let text = String::from_utf8(file()).expect("UTF-8");
    let lines: Vec<&str> = text.lines().collect();
    let damaged = [&lines[..4], &["nonsense"], &lines[4..]].concat().join("\n");
    let (record, damage) = jsonl::read_partly(damaged.as_bytes()).expect("it begins well");
    assert!(matches!(damage, Some(ReadError::BadLine { line: 5, .. })), "{damage:?}");
    assert_eq!((record.cut, record.end.is_none()), (Some(Cut { line: 5, bytes: 0 }), true));
    assert!(jsonl::read(damaged.as_bytes()).is_err());
    let (same, damage) = jsonl::read_partly(text.as_bytes()).expect("it is whole");
    assert!(damage.is_none() && same == jsonl::read(text.as_bytes()).expect("it is whole"));
    assert!(jsonl::read_partly(&b""[..]).is_err() && jsonl::read_partly(&b"nonsense\n"[..]).is_err());
}
