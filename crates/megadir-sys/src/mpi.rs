//! Message Passing Interface: a library opened at run time, and the few calls that are needed, for bytes only.
//!
//! Handles (communicators, data types) are 32-bit numbers in some libraries and addresses in others; each
//! fits a register. `ABIS` has the constants of the three interfaces.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::io;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::loader::{find, load};

#[derive(Clone, Copy, Debug)]
enum Handle {
    Value(usize),
    /// Address of a variable of the library.
    Symbol(&'static CStr),
}

/// Constants that differ between the binary interfaces, since no MPI library exports them as values: a C
/// program gets them from `mpi.h` when it is compiled, and this program is compiled without one. Everything
/// else that is called has the same signature in all of them. No library is obliged to find a wrong value, so
/// `Library::open` chooses the row by the library's name, or by a symbol that only one family of libraries
/// has.
#[derive(Debug)]
struct Abi {
    name: &'static str,
    world: Handle,
    byte: Handle,
    any_source: c_int,
    /// `MPI_THREAD_FUNNELED`: only the initialising thread calls the library.
    funneled: c_int,
}

/// Constants are those of `mpi_abi.h`, and of `mpi.h` of Open MPI 4 and 5 and of MPICH 4 and 5 (also Intel MPI and Cray MPICH).
static ABIS: [Abi; 3] = [
    Abi {
        name: "MPI-5 standard ABI",
        world: Handle::Value(0x101),
        byte: Handle::Value(0x247),
        any_source: -1,
        funneled: 1024,
    },
    Abi {
        name: "Open MPI",
        world: Handle::Symbol(c"ompi_mpi_comm_world"),
        byte: Handle::Symbol(c"ompi_mpi_byte"),
        any_source: -1,
        funneled: 1,
    },
    Abi {
        name: "MPICH",
        world: Handle::Value(0x4400_0000),
        byte: Handle::Value(0x4c00_010d),
        any_source: -2,
        funneled: 1,
    },
];

/// Larger than `MPI_Status` of any library (20 to 32 bytes); never read.
type Status = [u64; 16];
/// Tag of sender and length, and that of the bytes, which follow: so no field of a status is read.
const HEADER: c_int = 1;
const BODY: c_int = 2;
const SIGN: c_int = 3;
/// At least `MPI_MAX_LIBRARY_VERSION_STRING` of every library.
const TEXT_BYTES: usize = 8192;

type Text = unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int;

macro_rules! calls {
    ($($call:ident: $name:literal = ($($argument:ty),*),)*) => {
        #[derive(Debug)]
        struct Calls {
            $($call: unsafe extern "C" fn($($argument),*) -> c_int,)*
        }

        impl Calls {
            fn find(library: *mut c_void) -> io::Result<Self> {
                $(
                    let address = find(library, $name)?;
                    // SAFETY: the MPI standard gives this function this signature; handles fit the register of a `usize`.
                    let $call = unsafe {
                        std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) -> c_int>(address)
                    };
                )*
                Ok(Self { $($call,)* })
            }
        }
    };
}

calls! {
    init: c"MPI_Init_thread" = (*mut c_int, *mut c_void, c_int, *mut c_int),
    rank: c"MPI_Comm_rank" = (usize, *mut c_int),
    size: c"MPI_Comm_size" = (usize, *mut c_int),
    host: c"MPI_Get_processor_name" = (*mut c_char, *mut c_int),
    version: c"MPI_Get_library_version" = (*mut c_char, *mut c_int),
    barrier: c"MPI_Ibarrier" = (usize, *mut usize),
    test: c"MPI_Test" = (*mut usize, *mut c_int, *mut Status),
    send: c"MPI_Isend" = (*const c_void, c_int, usize, c_int, c_int, usize, *mut usize),
    receive: c"MPI_Irecv" = (*mut c_void, c_int, usize, c_int, c_int, usize, *mut usize),
    probe: c"MPI_Iprobe" = (c_int, c_int, usize, *mut c_int, *mut Status),
    broadcast: c"MPI_Ibcast" = (*mut c_void, c_int, usize, c_int, usize, *mut usize),
    gather: c"MPI_Igather" =
        (*const c_void, c_int, usize, *mut c_void, c_int, usize, c_int, usize, *mut usize),
    gather_v: c"MPI_Igatherv" =
        (*const c_void, c_int, usize, *mut c_void, *const c_int, *const c_int, usize, c_int, usize, *mut usize),
    finalize: c"MPI_Finalize" = (),
    abort: c"MPI_Abort" = (usize, c_int),
}

/// Open, not initialised; stays open until the process ends.
#[derive(Debug)]
pub struct Library {
    calls: Calls,
    abi: &'static Abi,
    world: usize,
    byte: usize,
}

/// Stays in the thread that initialised it, as `MPI_THREAD_FUNNELED` demands.
#[derive(Debug)]
pub struct Mpi {
    library: Library,
    pub rank: u32,
    pub size: u32,
    of_thread: PhantomData<*const ()>,
}

/// MPI can be initialised once per process.
static INITIALISED: AtomicBool = AtomicBool::new(false);

impl Library {
    /// Opens a path, or a name in the loader's directories. Errors have the loader's text. Fails on systems other
    /// than Linux.
    pub fn open(path: &Path) -> io::Result<Self> {
        let library = load(path)?;
        let [standard, open_mpi, mpich] = &ABIS;
        let abi = match find(library, c"ompi_mpi_comm_world") {
            _ if path.to_string_lossy().contains("mpi_abi") => standard,
            Ok(_) => open_mpi,
            Err(_) => mpich,
        };
        let handle = |handle: Handle| match handle {
            Handle::Value(value) => Ok(value),
            Handle::Symbol(symbol) => find(library, symbol).map(|address| address as usize),
        };
        let (world, byte) = (handle(abi.world)?, handle(abi.byte)?);
        Ok(Self { calls: Calls::find(library)?, abi, world, byte })
    }

    #[must_use]
    pub fn abi(&self) -> &'static str {
        self.abi.name
    }

    /// Joins the other processes of the launcher. Some libraries end the process if that fails.
    pub fn init(self) -> io::Result<Mpi> {
        if INITIALISED.swap(true, Ordering::Relaxed) {
            return Err(io::Error::other("MPI was initialised before in this process"));
        }
        let (none, mut level) = (std::ptr::null_mut(), 0);
        // SAFETY: MPI-2 and later accept null for both arguments; the level is written. It is the first call.
        let done = unsafe { (self.calls.init)(none, none.cast(), self.abi.funneled, &raw mut level) };
        checked("MPI_Init_thread", done)?;
        let (mut rank, mut size) = (0, 0);
        // SAFETY: MPI is initialised, and the number is written.
        let done = unsafe { (self.calls.rank)(self.world, &raw mut rank) };
        checked("MPI_Comm_rank", done)?;
        // SAFETY: as above.
        let done = unsafe { (self.calls.size)(self.world, &raw mut size) };
        checked("MPI_Comm_size", done)?;
        Ok(Mpi { library: self, rank: rank as u32, size: size as u32, of_thread: PhantomData })
    }
}

impl Mpi {
    pub fn host(&self) -> io::Result<String> {
        text("MPI_Get_processor_name", self.library.calls.host)
    }

    /// Name and version of the library, without its build.
    pub fn version(&self) -> io::Result<String> {
        let all = text("MPI_Get_library_version", self.library.calls.version)?;
        let first = all.split(['\n', ',']).next().unwrap_or_default();
        let words = first.split_whitespace().filter(|word| *word != "Version:");
        Ok(words.collect::<Vec<_>>().join(" "))
    }

    /// Calls `pause` while waiting for all ranks, and returns `false` as soon as that does. Then the ranks
    /// can no longer meet, and only [`Mpi::abort`] remains.
    pub fn meet(&self, pause: impl FnMut() -> bool) -> io::Result<bool> {
        let mut request = 0;
        // SAFETY: MPI is initialised, in this thread; a handle fits `usize` and is written.
        let started = unsafe { (self.library.calls.barrier)(self.library.world, &raw mut request) };
        checked("MPI_Ibarrier", started)?;
        self.completed(request, pause)
    }

    /// The blocking calls of MPI keep the processor from other ranks on it. Only `pause` that returns `false` gives up a
    /// request, which then has no buffer: after an error, or if `pause` panics, this does not return.
    fn completed(&self, request: usize, mut pause: impl FnMut() -> bool) -> io::Result<bool> {
        let mut request = request;
        let mut pending = Pending { mpi: self, is_over: false };
        loop {
            let (mut done, mut status): (c_int, Status) = (0, [0; 16]);
            // SAFETY: MPI made the request; flag and status are written, and the status has room.
            let tested =
                unsafe { (self.library.calls.test)(&raw mut request, &raw mut done, &raw mut status) };
            checked("MPI_Test", tested)?;
            pending.is_over = done != 0 || !pause();
            if pending.is_over {
                return Ok(done != 0);
            }
        }
    }

    /// Sends to one rank, and calls `pause` until that has received.
    pub fn send(&self, to: u32, bytes: &[u8], pause: &mut dyn FnMut()) -> io::Result<()> {
        let mut header = [0; 16];
        header[..8].copy_from_slice(&u64::from(self.rank).to_le_bytes());
        header[8..].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        for (tag, bytes) in [(HEADER, &header[..]), (BODY, bytes)] {
            let Library { calls, world, byte, .. } = &self.library;
            let (from, count, mut request) = (bytes.as_ptr().cast(), int(bytes.len())?, 0);
            let at = &raw mut request;
            // SAFETY: MPI is initialised, in this thread; the slice has `count` bytes and outlives the request.
            let done = unsafe { (calls.send)(from, count, *byte, to as c_int, tag, *world, at) };
            checked("MPI_Isend", done)?;
            self.finish(request, pause)?;
        }
        Ok(())
    }

    /// A message that another rank has begun to send, and that rank; `None` if there is none. Calls `pause` until all of it
    /// is there.
    pub fn receive(&self, pause: &mut dyn FnMut()) -> io::Result<Option<(u32, Vec<u8>)>> {
        let mut header = [0; 16];
        if !self.receive_if_sent(&mut header, HEADER, pause)? {
            return Ok(None);
        }
        let [from, length] = [0, 1].map(|at| u64::from_le_bytes(header.as_chunks().0[at]));
        let mut bytes = vec![0; length as usize];
        self.receive_into(&mut bytes, from as c_int, BODY, pause)?;
        Ok(Some((from as u32, bytes)))
    }

    /// Sends rank 0 this rank's number, without waiting until it has arrived. The message is never freed: a rank sends few.
    pub fn send_sign(&self) -> io::Result<()> {
        let message = Box::leak(Box::new(u64::from(self.rank).to_le_bytes()));
        let Library { calls, world, byte, .. } = &self.library;
        let (from, mut request) = (message.as_ptr().cast(), 0);
        // SAFETY: MPI is initialised, in this thread; the message has 8 bytes, and is never freed.
        let done = unsafe { (calls.send)(from, 8, *byte, 0, SIGN, *world, &raw mut request) };
        checked("MPI_Isend", done)
    }

    /// Rank whose sign has arrived at rank 0.
    pub fn receive_sign(&self) -> io::Result<Option<u32>> {
        let mut message = [0; 8];
        let found = self.receive_if_sent(&mut message, SIGN, &mut std::thread::yield_now)?;
        Ok(found.then(|| u64::from_le_bytes(message) as u32))
    }

    /// `false` if no rank has begun to send a message with this tag.
    fn receive_if_sent(&self, bytes: &mut [u8], tag: c_int, pause: &mut dyn FnMut()) -> io::Result<bool> {
        let (mut found, mut status): (c_int, Status) = (0, [0; 16]);
        let Library { calls, world, abi, .. } = &self.library;
        // SAFETY: MPI is initialised, in this thread; flag and status are written, and the status has room.
        let done = unsafe { (calls.probe)(abi.any_source, tag, *world, &raw mut found, &raw mut status) };
        checked("MPI_Iprobe", done)?;
        if found != 0 {
            self.receive_into(bytes, abi.any_source, tag, pause)?;
        }
        Ok(found != 0)
    }

    fn receive_into(
        &self,
        bytes: &mut [u8],
        from: c_int,
        tag: c_int,
        pause: &mut dyn FnMut(),
    ) -> io::Result<()> {
        let Library { calls, world, byte, .. } = &self.library;
        let (to, count, mut request) = (bytes.as_mut_ptr().cast(), int(bytes.len())?, 0);
        // SAFETY: MPI is initialised, in this thread; the slice has `count` bytes and outlives the request.
        let done = unsafe { (calls.receive)(to, count, *byte, from, tag, *world, &raw mut request) };
        checked("MPI_Irecv", done)?;
        self.finish(request, pause)
    }

    fn finish(&self, request: usize, pause: &mut dyn FnMut()) -> io::Result<()> {
        let goes_on = || {
            pause();
            true
        };
        self.completed(request, goes_on).map(drop)
    }

    /// From rank 0 to all ranks; all slices have the same length. Calls `pause` while waiting.
    pub fn broadcast(&self, bytes: &mut [u8], pause: &mut dyn FnMut()) -> io::Result<()> {
        let Library { calls, world, byte, .. } = &self.library;
        if bytes.is_empty() {
            return Ok(());
        }
        let count = int(bytes.len())?;
        let (buffer, mut request) = (bytes.as_mut_ptr().cast(), 0);
        // SAFETY: MPI is initialised, in this thread; the slice has `count` bytes and outlives the request.
        let done = unsafe { (calls.broadcast)(buffer, count, *byte, 0, *world, &raw mut request) };
        checked("MPI_Ibcast", done)?;
        self.finish(request, pause)
    }

    /// Every rank's bytes at rank 0, nothing elsewhere. Calls `pause` while waiting.
    ///
    /// Two collective calls, because rank 0 cannot know the lengths: the first one gathers them as four bytes
    /// each, and the second one the bytes themselves, each at its offset. Each rank must make both calls,
    /// also one without any bytes. Offsets are `c_int` in MPI, so the lengths must add up to less than 2 GiB;
    /// otherwise rank 0 returns an error before the second call.
    pub fn gather(&self, bytes: &[u8], pause: &mut dyn FnMut()) -> io::Result<Vec<Vec<u8>>> {
        let Library { calls, world, byte, .. } = &self.library;
        let (own, size) = (int(bytes.len())?, self.size as usize);
        let root = self.rank == 0;
        // Never empty: the address of an empty vector is that of `MPI_IN_PLACE` in some libraries.
        let mut lengths = vec![0_u8; if root { 4 * size } else { 4 }];
        let own_length = own.to_ne_bytes();
        let (from, to) = (own_length.as_ptr().cast(), lengths.as_mut_ptr().cast());
        let mut request = 0;
        // SAFETY: MPI is initialised, in this thread; 4 bytes are sent by each rank, and rank 0 has room for all. Both
        // buffers outlive the request.
        let done = unsafe { (calls.gather)(from, 4, *byte, to, 4, *byte, 0, *world, &raw mut request) };
        checked("MPI_Igather", done)?;
        self.finish(request, pause)?;
        let counts: Vec<c_int> =
            lengths.as_chunks().0.iter().map(|four| c_int::from_ne_bytes(*four)).collect();
        let mut offsets = Vec::with_capacity(counts.len());
        let mut all_bytes = 0_usize;
        for count in &counts {
            offsets.push(int(all_bytes)?);
            all_bytes += *count as usize;
        }
        let mut all = vec![0_u8; all_bytes.max(1)];
        let from = if bytes.is_empty() { own_length.as_ptr() } else { bytes.as_ptr() };
        let (from, to) = (from.cast(), all.as_mut_ptr().cast());
        let (counts_at, offsets_at) = (counts.as_ptr(), offsets.as_ptr());
        let at = &raw mut request;
        // SAFETY: as above; `all` has room for the sum of the counts, each at its offset, and the vectors of counts and
        // offsets outlive the request.
        let done =
            unsafe { (calls.gather_v)(from, own, *byte, to, counts_at, offsets_at, *byte, 0, *world, at) };
        checked("MPI_Igatherv", done)?;
        self.finish(request, pause)?;
        if !root {
            return Ok(Vec::new());
        }
        let part = |(offset, count): (&c_int, &c_int)| all[*offset as usize..][..*count as usize].to_vec();
        Ok(offsets.iter().zip(&counts).map(part).collect())
    }

    /// All ranks must call it.
    pub fn finalize(self) -> io::Result<()> {
        // SAFETY: MPI is initialised, in this thread, and `self` is gone afterwards.
        checked("MPI_Finalize", unsafe { (self.library.calls.finalize)() })
    }

    /// Ends all ranks, with 1 instead of 0, which launchers would take for success.
    pub fn abort(&self, code: u8) -> ! {
        let code = c_int::from(code.max(1));
        // SAFETY: MPI is initialised.
        unsafe { (self.library.calls.abort)(self.library.world, code) };
        // The call returns in MPICH 5.0.2. Handlers of exit(3), among them the library's, might wait for other ranks.
        ended(code)
    }
}

/// Ends the process if it is dropped too early: MPI still uses the buffers of the request, which are about to go.
struct Pending<'a> {
    mpi: &'a Mpi,
    is_over: bool,
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.mpi.abort(1);
        }
    }
}

#[cfg(target_os = "linux")]
fn ended(code: c_int) -> ! {
    // SAFETY: the call has no condition, and does not return.
    unsafe { libc::_exit(code) }
}

#[cfg(not(target_os = "linux"))]
fn ended(code: c_int) -> ! {
    std::process::exit(code)
}

fn text(name: &'static str, call: Text) -> io::Result<String> {
    let (mut text, mut length) = (vec![0_u8; TEXT_BYTES], 0);
    // SAFETY: the text has room for the longest one of every library.
    checked(name, unsafe { call(text.as_mut_ptr().cast(), &raw mut length) })?;
    text.truncate(length as usize);
    let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
    Ok(String::from_utf8_lossy(&text[..end]).into_owned())
}

fn int(length: usize) -> io::Result<c_int> {
    c_int::try_from(length).map_err(|_| io::Error::other("a message of more than 2 GiB"))
}

fn checked(call: &'static str, code: c_int) -> io::Result<()> {
    match code {
        0 => Ok(()),
        code => Err(io::Error::other(format!("{call} failed with error {code}"))),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::Library;

    #[test]
    fn libraries_without_mpi_are_refused() {
        let missing = Library::open("libno-such-mpi.so.1".as_ref()).unwrap_err().to_string();
        assert!(missing.contains("libno-such-mpi.so.1"), "{missing}");
        let other = Library::open("libc.so.6".as_ref()).unwrap_err().to_string();
        assert!(other.contains("MPI_Init_thread"), "{other}");
    }
}
