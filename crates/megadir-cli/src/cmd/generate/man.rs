//! Man pages: one per command, named as in `megadir-bench-run.1`.

use std::io;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use super::Page;
use crate::examples;

/// Section of user commands.
const SECTION: &str = "1";

pub(super) fn pages(program: Command) -> io::Result<Vec<Page>> {
    // A page for `megadir help` would only repeat the others.
    let mut program = program.disable_help_subcommand(true);
    program.build();
    let program = with_broken_lines(program);
    let mut pages = Vec::new();
    add(&mut pages, &program, "")?;
    Ok(pages)
}

/// Indents the rows of tables in long help: roff fills lines, but breaks before one that begins with a space.
fn with_broken_lines(program: Command) -> Command {
    program.mut_subcommands(with_broken_lines).mut_args(|argument| {
        let Some(help) = argument.get_long_help().map(ToString::to_string) else { return argument };
        let paragraphs = help.split("\n\n").map(|paragraph| {
            let is_table = paragraph.lines().any(|line| line.trim().contains("  "));
            if is_table { format!("  {}", paragraph.replace('\n', "\n  ")) } else { paragraph.to_owned() }
        });
        let help = paragraphs.collect::<Vec<_>>().join("\n\n");
        argument.long_help(help)
    })
}

fn add(pages: &mut Vec<Page>, command: &Command, path: &str) -> io::Result<()> {
    pages.push(page(command, path)?);
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        add(pages, below, format!("{path} {}", below.get_name()).trim_start())?;
    }
    Ok(())
}

/// Sections are in the order of man-pages(7).
fn page(command: &Command, path: &str) -> io::Result<Page> {
    let name = format!("megadir {path}").trim_end().replace(' ', "-");
    let man = Man::new(command.clone());
    // The generator would leave out the empty date, and the other words would take its place.
    let version = env!("CARGO_PKG_VERSION");
    let mut bytes =
        format!(".TH {name} {SECTION} \"\" \"megadir {version}\" \"megadir manual\"\n").into_bytes();
    man.render_name_section(&mut bytes)?;
    man.render_synopsis_section(&mut bytes)?;
    man.render_description_section(&mut bytes)?;
    man.render_options_section(&mut bytes)?;
    if command.get_subcommands().any(|below| !below.is_hide_set()) {
        man.render_subcommands_section(&mut bytes)?;
    }
    // A space between help and values is one request, not three.
    let text = String::from_utf8_lossy(&bytes).replace("\n.br\n\n.br\n", "\n.sp\n");
    let mut bytes = text.into_bytes();
    bytes.extend_from_slice(own_sections(command, path).render().as_bytes());
    Ok(Page { name: format!("{name}.{SECTION}"), bytes })
}

fn own_sections(command: &Command, path: &str) -> Roff {
    let mut roff = Roff::new();
    if let Some(codes) = command.get_after_help() {
        let codes = codes.to_string();
        roff.control("SH", ["EXIT STATUS"]);
        roff.text([roman(codes.strip_prefix("Exit codes: ").unwrap_or(&codes))]);
    }
    roff.control("SH", ["EXAMPLES"]);
    for (line, purpose) in examples::of(path) {
        roff.control("TP", []);
        roff.text([bold(line)]);
        roff.text([roman(purpose)]);
    }
    if !path.is_empty() {
        roff.control("SH", ["SEE ALSO"]);
        roff.text([bold("megadir"), roman("(1)")]);
    }
    roff
}
