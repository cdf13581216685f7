//! Arms and groups of a study of programs. Pure.

use megadir_record::axes::grouped;
use megadir_record::{
    Axes, CommandWork, Data, DataId, DataSource, Operation, OutputTo, ReadOperation, Reading, Role, SameWork,
    Spread, Work,
};

use crate::dataset::parse_spread;
use crate::kind::arms::{Arms, Series};
use crate::kind::command::program::first_word;
use crate::kind::command::words::CommandLine;
use crate::kind::command::{CommandArm, CommandGroup, CommandSpec, LINUX_ONLY};
use crate::note::NoteKind;
use crate::request::{PlanError, Request};

/// A program that this machine has. `name` is unique in the plan, because records identify arms by name.
struct Installed<'a> {
    arm: &'a CommandArm,
    name: String,
    version: Option<String>,
}

/// Adds the arms and groups of all programs that this machine has, for each size. A group without any is left out with a note, so that the others
/// run.
pub(crate) fn commands(
    spec: &CommandSpec,
    request: &Request<'_>,
    sets: &[Data],
    arms: &mut Arms<'_>,
) -> Result<(), PlanError> {
    if cfg!(not(target_os = "linux")) {
        return Err(PlanError::Nothing { reason: LINUX_ONLY.into() });
    }
    for group in &spec.groups {
        let mut installed = installed(spec, group, request, arms)?;
        let is_flat = |spread: &str| parse_spread(spread).is_ok_and(|spread| spread.is_flat());
        if !group.spread.as_deref().map_or_else(|| are_flat(sets), is_flat) {
            leave_out_layouts(&mut installed, arms);
        }
        if installed.is_empty() {
            let text = format!("group `{}`: none of its programs is installed", group.name);
            arms.note(NoteKind::GroupLeftOut, text);
            continue;
        }
        warn(group, &installed, arms);
        let mut series: Vec<Series> =
            installed.iter().map(|program| (program.name.clone(), Vec::new())).collect();
        for set in sets.iter().rev() {
            let Some(data) = data_of(group, set, arms)? else { continue };
            let several = (sets.len() > 1).then_some(set.entries);
            on_data(spec, group, &installed, (data, several), arms, &mut series);
        }
        growth(group, series, arms);
    }
    Ok(())
}

fn are_flat(sets: &[Data]) -> bool {
    sets.iter().all(|set| set.source.made().is_none_or(|made| made.spread.is_flat()))
}

/// A layout makes paths of names, so the files must lie in one directory.
fn leave_out_layouts(installed: &mut Vec<Installed<'_>>, arms: &mut Arms<'_>) {
    installed.retain(|program| {
        let Some(layout) = &program.arm.layout else { return true };
        let text =
            format!("`{}`: files in layout {layout} are made of files in one directory only", program.name);
        arms.note(NoteKind::ArmLeftOut, text);
        false
    });
}

/// Programs of a group that this machine has. Missing ones are left out with a note; the first that remains
/// becomes the baseline.
fn installed<'a>(
    spec: &CommandSpec,
    group: &'a CommandGroup,
    request: &Request<'_>,
    arms: &mut Arms<'_>,
) -> Result<Vec<Installed<'a>>, PlanError> {
    let mut installed: Vec<Installed<'a>> = Vec::new();
    for arm in &group.arms {
        let refuse = |allowed: String| PlanError::value("a command", format!("'{}'", arm.run), allowed);
        if !arm.is_of_data_set() {
            CommandLine::parse(&arm.run, group.shell).map_err(refuse)?;
        }
        let own = arm.name.clone().unwrap_or_else(|| name_of(&arm.run));
        let taken = |name: &str| {
            installed.iter().any(|other| other.name == name)
                || arms.planned.iter().any(|planned| planned.name == name)
        };
        let in_group = (spec.groups.len() > 1).then(|| format!("{own}, {}", group.name));
        let numbered = (2..).map(|number| format!("{own} ({number})"));
        let mut names = std::iter::once(own.clone()).chain(in_group).chain(numbered);
        let name = names.find(|name| !taken(name)).unwrap_or_default();
        let word = first_word(&arm.run);
        let fact = request.programs.iter().find(|fact| Some(&fact.word) == word.as_ref());
        match fact.map(|fact| &fact.version) {
            Some(Err(reason)) => arms.note(NoteKind::ArmLeftOut, format!("`{name}`: {reason}")),
            Some(Ok(version)) => installed.push(Installed { arm, name, version: version.clone() }),
            None => installed.push(Installed { arm, name, version: None }),
        }
    }
    Ok(installed)
}

/// Name of an arm by its command line, without the directory, which is the same in all.
fn name_of(line: &str) -> String {
    let words = line.split_whitespace().filter(|word| *word != "{dir}");
    words.collect::<Vec<_>>().join(" ").replace("{megadir}", "megadir")
}

/// Notes lines without `{dir}`: such a program does not get the data set, which is more often a slip than
/// intended.
fn warn(group: &CommandGroup, installed: &[Installed<'_>], arms: &mut Arms<'_>) {
    for program in installed.iter().filter(|program| !program.arm.is_of_data_set()) {
        let line = CommandLine::parse(&program.arm.run, group.shell);
        if line.is_ok_and(|line| !line.names("{dir}")) {
            let text =
                format!("`{}` does not contain {{dir}}, so it is not given the data set", program.arm.run);
            arms.note(NoteKind::WithoutDirectory, text);
        }
    }
}

/// `None`, with a note, if the data set must be made and may not be.
///
/// Groups may need their files in another layout than the study's, and then get a data set of their own;
/// groups with equal needs share one. In a directory of the user nothing is written: groups that would change
/// files or write next to them are left out with a note, and the rest of the study runs.
fn data_of(group: &CommandGroup, set: &Data, arms: &mut Arms<'_>) -> Result<Option<DataId>, PlanError> {
    let spread = group.spread.as_deref().map(parse_spread).transpose();
    let spread: Option<Spread> = spread.map_err(|reason| PlanError::Data { reason })?;
    let source = match (&set.source, spread) {
        (DataSource::Made(made), Some(spread)) => {
            DataSource::Made(megadir_record::Made { spread, ..made.clone() })
        }
        (DataSource::Made(_), None) => set.source.clone(),
        (DataSource::Existing { .. }, spread) => {
            let lines = group.arms.iter().map(|arm| &arm.run).chain(&group.prepare);
            let writes = group.output == OutputTo::File
                || group.read.is_some()
                || lines.into_iter().any(|line| line.contains("{out}"));
            let why = match (spread.is_some(), group.changes, writes) {
                (_, true, _) => "its programs change the files, and the directory is yours",
                (_, _, true) => "its programs write next to the data set, and the directory is yours",
                (true, ..) => "it needs files in many directories",
                (false, false, false) => "",
            };
            if !why.is_empty() {
                let text = format!("group `{}`: {why}; give --entries to create files", group.name);
                arms.note(NoteKind::GroupLeftOut, text);
                return Ok(None);
            }
            set.source.clone()
        }
    };
    if let Some(same) = arms.data.iter().find(|data| data.entries == set.entries && data.source == source) {
        return Ok(Some(same.id));
    }
    let id = DataId(arms.data.len() as u32);
    arms.data.push(Data { id, source, ..set.clone() });
    Ok(Some(id))
}

/// The first program is the baseline, and all others do the same task on the same data. `series` has one
/// element for each program, to which the arm is added, so that growth can be read over the sizes. The
/// expected output is not known yet; the trial before the run adds it.
fn on_data(
    spec: &CommandSpec,
    group: &CommandGroup,
    installed: &[Installed<'_>],
    (data, entries): (DataId, Option<u64>),
    arms: &mut Arms<'_>,
    series: &mut [Series],
) {
    let name = entries.map_or_else(|| group.name.clone(), |entries| format!("{}-{entries}", group.name));
    let mut baseline = None;
    for (place, program) in installed.iter().enumerate() {
        let work = Work::Command(Box::new(CommandWork {
            task: group.name.clone(),
            line: program.arm.run.clone(),
            shell: group.shell,
            environment: spec.environment.clone(),
            output: group.output,
            same: group.same(),
            changes: group.changes,
            prepare: group.prepare.clone(),
            exit_code: group.exit_code,
            timeout_ns: group.timeout_s.saturating_mul(1_000_000_000),
            version: program.version.clone(),
            expected: None,
            reading: reading(group, program.arm, arms.data[data.0 as usize].entries),
        }));
        let axes = Axes { method: Some(program.name.clone()), entries, ..Axes::of(Operation::Run) };
        let arm = match place {
            0 => arms.baseline_at(axes, data, work),
            _ => arms.push(axes, Role::Arm, data, work),
        };
        baseline.get_or_insert(arm);
        arms.join(arm, &name);
        series[place].1.push(arm);
    }
    let Some(baseline) = baseline else { return };
    let title = format!(
        "{}{}{}",
        group.title,
        entries.map_or_else(String::new, |entries| format!(" ({} files)", grouped(entries))),
        described(group)
    );
    arms.compare(&name, &title, group.answers, baseline);
}

/// One would take a few microseconds in a directory, and the clock and the caches of the processor would decide.
const FIRST_READS: u64 = 10;

/// Reads of an arm in a group that reads from containers.
fn reading(group: &CommandGroup, arm: &CommandArm, entries: u64) -> Option<Reading> {
    let operation = group.read?;
    let files = match operation {
        ReadOperation::First => FIRST_READS.min(entries),
        ReadOperation::Random => group.reads.min(entries),
        ReadOperation::All | ReadOperation::List => entries,
    };
    Some(Reading { container: arm.container?, layout: arm.layout.clone(), operation, files })
}

/// Conditions that a reader of the table must know, in brackets after its title.
fn described(group: &CommandGroup) -> String {
    let unequal = (group.same() == SameWork::Unequal).then_some("unequal work, intended");
    let code = (group.same() == SameWork::ExitCode).then_some("only exit codes were compared");
    let shell = group.shell.then_some("run by a shell");
    let null = (group.output == OutputTo::Null).then_some("output to /dev/null");
    let file = (group.output == OutputTo::File).then_some("output to a file");
    let all: Vec<&str> = [unequal, code, shell, null, file].into_iter().flatten().collect();
    if all.is_empty() { String::new() } else { format!(" [{}]", all.join("; ")) }
}

fn growth(group: &CommandGroup, series: Vec<Series>, arms: &mut Arms<'_>) {
    if series.iter().all(|(_, planned_arms)| planned_arms.len() < 2) {
        return;
    }
    let title = format!("How does the time grow with the number of files? {}", group.title);
    arms.grow(&format!("{}-growth", group.name), &title, false, series);
}
