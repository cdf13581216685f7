//! Axes with their ticks. Logarithms come from `libm`, so that coordinates are the same on every machine.
//!
//! ```text
//! value --log10 on a log axis--> [low, high] --share--> [from, to] pixels
//!                                 ends of the data, with room    set by `placed`
//! ```
//!
//! Linear axes are rounded outwards to ticks, and axes of bars begin at zero, because a cut axis
//! exaggerates a difference. Logarithms keep ratios symmetric: twice and half are equally far from 1.

use super::{Anchor, Drawing, FONT_PX, text_width};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Time,
    Count,
    Ratio,
    Share,
    /// 2 is 99 %.
    Nines,
    Seconds,
}

/// Scale from values to pixels. `low` and `high` are the ends, on a log axis as
/// logarithms to the base 10; `from` and `to` are the pixels of these ends, set by `placed` once the layout is known. A vertical
/// axis has `from` below `to` on the screen, so `from` is the larger number. Log axes need positive values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    pub(super) unit: Unit,
    pub(super) log: bool,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    pub(super) fn from_zero(unit: Unit, values: impl IntoIterator<Item = f64>) -> Self {
        Self::span(unit, values.into_iter().chain([0.0]))
    }

    /// An axis needs an extent: equal values get one unit of room.
    pub(super) fn span(unit: Unit, values: impl IntoIterator<Item = f64>) -> Self {
        let (low, high) = bounds(values).unwrap_or((0.0, 1.0));
        let high = if high > low { high } else { low + 1.0 };
        let step = nice_step((high - low) / 5.0);
        let (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
        Self { unit, log: false, low, high, from: 0.0, to: 1.0 }
    }

    /// A margin keeps marks at the ends from touching the frame. Values of zero and below have no place and
    /// are left out.
    pub(super) fn log(unit: Unit, values: impl IntoIterator<Item = f64>) -> Self {
        let values = values.into_iter().filter(|value| *value > 0.0);
        let (low, high) = bounds(values).unwrap_or((0.5, 2.0));
        let (low, high) = (libm::log10(low), libm::log10(high));
        let room = (0.04 * (high - low)).max(0.005);
        Self { unit, log: true, low: low - room, high: high + room, from: 0.0, to: 1.0 }
    }

    /// Logarithmic if values differ by a factor above 20 and none is 0, otherwise linear from zero.
    pub(super) fn fitting(unit: Unit, values: impl IntoIterator<Item = f64>) -> Self {
        match bounds(values) {
            Some((low, high)) if low > 0.0 && high / low > 20.0 => Self::log(unit, [low, high]),
            ends => Self::from_zero(unit, ends.into_iter().flat_map(|(low, high)| [low, high])),
        }
    }

    pub(super) fn placed(self, (from, to): (f64, f64)) -> Self {
        Self { from, to, ..self }
    }

    pub(super) fn at(&self, value: f64) -> f64 {
        let value = if self.log { libm::log10(value.max(f64::MIN_POSITIVE)) } else { value };
        // Values outside of the axis stay near the picture.
        let share = ((value - self.low) / (self.high - self.low)).clamp(-0.5, 1.5);
        self.from + share * (self.to - self.from)
    }

    fn ticks(&self) -> Vec<f64> {
        if !self.log {
            // Fractions of an entry or a file do not exist.
            let ticks = linear_ticks(self.low, self.high, 6.0).into_iter();
            return ticks.filter(|tick| self.unit != Unit::Count || tick.fract() == 0.0).collect();
        }
        let (low, high) = (libm::exp10(self.low), libm::exp10(self.high));
        let decades = self.high - self.low;
        // Below a factor of four, powers of ten leave too few ticks; linear steps are drawn at logarithmic
        // places.
        if decades < 0.6 {
            let ticks = linear_ticks(low, high, 5.0).into_iter();
            return ticks.filter(|tick| *tick >= low && *tick <= high).collect();
        }
        let factors: &[f64] = match decades {
            ..1.5 => &[1.0, 2.0, 5.0],
            ..2.5 => &[1.0, 3.0],
            _ => &[1.0],
        };
        let powers = self.low.floor() as i32..=self.high.ceil() as i32;
        let ticks =
            powers.flat_map(|power| factors.iter().map(move |factor| factor * libm::exp10(f64::from(power))));
        // Ticks exactly at the ends are kept despite the rounding of `exp10`.
        ticks.filter(|tick| *tick >= low * 0.999_999 && *tick <= high * 1.000_001).collect()
    }

    pub(super) fn labelled(&self) -> Vec<(f64, String)> {
        let ticks = self.ticks();
        let largest = ticks.iter().fold(0.0_f64, |most, tick| most.max(tick.abs()));
        // A linear axis has one unit for all of its ticks, named in its title. On a log axis each tick
        // names its own.
        let scale = (!self.log).then(|| scale(largest));
        ticks.into_iter().map(|tick| (tick, self.written(tick, scale))).collect()
    }

    pub(super) fn unit_name(&self) -> &'static str {
        match (self.unit, self.log) {
            (Unit::Time, false) => scale(self.low.abs().max(self.high.abs())).0,
            (Unit::Seconds, _) => "s",
            (Unit::Time, true) | (Unit::Ratio | Unit::Share | Unit::Count | Unit::Nines, _) => "",
        }
    }

    pub(super) fn title(&self, quantity: &str) -> String {
        let unit = self.unit_name();
        let unit = if unit.is_empty() { String::new() } else { format!(", {unit}") };
        let log = if self.log { " (logarithmic)" } else { "" };
        format!("{quantity}{unit}{log}")
    }

    fn written(&self, tick: f64, scale: Option<(&str, f64)>) -> String {
        match self.unit {
            Unit::Time => match scale {
                Some((_, scale)) => plain(tick / scale),
                None => {
                    let (name, scale) = self::scale(tick);
                    format!("{} {name}", plain(tick / scale))
                }
            },
            Unit::Count => count(tick),
            Unit::Ratio => format!("{}x", plain(tick)),
            Unit::Share => format!("{} %", plain(100.0 * tick)),
            // Nines are decimal logarithms of the remaining share: 2 is 99 %, 3 is 99.9 %.
            Unit::Nines => format!("{} %", plain(100.0 - 100.0 * libm::exp10(-tick))),
            Unit::Seconds => plain(tick),
        }
    }

    /// Returns the lower edge.
    pub(super) fn draw_below(&self, drawing: &mut Drawing, y: f64, top: f64, title: &str) -> f64 {
        let mut free = f64::NEG_INFINITY;
        let width = drawing.width();
        let line = |(tick, _): &(f64, String)| ((self.at(*tick), top), (self.at(*tick), y));
        drawing.lines(&self.labelled().iter().map(line).collect::<Vec<_>>(), "grid");
        for (tick, text) in self.labelled() {
            // Ticks from left to right; one that would touch the text before it has only its grid line.
            let x = self.at(tick);
            let half = text_width(&text, FONT_PX) / 2.0;
            let x = x.clamp(half + 1.0, width - half - 1.0);
            if x - half > free {
                drawing.text(x, y + 18.0, Anchor::Middle, "faint", &text);
                free = x + half + 8.0;
            }
        }
        let middle = (self.from + self.to) / 2.0;
        let title = self.title(title);
        let half = text_width(&title, FONT_PX) / 2.0;
        if half + half < width - 4.0 {
            drawing.text(middle.clamp(half + 2.0, width - half - 2.0), y + 36.0, Anchor::Middle, "", &title);
            return y + 41.0;
        }
        drawing.paragraph(4.0, y + 36.0, width - 8.0, "", &title) - 12.0
    }
}

/// `None` without a finite value.
pub(super) fn bounds(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let finite = values.into_iter().filter(|value| value.is_finite());
    finite.fold(None, |known, value| match known {
        None => Some((value, value)),
        Some((low, high)) => Some((low.min(value), high.max(value))),
    })
}

fn linear_ticks(low: f64, high: f64, about: f64) -> Vec<f64> {
    let step = nice_step((high - low) / about);
    let first = (low / step).ceil() as i64;
    // A tick at the upper end must not be lost to rounding.
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last).map(|place| place as f64 * step).collect()
}

fn nice_step(about: f64) -> f64 {
    if !(about > 0.0 && about.is_finite()) {
        return 1.0;
    }
    let power = libm::exp10(libm::log10(about).floor());
    let factor =
        [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= about * 0.999_999).unwrap_or(10.0);
    factor * power
}

fn scale(ns: f64) -> (&'static str, f64) {
    match ns.abs() * 1.000_001 {
        ..1e3 => ("ns", 1.0),
        ..1e6 => ("µs", 1e3),
        ..1e9 => ("ms", 1e6),
        _ => ("s", 1e9),
    }
}

fn plain(value: f64) -> String {
    let text = format!("{value:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" || text.is_empty() { "0".into() } else { text.into() }
}

/// `20 000`, `1 M`.
pub(super) fn count(value: f64) -> String {
    match value {
        1e9.. => format!("{} G", plain(value / 1e9)),
        1e6.. => format!("{} M", plain(value / 1e6)),
        _ if value.fract().abs() < 1e-6 => crate::text::count(value.max(0.0).round() as u64),
        _ => plain(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis) -> Vec<String> {
        axis.labelled().into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn linear_axes_begin_at_zero_and_name_their_unit_once() {
        let axis = Axis::from_zero(Unit::Time, [1200.0, 4100.0]).placed((0.0, 100.0));
        assert_eq!(texts(&axis), ["0", "1", "2", "3", "4", "5"]);
        assert_eq!((axis.title("time"), axis.at(0.0), axis.at(5000.0)), ("time, µs".into(), 0.0, 100.0));
    }

    #[test]
    fn logarithmic_axes_have_ticks_of_their_own_unit() {
        let axis = Axis::log(Unit::Time, [200.0, 90_000.0]);
        assert_eq!(texts(&axis), ["1 µs", "10 µs", "100 µs"]);
        assert_eq!(axis.title("time"), "time (logarithmic)");
        let axis = Axis::log(Unit::Ratio, [0.97, 1.04]);
        assert!(texts(&axis).contains(&"1x".to_owned()), "{:?}", texts(&axis));
        assert_eq!(texts(&Axis::log(Unit::Count, [1.0, 1e6])).last().unwrap(), "1 M");
    }

    #[test]
    fn axes_bear_whatever_there_is() {
        for values in [vec![], vec![0.0], vec![5.0], vec![f64::NAN, 3.0]] {
            let axis = Axis::fitting(Unit::Time, values.iter().copied());
            assert!(axis.at(3.0).is_finite() && axis.labelled().len() < 30);
            let axis = Axis::log(Unit::Ratio, values);
            assert!(axis.at(0.0).is_finite() && axis.labelled().len() < 30);
        }
    }
}
