//! Lists a directory and prints the method used.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to the user")]

fn main() -> megadir::Result<()> {
    let path = std::env::args_os().nth(1).unwrap_or(".".into());
    let mut listing = megadir::Listing::with_threads(path, 2)?;
    while let Some(batch) = listing.next_batch()? {
        for entry in batch {
            println!("{}", String::from_utf8_lossy(entry.name));
        }
    }
    eprintln!("read by {}", listing.choice());
    Ok(())
}
