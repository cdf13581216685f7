//! Data sets of several arms: made by turns, complete, as planned; and their space.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};

use megadir_record::{
    Access, DataId, FileOperation, FileOrder, FileWork, Made as MadeSource, NameScheme, Preset, Sharing,
    Spread, SyncPolicy, Work, WorkerKind, Workers,
};

#[cfg(target_os = "linux")]
mod in_turns;

use super::*;
use crate::plan::{Request, Target, plan};
use crate::study::built_in;

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

fn build_in(parent: &Path, plan: &Plan, progress: &mut Vec<FillProgress>) -> (Volumes, Made) {
    struct ProgressLog<'a>(&'a mut Vec<FillProgress>);
    impl crate::event::Listener for ProgressLog<'_> {
        fn event(&mut self, event: &Event<'_>) -> std::io::Result<()> {
            if let Event::Filling(progress) = event {
                self.0.push(*progress);
            }
            Ok(())
        }
    }
    let (stop, heartbeat) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut volumes = Volumes::named(parent, Dir::open(parent).unwrap());
    volumes.make_workspaces().unwrap();
    let mut listener = ProgressLog(progress);
    let mut all: [&mut dyn crate::event::Listener; 1] = [&mut listener];
    let control = RunControl { stop: &stop, heartbeat: &heartbeat };
    let made = build(plan, &volumes, control, &mut Listeners(&mut all)).unwrap();
    (volumes, made)
}

#[test]
fn workers_have_trees_of_their_own_or_share_one() {
    let parent = tempfile::tempdir().unwrap();
    for (sharing, names) in [(Sharing::Own, vec!["w0", "w1", "w2"]), (Sharing::Same, vec![])] {
        let mut plan = plan_of(vec![(MadeSource::flat(NameScheme::Hex, 1), 100)]);
        plan.arms[0].work = Work::Files(FileWork {
            operation: FileOperation::Read,
            from: 0,
            to: 100,
            access: Access::Name { order: FileOrder::AsWritten },
            sync: SyncPolicy::Never,
            owner_and_mode: false,
            workers: Workers { count: 3, kind: WorkerKind::Thread, sharing },
        });
        let (volumes, made) = build_in(parent.path(), &plan, &mut Vec::new());
        assert_eq!(made.built.sets[0].used.files, 300);
        assert_eq!(made.usages[0].counted().entries, 300);
        let entries = std::fs::read_dir(made.directories[0].path()).unwrap();
        let mut found: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        found.retain(|name| name.len() == 2);
        found.sort();
        assert_eq!(found, names);
        drop(made);
        volumes.remove(RunControl { stop: &AtomicBool::new(false), heartbeat: &AtomicU64::new(0) }).unwrap();
    }
}

#[test]
fn files_created_by_arms_are_not_created_beforehand() {
    let parent = tempfile::tempdir().unwrap();
    let plan = plan_of(vec![(MadeSource { when: When::ByArms, ..layout("prefix:1") }, 100)]);
    let (volumes, made) = build_in(parent.path(), &plan, &mut Vec::new());
    assert!(made.built.sets.is_empty());
    assert_eq!((made.usages[0].used.files, made.usages[0].used.directories), (0, 1));
    // Windows does not remove open files.
    drop(made);
    volumes.remove(RunControl { stop: &AtomicBool::new(false), heartbeat: &AtomicU64::new(0) }).unwrap();
}
