//! The same files in different layouts: written, then read back.
//!
//! ```text
//!  round, phase by phase; layouts in random order within each
//!  step 0  make directories    [2/2]  [2]                    (flat layouts have none)
//!  step 1  create              [2]    [flat]  [2/2]  [flat again: control]
//!  step 2  read, an order      [2/2]  [flat]  [2] ...
//!  last    walk                [flat] [2] ...
//! ```
//!
//! The published comparison read each layout right after it was written, so one layout could be cached and
//! the other not. Here no layout is read before all are written.

use megadir_record::axes::order_words;
use megadir_record::{
    Access, ArmId, Axes, FileOperation, FileOrder, FileWork, Made, MakeDirectories, Operation, Order, Pair,
    Role, SyncPolicy, When, WorkerKind, Workers,
};
use serde::Deserialize;

use crate::dataset::{Files, parse_spread};
use crate::kind::arms::Arms;
use crate::kind::files::{SINGLE_WORKER, WORKERS_MAX, by, by_name};
use crate::note::NoteKind;
use crate::request::{PlanError, check_numbers};

/// A section of a study file, or of the short measurement of `megadir advise`, which fills it in code. All
/// layouts are compared with the first. Fields that are skipped come from the request, not from the file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayoutSpec {
    pub layouts: Vec<String>,
    pub read_orders: Vec<FileOrder>,
    /// `true` to list every directory at the end with a `stat` of each file.
    #[serde(default)]
    pub walk: bool,
    /// When directories are created; nested layouts have an arm for each value.
    #[serde(default = "both")]
    pub directories: Vec<MakeDirectories>,
    /// Threads that write one tree; a single thread reads and lists.
    #[serde(default = "one_writer")]
    pub writers: u32,
    #[serde(skip)]
    pub worker_kind: WorkerKind,
    pub sync: SyncPolicy,
}

fn both() -> Vec<MakeDirectories> {
    vec![MakeDirectories::OnDemand, MakeDirectories::Before]
}

fn one_writer() -> u32 {
    1
}

impl LayoutSpec {
    pub(crate) fn contradiction(&self) -> Option<String> {
        if self.layouts.len() < 2 || self.read_orders.is_empty() {
            return Some(
                "layout.layouts needs at least two layouts, layout.read_orders at least one order".into(),
            );
        }
        self.directories.is_empty().then(|| "layout.directories needs at least one value".into())
    }
}

/// A layout with the moment at which its directories are made; `name` is its name in tables.
struct Variant {
    name: String,
    axes: Axes,
    made: Made,
}

/// Arms of one variant, by the phases in which they are compared.
struct Arm {
    make_directories: Option<ArmId>,
    create: ArmId,
    read: Vec<ArmId>,
    walk: Option<ArmId>,
}

/// Each layout has a chain: make directories, write, read in each order, walk. The phases of all layouts are
/// interleaved in a round, so that writing in one layout is compared with writing in another at about the
/// same moment. The control repeats the first layout on files of its own.
pub(crate) fn layouts(
    spec: &LayoutSpec,
    made: &Made,
    entries: u64,
    arms: &mut Arms<'_>,
) -> Result<Order, PlanError> {
    let variants = variants(spec, made, entries, arms)?;
    let mut all: Vec<(&Variant, Arm)> = Vec::new();
    for (index, variant) in variants.iter().enumerate() {
        let first = index == 0;
        let role = if first { Role::Baseline } else { Role::Arm };
        all.push((variant, arm(spec, entries, variant, role, arms)));
        if first {
            arm(spec, entries, variant, Role::Control, arms);
        }
    }
    let Some(((flat, base), others)) = all.split_first().filter(|(_, others)| !others.is_empty()) else {
        let allowed = "name at least two different layouts; all are compared with the first";
        return Err(PlanError::value("the layouts", spec.layouts.join(","), allowed));
    };
    let pair = |variant: &Variant, at: &str, arm, to| Pair::new(&variant.name, &flat.name, at, (arm, to));
    let written =
        others.iter().map(|(variant, arm)| pair(variant, "writing all files", arm.create, base.create));
    arms.pairs("write", "Does the layout affect writing?", written);
    for (place, order) in spec.read_orders.iter().enumerate() {
        let at = format!("reading all files{}", order_words(*order));
        let read = others.iter().map(|(variant, arm)| pair(variant, &at, arm.read[place], base.read[place]));
        let group = if place == 0 { "read".to_owned() } else { format!("read-{}", place + 1) };
        arms.pairs(&group, &format!("Does the layout affect reading{}?", order_words(*order)), read);
    }
    arms.answers("write");
    arms.answers("read");
    let walked = others.iter().filter_map(|(variant, arm)| {
        Some(pair(variant, "listing and looking at all files", arm.walk?, base.walk?))
    });
    arms.pairs("walk", "Does the layout affect walking all files?", walked);
    for arm in all.iter().filter_map(|(_, arm)| arm.make_directories) {
        arms.join(arm, "write");
    }
    Ok(Order::Phases)
}

/// Layouts crossed with moments. A combination that is impossible is left out with a note; others remain.
fn variants(
    spec: &LayoutSpec,
    made: &Made,
    entries: u64,
    arms: &mut Arms<'_>,
) -> Result<Vec<Variant>, PlanError> {
    check_numbers("the number of writers", [spec.writers], WORKERS_MAX)?;
    let mut variants = Vec::new();
    for layout in &spec.layouts {
        let spread = parse_spread(layout).map_err(|reason| PlanError::Data { reason })?;
        let moments = match spread.is_flat() {
            true => vec![None],
            false => spec.directories.iter().copied().map(Some).collect(),
        };
        for moment in moments {
            let axes = Axes { layout: Some(layout.clone()), directories: moment, ..Axes::default() };
            let directories = moment.unwrap_or(MakeDirectories::OnDemand);
            let made = Made { spread: spread.clone(), directories, when: When::ByArms, ..made.clone() };
            match impossible(&made, entries) {
                None => variants.push(Variant { name: axes.name(), axes, made }),
                Some(reason) => arms.note(NoteKind::ArmLeftOut, format!("{}: {reason}", axes.name())),
            }
        }
    }
    Ok(variants)
}

/// Real programs make fewer directories beforehand.
///
/// With more directories than twice the files, making them would be the whole measurement.
const DIRECTORIES_A_FILE_MAX: f64 = 2.0;

/// Reason why directories cannot be created beforehand, if the files themselves are possible.
fn impossible(made: &Made, entries: u64) -> Option<String> {
    let on_demand = Made { directories: MakeDirectories::OnDemand, ..made.clone() };
    if made.directories != MakeDirectories::Before || Files::new(&on_demand, 0, entries).is_err() {
        return None;
    }
    match Files::new(made, 0, entries) {
        Err(error) => Some(error.to_string()),
        Ok(files) => {
            let directories = files.directories_expected();
            let most = DIRECTORIES_A_FILE_MAX * entries as f64;
            (directories > most).then(|| format!("{directories:.0} directories for {entries} files"))
        }
    }
}

/// Adds the steps of one layout, which share a data set and depend on each other by their numbers. Making
/// directories is a step of its own only if they are made before the files; otherwise its cost is part of
/// writing. Reading and walking are done by one worker, whatever wrote the files.
fn arm(spec: &LayoutSpec, entries: u64, variant: &Variant, role: Role, arms: &mut Arms<'_>) -> Arm {
    let Variant { axes, made, .. } = variant;
    // `entries` of a data set counts per writer if several write one tree.
    let each = entries.div_ceil(u64::from(spec.writers));
    let all = each * u64::from(spec.writers);
    let data = arms.add_data(each, made.clone());
    let work = |operation, order| {
        let work = by_name(operation, order, (0, all));
        FileWork { sync: spec.sync, workers: Workers { kind: spec.worker_kind, ..SINGLE_WORKER }, ..work }
    };
    let writers = Workers { count: spec.writers, kind: spec.worker_kind, ..SINGLE_WORKER };
    let mut add = |step, operation, order, work: FileWork| {
        let axes =
            Axes { operation: Some(operation), order, is_control: role == Role::Control, ..axes.clone() };
        arms.files(by(&work.workers, axes), role, (data, step), work)
    };
    let make_directories = (made.directories == MakeDirectories::Before).then(|| {
        add(0, Operation::MakeDirectories, None, work(FileOperation::MakeDirectories, FileOrder::AsWritten))
    });
    let create = work(FileOperation::Create, FileOrder::AsWritten);
    let create = add(1, Operation::Create, None, FileWork { to: each, workers: writers, ..create });
    let read = (2..).zip(&spec.read_orders);
    let read =
        read.map(|(step, order)| add(step, Operation::Read, Some(*order), work(FileOperation::Read, *order)));
    let read: Vec<ArmId> = read.collect();
    let walk = spec.walk.then(|| {
        let work = FileWork {
            access: Access::Directory,
            sync: SyncPolicy::Never,
            ..work(FileOperation::Stat, FileOrder::AsWritten)
        };
        add(2 + read.len() as u32, Operation::Walk, None, work)
    });
    Arm { make_directories, create, read, walk }
}
