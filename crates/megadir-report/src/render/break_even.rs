//! Grid of a break-even group.

use super::grid::{Column, Grid, Text};
use super::paint::Tone;
use crate::summary::{AskPoint, BreakEven, BreakEvenSeries, Threshold};
use crate::text;

/// Returns the arms of every series, and the share from which listing is cheaper.
pub(super) fn grid(read: &BreakEven) -> Grid {
    let columns = vec![
        Column::right("entries", 0),
        Column::left("listed by", 0),
        Column::right("asked for", 0),
        Column::right("files", 3),
        Column::right("time", 1),
        Column::right("of listing", 2),
        Column::left("ratio", 0),
        Column::left("cheaper", 0),
    ];
    let legend = "Ratio: time of asking / time of listing, round by round; above 1 listing costs less. Break-even: the share of the entries, and in [ ] its interval over rounds.";
    Grid {
        columns,
        rows: read.series.iter().flat_map(rows).collect(),
        legend: vec![legend.into()],
        bars: None,
    }
}

fn rows(series: &BreakEvenSeries) -> Vec<Vec<Text>> {
    let row = |point: &AskPoint| {
        let wins = match point.ratio.interval {
            Some(interval) if interval.low > 1.0 => "listing",
            Some(interval) if interval.high < 1.0 => "asking",
            _ => "either",
        };
        let fields = [
            text::count(series.entries),
            series.name.clone(),
            text::share_alone(point.share),
            text::count(point.files),
            text::time(point.time_ns.value),
            text::time(series.list_ns.value),
            text::ratio(point.ratio.value, point.ratio.interval),
            wins.to_owned(),
        ];
        fields.map(Text::plain).into()
    };
    let mut rows: Vec<Vec<Text>> = series.asks.iter().map(row).collect();
    let share = match series.from {
        Threshold::At { share } => text::threshold(share, series.interval),
        from @ (Threshold::Always | Threshold::Never) => {
            let who = if from == Threshold::Always { "listing" } else { "asking" };
            let how = if series.interval == Some((from, from)) { "always" } else { "mostly" };
            format!("{who} {how}")
        }
    };
    let (entries, nothing) = (text::count(series.entries), String::new);
    let name = series.name.clone();
    let fields = [entries, name, "break-even".into(), nothing(), nothing(), nothing(), share, nothing()];
    rows.push(fields.map(|text| Text { text, tone: Tone::Heading }).into());
    rows
}
