//! Prints size, modification time and name of each entry of a directory, and the methods used.
#![expect(clippy::print_stderr, reason = "an example talks to the user")]

use std::io::Write;

use megadir::{AttributeListing, StatMask};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).unwrap_or(".".into());
    let mut output = std::io::BufWriter::new(std::io::stdout().lock());
    let mut listing = AttributeListing::open(path, StatMask::SIZE | StatMask::MODIFIED, 2)?;
    while let Some(batch) = listing.next_batch()? {
        for (entry, attributes) in batch.entries().filter(|(_, attributes)| attributes.error == 0) {
            let modified = attributes.modified;
            write!(output, "{} {}.{:09} ", attributes.size_bytes, modified.seconds, modified.nanoseconds)?;
            output.write_all(entry.name)?;
            output.write_all(b"\n")?;
        }
    }
    eprintln!("{}", listing.choice());
    Ok(())
}
