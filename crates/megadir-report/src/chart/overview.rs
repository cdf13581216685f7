//! File systems side by side: for every work the time on each of them, as bars from zero.

use super::axis::{Axis, Unit};
use super::picture::Width;
use super::rows::{Frame, Mark, Row, draw};
use super::{Chart, Picture};
use crate::render::Report;
use crate::summary::FILE_SYSTEM_GROUP;
use crate::text;
use megadir_record::{Cell, FsId, LabFileSystem, Role};

/// The chart.
pub(super) struct Overview;

impl Chart for Overview {
    fn name(&self) -> &'static str {
        "overview"
    }

    fn answers(&self) -> &'static str {
        "Which file system?"
    }

    fn draw(&self, report: &Report<'_>, width: Width) -> Vec<Picture> {
        works(report).iter().map(|work| picture(report, work, width)).collect()
    }
}

/// The arms that do the same on several file systems.
struct Same<'a> {
    name: String,
    arms: Vec<(&'a LabFileSystem, &'a Cell)>,
}

fn works<'a>(report: &Report<'a>) -> Vec<Same<'a>> {
    let plan = &report.record.header.plan;
    let on = |cell: &Cell| plan.data.get(cell.data.0 as usize).and_then(|data| data.on);
    let entries = |cell: &Cell| plan.data.get(cell.data.0 as usize).map(|data| data.entries);
    let file_system = |id: FsId| plan.file_systems.get(id.0 as usize);
    // Those of no group of the study's own make ready what others need.
    let own = |cell: &Cell| cell.groups.iter().any(|group| group != FILE_SYSTEM_GROUP);
    let all = !plan.cells.iter().any(own);
    let asked = |cell: &&Cell| cell.role != Role::AgainstItself && (all || own(cell));
    let mut works: Vec<Same<'a>> = Vec::new();
    for cell in plan.cells.iter().filter(asked) {
        let Some(file_system) = on(cell).and_then(file_system) else { continue };
        let same = |work: &&mut Same<'a>| {
            let first = work.arms[0].1;
            let alike = (&first.work, first.cache, first.rate_per_s, entries(first))
                == (&cell.work, cell.cache, cell.rate_per_s, entries(cell));
            // Another directory layout is other work, though it reads the same.
            alike && name(work.arms[0].0, first) == name(file_system, cell)
        };
        match works.iter_mut().find(same) {
            Some(work) => work.arms.push((file_system, cell)),
            None => works.push(Same { name: name(file_system, cell), arms: vec![(file_system, cell)] }),
        }
    }
    works.retain(|work| work.arms.len() > 1);
    works
}

/// Returns the name of an arm without that of its file system.
fn name(file_system: &LabFileSystem, cell: &Cell) -> String {
    let mut name = cell.name.clone();
    for label in [&file_system.label, &file_system.name] {
        for written in
            [format!(" on {label}"), format!(", {label}"), format!("{label}, "), format!("{label}: ")]
        {
            name = name.replace(&written, "");
        }
    }
    name
}

fn picture(report: &Report<'_>, same: &Same<'_>, width: Width) -> Picture {
    let timing = |cell: &Cell| report.summary.arm(cell.id).and_then(|arm| arm.timing.as_ref());
    let row = |(file_system, cell): &(&LabFileSystem, &Cell)| {
        let figure = timing(cell)?.time_ns;
        let mut marks = vec![Mark::Bar { from: 0.0, to: figure.value, class: "s0".into() }];
        marks.extend(figure.interval.map(|range| Mark::Interval {
            low: range.low,
            high: range.high,
            class: "rule",
        }));
        let value = text::time_with_interval(&figure);
        Some(Row { label: file_system.label.clone(), value, tone: "", marks, heading: false })
    };
    let rows: Vec<Row> = same.arms.iter().filter_map(row).collect();
    let figures = same.arms.iter().filter_map(|(_, cell)| timing(cell)).map(|timing| timing.time_ns);
    let values: Vec<f64> = figures
        .flat_map(|figure| [Some(figure.value), figure.interval.map(|range| range.high)])
        .flatten()
        .collect();
    let frame = Frame {
        width,
        axis: &|places| Axis::from_zero(Unit::Time, values.iter().copied(), places),
        title: "median time of an operation",
        band: None,
        line: None,
        key: Vec::new(),
    };
    let told: Vec<String> = rows.iter().map(|row| format!("{}: {}", row.label, row.value)).collect();
    let group = same.arms[0].1.groups.first().map(String::as_str);
    Picture::new("overview", group, &format!("By file system: {}", same.name), draw(&frame, &rows))
        .described(format!("Median time of an operation on each file system. {}.", told.join("; ")))
}
