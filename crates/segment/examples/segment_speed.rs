//! Measures the cost of segments, in the units M (copying a warm page) and C (the kernel's copy-on-write fault).
//!
//! `cargo run --release -p fyris-segment --example segment_speed`: two processes, each case warmed, medians.
//! The peer is this program again; it does what it is told over a pipe.

use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use fyris_segment::{Options, PAGE, Segment};

const PAGES: usize = 4096;
const SET: usize = 100;
const ROUNDS: usize = 200;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    if let (Some(word), Some(name)) = (args.next(), args.next()) {
        assert_eq!(word, "peer");
        return peer(&name, args.next().as_deref() == Some("other"));
    }
    let m = memcpy_page();
    let c = cow_fault()?;
    println!("{:<28} {m:>9.1} ns", "M: memcpy_page");
    println!("{:<28} {c:>9.1} ns", "C: cow_fault");
    let show = |case: &str, ns: f64| {
        println!(
            "{case:<28} {ns:>9.1} ns {:>8.2} M {:>7.3} C",
            ns / m,
            ns / c
        );
    };
    show("fault_first", faults(false)?);
    show("fault_hot", faults(true)?);
    show("commit_fixed_4m", commit_fixed(4 << 20, false)?);
    show("commit_fixed_declared", commit_fixed(256 << 20, true)?);
    show("update_noop", update_noop()?);
    show("memcpy_dense", memcpy_dense());
    for other in [false, true] {
        let cpu = if other { "_cross" } else { "" };
        let (commit, update) = sparse(other, Pages::Scattered, false)?;
        show(&format!("commit_page_scattered{cpu}"), commit);
        show(&format!("update_page_scattered{cpu}"), update);
        let (commit, update) = sparse(other, Pages::Hot, false)?;
        show(&format!("commit_page_hot{cpu}"), commit);
        show(&format!("update_page_sparse{cpu}"), update);
        let (_, update) = sparse(other, Pages::Hot, true)?;
        show(&format!("merge_page_sparse{cpu}"), update);
        show(&format!("update_page_dense{cpu}"), dense(other)?);
    }
    Ok(())
}

/// Runs the peer: commits a word (or all) of each page it is told.
fn peer(name: &str, other: bool) -> Result<()> {
    pin(usize::from(other));
    let mut segment = Segment::checkout(name, 0, &Options::new())?;
    warm(&mut segment);
    println!("ready");
    for (round, line) in (1u64..).zip(std::io::stdin().lock().lines()) {
        let line = line?;
        let (what, pages) = line.split_once(' ').ok_or("a command")?;
        segment.update()?;
        let pages = pages.split(' ').map(|page| page.parse::<usize>());
        let pages = pages.collect::<std::result::Result<Vec<_>, _>>()?;
        let memory = segment.as_mut_slice();
        for &page in &pages {
            let page = &mut memory[page * PAGE..(page + 1) * PAGE];
            match what {
                "word" => page[8..16].copy_from_slice(&round.to_le_bytes()),
                _ => page.fill(round as u8),
            }
        }
        let start = Instant::now();
        segment.commit()?;
        println!("{}", start.elapsed().as_nanos());
    }
    Ok(())
}

struct Peer {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Peer {
    fn new(name: &str, other: bool) -> Result<Peer> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["peer", name, if other { "other" } else { "same" }])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let to = child.stdin.take().ok_or("a pipe")?;
        let from = BufReader::new(child.stdout.take().ok_or("a pipe")?);
        let mut peer = Peer { child, to, from };
        peer.line()?;
        Ok(peer)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.from.read_line(&mut line)?;
        Ok(line.trim().to_owned())
    }

    /// Lets the peer commit; how long that took in nanoseconds.
    fn commit(&mut self, what: &str, pages: &[usize]) -> Result<f64> {
        let pages: Vec<String> = pages.iter().map(usize::to_string).collect();
        writeln!(self.to, "{what} {}", pages.join(" "))?;
        Ok(self.line()?.parse()?)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

enum Pages {
    Scattered,
    Hot,
}

/// Measures commit and update by 100 pages, a word each: nanoseconds a page.
fn sparse(other: bool, pages: Pages, local: bool) -> Result<(f64, f64)> {
    let name = fresh("sparse", PAGES * PAGE)?;
    pin(0);
    let mut segment = Segment::checkout(&name, 0, &Options::new())?;
    warm(&mut segment);
    let mut peer = Peer::new(&name, other)?;
    let (mut commits, mut updates) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let offset = match pages {
            Pages::Hot => 0,
            Pages::Scattered => round % 20,
        };
        let pages: Vec<usize> = (0..SET).map(|i| i * 40 + 2 * offset).collect();
        if local {
            for &page in &pages {
                segment.as_mut_slice()[page * PAGE + 800] = round as u8;
            }
        }
        commits.push(peer.commit("word", &pages)? / SET as f64);
        let start = Instant::now();
        segment.update()?;
        updates.push(start.elapsed().as_nanos() as f64 / SET as f64);
        if local {
            segment.commit()?;
        }
    }
    drop(peer);
    Segment::unlink(&name)?;
    Ok((median(commits), median(updates)))
}

/// Measures an update of 100 wholly rewritten pages: nanoseconds a page.
fn dense(other: bool) -> Result<f64> {
    let name = fresh("dense", PAGES * PAGE)?;
    pin(0);
    let mut segment = Segment::checkout(&name, 0, &Options::new())?;
    warm(&mut segment);
    let mut peer = Peer::new(&name, other)?;
    let pages: Vec<usize> = (0..SET).map(|i| i * 40).collect();
    let mut updates = Vec::new();
    for _ in 0..ROUNDS {
        peer.commit("page", &pages)?;
        let start = Instant::now();
        segment.update()?;
        updates.push(start.elapsed().as_nanos() as f64 / SET as f64);
    }
    drop(peer);
    Segment::unlink(&name)?;
    Ok(median(updates))
}

/// Measures the first write to a page after a commit, or a write to a page written in every commit.
fn faults(hot: bool) -> Result<f64> {
    let name = fresh("faults", PAGES * PAGE)?;
    pin(0);
    let mut segment = Segment::checkout(&name, 0, &Options::new())?;
    warm(&mut segment);
    let mut times = Vec::new();
    for round in 0..ROUNDS {
        let offset = if hot { 0 } else { 2 * (round % 20) };
        let start = Instant::now();
        for i in 0..SET {
            let at = (i * 40 + offset) * PAGE;
            // SAFETY: inside the segment.
            unsafe {
                segment
                    .as_mut_ptr()
                    .add(at)
                    .cast::<u64>()
                    .write_volatile(round as u64)
            };
        }
        times.push(start.elapsed().as_nanos() as f64 / SET as f64);
        segment.commit()?;
    }
    Segment::unlink(&name)?;
    Ok(median(times))
}

/// Measures a commit of one word, less what its page costs: the fixed part.
fn commit_fixed(size: usize, declared: bool) -> Result<f64> {
    let name = fresh("fixed", size)?;
    let options = if declared {
        Options::new().declared()
    } else {
        Options::new()
    };
    let mut segment = Segment::checkout(&name, 0, &options)?;
    if !declared {
        warm(&mut segment);
    }
    let mut times = Vec::new();
    for round in 0..20 * ROUNDS {
        let at = 8 * (round % 100);
        if declared {
            segment.touch(at..at + 8)?;
        }
        segment.as_mut_slice()[at] = round as u8 | 1;
        let start = Instant::now();
        segment.commit()?;
        times.push(start.elapsed().as_nanos() as f64);
    }
    Segment::unlink(&name)?;
    Ok(median(times))
}

fn update_noop() -> Result<f64> {
    let name = fresh("noop", PAGE)?;
    let mut segment = Segment::checkout(&name, 0, &Options::new())?;
    let start = Instant::now();
    for _ in 0..1_000_000 {
        black_box(segment.update()?);
    }
    let ns = start.elapsed().as_nanos() as f64 / 1e6;
    Segment::unlink(&name)?;
    Ok(ns)
}

fn memcpy_page() -> f64 {
    pin(0);
    copies(SET, 1)
}

fn memcpy_dense() -> f64 {
    copies(SET, 40)
}

/// Copies `count` pages `stride` apart.
fn copies(count: usize, stride: usize) -> f64 {
    let from = vec![1u8; count * stride * PAGE];
    let mut to = vec![2u8; count * stride * PAGE];
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for i in 0..count {
            let at = i * stride * PAGE;
            to[at..at + PAGE].copy_from_slice(black_box(&from[at..at + PAGE]));
        }
        black_box(&mut to);
        times.push(start.elapsed().as_nanos() as f64 / count as f64);
    }
    median(times)
}

/// Measures the kernel's own copy-on-write fault, on a private mapping of a memfd.
fn cow_fault() -> Result<f64> {
    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
    let memory = rustix::fs::memfd_create("cow", rustix::fs::MemfdFlags::CLOEXEC)?;
    let len = 2 * SET * PAGE;
    rustix::fs::ftruncate(&memory, len as u64)?;
    rustix::io::pwrite(&memory, &vec![1; len], 0)?;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a mapping of its own, unmapped below.
        unsafe {
            let start = mmap(
                std::ptr::null_mut(),
                len,
                prot,
                MapFlags::PRIVATE,
                &memory,
                0,
            )?;
            madvise(start, len, Advice::LinuxPopulateRead)?;
            let time = Instant::now();
            for i in 0..SET {
                start.cast::<u8>().add(2 * i * PAGE).write_volatile(2);
            }
            times.push(time.elapsed().as_nanos() as f64 / SET as f64);
            munmap(start, len)?;
        }
    }
    Ok(median(times))
}

/// Makes a new segment with every page committed once.
fn fresh(case: &str, size: usize) -> Result<String> {
    let name = format!("speed-{case}-{}", std::process::id());
    let mut segment = Segment::checkout(&name, size, &Options::new().exclusive(true).declared())?;
    let memory = segment.as_mut_slice();
    for at in (0..size.min(PAGES * PAGE)).step_by(PAGE) {
        memory[at] = 1;
    }
    segment.touch(0..size.min(PAGES * PAGE))?;
    segment.commit()?;
    Ok(name)
}

/// Touches every page, so that no first fault is measured.
fn warm(segment: &mut Segment) {
    let memory = segment.as_mut_slice();
    for at in (0..memory.len()).step_by(PAGE) {
        memory[at] ^= 1;
        memory[at] ^= 1;
    }
    let _ = segment.commit();
}

fn pin(cpu: usize) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    let _ = rustix::thread::sched_setaffinity(None, &set);
}

fn median(mut times: Vec<f64>) -> f64 {
    times.drain(..times.len() / 4);
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
