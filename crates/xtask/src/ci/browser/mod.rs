//! Opens the report of every study (from the stage `smoke`) and a page of `megadir usage` in headless Chromium: desktop and phone, light
//! and dark, and print. `check.js` checks the page; messages in the browser's log are failures.
//!
//! ```text
//! records of the stage smoke -> megadir bench report --format html -> page x 5 views -> check.js, console, screenshots
//!                      Browser: chromedriver by WebDriver and the DevTools protocol, over a plain socket
//! ```

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use base64::Engine;
use serde_json::{Value, json};

use crate::ci::stage::{Context, Report};
use crate::{files, process};

static VIEWS: &[View] = &[
    View { name: "desktop-light", width: 1280, height: 800, dark: false, print: false },
    View { name: "desktop-dark", width: 1280, height: 800, dark: true, print: false },
    View { name: "phone-light", width: 390, height: 844, dark: false, print: false },
    View { name: "phone-dark", width: 390, height: 844, dark: true, print: false },
    View { name: "print", width: 794, height: 1123, dark: false, print: true },
];

/// A page of each kind: one answer, growth, several file systems, programs side by side, refusals. The long tier opens all.
const PAGES: &[&str] = &["listing", "fill", "file-systems", "peers", "limits"];

const CHECK: &str = include_str!("check.js");
/// Page without pictures.
const USAGE: &str = "usage";

/// Each page is written once and opened in every view, in one browser, since starting it takes longer than
/// all pages. Reports come from the stage `smoke`, so that no study runs twice. The short tier opens a few
/// pages; the long tier, and the stage by its name, all of them.
pub(crate) fn run(context: &Context) -> Result<Report, String> {
    for tool in ["chromium", "chromedriver"] {
        if process::find_tool(tool).is_none() {
            return Ok(Report::not_run(format!("browser: no {tool}")));
        }
    }
    // Records of an earlier run are as good: the stage can run alone.
    let mut records = records(&context.scratch()?.join("records"));
    if !(context.full || context.named) {
        records.retain(|record| PAGES.iter().any(|page| stem(record) == *page));
    }
    if records.is_empty() {
        return Ok(Report::not_run("browser: no record in target/xtask/records: run the stage smoke first"));
    }
    let binary = context.program()?;
    let folder = context.scratch()?.join("reports");
    files::create_folder(&folder)?;
    let browser = Browser::start(&folder.join("chromedriver.log"))?;
    let pages = records.iter().map(|record| write_report(&binary, record, &folder));
    let pages = pages.chain([write_usage(&binary, &context.workspace.root, &folder)]);
    let pages = pages.collect::<Result<Vec<_>, _>>()?;
    let mut report = Report::default();
    for page in &pages {
        let name = stem(page);
        for view in VIEWS {
            let mut faults = check_page(&browser, page, view, &folder)?;
            // The page of usage has no charts, which `check.js` requires of reports.
            faults.retain(|fault| name != USAGE || fault != "shows no picture");
            report.failures.extend(faults.iter().map(|fault| format!("{name}, {}: {fault}", view.name)));
        }
    }
    let (pages, views) = (pages.len(), VIEWS.len());
    report
        .lines
        .push(format!("browser: {pages} pages in {views} views each; screenshots in {}", folder.display()));
    Ok(report)
}

fn records(folder: &Path) -> Vec<PathBuf> {
    let mut records = files::list(folder).unwrap_or_default();
    records.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
    records
}

fn write_report(binary: &Path, record: &Path, folder: &Path) -> Result<PathBuf, String> {
    let text =
        process::output(Command::new(binary).args(["bench", "report", "--format", "html"]).arg(record))?;
    let page = folder.join(record.file_stem().unwrap_or_default()).with_extension("html");
    files::write(&page, text)?;
    Ok(page)
}

fn write_usage(binary: &Path, root: &Path, folder: &Path) -> Result<PathBuf, String> {
    let page = folder.join(USAGE).with_extension("html");
    // A page of an earlier run is removed first.
    let _ = std::fs::remove_file(&page);
    process::output(Command::new(binary).arg("usage").arg(root.join("crates")).arg("--html").arg(&page))?;
    Ok(page)
}

fn check_page(browser: &Browser, page: &Path, view: &View, folder: &Path) -> Result<Vec<String>, String> {
    browser.show(view)?;
    browser.open(page)?;
    let mut faults = browser.check(CHECK)?;
    faults.extend(browser.complaints()?);
    let stem = stem(page);
    // The visible part, as a reader sees it first, and the whole page.
    for (whole, suffix) in [(false, ""), (true, "-whole")] {
        let file = folder.join(format!("{stem}-{}{suffix}.png", view.name));
        files::write(&file, browser.screenshot(whole)?)?;
    }
    Ok(faults)
}

fn stem(page: &Path) -> String {
    page.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Size in CSS pixels, and what the browser is asked to emulate. A phone's width finds tables that do not
/// fit.
pub(crate) struct View {
    pub(crate) name: &'static str,
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) dark: bool,
    pub(crate) print: bool,
}

/// A driver with one session; both end when it is dropped.
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

const PATIENCE: Duration = Duration::from_secs(60);

impl Browser {
    pub(crate) fn start(log: &Path) -> Result<Self, String> {
        let mut command = Command::new("chromedriver");
        let log = File::create(log).map_err(files::cannot("write", log))?;
        // Port 0: the driver takes a free one and prints it, so that stages of several clones do not
        // collide.
        command.arg("--port=0").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        let mut driver = process::start(&mut command)?;
        let mut browser = match port(&mut driver) {
            Some(port) => Self { driver, port, session: String::new() },
            None => {
                let _ = driver.kill().and_then(|()| driver.wait());
                return Err("chromedriver printed no port".into());
            }
        };
        // The sandbox of Chromium does not start for root, and /dev/shm of a container may be too small for it.
        let words = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--no-first-run",
        ];
        let options = json!({ "args": words, "binary": process::find_tool("chromium") });
        let wanted = json!({ "browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": { "browser": "ALL" } });
        let reply = browser.send("/session", &json!({ "capabilities": { "alwaysMatch": wanted } }))?;
        browser.session = reply["sessionId"].as_str().ok_or("chromedriver gave no session")?.to_owned();
        Ok(browser)
    }

    pub(crate) fn show(&self, view: &View) -> Result<(), String> {
        let size = json!({ "width": view.width, "height": view.height, "deviceScaleFactor": 1, "mobile": view.width < 500 });
        self.tools("Emulation.setDeviceMetricsOverride", &size)?;
        let scheme = if view.dark { "dark" } else { "light" };
        let media = json!({ "media": if view.print { "print" } else { "" }, "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.tools("Emulation.setEmulatedMedia", &media).map(|_| ())
    }

    pub(crate) fn open(&self, page: &Path) -> Result<(), String> {
        let page = page.canonicalize().map_err(|error| format!("cannot open {}: {error}", page.display()))?;
        self.send(&self.command("url"), &json!({ "url": format!("file://{}", page.display()) })).map(|_| ())
    }

    pub(crate) fn check(&self, script: &str) -> Result<Vec<String>, String> {
        let reply = self.send(&self.command("execute/sync"), &json!({ "script": script, "args": [] }))?;
        let lines = reply.as_array().ok_or("the check returned no list")?;
        Ok(lines.iter().map(|line| line.as_str().unwrap_or_default().to_owned()).collect())
    }

    pub(crate) fn complaints(&self) -> Result<Vec<String>, String> {
        let reply = self.send(&self.command("se/log"), &json!({ "type": "browser" }))?;
        let lines = reply.as_array().ok_or("the driver has no log")?;
        Ok(lines.iter().map(|line| format!("console: {}", line["message"])).collect())
    }

    pub(crate) fn screenshot(&self, whole: bool) -> Result<Vec<u8>, String> {
        let mut how = json!({ "format": "png" });
        if whole {
            let sizes = self.tools("Page.getLayoutMetrics", &json!({}))?;
            let of = |name: &str| sizes["cssContentSize"][name].as_f64().unwrap_or(0.0);
            // Longer pictures exceed the size of textures.
            how["clip"] = json!({ "x": 0, "y": 0, "width": of("width"), "height": of("height").min(16_000.0), "scale": 1 });
            how["captureBeyondViewport"] = json!(true);
        }
        let reply = self.tools("Page.captureScreenshot", &how)?;
        let text = reply["data"].as_str().ok_or("no screenshot")?;
        base64::engine::general_purpose::STANDARD
            .decode(text)
            .map_err(|error| format!("cannot decode the screenshot: {error}"))
    }

    fn tools(&self, command: &str, parameters: &Value) -> Result<Value, String> {
        self.send(&self.command("goog/cdp/execute"), &json!({ "cmd": command, "params": parameters }))
    }

    fn command(&self, name: &str) -> String {
        format!("/session/{}/{name}", self.session)
    }

    /// WebDriver answers with a status of HTTP and a value or a message in JSON.
    fn send(&self, path: &str, body: &Value) -> Result<Value, String> {
        let failed = |reason: &str| format!("chromedriver, {path}: {reason}");
        let answered = request(self.port, "POST", path, &body.to_string());
        let (status, text) = answered.map_err(|error| failed(&error.to_string()))?;
        let reply: Value = serde_json::from_str(&text).map_err(|error| failed(&error.to_string()))?;
        if status == 200 {
            Ok(reply["value"].clone())
        } else {
            Err(failed(&reply["value"]["message"].to_string()))
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Ending the session ends the browser, which would outlive its driver otherwise.
        let _ = request(self.port, "DELETE", &format!("/session/{}", self.session), "");
        let _ = self.driver.kill().and_then(|()| self.driver.wait());
    }
}

/// Standard output stays open for as long as the driver runs, so reading ends with the line.
fn port(driver: &mut Child) -> Option<u16> {
    let lines = BufReader::new(driver.stdout.take()?).lines();
    lines.map_while(Result::ok).find_map(|line| {
        line.split("started successfully on port ").nth(1)?.trim_end_matches('.').trim().parse().ok()
    })
}

/// One request per connection, to this machine only.
fn request(port: u16, method: &str, path: &str, body: &str) -> std::io::Result<(u16, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    let mut reader = BufReader::new(stream);
    let (mut line, mut status, mut length) = (String::new(), 0, 0);
    while reader.read_line(&mut line)? > 2 {
        if line.starts_with("HTTP/") {
            status = line.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        } else if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok((status, String::from_utf8_lossy(&body).into_owned()))
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};

    use super::request;

    #[test]
    fn replies_are_read_to_their_length() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let first = BufReader::new(&stream).lines().next().unwrap().unwrap();
            stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\n\r\nnonemore").unwrap();
            first
        });
        assert_eq!(request(port, "POST", "/a", "{}").unwrap(), (404, "none".to_owned()));
        assert_eq!(server.join().unwrap(), "POST /a HTTP/1.1");
    }
}
