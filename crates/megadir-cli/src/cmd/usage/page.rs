//! The report as one HTML page, without scripts and external resources. Each directory has its own map, reached by links with `:target`.

use std::path::Path;

use megadir::names;
use megadir::usage::{Amount, By, Report, Sum};

use super::Answer;
use super::text::{Table, escaped, sentence, tables};
use crate::cmd::amount::{grouped, percent};
use crate::ui::sizes;

const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";
const STYLE: &str = include_str!("page.css");
/// Share of the map below which boxes are not drawn.
const BOX_MIN: f64 = 0.0004;
const NAME_MIN: f64 = 0.008;
const LIST: usize = 200;
const ROWS: usize = 25;
/// In heights.
const ASPECT: f64 = 16.0 / 9.0;

/// A directory of the page. The first stands for all trees.
struct Node<'a> {
    name: String,
    sum: &'a Sum,
    parent: usize,
    children: Vec<usize>,
}

fn nodes(report: &Report) -> Vec<Node<'_>> {
    let several = report.roots.len() > 1;
    let name = |path: &Path| escaped(names::from_os(path.as_os_str()), false);
    let first = if several { "all trees".to_owned() } else { name(&report.roots[0].path) };
    let mut nodes = vec![Node { name: first, sum: &report.total, parent: 0, children: Vec::new() }];
    let mut directories = report.directories.iter().peekable();
    for (at, root) in report.roots.iter().enumerate() {
        let top = if several { add(&mut nodes, 0, name(&root.path), &root.sum) } else { 0 };
        let mut above = vec![top];
        while let Some(directory) = directories.next_if(|directory| directory.root as usize == at) {
            above.truncate(directory.depth as usize);
            let parent = above.last().copied().unwrap_or(top);
            let own = add(&mut nodes, parent, escaped(&directory.path.split().1, false), &directory.sum);
            above.push(own);
        }
    }
    nodes
}

fn add<'a>(nodes: &mut Vec<Node<'a>>, parent: usize, name: String, sum: &'a Sum) -> usize {
    let own = nodes.len();
    nodes.push(Node { name, sum, parent, children: Vec::new() });
    nodes[parent].children.push(own);
    own
}

pub(super) fn document(answer: &Answer<'_>) -> String {
    let report = &answer.report;
    let nodes = nodes(report);
    let quantity = match report.by {
        By::Allocated => "space on disk",
        By::Apparent => "size",
        By::Entries | By::Newest | By::Oldest => "entries",
    };
    let mut views = String::new();
    // The first last: a rule of the style hides it if one before it is shown.
    for at in (1..nodes.len()).filter(|at| !nodes[*at].children.is_empty()).chain([0]) {
        view(&mut views, &nodes, at, report);
    }
    let mut rest = String::new();
    list(&mut rest, &nodes, report);
    rest.push_str("<div class=\"tables\">\n");
    tables(report).iter().for_each(|each| table(&mut rest, each, report.has_allocated()));
    rest.push_str("</div>\n");
    let title = html(&format!("Usage of {}", nodes[0].name));
    let answer = html(&sentence(answer, true));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"generator\" content=\"megadir\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n\
         <p class=\"answer\">{answer}</p>\n\
         <p class=\"faint\">An area is as large as the {quantity} below a directory. Choose a directory to see what it \
         holds. Areas that are hatched or without a name: files, and directories that are not listed.</p>\n{views}{rest}</main>\n</body>\n</html>\n"
    )
}

fn value(report: &Report, sum: &Sum) -> f64 {
    super::text::value(report, sum) as f64
}

fn figures(amount: &Amount, has_allocated: bool) -> String {
    let entries = if amount.entries == 1 { "entry" } else { "entries" };
    let on_disk =
        if has_allocated { format!(", {} on disk", sizes::text(amount.allocated)) } else { String::new() };
    format!("{} {entries}{on_disk}, {} in size", grouped(amount.entries), sizes::text(amount.apparent))
}

/// Numbers of the directories from the first one down to this one.
fn path(nodes: &[Node<'_>], at: usize) -> Vec<usize> {
    let mut path: Vec<usize> =
        std::iter::successors(Some(at), |&at| (at != 0).then(|| nodes[at].parent)).collect();
    path.reverse();
    path
}

/// One view of the page: the map of a directory, whose boxes lead to the views of the directories in them. All views
/// are sections of one page, which links reach by their names. Boxes smaller than `BOX_MIN` of the map are left out,
/// because they could not be seen or clicked. Colours go by the place of a directory among its siblings.
fn view(out: &mut String, nodes: &[Node<'_>], at: usize, report: &Report) {
    let node = &nodes[at];
    out.push_str(&format!("<section class=\"view\" id=\"d{at}\">\n<p class=\"up\">"));
    let path = path(nodes, at);
    for &above in &path[..path.len() - 1] {
        out.push_str(&format!("<a href=\"#d{above}\">{}</a> › ", html(&nodes[above].name)));
    }
    let figures = figures(&node.sum.amount, report.has_allocated());
    out.push_str(&format!("{}</p>\n<p class=\"faint\">{figures}</p>\n", html(&node.name)));
    out.push_str("<div class=\"map\">\n");
    let whole = value(report, node.sum);
    for (place, child) in arranged(nodes, at, report, ASPECT) {
        let share = place.width * place.height;
        if share < BOX_MIN {
            continue;
        }
        match child {
            None => out.push_str(&format!("<span class=\"rest\"{}></span>\n", style(&place))),
            Some(child) => {
                let of = &nodes[child];
                let part = percent(value(report, of.sum) / whole.max(1.0));
                let colour = node.children.iter().position(|sibling| *sibling == child).unwrap_or(0) % 6;
                let (tag, end) = match of.children.is_empty() {
                    true => ("span".to_owned(), "span"),
                    false => (format!("a href=\"#d{child}\""), "a"),
                };
                let title = html(&format!("{}: {part}", of.name));
                out.push_str(&format!("<{tag} class=\"k{colour}\"{} title=\"{title}\">", style(&place)));
                out.push_str(&format!("<span class=\"n\">{} {part}</span>", html(&of.name)));
                inner(out, nodes, child, report, &place);
                out.push_str(&format!("</{end}>\n"));
            }
        }
    }
    out.push_str("</div>\n</section>\n");
}

fn inner(out: &mut String, nodes: &[Node<'_>], at: usize, report: &Report, place: &Place) {
    let aspect = ASPECT * place.width / place.height.max(1e-9);
    let mut boxes = String::new();
    for (index, (inside, child)) in arranged(nodes, at, report, aspect).into_iter().enumerate() {
        let share = place.width * place.height * inside.width * inside.height;
        let Some(child) = child.filter(|_| share >= BOX_MIN) else { continue };
        let name = if share >= NAME_MIN { html(&nodes[child].name) } else { String::new() };
        boxes.push_str(&format!("<span class=\"k{}\"{}>{name}</span>", (index + 1) % 6, style(&inside)));
    }
    if !boxes.is_empty() {
        out.push_str(&format!("<span class=\"in\">{boxes}</span>"));
    }
}

fn style(place: &Place) -> String {
    let percent = |share: f64| format!("{:.2}%", share * 100.0);
    let [left, top, width, height] = [place.left, place.top, place.width, place.height].map(percent);
    format!(" style=\"left:{left};top:{top};width:{width};height:{height}\"")
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

/// `None` is the rest of the directory.
fn arranged(nodes: &[Node<'_>], at: usize, report: &Report, aspect: f64) -> Vec<(Place, Option<usize>)> {
    let node = &nodes[at];
    let mut parts: Vec<(f64, Option<usize>)> =
        node.children.iter().map(|&child| (value(report, nodes[child].sum), Some(child))).collect();
    let listed: f64 = parts.iter().map(|part| part.0).sum();
    parts.push((value(report, node.sum) - listed, None));
    parts.retain(|part| part.0 > 0.0);
    parts.sort_by(|a, b| b.0.total_cmp(&a.0));
    let places = squarified(&parts.iter().map(|part| part.0).collect::<Vec<_>>(), aspect);
    places.into_iter().zip(parts.into_iter().map(|part| part.1)).collect()
}

/// In a rectangle of width `aspect` and height 1, nearly square (Bruls, Huizing and van Wijk, "Squarified Treemaps", 2000).
///
/// `values` come in descending order, and their places are in the same one. Rows are filled along the shorter side of
/// the free rectangle: a value joins the row while the worst ratio of sides in it does not get worse. Widths are
/// divided by `aspect` at the end, since places are shares of the rectangle in both directions.
fn squarified(values: &[f64], aspect: f64) -> Vec<Place> {
    let total: f64 = values.iter().sum();
    let areas: Vec<f64> = values.iter().map(|value| value / total * aspect).collect();
    let (mut left, mut top, mut width, mut height) = (0.0, 0.0, aspect, 1.0_f64);
    let mut places = Vec::new();
    let mut start = 0;
    while start < areas.len() {
        let side = height.min(width);
        let mut end = start + 1;
        while end < areas.len() && worst(&areas[start..=end], side) <= worst(&areas[start..end], side) {
            end += 1;
        }
        let row: f64 = areas[start..end].iter().sum();
        let across = row / side.max(1e-12);
        let mut along = 0.0;
        for area in &areas[start..end] {
            let length = area / across.max(1e-12);
            let place = match width >= height {
                true => Place { left, top: top + along, width: across, height: length },
                false => Place { left: left + along, top, width: length, height: across },
            };
            let (left, width) = (place.left / aspect, place.width / aspect);
            places.push(Place { left, width, ..place });
            along += length;
        }
        match width >= height {
            true => (left, width) = (left + across, (width - across).max(0.0)),
            false => (top, height) = (top + across, (height - across).max(0.0)),
        }
        start = end;
    }
    places
}

fn worst(areas: &[f64], side: f64) -> f64 {
    let sum: f64 = areas.iter().sum();
    let (most, least) = (areas[0], areas[areas.len() - 1]);
    (side * side * most / (sum * sum)).max(sum * sum / (side * side * least).max(1e-300))
}

fn list(out: &mut String, nodes: &[Node<'_>], report: &Report) {
    let whole = value(report, nodes[0].sum).max(1.0);
    out.push_str(
        "<h2>Directories</h2>\n<table><thead><tr><th>directory</th><th class=\"r\">entries</th>\
         <th class=\"r\">on disk</th><th class=\"r\">size</th><th class=\"b\"></th></tr></thead>\n<tbody>\n",
    );
    for (at, node) in nodes.iter().enumerate().take(LIST) {
        let path = path(nodes, at);
        let below: Vec<&str> =
            path[usize::from(at > 0)..].iter().map(|&above| nodes[above].name.as_str()).collect();
        let name = html(&below.join(std::path::MAIN_SEPARATOR_STR));
        let name = match node.children.is_empty() {
            true => name,
            false => format!("<a href=\"#d{at}\">{name}</a>"),
        };
        row(out, &name, &cells(&node.sum.amount, report.has_allocated()), value(report, node.sum) / whole);
    }
    out.push_str("</tbody></table>\n");
    if nodes.len() > LIST {
        let more = grouped((nodes.len() - LIST) as u64);
        out.push_str(&format!("<p class=\"faint\">{more} more are in the maps.</p>\n"));
    }
}

fn cells(amount: &Amount, has_allocated: bool) -> [String; 3] {
    let allocated = if has_allocated { sizes::text(amount.allocated) } else { "-".into() };
    [grouped(amount.entries), allocated, sizes::text(amount.apparent)]
}

fn row(out: &mut String, name: &str, cells: &[String], share: f64) {
    let cells: String = cells.iter().map(|cell| format!("<td class=\"r\">{cell}</td>")).collect();
    let bar = format!("<td class=\"b\"><i style=\"width:{:.1}%\"></i></td>", share * 100.0);
    out.push_str(&format!("<tr><td>{name}</td>{cells}{bar}</tr>\n"));
}

fn table(out: &mut String, table: &Table, has_allocated: bool) {
    let most = table.rows.iter().map(|row| row.1.entries).max().unwrap_or(0);
    if most == 0 {
        return;
    }
    let (heading, counts) = (table.heading, table.counts);
    let has_bytes = counts != "directories";
    let bytes = if has_bytes { "<th class=\"r\">on disk</th><th class=\"r\">size</th>" } else { "" };
    out.push_str(&format!(
        "<div><h2>By {heading}</h2>\n<table><thead><tr><th>{heading}</th><th class=\"r\">{counts}</th>{bytes}\
         <th class=\"b\"></th></tr></thead>\n<tbody>\n"
    ));
    for (label, amount) in table.rows.iter().take(ROWS) {
        let cells = cells(amount, has_allocated);
        let cells = if has_bytes { &cells[..] } else { &cells[..1] };
        row(out, &html(label), cells, amount.entries as f64 / most as f64);
    }
    out.push_str("</tbody></table>\n");
    if table.rows.len() > ROWS {
        out.push_str(&format!("<p class=\"faint\">{} more</p>\n", table.rows.len() - ROWS));
    }
    out.push_str("</div>\n");
}

fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::{html, squarified};

    #[test]
    fn the_map_is_full_and_areas_are_as_the_values() {
        for values in [&[6.0, 6.0, 4.0, 3.0, 2.0, 2.0, 1.0][..], &[1.0], &[1e6, 1.0, 1.0], &[1.0; 100]] {
            for aspect in [0.1, 1.0, 16.0 / 9.0, 30.0] {
                let places = squarified(values, aspect);
                let total: f64 = values.iter().sum();
                assert_eq!(places.len(), values.len());
                for (place, value) in places.iter().zip(values) {
                    assert!((place.width * place.height - value / total).abs() < 1e-9, "{values:?} {aspect}");
                    let ends = [place.left, place.top, place.left + place.width, place.top + place.height];
                    assert!(ends.iter().all(|end| (-1e-9..=1.0 + 1e-9).contains(end)), "{place:?}");
                }
            }
        }
    }

    #[test]
    fn names_cannot_become_markup() {
        assert_eq!(html("<a href=\"x\">&"), "&lt;a href=&quot;x&quot;&gt;&amp;");
    }
}
