//! Data sets of several arms: made in turns, wholly, as the plan says; and what they use.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};

use megadir_record::{
    Access, ContentKind, DataId, FileOperation, FileOrder, FileWork, Made as MadeSource, NameScheme, Preset,
    Sharing, SizeLaw, Spread, SyncPolicy, Used, Work, WorkerKind, Workers,
};

use super::*;
use crate::plan::{Request, Target, plan};
use crate::study::built_in;

/// Returns a plan with these data sets and one arm, which has no use for them.
fn plan_of(sets: Vec<(MadeSource, u64)>) -> Plan {
    let facts = crate::backend_facts(&Dir::open(".").unwrap());
    let request = Request {
        target: Target::Made { entries: vec![10] },
        facts: &facts,
        ..Request::bare(Preset::Quick, 11)
    };
    let mut plan = plan(&built_in("lookup").unwrap(), &request).unwrap().plan;
    let data = |(number, (made, entries))| Data {
        id: DataId(number),
        entries,
        hash: None,
        on: None,
        source: DataSource::Made(made),
    };
    plan.data = (0..).zip(sets).map(data).collect();
    plan
}

fn layout(layout: &str) -> MadeSource {
    let spread = Spread::Layout { layout: layout.into() };
    MadeSource { spread, ..MadeSource::flat(NameScheme::Md5, 32) }
}

fn build_in(parent: &Path, plan: &Plan, told: &mut Vec<FillProgress>) -> (Sites, Made) {
    struct Told<'a>(&'a mut Vec<FillProgress>);
    impl crate::event::Listener for Told<'_> {
        fn event(&mut self, event: &Event<'_>) -> std::io::Result<()> {
            if let Event::Filling(progress) = event {
                self.0.push(*progress);
            }
            Ok(())
        }
    }
    let (stop, beat) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut sites = Sites::named(parent, Dir::open(parent).unwrap());
    sites.make_workspaces(1, 1).unwrap();
    let mut listener = Told(told);
    let mut all: [&mut dyn crate::event::Listener; 1] = [&mut listener];
    let signals = Signals { stop: &stop, beat: &beat };
    let made = build(plan, &sites, signals, &mut Listeners(&mut all)).unwrap();
    (sites, made)
}

/// Counts as the survey does, by the standard library.
fn counted(path: &Path) -> Used {
    let status = path.metadata().unwrap();
    let bytes = status.blocks() * 512;
    let mut used = Used { files: 0, directories: 1, inodes: 1, content_bytes: 0, bytes };
    for entry in std::fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        let status = entry.metadata().unwrap();
        if status.is_dir() {
            let below = counted(&entry.path());
            used.files += below.files;
            used.directories += below.directories;
            used.inodes += below.inodes;
            used.content_bytes += below.content_bytes;
            used.bytes += below.bytes;
        } else {
            used.files += 1;
            used.inodes += 1;
            used.content_bytes += status.len();
            used.bytes += status.blocks() * 512;
        }
    }
    used
}

#[test]
fn data_sets_are_made_in_turns_and_what_they_use_is_counted() {
    let parent = tempfile::tempdir().unwrap();
    let before = MadeSource {
        directories: MakeDirectories::Before,
        sizes: SizeLaw::LogNormal { sigma: 1.0 },
        size_bytes: 3000,
        content: ContentKind::Json,
        ..layout("prefix:1/1")
    };
    let sets =
        vec![(MadeSource::flat(NameScheme::Md5, 32), 5000), (before, 2500), (layout("prefix:1/1"), 2500)];
    let plan = plan_of(sets);
    let mut told = Vec::new();
    let (sites, made) = build_in(parent.path(), &plan, &mut told);
    assert!(told.is_sorted_by_key(|progress| progress.done), "progress goes on over all data sets");
    assert!(told.iter().all(|progress| progress.of == 10_000) && told.last().unwrap().done == 10_000);
    for (set, directory) in made.built.sets.iter().zip(&made.directories) {
        assert_eq!(set.used, counted(directory.path()), "{:?}", set.data);
        assert!(set.files_ns > 0);
    }
    let directories = made
        .built
        .sets
        .iter()
        .map(|set| (set.used.files, set.used.directories, set.directories_ns.is_some()));
    let all: Vec<(u64, u64, bool)> = directories.collect();
    // 2500 names of 256 leaves leave none out but for one seed in some 70.
    assert_eq!(all, [(5000, 1, false), (2500, 273, true), (2500, 273, false)]);
    assert_eq!(made.built.sets[0].used.content_bytes, 5000 * 32);
    // In turns: when the first half of a set was made, so was that of the others.
    let inode = |set: usize, index: u64| {
        let (_, files) = &trees(&plan, &plan.data[set]).unwrap()[0];
        let mut buffer = crate::dataset::PlaceBuffer::new();
        let path = files.place(index, &mut buffer).unwrap().path().to_vec();
        let path = made.directories[set].path().join(String::from_utf8(path).unwrap());
        path.metadata().unwrap().ctime_nsec() as u64 + path.metadata().unwrap().ctime() as u64 * 1_000_000_000
    };
    let (last_of_halves, first_of_ends) = (
        inode(0, 2500).max(inode(1, 1250)).max(inode(2, 1250)),
        inode(0, 4999).min(inode(1, 2499)).min(inode(2, 2499)),
    );
    assert!(last_of_halves <= first_of_ends);
    sites.remove(Signals { stop: &AtomicBool::new(false), beat: &AtomicU64::new(0) }).unwrap();
}

#[test]
fn workers_have_trees_of_their_own_or_share_one() {
    let parent = tempfile::tempdir().unwrap();
    for (sharing, names) in [(Sharing::Own, vec!["w0", "w1", "w2"]), (Sharing::Same, vec![])] {
        let mut plan = plan_of(vec![(MadeSource::flat(NameScheme::Hex, 1), 100)]);
        plan.cells[0].work = Work::Files(FileWork {
            operation: FileOperation::Read,
            from: 0,
            to: 100,
            access: Access::Name { order: FileOrder::AsWritten },
            sync: SyncPolicy::Never,
            owner_and_mode: false,
            workers: Workers { count: 3, kind: WorkerKind::Thread, sharing },
        });
        let (sites, made) = build_in(parent.path(), &plan, &mut Vec::new());
        assert_eq!(made.built.sets[0].used.files, 300);
        assert_eq!(made.surveys[0].counted().entries, 300);
        let entries = std::fs::read_dir(made.directories[0].path()).unwrap();
        let mut found: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        found.retain(|name| name.len() == 2);
        found.sort();
        assert_eq!(found, names);
        sites.remove(Signals { stop: &AtomicBool::new(false), beat: &AtomicU64::new(0) }).unwrap();
    }
}

#[test]
fn what_the_arms_make_is_not_made_before() {
    let parent = tempfile::tempdir().unwrap();
    let plan = plan_of(vec![(MadeSource { when: When::ByArms, ..layout("prefix:1") }, 100)]);
    let (sites, made) = build_in(parent.path(), &plan, &mut Vec::new());
    assert!(made.built.sets.is_empty());
    assert_eq!((made.surveys[0].used.files, made.surveys[0].used.directories), (0, 1));
    sites.remove(Signals { stop: &AtomicBool::new(false), beat: &AtomicU64::new(0) }).unwrap();
}
