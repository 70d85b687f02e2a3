//! Names of addresses: the symbols of a program and its libraries, from the tables in their ELF files.

use std::cell::OnceCell;
use std::ops::Range;

use crate::record::Header;
use crate::report::text;

/// A function or variable.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Symbol {
    /// Where it is in the file's own addresses.
    range: Range<u64>,
    name: String,
}

/// A program or library in memory.
#[derive(Debug)]
struct Module {
    range: Range<u64>,
    bias: u64,
    path: String,
    /// In the order of their addresses, once they were asked for.
    symbols: OnceCell<Vec<Symbol>>,
    #[cfg(feature = "lines")]
    lines: OnceCell<lines::Lines>,
}

/// The modules of a program. See [`Report::modules`](crate::report::Report::modules).
#[derive(Debug)]
pub struct Modules {
    all: Vec<Module>,
}

impl Modules {
    /// Returns the modules of a run. Their files are read when names are asked for; one that cannot be read has none.
    pub fn new(record: &Header) -> Modules {
        let rows = record.modules.iter();
        let rows = rows.take(record.module_rows.get() as usize);
        let all = rows.map(|row| Module {
            range: row.start.get()..row.end.get(),
            bias: row.bias.get(),
            path: text(&row.path),
            symbols: OnceCell::new(),
            #[cfg(feature = "lines")]
            lines: OnceCell::new(),
        });
        Modules { all: all.collect() }
    }

    /// Returns the name of an address: `symbol`, `symbol+0x12`, the module and an offset if there is no symbol there,
    /// or the number. O(log symbols).
    pub fn name(&self, address: u64) -> String {
        let Some(module) = self.module(address) else {
            return format!("{address:#x}");
        };
        let at = address - module.bias;
        let read = || read(&std::fs::read(&module.path).unwrap_or_default());
        let symbols = module.symbols.get_or_init(read);
        let before = symbols.partition_point(|symbol| symbol.range.start <= at);
        let found = symbols[..before].last();
        match found.filter(|symbol| symbol.range.contains(&at)) {
            Some(symbol) if symbol.range.start == at => symbol.name.clone(),
            Some(symbol) => format!("{}+{:#x}", symbol.name, at - symbol.range.start),
            None => {
                let file = module.path.rsplit('/').next().unwrap_or_default();
                format!("{file}+{at:#x}")
            }
        }
    }

    fn module(&self, address: u64) -> Option<&Module> {
        let has = |module: &&Module| module.range.contains(&address);
        self.all.iter().find(has)
    }

    /// Returns the name of a call that returns to an address, as [`name`](Modules::name), with the line of its source
    /// file if that is known, and wanted (the feature `lines`). One byte before the address, the call is over.
    pub fn call(&self, site: u64) -> String {
        match site {
            0 => "the library itself".to_owned(),
            #[cfg(not(feature = "lines"))]
            site => self.name(site - 1),
            #[cfg(feature = "lines")]
            site => self.name(site - 1) + &self.line(site - 1),
        }
    }

    /// Returns where an address is in a source file: ` (file:line)`, or nothing.
    #[cfg(feature = "lines")]
    fn line(&self, address: u64) -> String {
        let module = self.module(address);
        let line = module.and_then(|module| {
            let lines = module
                .lines
                .get_or_init(|| lines::Lines::read(&module.path));
            lines.of(address - module.bias)
        });
        line.map_or(String::new(), |line| format!(" ({line})"))
    }
}

/// Lines of source files, by debugging information.
#[cfg(feature = "lines")]
mod lines {
    use std::fmt;

    /// The debugging information of a file, if it has any.
    pub(super) struct Lines(Option<addr2line::Loader>);

    impl fmt::Debug for Lines {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_tuple("Lines").field(&self.0.is_some()).finish()
        }
    }

    impl Lines {
        pub(super) fn read(path: &str) -> Lines {
            Lines(addr2line::Loader::new(path).ok())
        }

        /// Returns the line of an address: `file:line`.
        pub(super) fn of(&self, address: u64) -> Option<String> {
            let location = self.0.as_ref()?.find_location(address).ok()??;
            let file = location.file?.rsplit('/').next()?;
            Some(format!("{file}:{}", location.line?))
        }
    }
}

/// Sections of symbols: the full table, and the one for the loader.
const SYMTAB: u32 = 2;
const DYNSYM: u32 = 11;
/// Types of symbols: a variable, a function.
const OBJECT: u8 = 1;
const FUNC: u8 = 2;

/// Reads the symbols of an ELF file; none of what is no such file.
fn read(file: &[u8]) -> Vec<Symbol> {
    let mut symbols = all(file).unwrap_or_default();
    symbols.sort_by_key(|symbol| (symbol.range.start, symbol.range.end));
    symbols.dedup_by_key(|symbol| symbol.range.start);
    symbols
}

fn all(file: &[u8]) -> Option<Vec<Symbol>> {
    if !file.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (start, size) = (long(file, 40)? as usize, half(file, 58)?);
    let section = |n: usize| file.get(start.checked_add(n * usize::from(size))?..);
    let content = |header: &[u8]| {
        let from = long(header, 24)? as usize;
        file.get(from..from.checked_add(long(header, 32)? as usize)?)
    };
    let mut found = Vec::new();
    for n in 0..usize::from(half(file, 60)?) {
        let header = section(n)?;
        if ![SYMTAB, DYNSYM].contains(&word(header, 4)?) {
            continue;
        }
        let names = content(section(word(header, 40)? as usize)?)?;
        let symbols = content(header)?.chunks_exact(24);
        found.extend(symbols.filter_map(|symbol| one(symbol, names)));
    }
    Some(found)
}

/// Reads one symbol, if it is defined and has a size.
fn one(symbol: &[u8], names: &[u8]) -> Option<Symbol> {
    let (kind, defined) = (symbol.get(4)? & 0xf, half(symbol, 6)? != 0);
    let (start, len) = (long(symbol, 8)?, long(symbol, 16)?);
    if !defined || len == 0 || ![OBJECT, FUNC].contains(&kind) {
        return None;
    }
    let name = names.get(word(symbol, 0)? as usize..)?;
    let name = name.split(|&byte| byte == 0).next()?;
    Some(Symbol {
        range: start..start.checked_add(len)?,
        name: String::from_utf8_lossy(name).into_owned(),
    })
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_elf_file_has_no_symbols() {
        assert!(read(b"").is_empty() && read(b"\x7fELF\x02\x01").is_empty());
        let mut hostile = vec![0xff; 4096];
        hostile[..6].copy_from_slice(b"\x7fELF\x02\x01");
        assert!(read(&hostile).is_empty());
        hostile[40..48].copy_from_slice(&64u64.to_le_bytes());
        hostile[58..62].copy_from_slice(&[64, 0, 8, 0]);
        hostile[68] = 2;
        assert!(read(&hostile).is_empty());
    }

    #[test]
    fn this_program_has_its_symbols() {
        let path = std::env::current_exe().unwrap();
        let symbols = read(&std::fs::read(&path).unwrap());
        let ours = |symbol: &&Symbol| symbol.name.contains("this_program_has_its_symbols");
        let one = symbols.iter().find(ours).expect("a symbol").clone();
        let path = path.to_str().unwrap().to_owned();
        let module = Module {
            range: 0x1000..u64::MAX,
            bias: 0x1000,
            path,
            symbols: OnceCell::new(),
            #[cfg(feature = "lines")]
            lines: OnceCell::new(),
        };
        let modules = Modules { all: vec![module] };
        let at = one.range.start + 0x1000;
        assert_eq!(modules.name(at), one.name);
        assert_eq!(modules.name(at + 1), format!("{}+0x1", one.name));
        // A line may follow.
        let call = modules.call(at + 2);
        assert!(call.starts_with(&format!("{}+0x1", one.name)), "{call}");
        assert_eq!(
            (modules.name(0x10), modules.call(0)),
            ("0x10".into(), "the library itself".into())
        );
    }
}
