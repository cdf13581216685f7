//! Grids as HTML tables; on narrow screens each row becomes a card.

use super::{Page, escape};
use crate::render::{Align, Grid, Tone};

/// Grids with more arms than this are left out.
const ARMS_MAX: usize = 250;

/// Adds a collapsed grid of all arms.
pub(super) fn every(page: &mut Page, title: &str, grid: &Grid) {
    if grid.rows.len() > ARMS_MAX || page.is_full() {
        let arms = grid.rows.len();
        return page.paragraph(&format!(
            "{title}: {arms} are too many for a page; `megadir bench report RECORD --format markdown` has them."
        ));
    }
    page.push(&format!("<details>\n<summary>{title}</summary>\n"));
    push_grid(page, grid, true);
    page.push("</details>\n");
}

/// Adds a grid with its legend; `cards`: rows are cards on wide screens too.
pub(crate) fn push_grid(page: &mut Page, grid: &Grid, cards: bool) {
    let has_text = |place: usize| {
        place == 0 || grid.rows.iter().any(|row| row.get(place).is_some_and(|field| !field.text.is_empty()))
    };
    let shown: Vec<usize> = (0..grid.columns.len()).filter(|place| has_text(*place)).collect();
    let labels = page.labels(shown.iter().map(|&place| &*grid.columns[place].heading));
    let cards_too = if cards { " cards" } else { "" };
    page.push(&format!("<table class=\"{labels}{cards_too}\">\n<thead><tr>"));
    for &place in &shown {
        let column = &grid.columns[place];
        let class = if column.align == Align::Right && !cards { " class=\"r\"" } else { "" };
        page.push(&format!("<th scope=\"col\"{class}>{}</th>", escape(&column.heading)));
    }
    page.push("</tr></thead>\n<tbody>\n");
    for row in &grid.rows {
        if let ([heading], false) = (&row[..], cards) {
            let (class, text, width) = (class(heading.tone), escape(&heading.text), shown.len());
            page.push(&format!("<tr><td class=\"{class}\" colspan=\"{width}\">{text}</td></tr>\n"));
            continue;
        }
        page.push("<tr>");
        for &place in &shown {
            let Some(field) = row.get(place).filter(|field| !field.text.is_empty()) else {
                page.push("<td></td>");
                continue;
            };
            let side = if grid.columns[place].align == Align::Right && !cards { "r" } else { "" };
            let classes: Vec<&str> =
                [side, class(field.tone)].into_iter().filter(|class| !class.is_empty()).collect();
            let class =
                if classes.is_empty() { String::new() } else { format!(" class=\"{}\"", classes.join(" ")) };
            page.push(&format!("<td{class}>{}</td>", escape(&field.text)));
        }
        page.push("</tr>\n");
    }
    page.push("</tbody>\n</table>\n");
    for legend in &grid.legend {
        page.element("p class=\"faint\"", legend);
    }
}

fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "",
        Tone::Heading => "head",
        Tone::Faint => "dim",
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Alarm => "alarm",
    }
}
