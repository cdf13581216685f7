//! Linux: makes and mounts each file system in the lab, examines it and removes it.

use std::os::fd::AsFd;
use std::path::Path;

use megadir::Dir;
use megadir_record::{CacheState, FsId, LabFileSystem};
use rustix::fs::FileType;

use super::{LabFacts, backend_facts_below};
use crate::cache::{cache_facts, is_memory};
use crate::control::RunControl;
use crate::host;
use crate::lab::{self, Lab, LabError, Mounted, Spec};
use crate::method::method_facts;
use crate::request::{Backing, CacheFact, FileSystemFact, FoundFileSystem};

/// Left free on the file system of the images, bytes: the lab refuses to use it.
const SPARE_BYTES: u64 = 64 << 20;

/// Makes and mounts a small image of each file system below `directory`; a device is only asked for its size. The calling
/// thread enters a mount namespace and stays in it ([`Lab::open`]). Fails only if all file systems fail.
pub fn file_system_facts(
    directory: &Path,
    asked: &[(Spec, Option<&Path>)],
    control: RunControl<'_>,
) -> Result<LabFacts, LabError> {
    let specs: Vec<Spec> = asked.iter().map(|(spec, _)| spec.clone()).collect();
    let lab = Lab::open(directory, control)?;
    let probed = lab::probe(&lab, &specs, control, look);
    let closed = lab.close(control);
    let probed = probed?;
    closed?;
    let memory_bytes = host::available_bytes().unwrap_or(u64::MAX);
    let never_cold = images_in_memory(directory)?;
    let mut file_systems = Vec::new();
    for ((fact, looked), (spec, device)) in probed.into_iter().zip(asked) {
        let backing = match device {
            Some(path) => Backing::Device { path: path.display().to_string(), bytes: device_bytes(path)? },
            None if fact.spec.entry.in_memory() => Backing::Memory { bytes_max: memory_bytes / 2 },
            None => Backing::Image,
        };
        let looked = looked
            .unwrap_or_else(|| Err(fact.unavailable.unwrap_or_else(|| "it could not be examined".into())));
        let found = looked.map(|found| FoundFileSystem {
            caches: match &never_cold {
                Some(reason) if device.is_none() => without_cold(found.caches, reason),
                _ => found.caches,
            },
            backing,
            ..found
        });
        file_systems.push(FileSystemFact { name: spec.to_string(), spec: Some(spec.clone()), found });
    }
    Ok(LabFacts { file_systems, room_bytes: room_bytes(directory)? })
}

fn look(mounted: &Mounted) -> Result<FoundFileSystem, String> {
    let directory = Dir::open(mounted.path()).map_err(|error| error.to_string())?;
    let cache = |fact: CacheFact| match fact.state {
        CacheState::FsCold => CacheFact { unavailable: mounted.keeps_content().err(), ..fact },
        CacheState::Warm | CacheState::Unseen | CacheState::DataCold | CacheState::VfsCold => fact,
    };
    let LabFileSystem { label, kind, driver, tool, .. } = mounted.describe(FsId(0));
    Ok(FoundFileSystem {
        label,
        kind,
        driver,
        mount_options: mounted.spec().mount_options().join(","),
        tool,
        backing: Backing::Image,
        backends: backend_facts_below(&directory),
        methods: method_facts(&directory),
        caches: cache_facts(&directory).into_iter().map(cache).collect(),
    })
}

fn images_in_memory(directory: &Path) -> Result<Option<String>, LabError> {
    let opened = std::fs::File::open(directory).map_err(|source| unusable(directory, source))?;
    let kind = host::file_system(opened.as_fd()).kind;
    Ok(is_memory(&kind).then(|| {
        format!("its image would be on {kind}, in memory, where nothing is cold; give a directory on a disk with --dir")
    }))
}

fn without_cold(caches: Vec<CacheFact>, reason: &str) -> Vec<CacheFact> {
    let cold = |fact: CacheFact| match fact.state.drops() && fact.unavailable.is_none() {
        true => CacheFact { unavailable: Some(reason.to_owned()), ..fact },
        false => fact,
    };
    caches.into_iter().map(cold).collect()
}

fn unusable(directory: &Path, source: std::io::Error) -> LabError {
    LabError::Failed { doing: format!("use '{}'", directory.display()), source }
}

fn room_bytes(directory: &Path) -> Result<u64, LabError> {
    let space = rustix::fs::statvfs(directory).map_err(|error| unusable(directory, error.into()))?;
    Ok(space.f_bavail.saturating_mul(space.f_frsize).saturating_sub(SPARE_BYTES))
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
