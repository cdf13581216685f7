//! Volumes of the user side by side: what each is, and what differs besides its speed.

use megadir_record::{FileSystem, LabFileSystem, Place};

use crate::summary::Summary;
use crate::text;

/// Returns the lines that precede all tables of a run on several volumes of the user; none for other runs.
pub(crate) fn lines(summary: &Summary) -> Vec<String> {
    let volumes = volumes(summary);
    let each = volumes.iter().map(|(of, mounted)| describe(of, mounted));
    each.chain(differences(&volumes)).chain(one_device(&volumes)).collect()
}

/// Returns the line that names what cannot be equal between the volumes.
pub(super) fn differences_line(summary: &Summary) -> Option<String> {
    differences(&volumes(summary))
}

/// Returns the volumes that are compared; none if there are fewer than two.
fn volumes(summary: &Summary) -> Vec<(&LabFileSystem, &FileSystem)> {
    let given = summary.file_systems.iter().filter(|of| of.place.is_directory());
    let mounted = |of: &LabFileSystem| summary.mounted.iter().find(|mount| mount.on == of.id);
    let volumes: Vec<_> = given.filter_map(|of| Some((of, &mounted(of)?.file_system))).collect();
    if volumes.len() < 2 { Vec::new() } else { volumes }
}

fn describe(of: &LabFileSystem, mounted: &FileSystem) -> String {
    let path = match &of.place {
        Place::Directory { path } => path.as_str(),
        _ => "",
    };
    let size = mounted.block_bytes.zip(mounted.blocks).map(|(block, (all, free))| {
        let used = 100.0 * all.saturating_sub(free) as f64 / all.max(1) as f64;
        format!("{}, {} in use", text::bytes(block.saturating_mul(all)), text::percent(used))
    });
    let parts = [
        mounted.device.as_ref().map(|device| format!("on {device}")),
        mounted.mount_options.as_ref().map(|options| format!("mounted {options}")),
        size,
    ];
    let parts: Vec<String> = parts.into_iter().flatten().map(|part| format!(", {part}")).collect();
    format!("Volume {}: {path}, {}{}.", of.label, mounted.kind, parts.concat())
}

/// Names the properties in which the volumes differ: the times do not separate their effects.
fn differences(volumes: &[(&LabFileSystem, &FileSystem)]) -> Option<String> {
    type Property = fn(&FileSystem) -> String;
    let properties: [(&str, Property); 5] = [
        ("file system", |mounted| mounted.kind.clone()),
        ("device", |mounted| mounted.device.clone().unwrap_or_default()),
        ("mount options", |mounted| mounted.mount_options.clone().unwrap_or_default()),
        ("block size", |mounted| format!("{:?}", mounted.block_bytes)),
        ("features", |mounted| format!("{:?}", mounted.features)),
    ];
    let differs = |of: &Property| volumes.iter().any(|(_, mounted)| of(mounted) != of(volumes[0].1));
    let all: Vec<String> =
        properties.iter().filter(|(_, of)| differs(of)).map(|(name, _)| (*name).to_owned()).collect();
    (!all.is_empty()).then(|| {
        format!(
            "The volumes differ in {}; a difference in time may be due to any of these, and to what the volumes hold already.",
            text::list(&all)
        )
    })
}

/// Names volumes that are on the same device.
fn one_device(volumes: &[(&LabFileSystem, &FileSystem)]) -> Option<String> {
    let device = |mounted: &FileSystem| mounted.device.clone().filter(|device| device.starts_with('/'));
    let shared = volumes.iter().find_map(|(of, mounted)| {
        let own = device(mounted)?;
        let same = |(_, other): &&(&LabFileSystem, &FileSystem)| device(other).as_ref() == Some(&own);
        let labels: Vec<String> = volumes.iter().filter(same).map(|(other, _)| other.label.clone()).collect();
        (labels.len() > 1 && labels[0] == of.label).then_some((labels, own))
    });
    shared.map(|(labels, own)| {
        format!(
            "{} are on the same device, {own}: it causes no difference between them.",
            text::list(&labels)
        )
    })
}
