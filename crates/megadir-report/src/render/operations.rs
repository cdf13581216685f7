//! Tables of single operations, break-even shares and fillings.
//!
//! Groups that are no comparison of arms have their tables here. Ranks of columns are chosen so that on a
//! narrow terminal the verdict, and the figure that it is about, remain.

use megadir_record::Since;

use crate::render::grid::{Bars, Grid, Text, headings};
use crate::render::paint::{intervals, outcome};
use crate::summary::{
    ArmSummary, BreakEven, BreakEvenPoint, BreakEvenSeries, Bucket, Figure, Fill, Growth, HostRate,
    Operations, Refusal, Series, Shape, Summary, Threshold,
};
use crate::text;

pub(crate) const TITLE: &str = "How long do single operations take?";

pub(crate) fn grid(summary: &Summary) -> Option<Grid> {
    // Arms of the study's groups that have times of single operations; without any there is no table.
    let timed = || summary.measured().filter_map(|arm| Some((arm, arm.single()?)));
    let (_, first) = timed().next()?;
    let columns = headings![
        left "arm" 0, right "p50" 0, left "interval" 4, right "p90" 2, left "interval" 6, right "p99" 0,
        left "interval" 3, right "p99.9" 1, left "interval" 5, right "max" 1, right "operations" 7
    ];
    let rows = timed().map(|(arm, single)| row(&arm.planned.name, single)).collect();
    Some(Grid::new(columns, rows, legend(summary, first)))
}

pub(crate) const HOSTS_TITLE: &str = "How fast was each host?";

pub(crate) fn grid_hosts(summary: &Summary) -> Option<Grid> {
    // The name of an arm repeats for each of its hosts.
    let row = |arm: &ArmSummary, of: &HostRate| {
        let per_s = text::per_second(&of.per_s);
        let fields = [arm.planned.name.clone(), of.host.clone(), text::count(of.entries), per_s];
        fields.map(Text::plain).into()
    };
    let rows: Vec<Vec<Text>> =
        summary.measured().flat_map(|arm| arm.hosts.iter().map(move |of| row(arm, of))).collect();
    let columns = headings![left "arm" 0, left "host" 0, right "entries" 1, left "rate per second" 0];
    let legend = format!(
        "Rate: what the ranks of a host did in a block / the time until its last rank was done; median and {} interval over \
         rounds.",
        text::chosen(summary.rules.confidence)
    );
    (!rows.is_empty()).then(|| Grid::new(columns, rows, legend))
}

/// Withheld quantiles are marked as refused in every column, because an empty field would mean that they
/// were not measured.
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
            let refused = ["refused", "", "refused", "", "refused", "", "refused", "", "refused"];
            fields.extend(refused.map(str::to_owned));
        }
    }
    fields.push(text::count(single.operations));
    fields.into_iter().map(Text::plain).collect()
}

/// Interval alone, in the unit of its value. Cut out of the text of both, so that the two never differ in
/// unit or decimals.
pub(super) fn bounds(figure: &Figure) -> String {
    let text = text::time_with_interval(figure);
    text.find('[').map(|place| text[place..].to_owned()).unwrap_or_default()
}

fn legend(summary: &Summary, single: &Operations) -> String {
    // With a fixed rate a time contains waiting, which a reader must know before comparing.
    let from = match single.since {
        Since::Start => "from the end of the operation before to its own end",
        Since::IntendedStart => "from when it was planned to start to its end",
    };
    let rate = match single.rate {
        Some(rate) => format!(" {} to start a second (open loop).", text::count(rate.target_per_s)),
        None => String::new(),
    };
    format!(
        "Time of one operation, {from}, all rounds together; interval: {}, by resampling rounds.{rate}",
        text::chosen(summary.rules.confidence)
    )
}

pub(super) fn grid_break_even(read: &BreakEven) -> Grid {
    let columns = headings![
        right "entries" 0, left "listed by" 0, right "asked for" 0, right "files" 3, right "time" 1,
        right "of listing" 2, left "ratio" 0, left "cheaper" 0
    ];
    let legend = "Ratio: time of asking / time of listing, round by round; above 1 listing costs less. Break-even: the share of the entries, and in [ ] its interval over rounds.";
    Grid::new(columns, read.series.iter().flat_map(rows).collect(), legend)
}

/// A row for each share that was measured, and one for the share at which both cost the same. `wins` follows
/// from the interval of the ratio alone: where the interval includes 1, either may be faster. "always" is
/// written only if both ends of the interval agree, and otherwise "mostly".
fn rows(series: &BreakEvenSeries) -> Vec<Vec<Text>> {
    let row = |point: &BreakEvenPoint| {
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
    let mut rows: Vec<Vec<Text>> = series.points.iter().map(row).collect();
    let share = match series.from {
        Threshold::At { share } => text::threshold(share, series.interval),
        from @ (Threshold::Always | Threshold::Never) => {
            let who = if from == Threshold::Always { "listing" } else { "asking" };
            let how = if series.interval == Some((from, from)) { "always" } else { "mostly" };
            format!("{who} {how}")
        }
    };
    let entries = text::count(series.entries);
    let fields: [&str; 8] = [&entries, &series.name, "break-even", "", "", "", &share, ""];
    rows.push(fields.map(Text::heading).into());
    rows
}

pub(super) fn refusal(refusal: &Refusal) -> Grid {
    let columns = headings![
        right "directories" 0, right "mean" 0, right "least" 1, right "most" 1, right "predicted" 0,
        left "hardly outside" 0, right "error" 0
    ];
    let of = |number: Option<u64>| number.map(text::count).unwrap_or_default();
    let predicted = refusal.predicted.as_ref();
    // The prediction is a number with bounds that hardly any directory leaves.
    let bounds =
        |of: &megadir_record::Predicted| format!("[{}, {}]", text::count(of.low), text::count(of.high));
    let error =
        |error: f64| format!("{}{}", if error < 0.0 { "-" } else { "+" }, text::percent(100.0 * error.abs()));
    let row = [
        text::count(refusal.directories as u64),
        text::count(refusal.mean.round() as u64),
        text::count(refusal.least),
        text::count(refusal.most),
        of(predicted.map(|predicted| predicted.entries)),
        predicted.map(bounds).unwrap_or_default(),
        refusal.error.map(error).unwrap_or_default(),
    ];
    let basis = predicted.map_or_else(String::new, |of| format!(" Predicted from: {}.", of.basis));
    let legend = format!("Entries when the first file was refused, for the directory's index.{basis}");
    Grid::new(columns, vec![row.map(Text::plain).into()], legend)
}

pub(super) fn fill(summary: &Summary, fill: &Fill) -> Grid {
    let columns = headings![
        right "files there" 0, right "time" 0, left "interval" 2, right "p50" 3, right "p99" 1,
        right "longest" 3, left "ratio" 0, left "verdict" 0
    ];
    // A bucket is an arm of its own, so its quantiles are the arm's.
    let row = |bucket: &Bucket| {
        let timing = summary.timing(bucket.arm);
        let quantiles = timing.and_then(|timing| timing.single.as_ref()?.quantiles);
        let of = |ns: Option<f64>| ns.map(text::time).unwrap_or_default();
        let (ratio, verdict, tone) = outcome(&bucket.outcome);
        let fields = [
            text::count(bucket.from),
            of(bucket.time_ns.map(|figure| figure.value)),
            bucket.time_ns.as_ref().map(bounds).unwrap_or_default(),
            of(quantiles.map(|of| of.p50_ns.value)),
            of(quantiles.map(|of| of.p99_ns.value)),
            of(quantiles.map(|of| of.max_ns)),
            ratio,
        ];
        fields.into_iter().map(Text::plain).chain([Text { text: verdict, tone }]).collect()
    };
    let intervals = intervals(summary, "all rows", fill.buckets.iter().map(|bucket| &bucket.outcome));
    let legend = format!(
        "Files there: when the first of the row was created. Time: of one file, median of the rounds. p50, p99, longest: of single \
         files. Ratio: to the first row, round by round.{intervals}"
    );
    let time = |bucket: &Bucket| bucket.time_ns.map(|figure| figure.value);
    let bars = Bars { label: "time", values: fill.buckets.iter().map(time).collect(), needed: false };
    Grid { bars: Some(bars), ..Grid::new(columns, fill.buckets.iter().map(row).collect(), legend) }
}

pub(super) fn grow(growth: &Growth) -> Grid {
    let columns = headings![
        left "series" 0, right "entries" 0, right "time" 1, left "interval" 3, right "an entry" 2,
        left "exponent" 0, left "says" 0
    ];
    let rows = growth.series.iter().flat_map(series_rows).collect();
    // Bars of flat series would all have one length.
    let points = || growth.series.iter().flat_map(|series| &series.points);
    let an_entry = points().all(|point| point.entry_ns.is_some());
    let values = growth.series.iter().flat_map(|series| {
        let of_point = |point: &crate::summary::Point| {
            Some(point.entry_ns.filter(|_| an_entry).unwrap_or(point.time_ns).value)
        };
        series.points.iter().map(of_point).chain(series.exponent.map(|_| None))
    });
    let bars =
        Bars { label: if an_entry { "an entry" } else { "time" }, values: values.collect(), needed: false };
    let legend = "Exponent: the time grows with entries to this power, from the row above and over all sizes; 1 is linear.";
    Grid { bars: Some(bars), ..Grid::new(columns, rows, legend) }
}

fn series_rows(series: &Series) -> Vec<Vec<Text>> {
    let point = |point: &crate::summary::Point| {
        // Exponent from the size before to this one; the first row has none.
        let step = series.steps.iter().find(|step| step.to_entries == point.entries);
        let exponent = step.map(|step| text::exponent(&step.exponent)).unwrap_or_default();
        let fields = [
            series.name.clone(),
            text::count(point.entries),
            text::time(point.time_ns.value),
            bounds(&point.time_ns),
            point.entry_ns.map(|figure| text::time(figure.value)).unwrap_or_default(),
            exponent,
            String::new(),
        ];
        fields.map(Text::plain).into()
    };
    let mut rows: Vec<Vec<Text>> = series.points.iter().map(point).collect();
    // Without an exponent there are fewer than two sizes, and no row for all of them.
    if let Some(exponent) = &series.exponent {
        let exponent = text::exponent(exponent);
        let fields: [&str; 7] = [&series.name, "all", "", "", "", &exponent, shape(series.shape)];
        rows.push(fields.map(Text::heading).into());
    }
    rows
}

fn shape(shape: Shape) -> &'static str {
    match shape {
        Shape::Linear => "linear",
        Shape::PerhapsLinear => "perhaps linear",
        Shape::LessThanLinear => "less than linear",
        Shape::MoreThanLinear => "more than linear",
        Shape::Undecided => "undecided",
    }
}
