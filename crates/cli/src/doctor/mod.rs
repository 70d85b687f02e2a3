//! `fyris doctor`: look a version-controlled segment over from outside, and repair it; say what the files of an Erlang
//! system hold.
//!
//! The doctor takes a slot of the segment like any process and leaves it when it is done; it checks nothing out and
//! changes nothing but what `--repair` says. Processes that work on the segment go on meanwhile; their commits wait
//! while the doctor counts.

mod left;
mod report;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use fyris_files::FileError;
use fyris_segment::{Doctor, Error, Segment};

/// Look a version-controlled segment over, and repair it; or a dets file, a log of disk_log, a directory of
/// Mnesia.
///
/// Of a segment it prints size, version, what is retained for whom, and the processes attached; then checks the
/// segment. Of what an Erlang system has left it prints what is in it, all that is wrong, and whether Mnesia would load
/// it. The exit status is 1 if it cannot be opened or is not sound.
#[derive(clap::Args, Debug)]
pub struct DoctorArgs {
    /// The segment's name, or the path of its file (a path has a slash); or a file or directory of an Erlang system
    #[arg(required_unless_present = "list")]
    segment: Option<PathBuf>,

    /// List this user's segments in memory instead, without attaching to any
    #[arg(long, conflicts_with_all = ["segment", "repair"])]
    list: bool,

    /// First complete what dead processes had published, forget them, and free what they held; harms nobody alive;
    /// segments only
    #[arg(long)]
    repair: bool,

    /// Print one JSON object (of a list: one a segment); segments only
    #[arg(long)]
    json: bool,
}

/// Runs the command; the exit status is 0, or 1 after an error.
pub fn run(args: &DoctorArgs) -> ExitCode {
    let mut out = io::stdout().lock();
    let done = match &args.segment {
        Some(name) => examine_any(name, args, &mut out),
        None => list(args.json, &mut out),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // A reader that had enough (`| head`) is no error.
        Err(DoctorFailure::Output(e)) if e.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fyris doctor: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Why there is no clean bill of health.
#[derive(Debug, thiserror::Error)]
enum DoctorFailure {
    #[error("{}: {error}", name.display())]
    Segment { name: PathBuf, error: Error },
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{} is not sound", path.display())]
    NotSound { path: PathBuf },
    #[error("{}: {option} is for segments, and this is none", path.display())]
    OfSegments { path: PathBuf, option: &'static str },
    #[error("{0} is a dump of a table: `fyris info {0}` checks it and says what is in it", path.display())]
    IsDump { path: PathBuf },
    #[error(transparent)]
    List(Error),
    #[error("output: {0}")]
    Output(#[from] io::Error),
}

fn list(json: bool, out: &mut impl Write) -> Result<(), DoctorFailure> {
    let all = Segment::list().map_err(DoctorFailure::List)?;
    let text = match json {
        true => report::list_json(&all),
        false => report::list(&all),
    };
    Ok(out.write_all(text.as_bytes())?)
}

/// Examines what an Erlang system has left, or else a segment.
fn examine_any(name: &Path, args: &DoctorArgs, out: &mut impl Write) -> Result<(), DoctorFailure> {
    let left = name.exists().then(|| fyris_files::format(name));
    let Some(left) = left.transpose()?.flatten() else {
        return examine(name, args, out);
    };
    let path = name.to_owned();
    for (given, option) in [(args.json, "--json"), (args.repair, "--repair")] {
        if given {
            return Err(DoctorFailure::OfSegments { path, option });
        }
    }
    let Some((text, sound)) = left::examine(name, left)? else {
        return Err(DoctorFailure::IsDump { path });
    };
    out.write_all(text.as_bytes())?;
    match sound {
        true => Ok(()),
        false => Err(DoctorFailure::NotSound { path }),
    }
}

fn examine(name: &Path, args: &DoctorArgs, out: &mut impl Write) -> Result<(), DoctorFailure> {
    let failed = |error| DoctorFailure::Segment {
        name: name.to_owned(),
        error,
    };
    let doctor = Doctor::open(name).map_err(failed)?;
    let repaired = args.repair.then(|| doctor.repair()).transpose();
    let repaired = repaired.map_err(failed)?;
    let report = doctor.report().map_err(failed)?;
    let sound = doctor.check();
    let text = match args.json {
        true => report::json(&report, repaired, sound.is_ok()),
        false => report::text(name, &report, repaired, sound.is_ok()),
    };
    out.write_all(text.as_bytes())?;
    sound.map_err(failed)
}
