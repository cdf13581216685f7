//! Linux: makes and mounts each file system in the lab, examines it and removes it.
//!
//! Sizes are not known yet, so a small image stands for the real one; a user's device is not touched before
//! the run.

use std::path::Path;

use megadir::Dir;
use megadir_record::{CacheState, FsId, LabFileSystem, Place};
use rustix::fs::FileType;

use super::{LabFacts, backend_facts_below};
use crate::cache::{cache_facts, is_memory};
use crate::control::RunControl;
use crate::host;
use crate::lab::{self, DiskSpec, Lab, LabError, Mounted, SPARE_BYTES, Spec};
use crate::method::method_facts;
use crate::os::{self, At};
use crate::request::{CacheFact, FileSystemFact, FoundFileSystem};

/// Makes and mounts a small image of each file system on `disk`, or below `directory`; a device is only asked for its size. The calling
/// thread enters a mount namespace and stays in it ([`Lab::open`]). Fails only if all file systems fail.
pub fn file_system_facts(
    directory: &Path,
    specs_and_devices: &[(Spec, Option<&Path>)],
    disk: &DiskSpec,
    control: RunControl<'_>,
) -> Result<LabFacts, LabError> {
    let specs: Vec<Spec> = specs_and_devices.iter().map(|(spec, _)| spec.clone()).collect();
    let disk = &match disk.is_in_memory() {
        true => disk.clone().without_zram(lab::no_zram_for(&specs)),
        false => disk.clone(),
    };
    if let Some(reason) = disk.unavailable() {
        return Err(LabError::Unavailable { name: disk.kind.name.to_owned(), reason });
    }
    let lab = Lab::open(directory, control)?;
    // On a modelled disk that would take seconds, and find the same.
    let probed_on = if disk.is_model() { &DiskSpec::default() } else { disk };
    let probed = lab::probe(&lab, &specs, probed_on, control, look);
    let closed = lab.close(control);
    let probed = probed?;
    closed?;
    let memory_bytes = host::available_bytes().unwrap_or(u64::MAX);
    let doing = format!("use '{}'", directory.display());
    let opened = os::open_directory(directory).map_err(LabError::failed(doing.clone()))?;
    let space = os::space(opened.at()).map_err(LabError::failed(doing))?;
    let kind = host::file_system(opened.at()).kind;
    let never_cold = (is_memory(&kind) && disk.is_default()).then(|| {
        format!("its image would be on {kind}, in memory, where nothing is cold; give a directory on a disk with --dir")
    });
    let mut file_systems = Vec::new();
    for (looked, (spec, device)) in probed.into_iter().zip(specs_and_devices) {
        let (place, bytes_max) = match device {
            Some(path) => (Place::Device { path: path.display().to_string() }, device_bytes(path)?),
            None if spec.entry.in_memory() => (Place::Memory { bytes: 0 }, memory_bytes / 2),
            None => (Place::Image { bytes: 0, direct_io: None }, u64::MAX),
        };
        let found = looked.flatten().map(|found| FoundFileSystem {
            caches: match &never_cold {
                Some(reason) if device.is_none() => without_cold(found.caches, reason),
                _ => found.caches,
            },
            file_system: LabFileSystem {
                disk: match &place {
                    Place::Image { .. } if disk.is_model() => Some(disk.recorded()),
                    _ => found.file_system.disk,
                },
                place,
                ..found.file_system
            },
            bytes_max,
            ..found
        });
        file_systems.push(FileSystemFact { name: spec.to_string(), spec: Some(spec.clone()), found });
    }
    let images = file_systems.iter().filter(|fact| is_on_disk(fact)).count() as u64;
    let room_bytes = match (disk.is_in_memory(), disk.value("limit")) {
        (false, _) => space.free_bytes.saturating_sub(SPARE_BYTES),
        (true, Some(limit)) => limit.saturating_mul(images),
        // The caches of the files need the other half.
        (true, None) => lab::memory_for_disks() / 2,
    };
    Ok(LabFacts { file_systems, room_bytes })
}

/// Facts of a mounted file system. Only the lab knows whether it survives a remount.
fn look(mounted: &Mounted) -> Result<FoundFileSystem, String> {
    let directory = Dir::open(mounted.path()).map_err(|error| error.to_string())?;
    let cache = |fact: CacheFact| match fact.state {
        CacheState::FsCold => CacheFact { unavailable: mounted.keeps_content().err(), ..fact },
        CacheState::Warm | CacheState::Unseen | CacheState::DataCold | CacheState::VfsCold => fact,
    };
    let mount_options = mounted.spec().mount_options().join(",");
    Ok(FoundFileSystem {
        file_system: LabFileSystem { mount_options, ..mounted.describe(FsId(0)) },
        bytes_max: u64::MAX,
        backends: backend_facts_below(&directory),
        methods: method_facts(&directory),
        caches: cache_facts(&directory).into_iter().map(cache).collect(),
    })
}

fn is_on_disk(fact: &FileSystemFact) -> bool {
    fact.found.as_ref().is_ok_and(|found| found.file_system.disk.is_some())
}

/// Images on a tmpfs are memory whatever is dropped: a cold state there would be warm.
fn without_cold(caches: Vec<CacheFact>, reason: &str) -> Vec<CacheFact> {
    let cold = |fact: CacheFact| match fact.state.drops() && fact.unavailable.is_none() {
        true => CacheFact { unavailable: Some(reason.to_owned()), ..fact },
        false => fact,
    };
    caches.into_iter().map(cold).collect()
}

fn device_bytes(path: &Path) -> Result<u64, LabError> {
    use std::io::{Seek, SeekFrom};
    let refused = |reason: String| LabError::Device { path: path.to_owned(), reason };
    let unusable = |error: std::io::Error| refused(error.to_string());
    // stat before open: opening some special files has side effects.
    let status = rustix::fs::stat(path).map_err(|error| unusable(error.into()))?;
    if FileType::from_raw_mode(status.st_mode) != FileType::BlockDevice {
        return Err(refused("it is not a block device".into()));
    }
    let mut device = std::fs::File::open(path).map_err(unusable)?;
    device.seek(SeekFrom::End(0)).map_err(unusable)
}
