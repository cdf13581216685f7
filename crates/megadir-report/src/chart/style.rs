//! Colours and type of pictures and pages, in light and dark mode.
//! The palette is Okabe and Ito's (2008), distinguishable with any colour vision, adjusted for contrast.
//! Colour never carries meaning alone: marks differ in shape, lines in dashes, and verdicts are words.

pub(super) const FONT_PX: f64 = 13.0;
pub(super) const LINE_PX: f64 = 17.0;
/// Beyond these, colours repeat with other dashes.
pub(super) const SERIES: usize = 7;

/// Name, value in light mode, value in dark mode.
type Colour = (&'static str, &'static str, &'static str);

pub(crate) const PAGE_COLOURS: &[Colour] = &[
    ("paper", "#ffffff", "#15181c"),
    ("ink", "#1b1f24", "#e6e8ea"),
    ("faint", "#59636e", "#a0a8b1"),
    ("grid", "#d5dae0", "#3a424b"),
    ("band", "#e9edf1", "#2a3138"),
    ("good", "#0068a8", "#66bdf2"),
    ("bad", "#b84a00", "#ff9a57"),
    ("even", "#59636e", "#a0a8b1"),
    ("alarm", "#b00020", "#ff7a85"),
    ("s0", "#0068a8", "#56b4e9"),
    ("s1", "#b84a00", "#ff8c42"),
    ("s2", "#007a5a", "#2fc79a"),
    ("s3", "#a3437c", "#e59ac6"),
    ("s4", "#8a6500", "#e6b84a"),
    ("s5", "#3d6f9e", "#9fc9ea"),
    ("s6", "#44494f", "#c3c8cd"),
];

const RULES: &str = include_str!("style.css");

/// Classes of series are generated from their number; all other rules are in the file.
pub(crate) fn page_css() -> String {
    let mut css = RULES.to_owned();
    for place in 0..SERIES {
        css.push_str(&format!(
            ".mdc .s{place}{{stroke:var(--s{place});fill:var(--s{place})}}.mdc .area.s{place}{{stroke:none}}\n"
        ));
    }
    css
}

/// With values in place of variables, which some viewers lack.
pub(super) fn svg_css() -> String {
    let rules = page_css();
    // Values are inserted twice, for light and for dark mode.
    let with = |value: fn(&Colour) -> &'static str| {
        let named =
            |css: String, colour: &Colour| css.replace(&format!("var(--{})", colour.0), value(colour));
        PAGE_COLOURS.iter().fold(rules.clone(), named)
    };
    format!("{}@media (prefers-color-scheme:dark){{{}}}", with(|colour| colour.1), with(|colour| colour.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance as defined by WCAG 2.
    fn luminance(colour: &str) -> f64 {
        let part = |at: usize| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
        a.max(b) / a.min(b)
    }

    #[test]
    fn every_meaningful_colour_is_readable_in_print() {
        let (_, light, dark) = PAGE_COLOURS[0];
        for (name, on_light, on_dark) in
            PAGE_COLOURS.iter().filter(|colour| !["paper", "grid", "band"].contains(&colour.0))
        {
            assert!(contrast(on_light, light) >= 4.5, "{name} light {}", contrast(on_light, light));
            assert!(contrast(on_dark, dark) >= 4.5, "{name} dark {}", contrast(on_dark, dark));
        }
    }

    #[test]
    fn a_picture_alone_needs_no_variables() {
        assert!(page_css().contains("var(--ink)"));
        assert!(!svg_css().contains("var("));
    }
}
