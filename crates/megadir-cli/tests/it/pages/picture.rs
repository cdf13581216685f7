//! The picture of README.md: one bar for each program, drawn from the record of the comparison.
//!
//! The picture states its own colours for light and dark viewers, because a page on a forge cannot style it. Texts are
//! placed in columns that are wide enough for any of them, so that no width of a font has to be known.

use std::fmt::Write;

/// Program of the picture.
pub(super) struct Bar {
    pub(super) name: String,
    /// Median time and the bounds of its 95 % interval, milliseconds.
    pub(super) time_ms: f64,
    pub(super) interval_ms: (f64, f64),
    /// As printed: `182 ms` and `2.75x [2.25, 3.24]`; the ratio of megadir itself is empty.
    pub(super) time: String,
    pub(super) ratio: String,
    pub(super) is_own: bool,
}

const WIDTH: f64 = 760.0;
/// Beginnings of the columns, and the end of the longest interval.
const BARS_X: f64 = 150.0;
const BARS_END: f64 = 520.0;
const TIMES_END: f64 = 590.0;
const RATIOS_END: f64 = 752.0;
const FIRST_Y: f64 = 58.0;
const ROW: f64 = 28.0;
const BAR: f64 = 16.0;

/// Rules for one mode: paper, text, faint text, megadir's bar, other bars, intervals.
fn rules([paper, ink, faint, own, other, interval]: [&str; 6]) -> String {
    format!(
        ".paper{{fill:{paper}}}text{{fill:{ink}}}.faint{{fill:{faint}}}.own{{fill:{own}}}.other{{fill:{other}}}\
         .interval{{stroke:{interval};fill:none}}"
    )
}

/// Draws the bars from top to bottom. Lengths are proportional to times, from zero.
pub(super) fn bars(heading: &str, conditions: &str, bars: &[Bar]) -> String {
    let longest = bars.iter().map(|bar| bar.interval_ms.1.max(bar.time_ms)).fold(0.0, f64::max);
    let x = |ms: f64| BARS_X + ms / longest * (BARS_END - BARS_X);
    let height = FIRST_Y + ROW * bars.len() as f64 + 30.0;
    let light = rules(["#ffffff", "#1b1f24", "#59636e", "#0068a8", "#b9c0c8", "#1b1f24"]);
    let dark = rules(["#15181c", "#e6e8ea", "#a0a8b1", "#56b4e9", "#59636e", "#e6e8ea"]);
    let described: Vec<String> = bars
        .iter()
        .map(|bar| format!("{}: {} {}", bar.name, bar.time, bar.ratio).trim_end().to_owned())
        .collect();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         role=\"img\" aria-labelledby=\"t d\">\n<title id=\"t\">{heading}</title>\n<desc id=\"d\">{}. {conditions}</desc>\n\
         <style>text{{font:14px system-ui,-apple-system,\"Segoe UI\",\"Liberation Sans\",\"DejaVu Sans\",sans-serif}}\
         .heading{{font-weight:600}}.small{{font-size:12px}}.e{{text-anchor:end}}{light}\n\
         @media (prefers-color-scheme:dark){{{dark}}}</style>\n\
         <rect class=\"paper\" width=\"{WIDTH}\" height=\"{height}\"/>\n\
         <text class=\"heading\" x=\"8\" y=\"22\">{heading}</text>\n\
         <text class=\"faint small e\" x=\"{TIMES_END}\" y=\"46\">time</text>\n\
         <text class=\"faint small e\" x=\"{RATIOS_END}\" y=\"46\">ratio, 95 % interval</text>\n",
        described.join("; ")
    );
    for (place, bar) in bars.iter().enumerate() {
        let top = FIRST_Y + ROW * place as f64;
        let (middle, base) = (top + BAR / 2.0, top + 13.0);
        let (low, high) = (x(bar.interval_ms.0), x(bar.interval_ms.1));
        let (up, down, length) = (middle - 4.0, middle + 4.0, x(bar.time_ms) - BARS_X);
        let class = if bar.is_own { "own" } else { "other" };
        let Bar { name, time, ratio, .. } = bar;
        writeln!(
            svg,
            "<text x=\"8\" y=\"{base}\">{name}</text>\n\
             <rect class=\"{class}\" x=\"{BARS_X}\" y=\"{top}\" width=\"{length:.1}\" height=\"{BAR}\"/>\n\
             <path class=\"interval\" d=\"M{low:.1} {middle}H{high:.1}M{low:.1} {up}V{down}M{high:.1} {up}V{down}\"/>\n\
             <text class=\"e\" x=\"{TIMES_END}\" y=\"{base}\">{time}</text>\n\
             <text class=\"e\" x=\"{RATIOS_END}\" y=\"{base}\">{ratio}</text>",
        )
        .expect("in memory");
    }
    writeln!(svg, "<text class=\"faint small\" x=\"8\" y=\"{}\">{conditions}</text>\n</svg>", height - 12.0)
        .expect("in memory");
    svg
}
