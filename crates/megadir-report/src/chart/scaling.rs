//! Scaling: the speed-up of workers or threads over the fewest, with a fitted power law and the ideal line.
//!
//! ```text
//! speed-up      ideal /     . measured, with its interval
//!           /    .
//!     /   .          "power 0.8": fitted to the points, if there are more than two
//!   x------------------
//!   fewest     workers
//! ```
//!
//! The reference is the fewest workers that were measured, which need not be one.

use super::lines::{Frame, Line, Point, draw, xs, ys};
use super::{Axis, Picture, Unit, Width, bounds};
use crate::report::Report;
use crate::summary::Figure;
use crate::text;
use megadir_record::{Arm, ArmId, Data, DataId, GroupRule, Plan, Role, Work};

struct Series {
    name: String,
    group: Option<String>,
    arms: Vec<(u32, ArmId)>,
}

/// With one worker, and their number.
/// The same work with one worker is the key that makes arms a series; the number of workers is the axis.
/// Shares and expected values follow from that number and are no part of the key.
fn by_one(work: &Work) -> Option<(Work, u32)> {
    let mut single = work.clone();
    let workers = match &mut single {
        Work::Files(files) => &mut files.workers.count,
        Work::Remove(remove) => &mut remove.workers,
        Work::List { threads, shares, .. } => {
            *shares = 1;
            threads
        }
        Work::Attributes { threads, expected, .. } => {
            *expected = None;
            threads
        }
        _ => return None,
    };
    let count = std::mem::replace(workers, 1);
    Some((single, count))
}

fn series(report: &Report) -> Vec<Series> {
    let plan = &report.record.header.plan;
    let arms = report.summary.measured().map(|arm| &arm.planned);
    let kinds = arms.filter(|planned| planned.role != Role::Control).filter_map(|planned| {
        let (work, count) = by_one(&planned.work)?;
        // Workers on files have data sets of their own, and ranks remove trees whose size depends on their number.
        let data = alike(plan, planned.data, !matches!(work, Work::Remove(_)));
        // Arms at different steps of the life of files are different series.
        let step = if matches!(work, Work::Files(_)) { planned.step } else { 0 };
        Some(((work, data, step), (count, planned)))
    });
    let of_kind = |(_, arms): (_, Vec<(u32, &Arm)>)| {
        let first = arms[0].1;
        let mut arms: Vec<(u32, ArmId)> = arms.iter().map(|(count, planned)| (*count, planned.id)).collect();
        arms.sort_by_key(|(count, _)| *count);
        // Two arms with the same number of workers: the first one counts.
        arms.dedup_by_key(|(count, _)| *count);
        let group = first.groups.iter().find(|group| varies_workers(plan, group)).cloned();
        (arms.len() > 1).then(|| Series { name: first.named(&first.axes.without_workers()), group, arms })
    };
    text::grouped(kinds).into_iter().filter_map(of_kind).collect()
}

/// First data set with the same recipe, location, and (if `of_size`) size.
fn alike(plan: &Plan, id: DataId, of_size: bool) -> usize {
    let of = |data: &Data| (data.entries * u64::from(of_size), data.on, data.source.clone());
    let Some(own) = plan.data_set(id).map(of) else { return usize::MAX };
    plan.data.iter().position(|data| of(data) == own).unwrap_or(usize::MAX)
}

/// `true` if the workers are the only difference between the group's arms. Such a group is the place of the
/// picture.
fn varies_workers(plan: &Plan, group: &str) -> bool {
    let Some(group) = plan.groups.iter().find(|known| known.name == group) else { return false };
    let planned = |arm: ArmId| plan.arm(arm);
    let alike = |left: &Arm, right: &Arm| {
        let both = [left, right].map(|planned| planned.axes.without_workers());
        !both[0].is_empty() && both[0] == both[1] && left.axes.workers != right.axes.workers
    };
    match &group.rule {
        GroupRule::Pairs { pairs } => pairs.iter().all(|pair| {
            let both = planned(pair.arm).zip(planned(pair.to));
            both.is_some_and(|(left, right)| alike(left, right))
        }),
        GroupRule::Compare { .. } => {
            let members = plan.arms.iter().filter(|planned| planned.groups.contains(&group.name));
            let members: Vec<&Arm> = members.filter(|planned| planned.role == Role::Arm).collect();
            members.len() > 1 && members[1..].iter().all(|planned| alike(planned, members[0]))
        }
        _ => false,
    }
}

pub(super) fn scaling(report: &Report, width: Width) -> Vec<Picture> {
    let rounds = report.rounds();
    let confidence = report.summary.rules.confidence;
    let lines = series(report).into_iter().filter_map(|series| {
        let fewest = series.arms[0];
        let point = |(count, arm): &(u32, ArmId)| {
            let times = rounds.paired(&[fewest.1, *arm]);
            // Speed is the inverse of time: fewest over arm, paired by round.
            let figure = match *arm == fewest.1 {
                true => Figure { value: 1.0, interval: None },
                false => Figure::ratio_of(&times[0], &times[1], confidence)?,
            };
            Some(Point { x: f64::from(*count), y: figure })
        };
        let points: Vec<Point> =
            series.arms.iter().filter_map(point).filter(|point| point.y.value.is_finite()).collect();
        let name = format!("{}{}", series.name, fitted(&points));
        (points.len() > 1).then(|| (series.group, Line::new(name, points)))
    });
    let groups = text::grouped(lines);
    let several = groups.len() > 1;
    let of_group = |(group, lines): (Option<String>, Vec<Line>)| {
        let compared = report.summary.groups.iter().find(|of| Some(&of.name) == Option::as_ref(&group));
        let title = match compared.filter(|_| several) {
            Some(compared) => format!("{TITLE}: {}", compared.title),
            None => TITLE.to_owned(),
        };
        picture(&title, group.as_deref(), lines, width)
    };
    groups.into_iter().map(of_group).collect()
}

const TITLE: &str = "How much more threads or processes help";

fn picture(title: &str, group: Option<&str>, mut lines: Vec<Line>, width: Width) -> Picture {
    let (low, high) = bounds(xs(&lines)).unwrap_or((1.0, 1.0));
    let phrases: Vec<String> = lines.iter().map(line_text).collect();
    lines.push(Line::reference("full effect", [low, high].map(|x| (x, x / low))));
    let workers = (Axis::from_zero(Unit::Count, [high]), "workers (threads or processes)");
    let speed = (Axis::from_zero(Unit::Ratio, ys(&lines)), "speed relative to the fewest");
    let frame = Frame::new(width, workers, speed);
    let described = format!(
        "Speed over workers, relative to the fewest; ratios paired by round. {}.",
        phrases.join("; ")
    );
    Picture::new("scaling", group, title, draw(&frame, &lines), described)
}

/// The exponent says how much of the ideal speed remains: 1 is full effect. Two points fit any power.
fn fitted(points: &[Point]) -> String {
    let xs: Vec<f64> = points.iter().map(|point| point.x).collect();
    let ys: Vec<f64> = points.iter().map(|point| point.y.value).collect();
    match megadir_stats::power_law(&xs, &ys) {
        Some(exponent) if points.len() > 2 => format!(": power {exponent:.2}"),
        _ => String::new(),
    }
}

fn line_text(line: &Line) -> String {
    let point = |point: &Point| format!("{} with {}", text::ratio(point.y.value, point.y.interval), point.x);
    format!("{}: {}", line.name, line.points.iter().map(point).collect::<Vec<_>>().join(", "))
}
