use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use super::*;
use crate::arbitrary::term;
use crate::{Term, term};

#[derive(Serialize, Deserialize, Debug, Clone, PartialEq)]
struct Marker;

#[derive(Serialize, Deserialize, Debug, Clone, PartialEq)]
struct Meters(f64);

#[derive(Serialize, Deserialize, Debug, Clone, PartialEq)]
enum Shape {
    Nothing,
    Circle(Meters),
    Line(i32, i32),
    Box { w: u8, h: u8 },
    Many(Vec<Shape>),
}

#[derive(Serialize, Deserialize, Debug, Clone, PartialEq)]
struct Everything {
    marker: Marker,
    unit: (),
    flag: bool,
    small: i8,
    wide: u128,
    letter: char,
    text: String,
    some: Option<u32>,
    none: Option<String>,
    pair: (u8, String),
    shapes: Vec<Shape>,
    table: BTreeMap<i32, Vec<bool>>,
    any: Term,
}

fn everything() -> Everything {
    Everything {
        marker: Marker,
        unit: (),
        flag: true,
        small: -5,
        wide: u128::MAX,
        letter: '日',
        text: "text".into(),
        some: Some(7),
        none: None,
        pair: (1, "x".into()),
        shapes: vec![
            Shape::Nothing,
            Shape::Circle(Meters(1.5)),
            Shape::Line(-1, 2),
            Shape::Many(vec![Shape::Box { w: 1, h: 2 }]),
        ],
        table: BTreeMap::from([(1, vec![true]), (-1, vec![])]),
        any: term!({:a, [:b ; :c], #{{} => :ok}, :undefined, :null, "x"}),
    }
}

#[test]
fn structures_go_there_and_back() {
    let value = everything();
    let term = to_term(&value).unwrap();
    assert_eq!(from_term::<Everything>(&term).unwrap(), value);
    let shapes = "['Nothing',{'Circle',1.5},{'Line',-1,2},{'Many',[{'Box',#{h => 2,w => 1}}]}]";
    assert_eq!(
        term.as_map().unwrap().get(&term!(:shapes)),
        Some(&Term::parse(shapes).unwrap())
    );
    assert_eq!(term.as_map().unwrap().get(&term!(:any)), Some(&value.any));
}

#[test]
fn json_is_natural_where_it_can_be() {
    let term = term!(#{"name" => "Ada", "tags" => [true, :null, 1, -1.5], "at" => {:x, 1}});
    let json = serde_json::to_string(&term).unwrap();
    assert_eq!(
        json,
        r#"{"at":{"$tuple":[{"$atom":"x"},1]},"name":"Ada","tags":[true,null,1,-1.5]}"#
    );
    assert_eq!(serde_json::from_str::<Term>(&json).unwrap(), term);
    let foreign: Term =
        serde_json::from_str(r##"{"$ref": "#/a", "b": 18446744073709551615}"##).unwrap();
    assert_eq!(foreign, term!(#{"$ref" => "#/a", "b" => u64::MAX}));
}

#[test]
fn errors_name_the_cause() {
    let wrong_tag = serde_json::from_str::<Term>(r#"{"$pid": [1]}"#)
        .unwrap_err()
        .to_string();
    assert!(wrong_tag.starts_with("a wrong value for <<"), "{wrong_tag}");
    assert_eq!(
        to_term(&f64::NAN).unwrap_err().to_string(),
        "NaN is no Erlang float"
    );
    let arity = from_term::<Shape>(&term!({:Line, 1, 2, 3}))
        .unwrap_err()
        .to_string();
    assert!(arity.contains("3"), "{arity}");
    let name = from_term::<Shape>(&term!(:Triangle))
        .unwrap_err()
        .to_string();
    assert!(name.starts_with("unknown variant `Triangle`"), "{name}");
    assert_eq!(
        from_term::<String>(&term!(1)).unwrap_err().to_string(),
        "expected text: a binary or an atom, found an integer 1"
    );
}

#[test]
fn depth_is_bounded() {
    let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    let read = |text: &str| {
        let mut json = serde_json::Deserializer::from_str(text);
        json.disable_recursion_limit();
        Term::deserialize(&mut json)
    };
    assert!(read(&deep(crate::MAX_DEPTH)).is_ok());
    let error = read(&deep(crate::MAX_DEPTH + 1)).unwrap_err().to_string();
    assert!(
        error.starts_with("nested deeper than 1000 levels"),
        "{error}"
    );
}

proptest! {
    #[test]
    fn every_term_survives_json(term in term()) {
        let json = serde_json::to_string(&term).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Term>(&json).unwrap(), &term, "{}", json);
    }

    #[test]
    fn every_term_survives_itself(term in term()) {
        let value = to_term(&term).unwrap();
        prop_assert_eq!(&value, &term);
        prop_assert_eq!(&from_term::<Term>(&value).unwrap(), &term);
        let inside = to_term(&(1, vec![Some(term.clone())])).unwrap();
        prop_assert_eq!(inside, Term::tuple(vec![Term::Int(1), Term::list(vec![term])]));
    }
}
