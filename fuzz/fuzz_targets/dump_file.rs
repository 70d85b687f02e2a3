//! Dumps: no file breaks the loader, verifying or not, and what verifies is what salvage finds.

#![no_main]

use std::ops::ControlFlow;
use std::path::Path;

use fyris::dump::{DumpError, LoadOptions, Loaded, Progress};
use fyris::{Owner, Store};
use fyris_term::Term;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let store = Store::new();
    let owner = store.owner();
    let verified = load(&owner, input, true);
    if let Err(error) = &verified {
        assert!(
            error.offset().is_none_or(|at| at <= input.len() as u64),
            "{error}"
        );
        assert!(store.all().is_empty());
        let _ = error.to_term();
    }
    // A named table would be in the way of the next.
    let verified = verified.ok().map(|loaded| {
        let objects = content(&loaded);
        loaded.table.delete().expect("a table of ours");
        objects
    });
    let Ok(salvaged) = load(&owner, input, false) else {
        assert!(verified.is_none());
        return;
    };
    if let Some(verified) = verified {
        assert!(salvaged.damage.first.is_none());
        assert_eq!(content(&salvaged), verified);
    }
});

fn load(owner: &Owner, input: &[u8], verify: bool) -> Result<Loaded, DumpError> {
    let options = LoadOptions {
        verify,
        max_object: 1 << 20,
        ..LoadOptions::default()
    };
    let mut last = 0;
    let mut watch = |progress: &Progress| {
        assert!(progress.bytes >= last && progress.bytes <= input.len() as u64);
        last = progress.bytes;
        ControlFlow::Continue(())
    };
    let path = Path::new("fuzz");
    let length = (input.len() % 2 == 0).then_some(input.len() as u64);
    owner
        .store()
        .load_dump(owner.id(), input, length, path, &options, &mut watch)
}

fn content(loaded: &Loaded) -> Vec<Term> {
    let mut objects = loaded.table.tab2list().expect("a readable table");
    objects.sort_by(Term::cmp_exact);
    objects
}
