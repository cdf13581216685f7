//! The comparison of two runs for a terminal.

use super::{Between, Row};
use crate::render::{Column, Grid, Style, Text, Tone, clean, lay_out, outcome_tone, paint, wrap};
use crate::summary::Resolution;
use crate::text;

/// Narrower than this nothing can be laid out.
const WIDTH_MIN: usize = 40;

/// Returns the comparison for a terminal of `width` columns, ending with a newline.
#[must_use]
pub fn table(between: &Between, width: usize, style: Style) -> String {
    let width = width.max(WIDTH_MIN);
    let mut lines = Vec::new();
    let mut paragraph = |text: &str, tone: Tone| {
        let wrapped = wrap(&clean(text, style), width);
        lines.extend(wrapped.iter().map(|line| paint(line, tone, style)));
    };
    paragraph(&format!("Study {}: a new run against an old one", between.study), Tone::Heading);
    for difference in &between.differences {
        paragraph(&format!("! Not the same {difference}."), Tone::Alarm);
    }
    for disturbance in &between.disturbances {
        paragraph(&format!("! {disturbance}"), Tone::Alarm);
    }
    lines.push(String::new());
    lines.extend(lay_out(&grid(between), width, style));
    let mut paragraph = |text: &str| {
        lines.extend(wrap(&clean(text, style), width).iter().map(|line| paint(line, Tone::Faint, style)));
    };
    paragraph(
        "Ratio: new / old, below 1 the new run is faster. [ ]: 95 % interval (Mann-Whitney), adjusted for all rows (Holm). Two runs \
         share no rounds: what differed between them as wholes, such as load, is in the ratios.",
    );
    for (which, resolution) in [("old", &between.resolution_old), ("new", &between.resolution_new)] {
        resolution.iter().filter_map(half_width).take(1).for_each(|percent| {
            paragraph(&format!("The {which} run's own resolution: {}.", text::percent(percent)));
        });
    }
    for (which, arms) in [("old", &between.only_old), ("new", &between.only_new)] {
        if !arms.is_empty() {
            paragraph(&format!("Only in the {which} run: {}.", arms.join("; ")));
        }
    }
    lines.join("\n") + "\n"
}

fn half_width(resolution: &Resolution) -> Option<f64> {
    resolution.half_width_percent
}

fn grid(between: &Between) -> Grid {
    let columns = vec![
        Column::left("arm", 0),
        Column::right("old", 1),
        Column::right("new", 1),
        Column::right("rounds", 2),
        Column::left("ratio", 0),
        Column::left("verdict", 0),
    ];
    let cold = between.rows.iter().any(|row| row.cache != between.rows[0].cache);
    let row = |row: &Row| {
        let (ratio, verdict, tone) = outcome_tone(&row.outcome);
        let time = |figure: &Option<crate::Figure>| {
            figure.map(|figure| text::time(figure.value)).unwrap_or_default()
        };
        let name = if cold { format!("{} ({})", row.arm, row.cache) } else { row.arm.clone() };
        let fields = [
            name,
            time(&row.old_ns),
            time(&row.new_ns),
            format!("{}/{}", row.old_rounds, row.new_rounds),
            ratio,
        ];
        fields.into_iter().map(Text::plain).chain([Text { text: verdict, tone }]).collect()
    };
    let mut rows: Vec<Vec<Text>> = between.rows.iter().map(row).collect();
    if let Some(mean) = between.geometric_mean {
        let of = format!("of {}", text::counted(between.ratios as u64, "ratio"));
        let fields = [
            "geometric mean".into(),
            String::new(),
            String::new(),
            String::new(),
            text::ratio(mean, None),
            of,
        ];
        rows.push(fields.map(|text| Text { text, tone: Tone::Heading }).into());
    }
    Grid { columns, rows, legend: Vec::new(), bars: None }
}
