//! Text for the numbers of Windows.

use super::*;

#[test]
fn systems_are_named_as_people_know_them() {
    let version = Version {
        numbers: Some((10, 0, 22_631)),
        revision: Some(3447),
        product: Some("Windows 10 Pro".into()),
        release: Some("23H2".into()),
    };
    assert_eq!(system(&version), "Windows 11 Pro 23H2 (10.0.22631.3447)");
    let ten = Version { numbers: Some((10, 0, 19_045)), revision: None, ..version.clone() };
    assert_eq!(system(&ten), "Windows 10 Pro 23H2 (10.0.19045)");
    let server = Version { product: Some("Windows Server 2022".into()), release: None, ..version };
    assert_eq!(system(&server), "Windows Server 2022 (10.0.22631.3447)");
    assert_eq!(system(&Version::default()), "Windows (version unknown)");
}

#[test]
fn power_plans_have_one_name_in_all_languages() {
    let own = || Some("@%SystemRoot%\\system32\\powrprof.dll,-13,Hohe Leistung".to_owned());
    assert_eq!(power_plan("8C5E7FDA-e8bf-4a96-9a85-a6e23a8c635c", own(), Some(false)), "High performance");
    assert_eq!(
        power_plan("{00000000-e8bf-4a96-9a85-a6e23a8c635c}", own(), Some(true)),
        "Hohe Leistung, on battery"
    );
    assert_eq!(power_plan("", None, None), "unknown");
}

#[test]
fn volume_description_has_capabilities_and_settings() {
    assert_eq!(
        features(0x8000_8403),
        ["case-sensitive-search", "case-preserved-names", "posix-unlink-rename", "0x80000000"]
    );
    let ntfs = Settings {
        is_ntfs: true,
        short_names: Some(2),
        no_short_names: Some(true),
        last_access: Some(0x8000_0003),
        ..Settings::default()
    };
    assert_eq!(settings(&ntfs), "8.3 names not created, last-access times not updated");
    let own = Settings { no_short_names: None, last_access: Some(0x8000_0002), flags: 0x8_8000, ..ntfs };
    assert_eq!(settings(&own), "read-only, compressed volume, 8.3 names unknown, last-access times updated");
    let all = Settings { short_names: Some(0), last_access: None, ..ntfs };
    assert_eq!(settings(&all), "8.3 names created, last-access updates unknown");
    let dev = Settings { dev_drive: Some(true), trusted: Some(true), ..Settings::default() };
    assert_eq!(settings(&dev), "Dev Drive, trusted");
    // This machine's registry does not apply to another machine's share.
    assert_eq!(settings(&Settings { is_remote: true, ..ntfs }), "network share");
    assert_eq!(settings(&Settings { dev_drive: Some(false), ..Settings::default() }), "");
}

#[test]
fn directory_description_has_inherited_attributes() {
    assert_eq!(directory(0x10, Some(false)), [""; 0]);
    assert_eq!(directory(0x2810, Some(true)), ["compressed", "not indexed", "case-sensitive"]);
    assert_eq!(directory(0x4010, None), ["encrypted"]);
}

#[test]
fn places_are_volumes_and_shares() {
    for (path, volume) in [
        (r"\\?\C:\Users\a", Some("C:")),
        (r"\\?\D:\", Some("D:")),
        (r"\\?\UNC\server\share\folder", Some(r"\\server\share")),
        (r"\\server\share", Some(r"\\server\share")),
        (r"\\?\UNC\server", None),
        (r"\\?\Volume{1}\x", Some("Volume{1}")),
        ("", None),
    ] {
        assert_eq!(place(path).as_deref(), volume, "{path}");
    }
    assert_eq!(serial(0x1a2b_003c), "1A2B-003C");
}

#[test]
fn disk_description_has_known_properties() {
    assert_eq!(
        disk(Some("Samsung 990"), Some(17), Some(false), Some(true)).as_deref(),
        Some("Samsung 990 (NVMe bus, not rotational, TRIM)")
    );
    assert_eq!(disk(None, Some(99), Some(true), None).as_deref(), Some("disk (rotational)"));
    assert_eq!(disk(Some("VHD"), Some(0), None, None).as_deref(), Some("VHD"));
    assert_eq!(disk(None, None, None, None), None);
}

#[test]
fn watchers_name_unknown_facts() {
    assert_eq!(defender(Runs::Yes, Some(0)), "Windows Defender: runs, real-time protection on");
    assert_eq!(defender(Runs::Yes, Some(1)), "Windows Defender: runs, real-time protection off");
    assert!(defender(Runs::Yes, None).ends_with("on unless a policy says otherwise"));
    assert_eq!(defender(Runs::Absent, None), "Windows Defender: not installed");
    assert_eq!(defender(Runs::Unknown, Some(0)), "Windows Defender: unknown");
    assert_eq!(indexing(Runs::No), "indexing (WSearch): does not run");
    let two = vec![
        ("luafv".into(), "FSFilter Virtualization".into()),
        ("WdFilter".into(), "FSFilter Anti-Virus".into()),
    ];
    assert_eq!(
        filters(Some(two)),
        "file system filters that run: WdFilter (Anti-Virus), luafv (Virtualization)"
    );
    assert_eq!(filters(Some(Vec::new())), "file system filters that run: none");
    assert_eq!(filters(None), "file system filters that run: unknown");
}
