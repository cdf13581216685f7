//! Lower bound for listing a directory: getdents64 to the end, nothing decoded. `bare_getdents DIRECTORY
//! [BUFFER_BYTES]` prints the number of bytes that the kernel returned.

#![expect(clippy::print_stdout, reason = "an example talks to the terminal")]

#[cfg(target_os = "linux")]
const BUFFER_BYTES: usize = 128 << 10;

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::os::fd::AsFd;

    let mut words = std::env::args_os().skip(1);
    let path = words.next().ok_or("usage: bare_getdents DIRECTORY [BUFFER_BYTES]")?;
    let bytes = words.next().map_or(Ok(BUFFER_BYTES), |word| word.to_string_lossy().parse())?;
    let directory = std::fs::File::open(path)?;
    let mut buffer = vec![0; bytes];
    let mut total = 0_u64;
    loop {
        let filled = megadir_sys::readdir::getdents64(directory.as_fd(), &mut buffer)?;
        if filled == 0 {
            break;
        }
        total += filled as u64;
    }
    println!("{total}");
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("getdents64 is a system call of Linux");
}
