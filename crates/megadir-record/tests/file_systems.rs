//! Lab file systems in records: round trip, older records without them, and invalid references.

use megadir_record::{
    FsId, Header, LabFileSystem, LabMount, Line, Place, ReadError, Unavailable, Writer, jsonl, redact,
};

/// Record of an older program.
const OLD: &str = include_str!("../../../records/2026-11-21-listing-ext4/record.jsonl");

fn old_header() -> Header {
    match serde_json::from_str(OLD.lines().next().expect("a line")).expect("a header") {
        Line::Header(header) => *header,
        other => panic!("{other:?}"),
    }
}

fn made(id: u32, place: Place) -> LabFileSystem {
    LabFileSystem {
        id: FsId(id),
        name: "ext2".into(),
        label: "ext2 (ext4 driver)".into(),
        kind: "ext2".into(),
        driver: "ext4".into(),
        make: vec!["mkfs.ext2".into(), "-q".into()],
        tool: Some("mke2fs 1.47.0".into()),
        mount_options: "noatime".into(),
        place,
        disk: None,
        reformatted: false,
    }
}

fn header() -> Header {
    let mut header = old_header();
    header.version = megadir_record::FORMAT_VERSION;
    header.plan.file_systems = vec![
        made(0, Place::Image { bytes: 1 << 30, direct_io: Some(true) }),
        made(1, Place::Device { path: "/dev/disk/by-id/alice-1".into() }),
        made(2, Place::Memory { bytes: 1 << 20 }),
    ];
    let reason = "the image in '/people/alice' cannot be made".into();
    header.plan.unavailable = vec![Unavailable { name: "reiserfs".into(), reason }];
    header.plan.data[0].on = Some(FsId(2));
    let mut file_system = header.machine.file_system.clone();
    file_system.device = Some("/dev/loop7".into());
    header.file_systems = vec![LabMount { on: FsId(0), file_system }];
    megadir_record::axes::complete(&mut header.plan);
    header
}

fn read(header: Header) -> Result<jsonl::Record, ReadError> {
    let file = Writer::start(Vec::new(), header).expect("memory takes it").into_inner();
    jsonl::read(&file[..])
}

#[test]
fn file_systems_come_back_as_they_were_written() {
    let header = header();
    let record = read(header.clone()).unwrap();
    assert_eq!(record.header, header);
    let plan = &record.header.plan;
    assert_eq!(plan.file_system_of(plan.data[0].id), Some(&plan.file_systems[2]));
    assert_eq!(plan.file_system_of(plan.data[1].id), None);
}

#[test]
fn older_records_have_none_and_get_none() {
    let header = old_header();
    assert!(header.plan.file_systems.is_empty() && header.plan.unavailable.is_empty());
    assert!(header.file_systems.is_empty() && header.plan.data.iter().all(|data| data.on.is_none()));
    let written = serde_json::to_string(&Line::Header(Box::new(header))).unwrap();
    for key in ["\"file_systems\"", "\"unavailable\"", "\"on\""] {
        assert!(!written.contains(key), "{key}: {written}");
    }
}

#[test]
fn a_file_system_that_is_not_in_the_plan_is_refused() {
    let refused = |header| match read(header) {
        Err(ReadError::NotARecord(reason)) => reason,
        other => panic!("{other:?}"),
    };
    let mut of_data = header();
    of_data.plan.data[0].on = Some(FsId(3));
    assert_eq!(refused(of_data), "file system 3 is not in the plan");
    let mut mounted = header();
    mounted.file_systems[0].on = FsId(4);
    assert_eq!(refused(mounted), "file system 4 is not in the plan");
    let mut twice = header();
    twice.plan.file_systems[1].id = FsId(0);
    assert_eq!(refused(twice), "file system at index 1 has id 0");
}

#[test]
fn devices_and_paths_are_left_out_of_shared_records() {
    let mut header = header();
    header.command =
        ["megadir", "--fs", "ext4", "--device", "/dev/sdb", "--erase-device"].map(Into::into).into();
    let private = redact::private_names(&header);
    redact::header(&mut header, &private);
    let text = serde_json::to_string(&Line::Header(Box::new(header.clone()))).unwrap();
    for private in ["alice", "loop7", "/dev/sdb"] {
        assert!(!text.contains(private), "{private}: {text}");
    }
    assert_eq!(header.command.join(" "), "megadir --fs ext4 --device ... --erase-device");
    assert_eq!(header.plan.file_systems[1].place, Place::Device { path: "...".into() });
    assert_eq!(header.plan.unavailable[0].reason, "the image in '...' cannot be made");
}
