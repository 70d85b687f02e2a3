//! The list of segments.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::name::Location;
use crate::trunk::Trunk;
use crate::{PAGE, Segment};

/// A segment in memory, found by [`Segment::list`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Listed {
    /// The name to check it out by.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// The overview of its file, or the reason why there is none: [`Error::WrongFormat`], [`Error::NotASegment`],
    /// damage.
    pub overview: Result<Overview>,
}

/// An overview of a segment: exact while no process commits or attaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Overview {
    /// Its bytes.
    pub size: usize,
    /// The bytes it may grow to.
    pub max_size: usize,
    /// The editing unit in bytes.
    pub unit: usize,
    /// The version of the trunk.
    pub version: u64,
    /// Living processes that have it checked out.
    pub processes: usize,
    /// Bytes of memory that the trunk takes: pages, older versions of them, log and index.
    pub backed: u64,
}

impl Segment {
    /// Lists this user's segments in memory (their names have no slash), sorted by name. Reads their files only: takes
    /// no slot, waits for no process, changes nothing. Segments at paths are where you put them. O(files in
    /// `/dev/shm`).
    ///
    /// ```
    /// use fyris_segment::{Error, Options, Segment};
    ///
    /// let name = format!("listed-{}", std::process::id());
    /// let _segment = Segment::checkout(&name, 4096, &Options::new())?;
    /// let mine = Segment::list()?.into_iter().find(|listed| listed.name == name);
    /// let overview = mine.expect("it is there").overview?;
    /// assert_eq!((overview.size, overview.version, overview.processes), (4096, 0, 1));
    /// # Segment::unlink(&name)?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Os`] if the folder cannot be read.
    pub fn list() -> Result<Vec<Listed>> {
        let folder = Location::of(Path::new("x"))?.folder().to_owned();
        let reading = |source| Error::Os {
            what: "listing",
            path: Some(folder.clone()),
            source,
        };
        let mut found = Vec::new();
        for file in std::fs::read_dir(&folder).map_err(reading)? {
            let file = file.map_err(reading)?.file_name();
            found.extend(
                file.to_str()
                    .and_then(Location::named_in_memory)
                    .and_then(listed),
            );
        }
        found.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }
}

/// Returns the segment of a name, unless it went meanwhile.
fn listed(name: &str) -> Option<Listed> {
    let place = Location::of(Path::new(name)).ok()?;
    let overview = Trunk::glance(&place).map(|glance| Overview {
        size: glance.size,
        max_size: glance.geometry.pages * PAGE,
        unit: glance.geometry.unit.bytes(),
        version: glance.version,
        processes: glance.processes,
        backed: glance.backed,
    });
    match overview {
        Err(Error::NotFound(_)) => None,
        overview => Some(Listed {
            name: name.to_owned(),
            path: place.path,
            overview,
        }),
    }
}
