//! Colours of a terminal, and the words and tones of outcomes.
//! A record may contain any characters: [`clean`] removes escape sequences before layout.
//!
//! Words of verdicts are here for all formats, with a tone that each of them turns into colour, a class or
//! nothing. No meaning is in colour alone.

use crate::summary::{Outcome, Summary, Verdict, looks};
use crate::text;

/// Abilities of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    pub color: bool,
    pub unicode: bool,
}

// Meanings, not colours: a terminal, a page and a picture each have their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Heading,
    Faint,
    Good,
    Bad,
    Alarm,
}

/// Escape sequences of single texts, each with its end, so that a cut line never colours the rest of a
/// terminal.
pub(crate) fn paint(text: &str, tone: Tone, style: Style) -> String {
    let code = match tone {
        Tone::Plain => return text.into(),
        Tone::Heading => "1",
        Tone::Faint => "2",
        Tone::Good => "32",
        Tone::Bad => "33",
        Tone::Alarm => "1;31",
    };
    if style.color && !text.is_empty() { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.into() }
}

/// Replaces non-ASCII characters if the terminal lacks them.
/// Control characters are escaped and stay visible, since a record may come from anyone and a name may
/// contain escape sequences.
pub(crate) fn clean(text: &str, style: Style) -> String {
    let mut clean = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            c if is_control(c) => clean.extend(c.escape_default()),
            c if c.is_ascii() || style.unicode => clean.push(c),
            'µ' => clean.push('u'),
            _ => clean.push('?'),
        }
    }
    clean
}

/// As `acts_on_terminals` of the crate `megadir`, on which reports do not depend.
pub(crate) fn is_control(character: char) -> bool {
    // Characters that reorder text could exchange digits on the screen; characters that show nothing could
    // make two names look equal.
    let reorders = matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}');
    let shows_nothing = matches!(
        character,
        '\u{ad}'
            | '\u{34f}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200d}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    );
    character.is_control() || reorders || shows_nothing
}

/// A longer word gets its own line.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    fill(words(text), |line, word| length(line) + 1 + length(word) <= width)
}

/// Lines by a measure of the caller: characters on a terminal, pixels in a picture.
pub(crate) fn fill(
    words: impl IntoIterator<Item = String>,
    fits: impl Fn(&str, &str) -> bool,
) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if fits(line, &word) => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// Whole sentences in at most `lines` lines; the first one in as many as it needs, since half a sentence may say the opposite.
pub(super) fn fitting(text: &str, width: usize, lines: usize) -> Vec<String> {
    // The longest beginning that ends with a sentence and fits.
    let fits = |end: &usize| wrap(&text[..*end], width).len() <= lines;
    let end = ends_of_sentences(text).filter(fits).last().or_else(|| ends_of_sentences(text).next());
    wrap(&text[..end.unwrap_or(text.len())], width)
}

pub(super) fn sentences(text: &str) -> Vec<&str> {
    let mut start = 0;
    let sentence_to = |end: usize| {
        let sentence = text[start..end].trim();
        start = end;
        sentence
    };
    ends_of_sentences(text).map(sentence_to).filter(|sentence| !sentence.is_empty()).collect()
}

/// A full stop ends a sentence only before a space and a capital letter or an opening sign, so that numbers
/// and names with full stops stay whole.
fn ends_of_sentences(text: &str) -> impl Iterator<Item = usize> {
    let begins = |first: char| first.is_uppercase() || "`'([".contains(first);
    let ends = text.match_indices(". ").map(|(at, _)| at + 1);
    ends.filter(move |end| text[*end..].trim_start().starts_with(begins)).chain([text.len()])
}

/// Not within `1 000 000`, `[ ]` or between a number and its unit.
/// A line break there would separate what a reader takes in as one number.
pub(crate) fn words(text: &str) -> Vec<String> {
    const UNITS: [&str; 5] = ["ns", "µs", "ms", "s", "%"];
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let ends_in_digit = |before: &String| before.ends_with(|c: char| c.is_ascii_digit());
        let starts_with_digit = word.starts_with(|c: char| c.is_ascii_digit());
        let bare = word.trim_end_matches([',', '.', ';', ':', ')']);
        match words.last_mut() {
            Some(before)
                if ends_in_digit(before) && (starts_with_digit || UNITS.contains(&bare))
                    || before == "[" && word.starts_with(']') =>
            {
                before.push(' ');
                before.push_str(word);
            }
            _ => words.push(word.into()),
        }
    }
    words
}

/// Number of characters; wide ones count as one column.
pub(super) fn length(text: &str) -> usize {
    text.chars().count()
}

pub(super) fn shorten(text: &str, width: usize, style: Style) -> String {
    if length(text) <= width {
        return text.into();
    }
    let mark = if style.unicode { '…' } else { '~' };
    text.chars().take(width.saturating_sub(1)).chain([mark]).collect()
}

/// Legend of brackets: how the intervals were made, and the families and looks that they were adjusted for.
pub(super) fn intervals<'a>(
    summary: &Summary,
    family: &str,
    outcomes: impl Iterator<Item = &'a Outcome>,
) -> String {
    let epochs = outcomes.filter_map(|outcome| match outcome {
        Outcome::Judged { epochs, .. } => *epochs,
        _ => None,
    });
    let bootstrap = epochs.max().map(|epochs| format!(" by hierarchical bootstrap over {epochs} epochs"));
    let looks = match looks(&summary.rules) {
        1 => String::new(),
        looks => format!(" and for the {looks} looks at which the run might have stopped (Bonferroni)"),
    };
    let bootstrap = bootstrap.unwrap_or_default();
    format!(" [ ]: 95 % interval{bootstrap}, adjusted for {family} (Holm){looks}.")
}

/// Text of the ratio, words of the verdict, and tone; every table uses these three.
pub(crate) fn outcome(outcome: &Outcome) -> (String, String, Tone) {
    let (words, tone) = match outcome {
        Outcome::Baseline => ("baseline".into(), Tone::Faint),
        Outcome::Judged { ratio, verdict, .. } => verdict_words(*verdict, ratio.value),
        Outcome::TooFewRounds { .. } => ("not judged".into(), Tone::Faint),
        Outcome::Unequal => ("UNEQUAL WORK".into(), Tone::Alarm),
        Outcome::NotMeasured => ("not measured".into(), Tone::Faint),
    };
    (outcome.ratio_text(), words, tone)
}

/// The speed-up is the verdict where a difference counts; smaller ones are named and not measured out.
fn verdict_words(verdict: Verdict, ratio: f64) -> (String, Tone) {
    match verdict {
        Verdict::Faster { negligible: false } => (text::speed(ratio), Tone::Good),
        Verdict::Slower { negligible: false } => (text::speed(ratio), Tone::Bad),
        Verdict::Faster { negligible: true } => ("faster, negligible".into(), Tone::Plain),
        Verdict::Slower { negligible: true } => ("slower, negligible".into(), Tone::Plain),
        Verdict::Equivalent => ("equivalent".into(), Tone::Plain),
        Verdict::Inconclusive { rounds_to_decide: Some(rounds) } => {
            (format!("inconclusive (~{})", text::count(rounds)), Tone::Faint)
        }
        Verdict::Inconclusive { rounds_to_decide: None } => ("inconclusive".into(), Tone::Faint),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Style = Style { color: false, unicode: false };

    #[test]
    fn nothing_of_a_record_commands_the_terminal() {
        assert_eq!(
            clean("a\u{1b}[31m\n\u{202e}b", Style { unicode: true, ..PLAIN }),
            "a\\u{1b}[31m\\n\\u{202e}b"
        );
        assert_eq!(clean("µ→", PLAIN), "u?");
        assert_eq!(paint("x", Tone::Alarm, PLAIN), "x");
    }

    #[test]
    fn numbers_stay_on_one_line() {
        assert_eq!(wrap("of 1 000 000 entries in 5.8 s.", 12), ["of 1 000 000", "entries in", "5.8 s."]);
        assert_eq!(wrap("a unbreakable b", 4), ["a", "unbreakable", "b"]);
        assert_eq!(wrap("", 4), Vec::<String>::new());
    }

    #[test]
    fn a_sentence_is_never_cut() {
        let text = "On ext4. 7.3 % of it. Use `x`. `y` is better.";
        assert_eq!(fitting(text, 80, 1), [text]);
        assert_eq!(fitting(text, 25, 1), ["On ext4. 7.3 % of it."]);
        assert_eq!(fitting(text, 15, 1), ["On ext4. 7.3 %", "of it."]);
        assert_eq!(fitting("", 15, 0), Vec::<String>::new());
    }
}
