//! Timing of a rotating disk, as a pure function of requests and a clock that the caller passes.
//!
//! One head above tracks that hold what passes in a revolution. A request elsewhere costs a seek and the wait for
//! its sector:
//!
//! | part | model |
//! |---|---|
//! | seek | settling + (full stroke - settling) * sqrt(distance / disk); the average over random pairs is the parameter `seek_ms` |
//! | rotation | the sector's angle follows from its offset, the platter's from the clock |
//! | transfer | at one rate everywhere; changing to the next track costs nothing (skewed tracks) |
//! | read-ahead | after a read, the drive reads on for a track's length: reads of that wait for the medium at most |
//! | queue | of the first `queue` requests, the one that is reached first is served next, but one that has waited for three seconds goes first |
//! | write cache | writes are acknowledged at once if there is room; the head writes them, a track's length at a time, after some idle revolutions, when the cache is more than half full, or when a flush waits |
//! | flush | done when the cache is empty; meanwhile it takes no more writes |
//!
//! Not modelled: zones of different rates, several heads, caches of reads beyond the read-ahead, defects. Discarding and zeroing cost
//! no time.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// Average of sqrt(|a - b|) for random a and b in 0..1.
const MEAN_ROOT: f64 = 8.0 / 15.0;
/// Between the drive's memory and the host, bytes a second (SATA).
const INTERFACE_RATE: f64 = 550e6;
/// Idle revolutions after which the head writes what is in the cache: shorter pauses lie between the requests of a program.
const IDLE_REVOLUTIONS: f64 = 3.0;
/// Wait after which a request goes before others that are reached sooner, nanoseconds.
const OVERDUE_NS: u64 = 3_000_000_000;
/// Differences of the angle that are rounding, seconds: times are whole nanoseconds, and their errors add up.
const SAME_ANGLE_S: f64 = 1e-6;
/// Cached extents considered for the next write, on each side of the head.
const CACHED_LOOKED_AT: usize = 32;

/// Properties of a drive. They are those that data sheets state, so that a user can enter another drive from its sheet; the model
/// derives the full stroke and the length of a track from them. Times are microseconds, since sheets have tenths of milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    pub rpm: u64,
    /// Average seek, microseconds.
    pub seek_us: u64,
    /// Seek to the next track, microseconds.
    pub settle_us: u64,
    /// Size of the whole disk; the image lies at its beginning.
    pub size_bytes: u64,
    pub queue: u64,
    /// Bytes a second.
    pub rate: u64,
    /// Write cache, bytes; 0 for none.
    pub cache_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub offset: u64,
    pub bytes: u64,
    pub is_write: bool,
}

/// Work of the disk since it began. Requests and bytes are counted when they arrive, so they are exact at any moment; seeks and busy time
/// are counted when the head begins with a request, and include writes from the cache that nothing waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests of the host.
    pub requests: u64,
    /// Moves of the head by more than a track's length, cached writes included. Waiting for a sector alone is none.
    pub seeks: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
    /// In which the head is positioned or reads or writes, nanoseconds.
    pub busy_ns: u64,
}

/// One line, which [`Counts::parse`] reads.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requests, seeks, read_bytes, written_bytes, busy_ns } = self;
        writeln!(f, "{requests} {seeks} {read_bytes} {written_bytes} {busy_ns}")
    }
}

impl Counts {
    pub fn parse(line: &str) -> Option<Self> {
        let mut numbers = line.split_whitespace().map(|number| number.parse().ok());
        let mut next = || numbers.next().flatten();
        Some(Self {
            requests: next()?,
            seeks: next()?,
            read_bytes: next()?,
            written_bytes: next()?,
            busy_ns: next()?,
        })
    }
}

#[derive(Debug)]
struct Waiting<T> {
    arrived_ns: u64,
    request: Request,
    tag: T,
}

/// Transfer that occupies the head until `until_ns`.
#[derive(Debug)]
struct Service<T> {
    until_ns: u64,
    request: Request,
    /// `None` for a write from the cache.
    tag: Option<T>,
    /// The read-ahead has it, so that the head is elsewhere.
    is_buffered: bool,
}

/// Begin of a transfer.
struct Reached {
    at_ns: u64,
    is_seek: bool,
    is_buffered: bool,
}

/// A drive; `T` names a request. Times are nanoseconds of the caller's clock and never decrease.
///
/// ```text
///  submit --> waiting --> service --> done --> advance returns it
///     |                     ^
///     +--> cached (write) --+        done at once, written when nothing else waits
/// ```
///
/// Invariant: each tag is in exactly one of `waiting`, `service`, `flushes` and `done`, until `advance` or `into_waiting` returns it. The
/// drive never reads a clock itself, so tests run it in virtual time.
#[derive(Debug)]
pub struct Drive<T> {
    parameters: Parameters,
    counts: Counts,
    /// Where the last transfer ended, and when.
    head: u64,
    free_ns: u64,
    /// End of the read-ahead, and when the head was there; `None` after a write. The head reads on from there, up to a track's length
    /// beyond `head`.
    ahead: Option<(u64, u64)>,
    /// Arrival of the last request, from which idleness counts.
    requested_ns: u64,
    waiting: VecDeque<Waiting<T>>,
    service: Option<Service<T>>,
    /// Acknowledged writes by offset, joined where they touch.
    cached: BTreeMap<u64, u64>,
    cached_bytes: u64,
    /// When it was empty last.
    cached_since_ns: u64,
    flushes: Vec<T>,
    done: Vec<T>,
}

impl<T> Drive<T> {
    pub fn new(parameters: Parameters) -> Self {
        Self {
            parameters,
            counts: Counts::default(),
            head: 0,
            free_ns: 0,
            ahead: None,
            requested_ns: 0,
            waiting: VecDeque::new(),
            service: None,
            cached: BTreeMap::new(),
            cached_bytes: 0,
            cached_since_ns: 0,
            flushes: Vec::new(),
            done: Vec::new(),
        }
    }

    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Everything that has not been done.
    pub fn into_waiting(self) -> Vec<T> {
        let waiting = self.waiting.into_iter().map(|waiting| waiting.tag);
        waiting
            .chain(self.service.and_then(|service| service.tag))
            .chain(self.flushes)
            .chain(self.done)
            .collect()
    }

    pub fn submit(&mut self, now_ns: u64, request: Request, tag: T) {
        self.counts.requests += 1;
        match request.is_write {
            true => self.counts.written_bytes += request.bytes,
            false => self.counts.read_bytes += request.bytes,
        }
        self.requested_ns = self.requested_ns.max(now_ns);
        self.waiting.push_back(Waiting { arrived_ns: now_ns, request, tag });
        self.admit();
    }

    /// Done once everything that was acknowledged is on the platter.
    pub fn flush(&mut self, tag: T) {
        self.flushes.push(tag);
    }

    /// Requests that are done at `now_ns`, and when the next one may be.
    pub fn advance(&mut self, now_ns: u64) -> (Vec<T>, Option<u64>) {
        loop {
            self.admit();
            match self.service.as_ref().map(|service| service.until_ns) {
                Some(until_ns) if until_ns > now_ns => break,
                Some(_) => self.finish(),
                None if self.begin(now_ns) => {}
                None => break,
            }
        }
        if self.cached.is_empty() && self.service.as_ref().is_none_or(|service| service.tag.is_some()) {
            self.done.append(&mut self.flushes);
        }
        let next_ns = match &self.service {
            Some(service) => Some(service.until_ns),
            None => (!self.cached.is_empty()).then(|| self.idle_ns()),
        };
        (std::mem::take(&mut self.done), next_ns)
    }

    /// Acknowledges what needs no medium: writes that have room in the cache, and reads of what is in it.
    fn admit(&mut self) {
        let mut kept = VecDeque::with_capacity(self.waiting.len());
        for waiting in std::mem::take(&mut self.waiting) {
            let Request { offset, bytes, is_write } = waiting.request;
            let has_room = self.flushes.is_empty()
                && self.cached_bytes.saturating_add(bytes) <= self.parameters.cache_bytes;
            if is_write && has_room {
                if self.cached.is_empty() {
                    self.cached_since_ns = waiting.arrived_ns;
                }
                self.cache(offset, bytes);
                self.done.push(waiting.tag);
            } else if !is_write && self.is_cached(offset, bytes) {
                self.done.push(waiting.tag);
            } else {
                kept.push_back(waiting);
            }
        }
        self.waiting = kept;
    }

    fn is_cached(&self, offset: u64, bytes: u64) -> bool {
        let before = self.cached.range(..=offset).next_back().map(|(&start, &length)| (start, length));
        let written = self.service.as_ref().filter(|service| service.tag.is_none());
        let written = written.map(|service| (service.request.offset, service.request.bytes));
        let has = |(start, length): (u64, u64)| start <= offset && start + length >= offset + bytes;
        before.is_some_and(has) || written.is_some_and(has)
    }

    fn cache(&mut self, offset: u64, bytes: u64) {
        let (mut start, mut end) = (offset, offset + bytes);
        while let Some((&other, &length)) =
            self.cached.range(..=end).next_back().filter(|(other, length)| *other + *length >= start)
        {
            self.cached.remove(&other);
            self.cached_bytes -= length;
            (start, end) = (start.min(other), end.max(other + length));
        }
        self.cached.insert(start, end - start);
        self.cached_bytes += end - start;
    }

    fn finish(&mut self) {
        let Some(service) = self.service.take() else { return };
        let end = service.request.offset + service.request.bytes;
        self.ahead = match (service.request.is_write, self.ahead.filter(|_| service.is_buffered)) {
            (true, _) => None,
            (false, None) => Some((end, service.until_ns)),
            (false, Some((ahead, at_ns))) => {
                let read_on = (service.until_ns - at_ns.min(service.until_ns)) as f64 * 1e-9;
                let read_on = ahead + (read_on * self.parameters.rate as f64) as u64;
                Some((read_on.min(self.head + self.track_bytes() as u64).max(end), service.until_ns))
            }
        };
        if service.tag.is_none() {
            self.cached_bytes -= service.request.bytes;
        }
        self.head = end;
        self.free_ns = service.until_ns;
        self.done.extend(service.tag);
    }

    /// End of the pause after which the head writes what is in the cache.
    fn idle_ns(&self) -> u64 {
        let pause_ns = ns(IDLE_REVOLUTIONS * self.revolution());
        self.free_ns.max(self.cached_since_ns).max(self.requested_ns + pause_ns)
    }

    /// Begins with the request that is reached first; `false` if there is none, or if the head still pauses before it writes what is
    /// in the cache.
    ///
    /// Drives choose by positioning time, not by distance: a near sector that has just passed costs a revolution. A flush takes
    /// only writes of the cache, or a stream of other requests would keep it from its end; a host that waits for a read does not wait
    /// for writes of the cache, unless that is more than half full.
    fn begin(&mut self, now_ns: u64) -> bool {
        let has_to_write = !self.flushes.is_empty() && !self.cached.is_empty();
        let may_write = has_to_write || self.cached_bytes > self.parameters.cache_bytes / 2;
        let first = self.waiting.front().map(|waiting| waiting.arrived_ns);
        let start_ns = match first.filter(|_| !has_to_write) {
            Some(first_ns) => self.free_ns.max(first_ns),
            None if may_write => self.free_ns.max(self.cached_since_ns),
            None if self.cached.is_empty() || self.idle_ns() > now_ns => return false,
            None => self.idle_ns(),
        };
        let may_write = may_write || self.waiting.is_empty();
        let is_overdue = first.is_some_and(|first_ns| start_ns.saturating_sub(first_ns) > OVERDUE_NS);
        let queue = match is_overdue {
            true => 1,
            false => self.parameters.queue.max(1) as usize,
        };
        let hosts = self.waiting.iter().enumerate().take(if has_to_write { 0 } else { queue });
        let hosts = hosts
            .filter(|(_, waiting)| waiting.arrived_ns <= start_ns)
            .map(|(place, waiting)| (self.reach(start_ns, waiting.request), Some(place), waiting.request));
        let cached = self.near_head().filter(|_| may_write && (has_to_write || !is_overdue));
        let cached = cached.map(|request| (self.reach(start_ns, request), None, request));
        let best = hosts.chain(cached).min_by_key(|(reached, ..)| reached.at_ns);
        let Some((reached, place, request)) = best else { return false };
        let tag = match place {
            Some(place) => self.waiting.remove(place).map(|waiting| waiting.tag),
            None => {
                let length = self.cached.remove(&request.offset).unwrap_or(request.bytes);
                if length > request.bytes {
                    self.cached.insert(request.offset + request.bytes, length - request.bytes);
                }
                None
            }
        };
        let until_ns = reached.at_ns + self.transfer_ns(request.bytes);
        self.counts.seeks += u64::from(reached.is_seek);
        self.counts.busy_ns += until_ns - start_ns;
        self.service = Some(Service { until_ns, request, tag, is_buffered: reached.is_buffered });
        true
    }

    /// Cached writes on both sides of the head, each for a track's length at most.
    fn near_head(&self) -> impl Iterator<Item = Request> {
        let most = self.track_bytes() as u64;
        let after = self.cached.range(self.head..).take(CACHED_LOOKED_AT);
        let before = self.cached.range(..self.head).rev().take(CACHED_LOOKED_AT);
        after.chain(before).map(move |(&offset, &bytes)| Request {
            offset,
            bytes: bytes.min(most),
            is_write: true,
        })
    }

    /// When the transfer of a request begins, if the head turns to it at `start_ns`.
    fn reach(&self, start_ns: u64, request: Request) -> Reached {
        let Parameters { settle_us, size_bytes, .. } = self.parameters;
        let track = self.track_bytes();
        if let Some((ahead, at_ns)) = self.ahead.filter(|_| !request.is_write)
            && (self.head..=self.head + track as u64).contains(&request.offset)
        {
            // The head has read on meanwhile. The transfer is added to it, so a part of the idle time is lost only beyond it.
            let read_on_ns = at_ns + self.transfer_ns(request.offset.saturating_sub(ahead));
            let soonest = (start_ns + ns(request.bytes as f64 / INTERFACE_RATE))
                .saturating_sub(self.transfer_ns(request.bytes));
            let at_ns = read_on_ns.max(soonest).max(self.free_ns);
            return Reached { at_ns, is_seek: false, is_buffered: true };
        }
        let distance = request.offset.abs_diff(self.head);
        if distance == 0 && start_ns <= self.free_ns {
            return Reached { at_ns: start_ns, is_seek: false, is_buffered: false };
        }
        let angle = |bytes: u64| (bytes as f64 / track).fract();
        let settle = settle_us as f64 * 1e-6;
        let share = (distance as f64 / size_bytes.max(1) as f64).min(1.0);
        let is_seek = distance as f64 >= track;
        let seek = if is_seek { settle + (self.full_stroke() - settle) * share.sqrt() } else { 0.0 };
        let revolution = self.revolution();
        let there = (start_ns as f64 * 1e-9 + seek) / revolution;
        let wait = (angle(request.offset) - there.fract()).rem_euclid(1.0) * revolution;
        // Rounding must not cost a revolution.
        let wait = if wait > revolution - SAME_ANGLE_S { 0.0 } else { wait };
        Reached { at_ns: start_ns + ns(seek + wait), is_seek, is_buffered: false }
    }

    /// Time of a revolution, seconds.
    fn revolution(&self) -> f64 {
        60.0 / self.parameters.rpm as f64
    }

    fn track_bytes(&self) -> f64 {
        self.parameters.rate as f64 * 60.0 / self.parameters.rpm as f64
    }

    fn full_stroke(&self) -> f64 {
        let (settle, average) =
            (self.parameters.settle_us as f64 * 1e-6, self.parameters.seek_us as f64 * 1e-6);
        settle + (average - settle).max(0.0) / MEAN_ROOT
    }

    fn transfer_ns(&self, bytes: u64) -> u64 {
        ns(bytes as f64 / self.parameters.rate as f64)
    }
}

fn ns(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A 3.5-inch drive of 7200 rpm, with the seek times and rates that its manufacturers publish.
    const DRIVE: Parameters = Parameters {
        rpm: 7200,
        seek_us: 8500,
        settle_us: 800,
        size_bytes: 1_000_000_000_000,
        queue: 32,
        rate: 180_000_000,
        cache_bytes: 0,
    };
    const BLOCK: u64 = 4096;
    const SECOND: u64 = 1_000_000_000;

    struct Random(u64);

    impl Random {
        fn offset(&mut self, below: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((u128::from(self.0) * u128::from(below / BLOCK)) >> 64) as u64 * BLOCK
        }
    }

    /// Keeps `depth` requests waiting until `number` are done; returns the virtual seconds that took.
    fn seconds(drive: &mut Drive<u64>, number: u64, depth: u64, mut next: impl FnMut(u64) -> Request) -> f64 {
        let (mut now, mut submitted, mut done) = (0, 0, 0);
        while done < number {
            while submitted < number && submitted - done < depth {
                drive.submit(now, next(submitted), submitted);
                submitted += 1;
            }
            let (ended, then) = drive.advance(now);
            done += ended.len() as u64;
            if ended.is_empty() {
                now = then.expect("something is in service");
            }
        }
        now as f64 / SECOND as f64
    }

    fn random(parameters: Parameters, depth: u64, is_write: bool) -> f64 {
        let (mut drive, mut random) = (Drive::new(parameters), Random(7));
        let number = 4000;
        let request = |_| Request { offset: random.offset(parameters.size_bytes), bytes: BLOCK, is_write };
        number as f64 / seconds(&mut drive, number, depth, request)
    }

    /// Hitachi publishes 55.9 s for 4096 random reads of the Deskstar 7K80 and 55.5 s for the 7K500, both of 7200 rpm with 8.5 ms and 4.17 ms:
    /// 73 and 74 reads a second ("Random access performance" of their specifications).
    #[test]
    fn random_reads_one_at_a_time_are_as_many_as_published() {
        let rate = random(DRIVE, 1, false);
        assert!((70.0..=85.0).contains(&rate), "{rate} a second");
    }

    /// Seagate publishes 170 random reads of 4 KiB a second at depth 16 for its drives of 7200 rpm (Exos 7E8 and X16).
    #[test]
    fn a_queue_makes_random_reads_two_to_three_times_as_many() {
        let (sixteen, thirty_two) = (random(DRIVE, 16, false), random(DRIVE, 32, false));
        assert!((145.0..=195.0).contains(&sixteen), "{sixteen} a second at depth 16");
        assert!((180.0..=250.0).contains(&thirty_two), "{thirty_two} a second at depth 32");
        // More than the drive's queue takes changes nothing.
        let more = random(DRIVE, 200, false);
        assert!((more / thirty_two - 1.0).abs() < 0.1, "{more} a second at depth 200");
    }

    #[test]
    fn reading_in_order_takes_the_transfer_only() {
        for (bytes, depth) in [(1 << 20, 1), (128 << 10, 1), (128 << 10, 8)] {
            let mut drive = Drive::new(DRIVE);
            let number = (1 << 30) / bytes;
            let request = |number| Request { offset: number * bytes, bytes, is_write: false };
            let rate = (1_u64 << 30) as f64 / seconds(&mut drive, number, depth, request) / 1e6;
            assert!((175.0..=181.0).contains(&rate), "{rate} MB/s");
            assert!(drive.counts().seeks <= 1, "{:?}", drive.counts());
        }
    }

    #[test]
    fn writes_without_a_cache_take_as_long_as_reads_and_with_it_are_several_times_as_many() {
        let (reads, off) = (random(DRIVE, 1, false), random(DRIVE, 1, true));
        assert!((off / reads - 1.0).abs() < 0.1, "{off} and {reads} a second");
        let on = random(Parameters { cache_bytes: 64 << 20, ..DRIVE }, 1, true);
        assert!(on > 3.0 * off, "{on} a second with the cache, {off} without");
    }

    #[test]
    fn writing_in_order_one_at_a_time_without_a_cache_waits_for_a_revolution_each() {
        let mut drive = Drive::new(DRIVE);
        // The host needs 100 microseconds to send the next one.
        let (mut now, number) = (0, 200);
        for place in 0..number {
            drive.submit(now, Request { offset: place * BLOCK, bytes: BLOCK, is_write: true }, place);
            let (_, then) = drive.advance(now);
            now = then.expect("it is in service");
            assert_eq!(drive.advance(now).0, [place]);
            now += 100_000;
        }
        let rate = number as f64 / (now as f64 / SECOND as f64);
        assert!((115.0..=121.0).contains(&rate), "{rate} a second, 120 revolutions");
    }

    /// Errors of rounding must neither cost revolutions nor count as seeks, at any rate and at any time of the clock.
    #[test]
    fn writes_that_wait_in_order_take_the_transfer_only() {
        for (rate, bytes) in [(172 << 20, BLOCK), (172 << 20, 512 << 10), (180_000_000, 64 << 10)] {
            for begin_ns in [0, 10 * 3600 * SECOND + 12_345] {
                let mut drive = Drive::new(Parameters { rate, ..DRIVE });
                let (mut now, mut submitted, mut done) = (begin_ns, 0, 0);
                let number = (64 << 20) / bytes;
                while done < number {
                    while submitted < number && submitted - done < 8 {
                        let request = Request { offset: submitted * bytes, bytes, is_write: true };
                        drive.submit(now, request, submitted);
                        submitted += 1;
                    }
                    let (ended, then) = drive.advance(now);
                    done += ended.len() as u64;
                    now = if ended.is_empty() { then.expect("something is in service") } else { now };
                }
                let reached = f64::from(64 << 20) / ((now - begin_ns) as f64 / SECOND as f64);
                assert!(
                    reached > 0.97 * rate as f64,
                    "{reached} of {rate} bytes a second, {bytes} at a time"
                );
                // The first transfer begins where the head comes first, which may be a later track.
                assert!(drive.counts().seeks <= 2, "{:?}", drive.counts());
            }
        }
    }

    #[test]
    fn cached_writes_do_not_delay_reads_that_follow_each_other() {
        let near = |drive: &mut Drive<u64>, writes: bool| {
            let (mut random, mut now) = (Random(5), 0);
            for number in 0..400 {
                let read = Request { offset: random.offset(1 << 30), bytes: BLOCK, is_write: false };
                drive.submit(now, read, number);
                if writes {
                    let write = Request { offset: random.offset(1 << 30), bytes: BLOCK, is_write: true };
                    drive.submit(now, write, 1000 + number);
                }
                while !drive.advance(now).0.contains(&number) {
                    now = drive.advance(now).1.expect("something is in service");
                }
                // The program works for a moment.
                now += 50_000;
            }
            now
        };
        let alone = near(&mut Drive::new(DRIVE), false);
        let mixed = near(&mut Drive::new(Parameters { cache_bytes: 64 << 20, ..DRIVE }), true);
        assert!(mixed < alone + alone / 20, "{mixed} ns with writes, {alone} ns without");
    }

    #[test]
    fn a_read_waits_for_a_part_of_a_long_cached_write() {
        let mut drive = Drive::new(Parameters { cache_bytes: 64 << 20, ..DRIVE });
        for tag in 0..30 {
            drive.submit(0, Request { offset: tag << 20, bytes: 1 << 20, is_write: true }, tag);
        }
        assert_eq!(drive.advance(0).0.len(), 30);
        drive.submit(1, Request { offset: 1 << 39, bytes: BLOCK, is_write: false }, 77);
        let mut now = 1;
        while !drive.advance(now).0.contains(&77) {
            now = drive.advance(now).1.expect("something is in service");
        }
        assert!(now < 60_000_000, "{now} ns");
    }

    #[test]
    fn a_flush_ends_although_writes_go_on() {
        let mut drive = Drive::new(Parameters { cache_bytes: 1 << 20, ..DRIVE });
        let mut random = Random(9);
        let write =
            |random: &mut Random| Request { offset: random.offset(1 << 40), bytes: BLOCK, is_write: true };
        for tag in 0..20 {
            drive.submit(0, write(&mut random), tag);
        }
        assert_eq!(drive.advance(0).0.len(), 20);
        drive.flush(77);
        let (mut now, mut tag) = (0, 100);
        let ended = loop {
            now += 2_000_000;
            drive.submit(now, write(&mut random), tag);
            tag += 1;
            if drive.advance(now).0.contains(&77) {
                break now;
            }
        };
        assert!(ended < SECOND, "{ended} ns for twenty positionings");
    }

    #[test]
    fn reads_of_the_read_ahead_need_no_medium_after_a_pause() {
        let mut drive = Drive::new(DRIVE);
        let mut now = 0;
        let mut read = |offset: u64, tag: u64, now: &mut u64| {
            let began = *now;
            drive.submit(began, Request { offset, bytes: BLOCK, is_write: false }, tag);
            while !drive.advance(*now).0.contains(&tag) {
                *now = drive.advance(*now).1.expect("something is in service");
            }
            *now - began
        };
        read(1 << 30, 0, &mut now);
        // The head reads a track's length on meanwhile.
        now += 20_000_000;
        for (tag, ahead) in [(1, BLOCK), (2, 800 << 10), (3, 804 << 10)] {
            let took = read((1 << 30) + ahead, tag, &mut now);
            assert!(took < 100_000, "{took} ns for {ahead} bytes ahead");
        }
        let took = read((1 << 30) + (16 << 20), 4, &mut now);
        assert!(took > 100_000, "{took} ns beyond a track");
    }

    #[test]
    fn a_flush_waits_for_the_cache_and_nothing_else_does() {
        let mut drive = Drive::new(Parameters { cache_bytes: 1 << 20, ..DRIVE });
        let mut random = Random(3);
        for tag in 0..10 {
            drive.submit(
                0,
                Request { offset: random.offset(DRIVE.size_bytes), bytes: BLOCK, is_write: true },
                tag,
            );
        }
        let (acknowledged, _) = drive.advance(0);
        assert_eq!(acknowledged.len(), 10);
        drive.flush(77);
        let (mut now, mut ended) = (0, Vec::new());
        while ended.is_empty() {
            let (done, then) = drive.advance(now);
            ended = done;
            now = then.unwrap_or(now);
        }
        assert_eq!(ended, [77]);
        assert!((20_000_000..200_000_000).contains(&now), "{now} ns for ten positionings");
        drive.flush(78);
        assert_eq!(drive.advance(now).0, [78], "nothing is in the cache");
    }

    #[test]
    fn cached_writes_are_read_at_once() {
        let mut drive = Drive::new(Parameters { cache_bytes: 1 << 20, ..DRIVE });
        let far = DRIVE.size_bytes / 2;
        // One more at a distance, so that the head is busy.
        for (tag, offset) in [(0, 0), (1, far), (2, far + BLOCK)] {
            drive.submit(0, Request { offset, bytes: BLOCK, is_write: true }, tag);
        }
        drive.submit(0, Request { offset: far, bytes: 2 * BLOCK, is_write: false }, 3);
        assert!(drive.advance(0).0.contains(&3));
    }

    #[test]
    fn no_request_is_lost_and_times_do_not_decrease() {
        for cache_bytes in [0, 256 << 10] {
            let mut drive = Drive::new(Parameters { cache_bytes, ..DRIVE });
            let (mut random, mut now, mut open, mut submitted) =
                (Random(11), 0, std::collections::BTreeSet::new(), 0);
            for _ in 0..800 {
                let draw = random.offset(1 << 30) / BLOCK;
                for _ in 0..draw % 4 {
                    let offset = random.offset(1 << 30);
                    let bytes = BLOCK << (draw % 5);
                    drive.submit(now, Request { offset, bytes, is_write: draw.is_multiple_of(3) }, submitted);
                    assert!(open.insert(submitted));
                    submitted += 1;
                }
                if draw.is_multiple_of(50) {
                    drive.flush(submitted);
                    open.insert(submitted);
                    submitted += 1;
                }
                let (done, then) = drive.advance(now);
                assert!(done.iter().all(|tag| open.remove(tag)));
                assert!(then.is_none_or(|then| then >= now));
                now = then.unwrap_or(now).max(now + draw % 1_000_000);
            }
            for _ in 0..1_000_000 {
                let (done, then) = drive.advance(now);
                assert!(done.iter().all(|tag| open.remove(tag)));
                match then {
                    Some(then) => now = then,
                    None => break,
                }
            }
            assert!(open.is_empty(), "{} of {submitted} are lost", open.len());
        }
    }
}
