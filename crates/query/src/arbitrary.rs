//! Random specifications and objects for tests, biased to the cases in which engines differ.
//!
//! A uniformly random specification would match nothing. Heads are therefore made from an object of the case, in which
//! variables, `'_'` and near misses replace parts; guards compare variables with values of the objects, or with their
//! neighbours of other types; and functions are called with arguments of right and of wrong types.
//!
//! No term is an identifier, a fun or `-0.0`, so that a case means the same in every release of Erlang.
//! Enabled by the feature `arbitrary`.

use fyris_term::{Map, Term};
use num_bigint::BigInt;
use proptest::prelude::*;

/// Objects and a specification for them.
#[derive(Debug, Clone)]
pub struct Case {
    /// Tuples that all have an element `keypos`; keys may repeat.
    pub objects: Vec<Term>,
    /// The element that is the key, counted from 1.
    pub keypos: usize,
    /// A specification, which mostly compiles.
    pub spec: Term,
}

/// Returns a strategy that makes cases from seeds.
pub fn case() -> impl Strategy<Value = Case> {
    any::<u64>().prop_map(Case::from_seed)
}

impl Case {
    /// Returns the case of a seed: the same in every run.
    pub fn from_seed(seed: u64) -> Case {
        let mut dice = Dice::new(seed);
        let keypos = 1 + dice.below(2);
        let count = 1 + dice.below(12);
        let objects: Vec<Term> = (0..count).map(|_| dice.object(keypos)).collect();
        let spec = dice.spec(&objects, keypos);
        Case {
            objects,
            keypos,
            spec,
        }
    }
}

/// A source of choices.
pub struct Dice {
    state: u64,
    /// The variables that the current head binds.
    variables: Vec<Term>,
    /// Values that occur in the objects.
    values: Vec<Term>,
}

impl Dice {
    /// Makes the choices of a seed.
    pub fn new(seed: u64) -> Dice {
        Dice {
            state: seed,
            variables: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Returns the next number of SplitMix64.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    // ---- objects

    /// Makes a tuple of one to four elements, at least `keypos`.
    pub fn object(&mut self, keypos: usize) -> Term {
        let arity = keypos.max(1 + self.below(4));
        let mut elements: Vec<Term> = (0..arity).map(|_| self.value(2)).collect();
        elements[keypos - 1] = self.key();
        Term::tuple(elements)
    }

    /// Makes a key: mostly short; tuples and lists share prefixes.
    pub fn key(&mut self) -> Term {
        match self.below(10) {
            0..3 => self.leaf(),
            3..7 => Term::Tuple((0..1 + self.below(3)).map(|_| self.small_leaf()).collect()),
            7 => Term::List((0..1 + self.below(3)).map(|_| self.small_leaf()).collect()),
            8 => self.value(2),
            _ => Term::tuple(vec![self.small_leaf(), self.value(1)]),
        }
    }

    /// Makes a term of at most `depth` levels.
    pub fn value(&mut self, depth: usize) -> Term {
        if depth == 0 {
            return self.leaf();
        }
        match self.below(12) {
            0..6 => self.leaf(),
            6 | 7 => Term::tuple(self.values(depth)),
            8 => Term::list(self.values(depth)),
            9 => {
                let tail = self.leaf();
                Term::improper(self.values(depth), tail)
            }
            _ => self.map(depth),
        }
    }

    fn values(&mut self, depth: usize) -> Vec<Term> {
        (0..self.below(4)).map(|_| self.value(depth - 1)).collect()
    }

    fn map(&mut self, depth: usize) -> Term {
        let pairs = (0..self.below(4)).map(|_| (self.small_leaf(), self.value(depth - 1)));
        Term::Map(pairs.collect::<Vec<_>>().into_iter().collect::<Map>())
    }

    /// Makes one of few values, so that equal values are common.
    fn small_leaf(&mut self) -> Term {
        match self.below(10) {
            0..3 => Term::Int(self.below(3) as i64),
            3..5 => Term::from(self.below(3) as f64),
            5..8 => Term::atom(["a", "b", "true"][self.below(3)]),
            8 => Term::binary(*b"a"),
            _ => Term::from(1.5),
        }
    }

    fn leaf(&mut self) -> Term {
        match self.below(16) {
            0..8 => self.small_leaf(),
            8 => Term::Int(self.below(600) as i64 - 300),
            9 => {
                Term::Int([i64::MIN, i64::MAX, -1, 1 << 53, (1 << 53) + 1, 1 << 59][self.below(6)])
            }
            10 => Term::from([-1.0, 0.5, -2.5, 1e300, 9_007_199_254_740_992.0][self.below(5)]),
            11 => Term::integer((BigInt::from(1) << (60 + self.below(10))) - 1),
            12 => Term::atom(["false", "EXIT", "$1", "_", "$_", "", "ok"][self.below(7)]),
            13 => Term::binary([&b""[..], b"ab", b"a\0", b"abc"][self.below(4)]),
            14 => Term::bits(&[0b1010_0000, 0x80], 1 + self.below(10)).unwrap_or(Term::Int(0)),
            _ => [Term::list([]), Term::string("ab"), Term::tuple([])][self.below(3)].clone(),
        }
    }

    // ---- specifications

    /// Makes one to three clauses.
    pub fn spec(&mut self, objects: &[Term], keypos: usize) -> Term {
        self.values = objects.iter().flat_map(parts).collect();
        let clauses = (0..1 + self.below(3)).map(|_| {
            let object = self.pick(objects);
            self.clause(&object, keypos)
        });
        Term::List(clauses.collect())
    }

    fn clause(&mut self, object: &Term, keypos: usize) -> Term {
        self.variables.clear();
        let head = self.head(object, keypos);
        let guards = (0..self.below(3)).map(|_| self.guard(3)).collect();
        let mut body = vec![self.body()];
        if self.chance(12) {
            body.push(self.body());
        }
        Term::tuple(vec![head, Term::List(guards), Term::list(body)])
    }

    fn head(&mut self, object: &Term, keypos: usize) -> Term {
        if self.chance(15) {
            return self.variable_or_anything();
        }
        let Term::Tuple(elements) = object else {
            return self.pattern(object, 3);
        };
        let mut patterns = Vec::new();
        for (i, element) in elements.iter().enumerate() {
            let is_key = i + 1 == keypos;
            patterns.push(if is_key && self.chance(2) {
                self.variable_or_anything()
            } else {
                self.pattern(element, 3)
            });
        }
        if self.chance(20) {
            patterns.pop();
        }
        Term::tuple(patterns)
    }

    fn variable_or_anything(&mut self) -> Term {
        if self.chance(4) {
            return Term::atom("_");
        }
        let variable = Term::atom(["$1", "$2", "$3", "$0", "$10"][self.below(5)]);
        if !self.variables.contains(&variable) {
            self.variables.push(variable.clone());
        }
        variable
    }

    /// Makes a pattern that matches the term, or nearly does.
    fn pattern(&mut self, term: &Term, depth: usize) -> Term {
        if self.below(5) < 3 {
            return self.variable_or_anything();
        }
        if self.chance(15) {
            return self.leaf();
        }
        match term {
            Term::Tuple(parts) if depth > 0 => Term::tuple(self.patterns(parts, depth)),
            Term::List(parts) if depth > 0 => self.list_pattern(parts, depth),
            Term::Improper(parts, tail) if depth > 0 => {
                let tail = self.pattern(tail, depth - 1);
                Term::improper(self.patterns(parts, depth), tail)
            }
            Term::Map(map) if depth > 0 => self.map_pattern(map, depth),
            other => other.clone(),
        }
    }

    fn patterns(&mut self, parts: &[Term], depth: usize) -> Vec<Term> {
        parts
            .iter()
            .map(|part| self.pattern(part, depth - 1))
            .collect()
    }

    fn list_pattern(&mut self, parts: &[Term], depth: usize) -> Term {
        let keep = self.below(parts.len() + 1);
        let known = self.patterns(&parts[..keep], depth);
        let tail = if keep == parts.len() && self.chance(2) {
            Term::list([])
        } else {
            self.variable_or_anything()
        };
        Term::improper(known, tail)
    }

    fn map_pattern(&mut self, map: &Map, depth: usize) -> Term {
        let mut pairs = Vec::new();
        for (key, value) in map {
            let special = [Term::atom("$1"), Term::atom("_")];
            if self.chance(3) || (special.contains(key) && !self.chance(30)) {
                continue;
            }
            pairs.push((key.clone(), self.pattern(value, depth - 1)));
        }
        Term::Map(Map::new(pairs))
    }

    fn guard(&mut self, depth: usize) -> Term {
        match self.below(12) {
            0..4 => self.comparison(depth),
            4 => self.type_test(),
            5 | 6 if depth > 0 => self.junction(depth),
            7 if depth > 0 => call("not", vec![self.guard(depth - 1)]),
            8 => self.key_comparison(),
            9 => self.call(depth.min(2)),
            10 => Term::atom(["true", "true", "false", "ok"][self.below(4)]),
            _ => self.comparison(0),
        }
    }

    fn comparison_name(&mut self) -> &'static str {
        ["<", ">", "=<", ">=", "==", "=:=", "/=", "=/="][self.below(8)]
    }

    fn comparison(&mut self, depth: usize) -> Term {
        let name = self.comparison_name();
        let (a, b) = (self.simple(), self.expression(depth.min(1)));
        call(
            name,
            if self.chance(4) {
                vec![b, a]
            } else {
                vec![a, b]
            },
        )
    }

    /// Makes a comparison of `{element, 1, '$_'}` with a literal.
    fn key_comparison(&mut self) -> Term {
        let name = self.comparison_name();
        let key = call("element", vec![Term::Int(1), Term::atom("$_")]);
        call(name, vec![key, self.literal()])
    }

    fn junction(&mut self, depth: usize) -> Term {
        let name = ["andalso", "orelse", "and", "or", "xor"][self.below(5)];
        let count = if name == "xor" { 2 } else { 1 + self.below(3) };
        let parts = (0..count).map(|_| self.guard(depth - 1)).collect();
        call(name, parts)
    }

    fn type_test(&mut self) -> Term {
        let names = [
            "is_atom",
            "is_float",
            "is_integer",
            "is_list",
            "is_number",
            "is_pid",
            "is_tuple",
            "is_map",
            "is_binary",
            "is_function",
        ];
        let argument = self.simple();
        call(names[self.below(names.len())], vec![argument])
    }

    /// Makes a variable, the object or a value.
    fn simple(&mut self) -> Term {
        if self.variables.is_empty() || self.chance(8) {
            return Term::atom(["$_", "$$"][self.below(2)]);
        }
        if self.chance(6) {
            return self.literal();
        }
        let variables = self.variables.clone();
        self.pick(&variables)
    }

    /// Makes a literal that occurs in the objects, or one that resembles it.
    fn literal(&mut self) -> Term {
        let value = if self.values.is_empty() || self.chance(4) {
            self.leaf()
        } else {
            let values = self.values.clone();
            self.pick(&values)
        };
        let value = match value {
            Term::Int(int) if self.chance(4) && int.unsigned_abs() < 1 << 52 => {
                Term::from(int as f64)
            }
            other => other,
        };
        match value {
            Term::Int(_) | Term::Float(_) | Term::Binary(_) => value,
            other => call("const", vec![other]),
        }
    }

    fn expression(&mut self, depth: usize) -> Term {
        match self.below(8) {
            0..3 => self.literal(),
            3 | 4 => self.simple(),
            5 if depth > 0 => self.structure(depth),
            _ if depth > 0 => self.call(depth),
            _ => self.simple(),
        }
    }

    fn expressions(&mut self, count: usize, depth: usize) -> Vec<Term> {
        (0..count).map(|_| self.expression(depth)).collect()
    }

    fn structure(&mut self, depth: usize) -> Term {
        let count = self.below(4);
        let parts = self.expressions(count, depth - 1);
        match self.below(4) {
            0 | 1 => Term::tuple(vec![Term::tuple(parts)]),
            2 => Term::list(parts),
            _ => {
                let pair = (self.simple(), self.expression(depth - 1));
                Term::Map(Map::new([pair]))
            }
        }
    }

    /// Makes a call of any function, most often with arguments of its types.
    fn call(&mut self, depth: usize) -> Term {
        const UNARY: &[&str] = &[
            "abs",
            "hd",
            "tl",
            "length",
            "round",
            "trunc",
            "float",
            "size",
            "bit_size",
            "byte_size",
            "map_size",
            "bnot",
            "-",
            "+",
            "not",
        ];
        const BINARY: &[&str] = &[
            "+",
            "-",
            "*",
            "/",
            "div",
            "rem",
            "band",
            "bor",
            "bxor",
            "bsl",
            "bsr",
            "map_get",
            "is_map_key",
            "element",
            "binary_part",
        ];
        let depth = depth.saturating_sub(1);
        match self.below(12) {
            0..5 => {
                let argument = self.expression(depth);
                call(UNARY[self.below(UNARY.len())], vec![argument])
            }
            5..9 => {
                let arguments = self.expressions(2, depth);
                let name = BINARY[self.below(BINARY.len())];
                self.binary(name, arguments)
            }
            9 => {
                let place = Term::Int(self.below(4) as i64);
                call("element", vec![place, self.simple()])
            }
            10 => {
                let (record, size) = (self.simple(), Term::Int(self.below(4) as i64));
                let name = Term::atom(["a", "b"][self.below(2)]);
                call("is_record", vec![record, name, size])
            }
            _ => {
                let (start, len) = (self.below(3) as i64, self.below(4) as i64 - 2);
                let binary = self.expression(depth);
                call(
                    "binary_part",
                    vec![binary, Term::Int(start), Term::Int(len)],
                )
            }
        }
    }

    /// Makes a shift by few bits: shifts by many fail or make large numbers.
    fn binary(&mut self, name: &str, mut arguments: Vec<Term>) -> Term {
        if name.starts_with("bs") && !self.chance(10) {
            arguments[1] = Term::Int(self.below(80) as i64 - 40);
        }
        call(name, arguments)
    }

    fn body(&mut self) -> Term {
        match self.below(8) {
            0 => Term::atom("$_"),
            1 => Term::atom("$$"),
            2 => Term::atom("true"),
            3 | 4 => self.structure(2),
            5 => self.guard(2),
            _ => self.expression(3),
        }
    }
}

fn call(name: &str, arguments: Vec<Term>) -> Term {
    let mut elements = vec![Term::atom(name)];
    elements.extend(arguments);
    Term::tuple(elements)
}

/// Collects the elements of an object, and their elements.
fn parts(object: &Term) -> Vec<Term> {
    let elements = object.as_tuple().unwrap_or(&[]);
    let inner = elements
        .iter()
        .flat_map(|element| element.as_tuple().unwrap_or(&[]));
    elements.iter().chain(inner).cloned().collect()
}
