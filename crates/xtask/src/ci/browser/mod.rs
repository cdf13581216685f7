//! Opens the report of every study (from the stage `smoke`) and a page of `megadir usage` in headless Chromium, for
//! desktop and phone, light and dark, and for print. `check.js` checks the page, and messages in the browser's log are
//! failures. Driven through Debian's `chromedriver` (`driver`).

mod driver;

use super::instructions::optimised_binary;
use super::stage::{Context, Report};
use crate::process;
use driver::{Browser, View};
use std::path::{Path, PathBuf};
use std::process::Command;

static VIEWS: &[View] = &[
    View { name: "desktop-light", width: 1280, height: 800, dark: false, print: false },
    View { name: "desktop-dark", width: 1280, height: 800, dark: true, print: false },
    View { name: "phone-light", width: 390, height: 844, dark: false, print: false },
    View { name: "phone-dark", width: 390, height: 844, dark: true, print: false },
    View { name: "print", width: 794, height: 1123, dark: false, print: true },
];

/// Script that returns the defects of a page, one a line.
const CHECK: &str = include_str!("check.js");

/// Renders every record, and checks the report in every view.
pub(crate) fn run(context: &Context) -> Result<Report, String> {
    for tool in ["chromium", "chromedriver"] {
        if process::find_tool(tool).is_none() {
            return Ok(Report::not_run(format!("browser: no {tool}")));
        }
    }
    let records = records(&context.scratch()?.join("records"));
    if records.is_empty() {
        return Ok(Report::not_run("browser: no record in target/ci/records: run the stage smoke first"));
    }
    let binary = optimised_binary(context)?;
    let folder = context.scratch()?.join("reports");
    std::fs::create_dir_all(&folder)
        .map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    let browser = Browser::start(&folder.join("chromedriver.log"))?;
    let mut report = Report::default();
    for record in &records {
        let page = write_report(&binary, record, &folder)?;
        for view in VIEWS {
            let faults = check_page(&browser, &page, view, &folder)?;
            let name = page.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            report.failures.extend(faults.into_iter().map(|fault| format!("{name}, {}: {fault}", view.name)));
        }
    }
    let page = write_usage(&binary, &context.workspace.root, &folder)?;
    for view in VIEWS {
        let faults = check_page(&browser, &page, view, &folder)?;
        // The map consists of boxes.
        let faults = faults.into_iter().filter(|fault| fault != "shows no picture");
        report.failures.extend(faults.map(|fault| format!("usage, {}: {fault}", view.name)));
    }
    let (pages, views) = (records.len() + 1, VIEWS.len());
    report
        .lines
        .push(format!("browser: {pages} pages in {views} views each; screenshots in {}", folder.display()));
    Ok(report)
}

/// Returns the records in a folder, sorted.
fn records(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut records: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .collect();
    records.sort();
    records
}

fn write_report(binary: &Path, record: &Path, folder: &Path) -> Result<PathBuf, String> {
    let text =
        process::output(Command::new(binary).args(["bench", "report", "--format", "html"]).arg(record))?;
    let page = folder.join(record.file_stem().unwrap_or_default()).with_extension("html");
    std::fs::write(&page, text).map_err(|error| format!("cannot write {}: {error}", page.display()))?;
    Ok(page)
}

/// Writes the page of `megadir usage` about the workspace's sources.
fn write_usage(binary: &Path, root: &Path, folder: &Path) -> Result<PathBuf, String> {
    let page = folder.join("usage.html");
    let _ = std::fs::remove_file(&page);
    process::output(Command::new(binary).arg("usage").arg(root.join("crates")).arg("--html").arg(&page))?;
    Ok(page)
}

/// Opens a page in a view, takes screenshots of its first screen and of the whole, and returns its defects.
fn check_page(browser: &Browser, page: &Path, view: &View, folder: &Path) -> Result<Vec<String>, String> {
    browser.show(view)?;
    browser.open(page)?;
    let mut faults = browser.check(CHECK)?;
    faults.extend(browser.complaints()?);
    let stem = page.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    for (whole, suffix) in [(false, ""), (true, "-whole")] {
        let file = folder.join(format!("{stem}-{}{suffix}.png", view.name));
        let png = browser.screenshot(whole)?;
        std::fs::write(&file, png).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    }
    Ok(faults)
}
