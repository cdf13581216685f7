//! Processes of a launcher, as the opened MPI library shows them, with the proof that all run the same program.

use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use megadir_sys::mpi::{Library, Mpi};

use crate::attendance::{Attendance, Meeting};
use crate::launcher::ANY;
use crate::{Error, Launcher, Pause};

const PIECE_BYTES: u64 = 256 << 10;
const TURNS_PER_LOOK: u32 = 1024;
const NAMES_MAX: usize = 10;

/// Seen by one process; used by the thread that joined.
///
/// The communicator of all ranks, with the names of their hosts in the order of ranks, gathered once so that
/// messages can name a host without another call. `library` is for the record and for messages. Not `Send`:
/// the library was initialised for calls from one thread only (`MPI_THREAD_FUNNELED`). `report` is absent
/// until the command line sets it, because this crate does not print.
#[derive(Debug)]
pub struct World {
    mpi: Mpi,
    library: String,
    hosts: Vec<String>,
    attendance: Attendance,
    report: Option<fn(&str)>,
}

impl World {
    /// Opens the library, joins the other ranks, and compares the proofs of all. The errors of all ranks are
    /// equal, except [`Error::NoLibrary`], [`Error::Library`] and [`Error::Call`].
    ///
    /// The order matters, since each call is collective and a rank that leaves early would let the others
    /// wait for ever:
    ///
    /// ```text
    /// open -> init -> as many ranks as the launcher started? -> broadcast rank 0's proof -> gather hosts -> agree -> world
    ///                        | no: another launcher's library
    ///                        `-> finalize, at every rank alike
    /// ```
    ///
    /// Until the hosts are known, an error must be one that all ranks find by themselves, such as a wrong
    /// number of ranks. Afterwards a rank that finds one passes it to `agree`, so that all ranks return it.
    pub fn join(launcher: Option<&Launcher>, library: Option<&Path>, proof: Proof) -> Result<Self, Error> {
        if cfg!(not(target_os = "linux")) {
            return Err(Error::Unsupported);
        }
        let (name, library) = open(launcher, library)?;
        let abi = library.abi();
        let mpi = library.init()?;
        let version = mpi.version()?;
        let started = launcher.map_or(mpi.size, |launcher| launcher.size);
        if started != mpi.size {
            let launcher = launcher.map_or("the launcher", |launcher| launcher.name);
            let error = Error::OtherLauncher { launcher, started, seen: mpi.size, library: name, version };
            mpi.finalize()?;
            return Err(error);
        }
        if launcher.is_none() && mpi.size == 1 {
            mpi.finalize()?;
            return Err(Error::NoLauncher);
        }
        let host = mpi.host()?;
        let mut world = Self {
            mpi,
            library: format!("{version} ({abi})"),
            hosts: Vec::new(),
            attendance: Attendance::default(),
            report: None,
        };
        let mut first = proof.to_bytes();
        world.mpi.broadcast(&mut first, &mut std::thread::yield_now)?;
        let names = world.gather(host.as_bytes())?;
        let names = world.send_to_all(&names.join(&b'\n'))?;
        world.hosts = String::from_utf8_lossy(&names).split('\n').map(str::to_owned).collect();
        match world.agree(proof.compare(Proof::from_bytes(first))) {
            Ok(()) => Ok(world),
            Err(error) => {
                world.finish()?;
                Err(error)
            }
        }
    }

    pub fn rank(&self) -> u32 {
        self.mpi.rank
    }

    pub fn size(&self) -> u32 {
        self.mpi.size
    }

    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }

    pub fn library(&self) -> &str {
        &self.library
    }

    /// All ranks get the first rank's reason, if any has one.
    pub fn agree(&self, own: Result<(), String>) -> Result<(), Error> {
        let reasons = self.gather(own.err().unwrap_or_default().as_bytes())?;
        let first = (0_usize..).zip(&reasons).find(|(_, reason)| !reason.is_empty());
        let text = first.map(|(rank, reason)| {
            let host = self.hosts.get(rank).map_or("", String::as_str);
            format!("rank {rank} on '{host}': {}", String::from_utf8_lossy(reason))
        });
        let text = self.send_to_all(text.unwrap_or_default().as_bytes())?;
        match text.as_slice() {
            [] => Ok(()),
            text => Err(Error::Disagreement(String::from_utf8_lossy(text).into_owned())),
        }
    }

    /// Returns rank 0's bytes at all ranks.
    pub fn send_to_all(&self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut length = (bytes.len() as u64).to_le_bytes();
        self.mpi.broadcast(&mut length, &mut self.without_sleep())?;
        let mut all =
            if self.rank() == 0 { bytes.to_vec() } else { vec![0; u64::from_le_bytes(length) as usize] };
        self.mpi.broadcast(&mut all, &mut self.without_sleep())?;
        Ok(all)
    }

    /// Returns the bytes of all ranks at rank 0, nothing elsewhere.
    pub fn gather(&self, bytes: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.mpi.gather(bytes, &mut self.without_sleep())
    }

    /// Sends to one rank, which must receive. Calls `waiting` at least every few milliseconds until then.
    pub fn send(&self, to: u32, bytes: &[u8], mut waiting: impl FnMut()) -> io::Result<()> {
        let mut pause = Pause::default();
        self.mpi.send(to, bytes, &mut || {
            waiting();
            std::thread::sleep(pause.longer());
        })
    }

    /// Returns a message that another rank sends, with that rank; `None` if there is none yet.
    pub fn receive(&self) -> io::Result<Option<(u32, Vec<u8>)>> {
        let mut pause = Pause::default();
        self.mpi.receive(&mut || std::thread::sleep(pause.longer()))
    }

    /// Sets the function that gets a line at rank 0 when [`World::barrier`] or [`World::meet`] has waited for a minute for other
    /// ranks: it names these.
    pub fn report_absent(&mut self, report: fn(&str)) {
        self.report = Some(report);
    }

    /// Waits without sleeping.
    pub fn barrier(&self) -> io::Result<()> {
        let mut pause = self.without_sleep();
        self.mpi
            .meet(|| {
                pause();
                true
            })
            .map(drop)
    }

    /// Pause of one collective call.
    fn without_sleep(&self) -> impl FnMut() {
        let (mut meeting, mut turns) = (self.attendance.begin(), 0_u32);
        move || {
            // Reading the clock costs as much as a test of the call.
            turns = turns.wrapping_add(1);
            if turns.is_multiple_of(TURNS_PER_LOOK) {
                self.look(&mut meeting);
            }
            std::thread::yield_now();
        }
    }

    /// Calls `pause` while waiting. Once that returns `false`, so does this, and only [`World::abort`] remains.
    pub fn meet(&self, mut pause: impl FnMut() -> bool) -> io::Result<bool> {
        let mut meeting = self.attendance.begin();
        self.mpi.meet(|| {
            self.look(&mut meeting);
            pause()
        })
    }

    /// A sign that cannot be sent is no reason to end a meeting.
    fn look(&self, meeting: &mut Meeting<'_>) {
        let (Ok(Some((absent, waited))), Some(report)) = (meeting.look(&self.mpi), self.report) else {
            return;
        };
        let name = |rank: &u32| format!("rank {rank} on '{}'", self.hosts[*rank as usize]);
        let names: Vec<String> = absent.iter().take(NAMES_MAX).map(name).collect();
        let more = absent.len() - names.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        report(&format!(
            "waiting for {}{more} for {} s: it hangs or works longer than the others; Ctrl-C ends the run",
            names.join(", "),
            waited.as_secs()
        ));
    }

    pub fn finish(self) -> io::Result<()> {
        self.mpi.finalize()
    }

    /// Ends all ranks, also those that do not answer; the code is 1 instead of 0.
    pub fn abort(&self, code: u8) -> ! {
        self.mpi.abort(code)
    }
}

/// The user's library, or the launcher's first one that is installed.
fn open(launcher: Option<&Launcher>, library: Option<&Path>) -> Result<(String, Library), Error> {
    if let Some(path) = library {
        let name = || path.display().to_string();
        let library = Library::open(path).map_err(|source| Error::Library { path: name(), source })?;
        return Ok((name(), library));
    }
    let names = launcher.map_or(ANY, |launcher| launcher.libraries);
    let found = names.iter().find_map(|name| Some(((*name).to_owned(), Library::open(name.as_ref()).ok()?)));
    found.ok_or_else(|| Error::NoLibrary { tried: names.iter().map(|name| (*name).to_owned()).collect() })
}

/// Proof that two processes run the same program with the same arguments. Not cryptographic: it finds mistakes, not attacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof {
    program: u64,
    arguments: u64,
}

impl Proof {
    /// Reads length, beginning and end: a linker writes a hash of the rest near the beginning.
    pub fn of(program: &Path, arguments: &[OsString]) -> io::Result<Self> {
        let (mut file, mut hash) = (std::fs::File::open(program)?, DefaultHasher::new());
        let length = file.metadata()?.len();
        hash.write_u64(length);
        for offset in [0, length.saturating_sub(PIECE_BYTES)] {
            let mut piece = Vec::new();
            file.seek(SeekFrom::Start(offset))?;
            (&mut file).take(PIECE_BYTES).read_to_end(&mut piece)?;
            hash.write(&piece);
        }
        let mut of_arguments = DefaultHasher::new();
        arguments.hash(&mut of_arguments);
        Ok(Self { program: hash.finish(), arguments: of_arguments.finish() })
    }

    pub(crate) fn to_bytes(self) -> [u8; 16] {
        (u128::from(self.program) << 64 | u128::from(self.arguments)).to_le_bytes()
    }

    pub(crate) fn from_bytes(bytes: [u8; 16]) -> Self {
        let both = u128::from_le_bytes(bytes);
        Self { program: (both >> 64) as u64, arguments: both as u64 }
    }

    pub(crate) fn compare(self, first: Self) -> Result<(), String> {
        match (self.program == first.program, self.arguments == first.arguments) {
            (true, true) => Ok(()),
            (false, _) => {
                Err("its program is another one than that of rank 0; install the same one on all hosts"
                    .into())
            }
            (true, false) => {
                Err("its arguments are other ones than those of rank 0; give all ranks the same".into())
            }
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::Proof;

    #[test]
    fn programs_and_arguments_are_compared() {
        let proof = |program: &str, arguments: &[&str]| {
            let arguments: Vec<_> = arguments.iter().map(Into::into).collect();
            Proof::of(program.as_ref(), &arguments).unwrap()
        };
        let first = proof("/bin/ls", &["a", "b"]);
        assert_eq!(Proof::from_bytes(first.to_bytes()), first);
        assert_eq!(proof("/bin/ls", &["a", "b"]).compare(first), Ok(()));
        let reason = |proof: Proof| proof.compare(first).unwrap_err();
        assert!(reason(proof("/bin/cat", &["a", "b"])).starts_with("its program"));
        assert!(reason(proof("/bin/ls", &["ab"])).starts_with("its arguments"));
    }
}
