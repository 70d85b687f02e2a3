//! Remakes the stored corpus: `cargo run --example seeds` in `fuzz/`.
//!
//! Every seed is made of the terms below, in the input language of one target. What a long run finds and is
//! worth keeping is added by hand.

use std::fs;
use std::path::Path;

use fyris_term::key::KeyBuf;
use fyris_term::{Term, etf};

const TERMS: &[&str] = &[
    "0",
    "-1",
    "16#7fffffffffffffff",
    "123456789012345678901234567890",
    "-340282366920938463463374607431768211456",
    "1.0",
    "-0.0",
    "5.0e-324",
    "1.7976931348623157e308",
    "9007199254740993",
    "9007199254740992.0",
    "ok",
    "'hello world'",
    "'é漢'",
    "''",
    "[]",
    "{}",
    "#{}",
    "<<>>",
    "<<1,2,3>>",
    "<<0,255,0>>",
    "<<5:3>>",
    "<<\"text\"/utf8>>",
    "\"a string\"",
    "[1,2|3]",
    "[a|<<1:1>>]",
    "[[],[[]],[[[]]]]",
    "{1,{2,{3,{4}}}}",
    "{a,1,2.5,<<\"b\">>,[c]}",
    "#{a => 1,2 => b,2.0 => c,{} => #{[] => <<>>}}",
    "#{1 => #{1.0 => #{}}}",
    "{0.0,-0.0,0,[1.0|2]}",
    "$a",
    "\"a\\nb\\x{1234}\"",
    "fun erlang:self/0",
    "% comment\n{ a , b }.",
];

/// Specification, object, place of the key.
const SPECS: &[&str] = &[
    "{[{{'$1','$2'},[{'>','$2',10}],[{{'$2','$1'}}]}],{1,11},1}",
    "{[{{{a,'$1'},'_'},[{'andalso',{is_integer,'$1'},{'<','$1',9}}],['$_']}],{{a,5},b},1}",
    "{[{{[a|'$1'],#{k => '$2'}},[],['$$']}],{[a,b],#{j => 1,k => 2}},1}",
    "{[{{\"ab\",'$1','$1'},[{'not',{'=:=','$1',1}}],[#{'$1' => {hd,'$1'}}]}],{\"ab\",x,x},2}",
    "{[{'_',[{'orelse',{'==',{element,1,'$_'},1.0},false}],[[{const,a}|b]]},{'$1',[],['$1']}],{1},1}",
    "{[{{'$1',<<1>>},[],[{binary_part,<<1,2,3>>,{{1,1}}}]}],{1.5,<<1>>},1}",
    "{[{{'$1','$2'},[],[{'+',{'*','$1',9223372036854775807},{'bsl','$2',70}}]}],{3,-2.5},2}",
    "{[{{'$1','$2'},[{is_record,'$2',r,2},{is_map_key,a,{map_get,b,'$1'}}],[{self}]}],{#{},{r,1}},2}",
    "{[{{'$1'},[{'$2'},{foo,1},bar],[]},{a}],{a},1}",
];

/// External forms that no text gives: pid, port, references, funs, old tags, a compressed term.
const EXTERNAL: &[&[u8]] = &[
    b"\x83\x58\x77\x0dnonode@nohost\0\0\0\x09\0\0\0\0\0\0\0\0",
    b"\x83\x67\x64\0\x0dnonode@nohost\0\0\0\x09\0\0\0\0\0",
    b"\x83\x59\x77\x01n\0\0\0\x09\0\0\0\x01",
    b"\x83\x78\x77\x01n\0\0\0\x01\0\0\0\x09\0\0\0\x01",
    b"\x83\x5a\0\x03\x77\x01n\0\0\0\x01\0\0\0\x09\0\0\0\x01\0\0\0\x02",
    b"\x83\x72\0\x01\x64\0\x01n\0\0\0\0\x09",
    b"\x83\x71\x77\x01m\x77\x01f\x61\x02",
    b"\x83\x631.00000000000000000000e+00\0\0\0\0\0",
    b"\x83\x6f\0\0\0\x01\0\x07",
    b"\x83\x69\0\0\0\x01\x6a",
    b"\x83\x50\0\0\0\x02\x78\x9c\x4b\x64\x04\0\0\xc4\0\x63",
    b"\x83\x70\0\0\0\x2f\0\0\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\0\0\0\0\0\0\0\0\
      \x77\x01m\x61\0\x61\0\x58\x77\x01n\0\0\0\x09\0\0\0\0\0\0\0\0",
];

fn main() -> std::io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let terms: Vec<Term> = TERMS
        .iter()
        .filter_map(|text| Term::parse(text).ok())
        .collect();
    let external: Vec<Vec<u8>> = terms
        .iter()
        .map(etf::encode)
        .chain(EXTERNAL.iter().map(|bytes| bytes.to_vec()))
        .collect();
    write(
        &corpus,
        "text",
        TERMS.iter().map(|text| text.as_bytes().to_vec()),
    )?;
    write(&corpus, "external_format", external.iter().cloned())?;
    let pairs = external.windows(2).map(|two| two.concat());
    write(&corpus, "key_order", pairs)?;
    write(&corpus, "key_bytes", terms.iter().map(key))?;
    write(&corpus, "value_bytes", terms.iter().map(value))?;
    let specs = SPECS.iter().filter_map(|text| Term::parse(text).ok());
    write(&corpus, "match_spec", specs.map(|spec| etf::encode(&spec)))?;
    write(&corpus, "dump_file", dumps(&terms)?.into_iter())
}

fn write(corpus: &Path, target: &str, seeds: impl Iterator<Item = Vec<u8>>) -> std::io::Result<()> {
    let folder = corpus.join(target);
    fs::create_dir_all(&folder)?;
    for (number, seed) in seeds.enumerate() {
        fs::write(folder.join(format!("seed-{number:02}")), seed)?;
    }
    Ok(())
}

/// The length of the order part in two bytes, then the stored key.
fn key(term: &Term) -> Vec<u8> {
    let key = KeyBuf::encode(term);
    let mut seed = (key.order_len() as u16).to_be_bytes().to_vec();
    seed.extend_from_slice(key.stored());
    seed
}

fn value(term: &Term) -> Vec<u8> {
    let mut seed = Vec::new();
    fyris_term::value::encode(term, &mut seed, &mut Vec::new());
    seed
}

/// Dumps of all types with all the extended information there is, of few objects and of none.
fn dumps(terms: &[Term]) -> std::io::Result<Vec<Vec<u8>>> {
    use fyris::TableType::*;
    let path = std::env::temp_dir().join(format!("fyris-seed-{}", std::process::id()));
    let owner = fyris::Store::new().owner();
    let mut dumps = Vec::new();
    for (number, kind) in [Set, OrderedSet, Bag, DuplicateBag].into_iter().enumerate() {
        let table = owner
            .new_table("seed", &fyris::Options::new(kind))
            .map_err(std::io::Error::other)?;
        for (key, term) in terms.iter().enumerate().skip(1 + number).step_by(4) {
            let object = Term::tuple(vec![Term::Int(key as i64 % 5), term.clone()]);
            table.insert(&object).map_err(std::io::Error::other)?;
        }
        let save = fyris::dump::SaveOptions {
            object_count: number & 1 != 0,
            md5sum: number & 2 != 0,
            ..Default::default()
        };
        table
            .tab2file(&path, &save)
            .map_err(std::io::Error::other)?;
        dumps.push(fs::read(&path)?);
    }
    fs::remove_file(&path)?;
    Ok(dumps)
}
