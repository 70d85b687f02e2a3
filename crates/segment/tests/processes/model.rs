//! Random commands in two to four processes, against a model of a few lines.

use proptest::prelude::*;

use fyris_segment::{Doctor, PAGE, Segment};

use crate::child::fingerprint;
use crate::{Name, Peer, options};

const PAGES: usize = 3;

#[derive(Debug, Clone)]
enum Command {
    Write(usize, usize, u8),
    Update,
    Validate,
    Take,
    Commit,
    Merge,
    Discard,
    Diff,
}

use Command::*;

impl Command {
    fn text(&self) -> String {
        match self {
            Write(at, len, value) => format!("write {at} {len} {value}"),
            other => format!("{other:?}").to_lowercase(),
        }
    }
}

fn command() -> impl Strategy<Value = Command> {
    // Few places and values, so that the processes meet.
    let at = (
        0..PAGES,
        prop_oneof![0..40usize, 2040..2060usize, Just(PAGE - 24)],
    );
    let write = (at, 1..24usize, 0..3u8)
        .prop_map(|((page, at), len, value)| Write(page * PAGE + at, len, value));
    prop_oneof![
        8 => write,
        2 => (0..PAGES, 0..3u8).prop_map(|(page, value)| Write(page * PAGE, PAGE - 8, value)),
        2 => Just(Update),
        1 => Just(Validate),
        1 => Just(Take),
        3 => Just(Commit),
        3 => Just(Merge),
        1 => Just(Discard),
        1 => Just(Diff),
    ]
}

#[derive(Clone)]
struct Copy {
    version: u64,
    base: Vec<u8>,
    local: Vec<u8>,
}

/// The model: whole contents, compared unit by unit.
struct Model {
    unit: usize,
    version: u64,
    trunk: Vec<u8>,
    copies: Vec<Copy>,
}

impl Model {
    fn new(unit: usize, processes: usize) -> Model {
        let empty = vec![0; PAGES * PAGE];
        let copy = Copy {
            version: 0,
            base: empty.clone(),
            local: empty.clone(),
        };
        Model {
            unit,
            version: 0,
            trunk: empty,
            copies: vec![copy; processes],
        }
    }

    /// Returns the units of copy `who` that both sides changed.
    fn conflicts(&self, who: usize) -> Vec<usize> {
        let copy = &self.copies[who];
        let changed =
            |a: &[u8], b: &[u8], at: usize| a[at..at + self.unit] != b[at..at + self.unit];
        let both = |&at: &usize| {
            changed(&copy.local, &copy.base, at) && changed(&self.trunk, &copy.base, at)
        };
        (0..self.trunk.len())
            .step_by(self.unit)
            .filter(both)
            .collect()
    }

    fn update(&mut self, who: usize) -> usize {
        let conflicts = self.conflicts(who).len();
        let (unit, copy) = (self.unit, &mut self.copies[who]);
        for at in (0..self.trunk.len()).step_by(unit) {
            let range = at..at + unit;
            if copy.local[range.clone()] == copy.base[range.clone()] {
                copy.local[range.clone()].copy_from_slice(&self.trunk[range]);
            }
        }
        copy.base.copy_from_slice(&self.trunk);
        copy.version = self.version;
        conflicts
    }

    fn commit(&mut self, who: usize) -> String {
        let copy = &mut self.copies[who];
        if copy.version != self.version {
            return "behind".to_owned();
        }
        if copy.local != copy.base {
            self.version += 1;
            copy.version = self.version;
            self.trunk.copy_from_slice(&copy.local);
            copy.base.copy_from_slice(&copy.local);
        }
        format!("{}", self.version)
    }

    /// Returns the answer of process `who` to `command`.
    fn obey(&mut self, who: usize, command: &Command) -> String {
        match *command {
            Write(at, len, value) => {
                self.copies[who].local[at..at + len].fill(value);
                "written".to_owned()
            }
            Update => self.update(who).to_string(),
            Validate => match self.conflicts(who).len() {
                0 => self.update(who).to_string(),
                units => format!("conflict {}", units * self.unit),
            },
            Take => {
                for at in self.conflicts(who) {
                    let base = &mut self.copies[who];
                    let range = at..at + self.unit;
                    base.local[range.clone()].copy_from_slice(&base.base[range]);
                }
                self.update(who);
                "any".to_owned()
            }
            Commit => self.commit(who),
            Merge => {
                self.update(who);
                self.commit(who)
            }
            Discard => {
                let copy = &mut self.copies[who];
                copy.local.copy_from_slice(&copy.base);
                "0".to_owned()
            }
            Diff => {
                let copy = &self.copies[who];
                let units = copy
                    .local
                    .chunks(self.unit)
                    .zip(copy.base.chunks(self.unit));
                (units.filter(|(a, b)| a != b).count() * self.unit).to_string()
            }
        }
    }
}

fn check(
    tracking: &[&str],
    unit: u32,
    commands: &[(usize, Command)],
) -> std::result::Result<(), TestCaseError> {
    let name = Name::new("model");
    let mut holder = Segment::checkout(&name.0, PAGES * PAGE, &options("auto").unit(unit)).unwrap();
    let mut peers: Vec<Peer> = tracking
        .iter()
        .map(|tracking| Peer::new(&name.0, tracking))
        .collect();
    let mut model = Model::new(unit as usize, peers.len());
    // A checkout is at the version of its time: all are there before the first commit.
    for peer in &mut peers {
        prop_assert!(peer.ask("update").is_some());
    }
    for (who, command) in commands {
        let who = who % peers.len();
        let got = peers[who]
            .ask(&command.text())
            .unwrap_or_else(|| "died".to_owned());
        let (got, content) = got.rsplit_once(' ').unwrap_or((&got, ""));
        let want = model.obey(who, command);
        if want != "any" {
            prop_assert_eq!(got, want, "process {} {:?}", who, command);
        }
        let expected = fingerprint(&model.copies[who].local).to_string();
        prop_assert_eq!(content, expected, "process {} {:?}", who, command);
    }
    holder.update().unwrap();
    prop_assert_eq!(holder.as_slice(), &model.trunk[..]);
    drop(peers);
    let doctor = Doctor::open(&name.0).unwrap();
    doctor.repair().unwrap();
    prop_assert!(doctor.check().is_ok(), "{:?}", doctor.check());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn processes_agree_with_the_model(
        tracking in prop::collection::vec(prop::sample::select(vec!["auto", "signal", "declared"]), 2..5),
        unit in prop::sample::select(vec![1u32, 2, 4, 8, 16, 32, 64]),
        commands in prop::collection::vec((0..4usize, command()), 1..120),
    ) {
        check(&tracking, unit, &commands)?;
    }
}
