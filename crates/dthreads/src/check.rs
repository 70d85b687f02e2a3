//! Runs a program many times under noise and compares the runs.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use crate::launch::{Options, Refused, command, end_with_us};
use crate::report::Report;
use crate::scratch::Scratch;

/// One run.
#[derive(Debug)]
pub struct Run {
    /// How it ended.
    pub status: ExitStatus,
    /// What it wrote to standard output.
    pub output: Vec<u8>,
    /// Its record.
    pub report: Report,
}

/// The reason why a run has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program was not started.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// It could not be started, or its output not be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It did not end in time.
    #[error("the program did not end within {0:?}")]
    Late(Duration),
}

/// What disturbs a run. Each number decides one thing, so a seed gives the same noise again.
#[derive(Debug, Clone, Copy)]
pub struct Noise {
    seed: u64,
}

impl Noise {
    /// Returns the noise of run `n`: none for the first.
    pub fn of(n: u64) -> Noise {
        Noise { seed: n }
    }

    /// Returns a number that is about random.
    fn number(self, salt: u64) -> u64 {
        let mut x = (self.seed << 8 | salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x ^= x >> 31;
        x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x ^ x >> 29
    }
}

/// Makes this process's affinity and nice value those of the noise. Called between fork and exec.
fn disturb(noise: Noise) {
    if noise.seed == 0 {
        return;
    }
    // SAFETY: plain system calls on this process; the set is of this frame.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if noise.number(1).is_multiple_of(3)
            && libc::sched_getaffinity(0, size_of_val(&set), &mut set) == 0
        {
            let all: Vec<usize> = (0..1024)
                .filter(|&cpu| libc::CPU_ISSET(cpu, &set))
                .collect();
            let one = all[noise.number(2) as usize % all.len()];
            set = std::mem::zeroed();
            libc::CPU_SET(one, &mut set);
            libc::sched_setaffinity(0, size_of_val(&set), &set);
        }
        libc::setpriority(libc::PRIO_PROCESS, 0, (noise.number(3) % 6) as i32);
    }
}

/// Runs the program once. Delays of up to a few hundred microseconds come before its turns, at random.
///
/// # Errors
///
/// [`Error`]; how the program itself ended is in the result.
pub fn run_once(
    program: &OsStr,
    arguments: &[OsString],
    options: &Options,
    input: Option<&Path>,
    noise: Noise,
    patience: Duration,
) -> Result<Run, Error> {
    let record = Scratch::new()?;
    let options = Options {
        record: Some(record.path()),
        ..options.clone()
    };
    let mut command = command(program, arguments, &options)?;
    if noise.seed != 0 {
        command.env("FYRIS_DTHREADS_NOISE", noise.number(4).to_string());
    }
    let output = Scratch::new()?;
    command.stdout(File::create(output.path())?);
    command.stdin(match input {
        Some(path) => Stdio::from(File::open(path)?),
        None => Stdio::null(),
    });
    // SAFETY: system calls and a small vector; this process has no lock held that the child would need.
    unsafe {
        command.pre_exec(move || {
            disturb(noise);
            Ok(())
        })
    };
    end_with_us(&mut command);
    let mut child = command.spawn()?;
    let start = std::time::Instant::now();
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if start.elapsed() > patience => {
                child.kill()?;
                child.wait()?;
                return Err(Error::Late(patience));
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    Ok(Run {
        status,
        output: std::fs::read(output.path())?,
        report: Report::read(&record.path())?,
    })
}

impl Run {
    /// Says in what a run differs from this one; `None` if in nothing.
    pub fn differs(&self, other: &Run) -> Option<&'static str> {
        match () {
            () if self.output != other.output => Some("output"),
            () if self.status.into_raw() != other.status.into_raw() => Some("exit status"),
            () if self.report.hash() != other.report.hash() => Some("schedule"),
            () => None,
        }
    }
}
