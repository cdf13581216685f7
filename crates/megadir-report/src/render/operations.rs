//! Times of single operations as a grid, for table and Markdown.

use megadir_record::Since;

use super::grid::{Column, Grid, Text};
use crate::summary::{Arm, Figure, Operations, Summary};
use crate::text;

pub(crate) const TITLE: &str = "How long do single operations take?";

/// Returns the grid of arms with timed operations; `None` without any.
pub(crate) fn grid(summary: &Summary) -> Option<Grid> {
    let single = |arm: &Arm| arm.timing.as_ref().and_then(|timing| timing.single.clone());
    let timed: Vec<(&Arm, Operations)> =
        summary.asked().filter_map(|arm| Some((arm, single(arm)?))).collect();
    if timed.is_empty() {
        return None;
    }
    let columns = vec![
        Column::left("arm", 0),
        Column::right("p50", 0),
        Column::left("interval", 4),
        Column::right("p90", 2),
        Column::left("interval", 6),
        Column::right("p99", 0),
        Column::left("interval", 3),
        Column::right("p99.9", 1),
        Column::left("interval", 5),
        Column::right("max", 1),
        Column::right("operations", 7),
    ];
    let rows = timed.iter().map(|(arm, single)| row(&arm.cell.name, single)).collect();
    Some(Grid { columns, rows, legend: vec![legend(summary, &timed[0].1)], bars: None })
}

fn row(name: &str, single: &Operations) -> Vec<Text> {
    let mut fields = vec![name.to_owned()];
    match &single.quantiles {
        Some(quantiles) => {
            for figure in [&quantiles.p50_ns, &quantiles.p90_ns, &quantiles.p99_ns, &quantiles.p999_ns] {
                fields.extend([text::time(figure.value), bounds(figure)]);
            }
            fields.push(text::time(quantiles.max_ns));
        }
        None => {
            for _ in 0..4 {
                fields.extend(["refused".to_owned(), String::new()]);
            }
            fields.push("refused".to_owned());
        }
    }
    fields.push(text::count(single.operations));
    fields.into_iter().map(Text::plain).collect()
}

/// Returns the interval of a time, in the unit of its figure.
pub(super) fn bounds(figure: &Figure) -> String {
    let text = text::time_with_interval(figure);
    text.find('[').map(|place| text[place..].to_owned()).unwrap_or_default()
}

fn legend(summary: &Summary, single: &Operations) -> String {
    let from = match single.since {
        Since::Start => "from the end of the operation before to its own end",
        Since::IntendedStart => "from when it was planned to start to its end",
    };
    let rate = match single.rate {
        Some(rate) => format!(" {} to start a second (open loop).", text::count(rate.asked_per_s)),
        None => String::new(),
    };
    format!(
        "Time of one operation, {from}, all rounds together; interval: {}, by resampling rounds.{rate}",
        text::chosen(summary.rules.confidence)
    )
}
