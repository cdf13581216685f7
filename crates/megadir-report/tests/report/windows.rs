//! Records of Windows: machine, volume and antivirus filters are shown, and a record made under Wine cannot
//! pass for one of Windows.

use megadir_record::Record;
use megadir_report::Style;
use megadir_report::page::html;

use crate::golden::render;
use crate::listing::study;
use crate::report_on;
use crate::single::lookups;
use crate::synthetic::note;

const PLAIN: Style = Style { color: false, unicode: true };

fn on_windows(mut record: Record) -> Record {
    let machine = &mut record.header.machine;
    machine.kernel = "Windows 11 Pro 23H2 (10.0.22631.3447)".into();
    machine.power_plan = Some("Balanced".into());
    machine.settings = vec!["NtfsMemoryUsage = 0x0".into()];
    machine.watchers = vec!["Windows Defender: runs, real-time protection on".into()];
    let volume = &mut machine.file_system;
    volume.kind = "NTFS".into();
    volume.mount_options = Some("8.3 names not made, last-access times not updated".into());
    volume.block_stack = vec!["disk (NVMe bus, not rotational, TRIM)".into()];
    volume.directory = vec!["compressed".into()];
    record
}

fn under_wine(record: Record) -> Record {
    let mut record = on_windows(record);
    record.header.machine.wine = Some("8.0".into());
    record.header.machine.kernel = "Wine 8.0, which is not Windows, as Windows 10".into();
    record.notes.push(note("wine", "This ran under Wine 8.0: it says nothing of Windows."));
    record
}

#[test]
fn windows_facts_are_shown() {
    let record = on_windows(study().record());
    for format in ["markdown", "html"] {
        let text = render(format, &record, 80, PLAIN);
        for printed in [
            "Windows 11 Pro 23H2 (10.0.22631.3447)",
            "power plan Balanced",
            "NTFS (8.3 names not made, last-access times not updated)",
            "Who else sees accesses to files: Windows Defender: runs, real-time protection on.",
            "The directory's attributes: compressed.",
            "Devices below it: disk (NVMe bus, not rotational, TRIM).",
        ] {
            let escaped = printed.replace('\'', "&#39;");
            assert!(text.contains(printed) || text.contains(&escaped), "{format}: no {printed}");
        }
    }
    assert!(!render("table", &record, 80, PLAIN).contains("Wine"));
}

#[test]
fn emulated_processor_is_stated_before_the_numbers_of_every_report() {
    let mut record = lookups();
    let real = record.clone();
    record.header.machine.emulator = Some("QEMU without KVM".into());
    for format in ["table", "markdown", "html", "json", "svg", "hdr"] {
        let names_emulator = |record| {
            let text = render(format, record, 200, PLAIN).replace('\n', " ");
            text.contains("emulated processor") || text.contains("QEMU without KVM")
        };
        assert!(names_emulator(&record) && !names_emulator(&real), "{format}");
    }
    let findings = report_on(&record).unwrap().findings;
    for format in ["table", "markdown", "html"] {
        let text = render(format, &record, 100_000, PLAIN);
        let first = findings.iter().filter_map(|finding| text.find(&finding.text)).min();
        assert!(text.find("emulated processor") < first && first.is_some(), "{format}:\n{text}");
    }
}

#[test]
fn wine_is_stated_before_the_numbers_of_every_report() {
    let record = under_wine(lookups());
    for format in ["table", "markdown", "html", "json", "svg", "hdr"] {
        // A table may break lines.
        let text = render(format, &record, 200, PLAIN).replace('\n', " ");
        assert!(text.contains("nothing of Windows"), "{format}");
    }
    let findings = report_on(&record).unwrap().findings;
    for format in ["table", "markdown"] {
        let text = render(format, &record, 100_000, PLAIN);
        let first = findings.iter().filter_map(|finding| text.find(&finding.text)).min();
        assert!(text.find("nothing of Windows") < first && first.is_some(), "{format}:\n{text}");
    }
    let report = report_on(&record).unwrap();
    let warning = report.warnings.iter().find(|advisory| advisory.text.contains("Wine 8.0")).unwrap();
    assert!(warning.loud && warning.advice.contains("run it again on a Windows machine"));
    assert!(html(&report).contains("Do not act on these numbers"));
}
