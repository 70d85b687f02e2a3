//! Expressions and patterns: a Pratt parser that writes match specifications.
//!
//! Recursion and the depth of what is built are bounded by [`DEEPEST`]: the first by counting levels as they are
//! entered, the second by counting the operators of a chain, which nest without recursion.

use fyris_term::{Atom, Map, Term};

use super::scan::{Scanner, is_dollar};
use super::shape::{Aggregates, Aggregation, call, element};
use crate::shell::error::ShellError;
use crate::shell::names::{is_in_name, is_value, listed, nearest, no_place, place};

/// Levels of nesting.
const DEEPEST: usize = 200;

const A_VALUE: &str = "a value: a term, `$1`, `$_`, a call or `(`";

/// The operators, from those that hold their operands least tightly: as in Erlang, but for `and`, `or` and `xor`. Those
/// hold tighter than comparisons there, which makes `$1 > 10 and is_atom($2)` a comparison with `10 and is_atom($2)`.
/// That is rarely meant.
const LEVELS: [&[&str]; 7] = [
    &["orelse"],
    &["andalso"],
    &["or", "xor"],
    &["and"],
    // A sign that begins another comes after it.
    &[
        "=:=", "=/=", "==", "/=", "=<", "<=", "<>", "!=", ">=", "<", ">", "=",
    ],
    &["+", "-", "bor", "bxor", "bsl", "bsr"],
    &["*", "/", "div", "rem", "band"],
];

/// Of the comparisons, `a < b < c` means nothing.
const COMPARISONS: usize = 4;

/// Operators of other languages, and the operators of Erlang that they are slips for.
const SLIPS: [(&str, &str); 2] = [("&&", "`andalso`"), ("||", "`orelse`")];

/// Comparisons as SQL writes them, and as Erlang does.
const SAME: [(&str, &str); 4] = [("<=", "=<"), ("<>", "/="), ("!=", "/="), ("=", "==")];

/// The meaning of `$1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dollars {
    /// An element of the object.
    Elements,
    /// A variable of the pattern.
    Variables,
}

/// Reads expressions.
pub(super) struct Expressions<'s, 'a> {
    pub(super) scan: &'s mut Scanner<'a>,
    dollars: Dollars,
    /// Names of the object's elements, which mean nothing behind a pattern.
    columns: &'s [String],
    /// Those that may hold atoms besides `undefined`, `true` and `false`.
    atoms: &'s [String],
    /// What may not be meant as it was typed.
    pub(super) doubts: Vec<String>,
    /// The aggregates so far, where they may stand.
    aggregates: Option<&'s mut Aggregates>,
    depth: usize,
}

/// An expression, and how deeply its operators nest.
pub(super) type Nested = (Term, usize);

impl<'s, 'a> Expressions<'s, 'a> {
    pub(super) fn new(
        scan: &'s mut Scanner<'a>,
        dollars: Dollars,
        columns: (&'s [String], &'s [String]),
    ) -> Expressions<'s, 'a> {
        Expressions {
            scan,
            dollars,
            columns: columns.0,
            atoms: columns.1,
            doubts: Vec::new(),
            aggregates: None,
            depth: 0,
        }
    }

    /// Allows aggregates, which are added to `aggregates`.
    pub(super) fn aggregating(self, aggregates: &'s mut Aggregates) -> Expressions<'s, 'a> {
        Expressions {
            aggregates: Some(aggregates),
            ..self
        }
    }

    /// Parses an expression; returns it as a match specification writes it.
    pub(super) fn expression(&mut self) -> Result<Term, ShellError> {
        Ok(self.operators(0)?.0)
    }

    /// Parses a pattern; returns it as a match specification writes it.
    pub(super) fn pattern(&mut self) -> Result<Term, ShellError> {
        self.entered(|this| this.pattern_inside())
    }

    // ---- operators

    /// Parses an expression of operators that hold at least as tightly as `level`.
    fn operators(&mut self, level: usize) -> Result<Nested, ShellError> {
        if level == LEVELS.len() {
            return self.entered(Self::operand);
        }
        let (mut left, mut depth) = self.operators(level + 1)?;
        let mut chain = 0;
        if level == COMPARISONS
            && let Some((test, deep)) = self.worded(&left)?
        {
            (left, depth, chain) = (test, self.deeper(depth.max(deep))?, 1);
        }
        while let Some(operator) = self.operator(level)? {
            if level == COMPARISONS && chain > 0 {
                return Err(self
                    .scan
                    .refused("comparisons do not chain: write `A < B andalso B < C`"));
            }
            chain += 1;
            let (right, deep) = self.operators(level + 1)?;
            depth = self.deeper(depth.max(deep))?;
            left = match level {
                COMPARISONS => self.comparison(operator, left, right)?,
                _ => call(operator, vec![left, right]),
            };
        }
        Ok((left, depth))
    }

    /// Parses an expression that may stand beside a comparison.
    pub(super) fn bound(&mut self) -> Result<Nested, ShellError> {
        self.operators(COMPARISONS + 1)
    }

    /// Makes a comparison of an object with something.
    pub(super) fn comparison(
        &mut self,
        operator: &str,
        left: Term,
        right: Term,
    ) -> Result<Term, ShellError> {
        let same = SAME.iter().find(|(of_sql, _)| *of_sql == operator);
        let operator = same.map_or(operator, |(_, of_erlang)| of_erlang);
        if is_constant(&left) && is_constant(&right) {
            return Err(self.scan.refused(&format!(
                "`{left} {operator} {right}` compares two constants: $N is element N{}{}",
                self.known_columns(),
                self.in_string([&left, &right])
            )));
        }
        self.doubt_order(operator, [&left, &right]);
        self.doubt_text(operator, [&left, &right]);
        Ok(call(operator, vec![left, right]))
    }

    /// Takes an operator of the level, if one stands here.
    fn operator(&mut self, level: usize) -> Result<Option<&'static str>, ShellError> {
        let rest = self.scan.rest();
        if level == COMPARISONS {
            let slip = SLIPS.iter().find(|(slip, _)| rest.starts_with(slip));
            if let Some((_, meant)) = slip {
                return Err(self.scan.expected(meant));
            }
            // The arrow of a map.
            if rest.starts_with("=>") {
                return Ok(None);
            }
            // A binary behind a sign of SQL.
            if rest.starts_with("=<<") && !rest.starts_with("=<<<") && self.scan.take("=") {
                return Ok(Some("="));
            }
        }
        let divides = rest.starts_with('/') && !rest.starts_with("/=");
        let found = LEVELS[level]
            .iter()
            .find(|&&operator| (operator != "/" || divides) && self.scan.take(operator));
        Ok(found.copied())
    }

    /// Notes an atom that is compared by order, which is seldom meant: it is above all numbers and below all texts.
    fn doubt_order(&mut self, operator: &str, sides: [&Term; 2]) {
        if !["<", ">", "=<", ">="].contains(&operator) {
            return;
        }
        let atoms = sides.into_iter().filter_map(|side| match side {
            Term::Atom(name) if !name.as_str().starts_with('$') => Some(name),
            _ => None,
        });
        let doubts: Vec<_> = atoms.map(|name| self.no_column(*name)).collect();
        self.doubts.extend(doubts);
    }

    /// Notes an atom that stands alone where a column is meant, as a rule.
    pub(super) fn doubt_constant(&mut self, value: &Term) {
        if let Term::Atom(name) = value
            && !name.as_str().starts_with('$')
        {
            self.doubts.push(self.no_column(*name));
        }
    }

    fn no_column(&self, name: Atom) -> String {
        let columns = match self.columns {
            [] => "`$N` is element N".to_owned(),
            names => format!("the columns are {}", listed(names)),
        };
        let name = Term::Atom(name);
        format!("`{name}` is an atom here, and no column: {columns}")
    }

    /// Returns the end of a message that names the columns; nothing where there are none.
    fn known_columns(&self) -> String {
        match self.columns {
            [] => String::new(),
            names => format!(", and the columns are {}", listed(names)),
        }
    }

    /// Returns the end of a message about a string that is the name of a column.
    fn in_string(&self, sides: [&Term; 2]) -> String {
        let text = |side: &Term| {
            let codes = side.as_list()?.iter().map(Term::as_int);
            let chars = codes.map(|code| char::from_u32(u32::try_from(code?).ok()?));
            chars.collect::<Option<String>>()
        };
        let texts = sides.into_iter().filter_map(text);
        let names = texts.filter(|text| self.columns.contains(text));
        let hints = names.map(|name| {
            let quoted = format!("`{}`", name.replace('`', "``"));
            format!("; the column is written {quoted}")
        });
        hints.collect()
    }

    /// Notes a string or an atom that a column is compared with: texts that were loaded are binaries.
    fn doubt_text(&mut self, operator: &str, sides: [&Term; 2]) {
        if !["==", "=:=", "/=", "=/="].contains(&operator) {
            return;
        }
        let Some(column) = sides.iter().find_map(|side| self.column_of(side)) else {
            return;
        };
        let doubt = sides.into_iter().find_map(|side| match side {
            Term::List(elements) if !elements.is_empty() => {
                let text = side.brief(40);
                let is_text = text.starts_with('"');
                is_text.then(|| format!("`{text}` is a list of characters: {}", binary(&text)))
            }
            Term::Atom(name) if !is_value(name.as_str()) && !self.atoms.contains(column) => {
                let text = format!("{:?}", name.as_str());
                Some(format!("`{side}` is an atom: {}", binary(&text)))
            }
            _ => None,
        });
        self.doubts.extend(doubt);
    }

    /// Returns the column that an expression is.
    fn column_of(&self, side: &Term) -> Option<&'s String> {
        match side.as_tuple()? {
            [call, Term::Int(place), _] if *call == Term::atom("element") => {
                self.columns.get(usize::try_from(*place - 1).ok()?)
            }
            _ => None,
        }
    }

    pub(super) fn deeper(&mut self, depth: usize) -> Result<usize, ShellError> {
        if depth < DEEPEST || cfg!(fyris_mutant = "shell_chain_unbounded") {
            return Ok(depth + 1);
        }
        Err(self.too_deep())
    }

    fn too_deep(&self) -> ShellError {
        self.scan
            .refused(&format!("nested deeper than {DEEPEST} levels"))
    }

    /// Runs one level further down.
    fn entered<R>(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<R, ShellError>,
    ) -> Result<R, ShellError> {
        if self.depth >= DEEPEST {
            return Err(self.too_deep());
        }
        self.depth += 1;
        let result = run(self);
        self.depth -= 1;
        result
    }

    // ---- operands

    fn operand(&mut self) -> Result<Nested, ShellError> {
        for operator in ["not", "bnot", "-", "+"] {
            if self.scan.take(operator) {
                let (operand, depth) = self.entered(Self::operand)?;
                return Ok((prefixed(operator, operand), self.deeper(depth)?));
            }
        }
        if self.scan.take("(") {
            self.scan.open += 1;
            let inside = self.operators(0)?;
            self.close(")", "an operator or `)`")?;
            return Ok(inside);
        }
        Ok((self.value()?, 1))
    }

    fn value(&mut self) -> Result<Term, ShellError> {
        let rest = self.scan.rest();
        match rest.chars().next() {
            None => Err(self.scan.expected(A_VALUE)),
            Some('{') => Ok(Term::tuple(vec![Term::tuple(
                self.tuple(Self::expression)?,
            )])),
            Some('[') => self.list(Self::expression),
            Some('#') if rest.starts_with("#{") => self.map(Self::expression),
            Some('$') if is_dollar(rest) => self.dollar(),
            Some('`') => self.quoted_column(),
            Some('a'..='z') if self.is_call() => self.function(),
            Some(c) if c == '_' || c.is_alphabetic() => match self.column() {
                Some(element) => Ok(element),
                None if c.is_lowercase() => self.word(),
                None => Err(self.scan.expected(A_VALUE)),
            },
            Some(')' | ']' | '}' | ',' | '|') => Err(self.scan.expected(A_VALUE)),
            Some(_) => Ok(literal(self.scan.term()?)),
        }
    }

    /// Takes a word that is no column: a value, or where columns have names a slip.
    fn word(&mut self) -> Result<Term, ShellError> {
        let word = self.scan.word();
        let may_be_column = !self.columns.is_empty() && self.dollars == Dollars::Elements;
        if !may_be_column || is_value(word) {
            return Ok(literal(self.scan.term()?));
        }
        let near = nearest(word, self.columns.iter().map(String::as_str));
        Err(self.scan.refused(&format!(
            "`{word}` is {}{}; the columns are {}, and an atom is written '{word}'",
            no_place(self.columns, word),
            near.map(|near| format!(" (did you mean `{near}`?)"))
                .unwrap_or_default(),
            listed(self.columns)
        )))
    }

    /// Takes the name of a column in backquotes, of which a doubled one is part of the name; returns the element.
    fn quoted_column(&mut self) -> Result<Term, ShellError> {
        let rest = self.scan.rest();
        let mut name = String::new();
        let mut chars = rest.char_indices().skip(1).peekable();
        let end = loop {
            match chars.next() {
                None => return Err(self.scan.refused("a ` is not closed")),
                Some((at, '`')) if chars.next_if(|&(_, c)| c == '`').is_none() => break at + 1,
                Some((_, c)) => name.push(c),
            }
        };
        let problem = match place(self.columns, &name) {
            _ if self.dollars == Dollars::Variables => {
                "behind a pattern columns have no names".to_owned()
            }
            None => {
                let why = no_place(self.columns, &name);
                format!("`{name}` is {why}{}", self.known_columns())
            }
            Some(place) => {
                self.scan.skip(end);
                return Ok(element(place));
            }
        };
        Err(self.scan.refused(&problem))
    }

    /// Takes the key of a map, if a word stands here that is no column.
    fn label(&mut self) -> Result<Option<Term>, ShellError> {
        let word = self.scan.word();
        let rest = &self.scan.rest()[word.len()..];
        let is_label = !word.is_empty() && rest.trim_start().starts_with("=>");
        match is_label && !self.columns.iter().any(|column| column == word) {
            true => self.scan.term().map(Some),
            false => Ok(None),
        }
    }

    /// Takes the name of a column, if one stands here; returns the element.
    fn column(&mut self) -> Option<Term> {
        let rest = self.scan.rest();
        let name = &rest[..rest.find(|c| !is_in_name(c)).unwrap_or(rest.len())];
        let place = place(self.columns, name)?;
        if self.dollars == Dollars::Variables {
            return None;
        }
        self.scan.skip(name.len());
        Some(element(place))
    }

    /// Returns whether a word stands here, and `(` behind it.
    fn is_call(&mut self) -> bool {
        let word = self.scan.word().len();
        self.scan.rest()[word..].trim_start().starts_with('(')
    }

    fn function(&mut self) -> Result<Term, ShellError> {
        let name = self.scan.word();
        self.scan.skip(name.len());
        self.scan.expect("(", "`(`")?;
        let before = self.aggregates.as_ref().map_or(0, |known| known.len());
        let mut arguments = self.parts(")", Self::expression)?;
        self.close(")", "`,`, an operator or `)`")?;
        let Some(aggregation) = Aggregation::of(name, arguments.len()) else {
            return Ok(call(name, arguments));
        };
        match &mut self.aggregates {
            None => Err(self.scan.refused(&format!(
                "`{name}` is of a group: it stands in `return` and `sort by` of `select`"
            ))),
            Some(known) if known.len() > before => Err(self
                .scan
                .refused(&format!("`{name}` of an aggregate: they do not nest"))),
            Some(known) => Ok(known.place(aggregation, arguments.pop())),
        }
    }

    /// Parses `$_`, `$$` or `$1`.
    fn dollar(&mut self) -> Result<Term, ShellError> {
        let rest = &self.scan.rest()[1..];
        if let Some(whole) = ["_", "$"].into_iter().find(|c| rest.starts_with(c)) {
            if whole == "$" && self.dollars == Dollars::Elements {
                return Err(self.scan.refused("`$$` means nothing without a pattern"));
            }
            self.scan.skip(2);
            return Ok(Term::atom(&format!("${whole}")));
        }
        let digits = rest.find(|c: char| !c.is_ascii_digit());
        let digits = &rest[..digits.unwrap_or(rest.len())];
        let number: i64 = match digits.parse() {
            Ok(number) if number <= 100_000_000 => number,
            _ => return Err(self.scan.expected("a number below 100000001 behind `$`")),
        };
        if number == 0 && self.dollars == Dollars::Elements {
            return Err(self.scan.refused("elements count from `$1`"));
        }
        self.scan.skip(1 + digits.len());
        Ok(match self.dollars {
            Dollars::Elements => call("element", vec![Term::Int(number), Term::atom("$_")]),
            Dollars::Variables => Term::atom(&format!("${number}")),
        })
    }

    // ---- tuples, lists and maps of expressions or patterns

    fn tuple(&mut self, part: Part<'s, 'a>) -> Result<Vec<Term>, ShellError> {
        self.scan.expect("{", "`{`")?;
        let parts = self.parts("}", part)?;
        self.close("}", "`,`, an operator or `}`")?;
        Ok(parts)
    }

    fn list(&mut self, part: Part<'s, 'a>) -> Result<Term, ShellError> {
        self.scan.expect("[", "`[`")?;
        let parts = self.parts("]", part)?;
        let list = match !parts.is_empty() && self.scan.take("|") {
            true => Term::improper(parts, part(self)?),
            false => Term::list(parts),
        };
        self.close("]", "`,`, `|`, an operator or `]`")?;
        Ok(list)
    }

    fn map(&mut self, part: Part<'s, 'a>) -> Result<Term, ShellError> {
        self.scan.expect("#{", "`#{`")?;
        let mut pairs = Vec::new();
        self.scan.open += 1;
        while !self.scan.rest().starts_with('}') {
            let key = match self.label()? {
                Some(key) => key,
                None => part(self)?,
            };
            self.scan.expect("=>", "an operator or `=>`")?;
            pairs.push((key, part(self)?));
            if !self.scan.take(",") {
                break;
            }
        }
        self.close("}", "`,`, an operator or `}`")?;
        Ok(Term::Map(Map::new(pairs)))
    }

    /// Parses the parts between an opening bracket and its closing one, which stays.
    pub(super) fn parts(&mut self, end: &str, part: Part<'s, 'a>) -> Result<Vec<Term>, ShellError> {
        self.scan.open += 1;
        let mut parts = Vec::new();
        if self.scan.rest().starts_with(end) {
            return Ok(parts);
        }
        loop {
            parts.push(part(self)?);
            if !self.scan.take(",") {
                return Ok(parts);
            }
        }
    }

    pub(super) fn close(&mut self, bracket: &str, expected: &str) -> Result<(), ShellError> {
        self.scan.expect(bracket, expected)?;
        self.scan.open -= 1;
        Ok(())
    }

    // ---- patterns

    fn pattern_inside(&mut self) -> Result<Term, ShellError> {
        let rest = self.scan.rest();
        match rest.chars().next() {
            Some('{') => Ok(Term::tuple(self.tuple(Self::pattern)?)),
            Some('[') => self.list(Self::pattern),
            Some('#') if rest.starts_with("#{") => self.map(Self::pattern),
            Some('$') if rest.starts_with("$_") || rest.starts_with("$$") => {
                Err(self.scan.expected("a term, `_` or `$1`"))
            }
            Some('$') if is_dollar(rest) => self.dollar(),
            Some('_') => {
                self.scan.skip(1);
                Ok(Term::atom("_"))
            }
            None | Some(')' | ']' | '}' | ',' | '|') => {
                Err(self.scan.expected("a term, `_` or `$1`"))
            }
            Some(_) => self.scan.term(),
        }
    }
}

/// A function that reads the parts of a bracket.
pub(super) type Part<'s, 'a> = fn(&mut Expressions<'s, 'a>) -> Result<Term, ShellError>;

/// Applies a sign to an operand; before a number it is the number's.
fn prefixed(operator: &str, operand: Term) -> Term {
    match (operator, operand) {
        ("-", Term::Int(n)) if n != i64::MIN => Term::Int(-n),
        ("-", Term::Float(f)) => Term::from(-f.get()),
        (operator, operand) => call(operator, vec![operand]),
    }
}

/// Returns the end of a message about what is no text.
fn binary(text: &str) -> String {
    format!("texts in columns are binaries, `<<{text}>>`")
}

/// Returns whether an expression is the same for all objects.
fn is_constant(term: &Term) -> bool {
    match term {
        Term::Atom(name) => !name.as_str().starts_with('$'),
        Term::Tuple(parts) => match &parts[..] {
            [Term::Tuple(parts)] => parts.iter().all(is_constant),
            [call, _] => *call == Term::atom("const"),
            _ => false,
        },
        Term::List(elements) => elements.iter().all(is_constant),
        Term::Map(map) => map
            .iter()
            .all(|(key, value)| is_constant(key) && is_constant(value)),
        _ => true,
    }
}

/// Makes the expression of a term that stands for itself.
fn literal(term: Term) -> Term {
    match &term {
        Term::Atom(name) if name.as_str() == "_" || name.as_str().starts_with('$') => {
            call("const", vec![term])
        }
        _ => term,
    }
}
