//! Tables and statements made by chance, from a seed.

use std::fmt::Write;

/// Texts, of which some read as numbers or have signs of LIKE in them.
const TEXTS: [&str; 14] = [
    "", "a", "A", "b", "Ab", "aB", "abc", "12", "1.5", "-3x", "a_c", "%", "ß", "Zz top",
];

const PATTERNS: [&str; 10] = ["a%", "%b", "_", "%", "a_c", "%B%", "1%", "", "z%P", "-_%"];

/// The columns of each table: a key, an integer, a float (which `u` does not have), a text and anything.
const TABLES: [(&str, &[&str]); 3] = [
    ("t", &["id", "i", "f", "s", "x"]),
    ("u", &["k", "i", "s", "x"]),
    ("w", &["id", "i", "f", "s"]),
];

/// Makes tables and statements.
pub(crate) struct Generator {
    state: u64,
    /// The tables of the statement, by the names that they have in it.
    scope: Vec<(String, &'static [&'static str])>,
    /// A key of `w` that was never used.
    fresh: u64,
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Generator {
        Generator {
            state: seed,
            scope: Vec::new(),
            fresh: 1000,
        }
    }

    /// SplitMix64.
    fn below(&mut self, end: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }

    fn one_in(&mut self, parts: u64) -> bool {
        self.below(parts) == 0
    }

    fn pick<'p>(&mut self, from: &[&'p str]) -> &'p str {
        from[self.below(from.len() as u64) as usize]
    }

    // ---- tables

    /// Returns the tables, each as JSON lines.
    pub(crate) fn tables(&mut self) -> Vec<(&'static str, String)> {
        let mut tables = Vec::new();
        for (name, columns) in TABLES {
            let mut rows = String::new();
            for number in 0..40 {
                let values = columns.iter().enumerate().map(|(at, column)| {
                    let value = match at {
                        0 => self.key(name, number),
                        _ => self.element(column),
                    };
                    format!("{column:?}:{value}")
                });
                let values: Vec<String> = values.collect();
                _ = writeln!(rows, "{{{}}}", values.join(","));
            }
            tables.push((name, rows));
        }
        tables
    }

    /// Returns objects that have the first elements of a row only, as Erlang writes them, and the rows as JSON lines.
    pub(crate) fn short_objects(&mut self) -> Vec<(&'static str, String, String)> {
        let mut tables = Vec::new();
        for (name, columns) in TABLES {
            let (mut objects, mut rows) = (String::new(), String::new());
            for number in 0..12 {
                let length = 1 + self.below(columns.len() as u64) as usize;
                let mut elements = vec![(100 + number).to_string()];
                elements.extend(columns[1..length].iter().map(|column| self.element(column)));
                let terms: Vec<String> = elements.iter().map(|json| erlang(json)).collect();
                _ = write!(objects, " {{{}}}", terms.join(","));
                elements.resize(columns.len(), "null".to_owned());
                let pairs = columns.iter().zip(elements);
                let pairs: Vec<String> = pairs
                    .map(|(column, value)| format!("{column:?}:{value}"))
                    .collect();
                _ = writeln!(rows, "{{{}}}", pairs.join(","));
            }
            tables.push((name, objects, rows));
        }
        tables
    }

    /// Keys are integers, in `u` texts and floats, too, of which some are equal to integers.
    fn key(&mut self, table: &str, number: u64) -> String {
        match (table, number % 4) {
            ("u", 2) if number % 8 == 6 => format!("{}.0", number / 4),
            ("u", 2) if number == 2 => "-0.0".to_owned(),
            ("u", 1) => format!("{:?}", TEXTS[(number as usize / 4) % TEXTS.len()]),
            ("u", 2) => format!("{}.5", number / 4),
            ("u", _) => (number / 2).to_string(),
            _ => (number + 1).to_string(),
        }
    }

    fn element(&mut self, column: &str) -> String {
        if self.one_in(6) {
            return "null".to_owned();
        }
        match column {
            "i" => self.int(),
            "f" => self.float(),
            "s" => format!("{:?}", self.pick(&TEXTS)),
            _ => match self.below(3) {
                0 => self.int(),
                1 => self.float(),
                _ => format!("{:?}", self.pick(&TEXTS)),
            },
        }
    }

    fn int(&mut self) -> String {
        let range = if self.one_in(12) { (1 << 53) - 1 } else { 20 };
        let sign = if self.one_in(4) { "-" } else { "" };
        format!("{sign}{}", self.below(range))
    }

    fn float(&mut self) -> String {
        let sign = if self.one_in(4) { "-" } else { "" };
        format!(
            "{sign}{}.{}",
            self.below(20),
            self.pick(&["5", "25", "75", "125"])
        )
    }

    // ---- statements

    /// Returns a statement: a query, or a change with a query that shows what it has done.
    pub(crate) fn statement(&mut self) -> String {
        match self.below(12) {
            0 => self.change(),
            1..=3 => self.grouped(),
            _ => self.plain(),
        }
    }

    fn change(&mut self) -> String {
        self.scope = vec![("w".to_owned(), TABLES[2].1)];
        let change = match self.below(4) {
            0 | 1 => {
                let rows: Vec<String> = (0..1 + self.below(3)).map(|_| self.new_row()).collect();
                format!("INSERT INTO w (id, s, i) VALUES {}", rows.join(", "))
            }
            2 => {
                let condition = self.condition(2);
                let (first, second) = (self.value(2), self.value(2));
                format!("UPDATE w SET i = {first}, f = {second} WHERE {condition}")
            }
            _ => {
                let (condition, second) = (self.condition(1), self.condition(1));
                format!("DELETE FROM w WHERE {condition} AND {second} AND i > 3")
            }
        };
        format!("{change}; SELECT * FROM w ORDER BY id")
    }

    fn new_row(&mut self) -> String {
        self.fresh += 1;
        let (id, text, number) = (self.fresh, self.literal(), self.int());
        format!("({id}, {text}, {number} + 1)")
    }

    /// Returns FROM with its joins, which look up keys or a secondary index.
    fn from(&mut self) -> String {
        let kind = if self.one_in(2) { "LEFT JOIN" } else { "JOIN" };
        let [t, u, w] = TABLES.map(|(_, columns)| columns);
        let named = |name: &str, columns| (name.to_owned(), columns);
        match self.below(11) {
            9 => {
                self.scope = vec![named("u", u), named("t", t), named("w", w)];
                let on = self.pick(&["t.i", "u.k", "t.x", "u.x"]).to_owned();
                let more = self.more_of_on();
                format!("u JOIN t ON t.s = u.s {kind} w ON w.id = {on}{more}")
            }
            10 => {
                self.scope = vec![named("u", u), named("more", u)];
                let on = self.pick(&["u.k", "u.x", "u.i"]).to_owned();
                let more = self.more_of_on();
                format!("u {kind} u AS more ON more.k = {on}{more}")
            }
            0 => {
                self.scope = vec![named("u", u)];
                "u".to_owned()
            }
            1 => {
                self.scope = vec![named("t", t), named("u", u)];
                let on = self
                    .pick(&["t.i", "t.s", "t.x", "t.f", "t.i + 1", "t.s || ''"])
                    .to_owned();
                let more = self.more_of_on();
                format!("t {kind} u ON u.k = {on}{more}")
            }
            2 => {
                self.scope = vec![named("u", u), named("one", t)];
                let on = self.pick(&["u.i", "u.k", "u.x"]).to_owned();
                let more = self.more_of_on();
                format!("u {kind} t AS one ON {on} = one.id{more}")
            }
            3 => {
                self.scope = vec![named("u", u), named("t", t)];
                let on = self.pick(&["u.s", "u.k", "u.x"]).to_owned();
                format!("u {kind} t ON t.s = {on}")
            }
            4 => {
                self.scope = vec![named("w", w), named("t", t), named("u", u)];
                format!("w JOIN t ON t.id = w.i {kind} u ON u.k = t.i")
            }
            _ => {
                self.scope = vec![named("t", t)];
                "t".to_owned()
            }
        }
    }

    fn more_of_on(&mut self) -> String {
        match self.one_in(3) {
            true => format!(" AND {}", self.condition(1)),
            false => String::new(),
        }
    }

    /// Returns the keys of all tables, which make an order total: 1 and 1.0 are equal, and their texts are not.
    fn keys(&self) -> String {
        let keys = self
            .scope
            .iter()
            .map(|(name, columns)| format!("{name}.{0}, {name}.{0} || ''", columns[0]));
        keys.collect::<Vec<_>>().join(", ")
    }

    fn filter(&mut self) -> String {
        match self.one_in(4) {
            true => String::new(),
            false => format!(" WHERE {}", self.condition(3)),
        }
    }

    fn plain(&mut self) -> String {
        let from = self.from();
        let count = 1 + self.below(3);
        let results: Vec<String> = (1..=count)
            .map(|n| format!("{} AS r{n}", self.value(3)))
            .collect();
        let filter = self.filter();
        let results = results.join(", ");
        let ordinals: Vec<String> = (1..=count).map(|n| n.to_string()).collect();
        match self.below(5) {
            0 => format!("SELECT DISTINCT {results} FROM {from}{filter}"),
            1 => {
                let limit = self.limit();
                let ordinals = ordinals.join(" DESC, ");
                format!("SELECT DISTINCT {results} FROM {from}{filter} ORDER BY {ordinals}{limit}")
            }
            2 => format!("SELECT {results} FROM {from}{filter}"),
            _ => {
                let (value, limit, keys) = (self.no_number(), self.limit(), self.keys());
                let way = self.pick(&["", " ASC", " DESC"]);
                format!(
                    "SELECT {results} FROM {from}{filter} ORDER BY {value}{way}, r1, {keys}{limit}"
                )
            }
        }
    }

    fn limit(&mut self) -> String {
        match self.below(3) {
            0 => String::new(),
            1 => format!(" LIMIT {}", self.below(12)),
            _ => format!(" LIMIT {} OFFSET {}", self.below(12), self.below(6)),
        }
    }

    fn grouped(&mut self) -> String {
        let from = self.from();
        let filter = self.filter();
        let (first, second) = (self.aggregate(), self.aggregate());
        let having = match self.one_in(2) {
            true => {
                let (aggregate, number) = (self.aggregate(), self.below(8));
                let sign = self.pick(&[">", "<", "<>", ">="]);
                format!(" HAVING {aggregate} {sign} {number}")
            }
            false => String::new(),
        };
        if self.one_in(3) {
            return format!("SELECT {first} AS r1, {second} AS r2 FROM {from}{filter}{having}");
        }
        let by = self.no_number();
        let group = match self.one_in(3) {
            true => "r1".to_owned(),
            false => by.clone(),
        };
        let limit = self.limit();
        format!(
            "SELECT {by} AS r1, {first} AS r2, {second} AS r3 FROM {from}{filter} GROUP BY {group}{having} \
             ORDER BY 1, 2, 3{limit}"
        )
    }

    fn aggregate(&mut self) -> String {
        let value = self.value(2);
        match self.below(8) {
            0 => "count(*)".to_owned(),
            1 => format!("count(DISTINCT {value})"),
            2 => format!("count({value})"),
            3 => format!("sum({value})"),
            4 => format!("avg({value})"),
            5 => format!("min({value})"),
            6 => format!("max({value})"),
            _ => format!("coalesce(sum({value}), 0) + count(*)"),
        }
    }

    // ---- expressions

    fn column(&mut self) -> String {
        let table = self.below(self.scope.len() as u64) as usize;
        let (name, columns) = self.scope[table].clone();
        format!("{name}.{}", self.pick(columns))
    }

    fn literal(&mut self) -> String {
        match self.below(8) {
            0 => "NULL".to_owned(),
            1..=3 => self.int(),
            4 => self.float(),
            _ => format!("'{}'", self.pick(&TEXTS)),
        }
    }

    fn value(&mut self, depth: u64) -> String {
        if depth == 0 || self.one_in(3) {
            return match self.one_in(4) {
                true => self.literal(),
                false => self.column(),
            };
        }
        let a = self.value(depth - 1);
        match self.below(14) {
            0 => format!("({a} + {})", self.value(depth - 1)),
            1 => format!("({a} - {})", self.value(depth - 1)),
            2 => format!("({a} * {})", self.value(depth - 1)),
            3 => format!("({a} / {})", self.value(depth - 1)),
            4 => format!("({a} || {})", self.value(depth - 1)),
            5 => format!("coalesce({a}, {})", self.value(depth - 1)),
            6 => format!("{}({a})", self.pick(&["lower", "upper", "length"])),
            7 => format!("abs({a})"),
            8 => format!("round({a})"),
            9 => format!("round({a}, {})", self.below(3)),
            10 => format!("substr({a}, {})", self.below(7) as i64 - 3),
            11 => {
                let (from, length) = (self.below(7) as i64 - 3, self.below(7) as i64 - 3);
                format!("substr({a}, {from}, {length})")
            }
            12 => {
                let (when, other) = (self.condition(depth - 1), self.value(depth - 1));
                format!("CASE WHEN {when} THEN {a} ELSE {other} END")
            }
            _ => {
                let (of, one, two) = (self.column(), self.literal(), self.literal());
                format!("CASE {of} WHEN {one} THEN {a} WHEN {two} THEN -{of} END")
            }
        }
    }

    /// Returns a value that is no number, which would mean a result.
    fn no_number(&mut self) -> String {
        let value = self.value(2);
        match value.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
            true => format!("coalesce({value}, NULL)"),
            false => value,
        }
    }

    fn condition(&mut self, depth: u64) -> String {
        let of = match self.one_in(2) {
            true => self.column(),
            false => self.value(depth.min(2)),
        };
        let no = if self.one_in(3) { "NOT " } else { "" };
        match self.below(if depth > 0 { 11 } else { 6 }) {
            0 | 1 => {
                let sign = self.pick(&["=", "<>", "!=", "<", "<=", ">", ">="]);
                let with = match self.one_in(3) {
                    true => self.value(1),
                    false => self.literal(),
                };
                format!("{of} {sign} {with}")
            }
            2 => {
                let most = if self.one_in(4) { 40 } else { 3 };
                let count = 1 + self.below(most);
                let among: Vec<String> = (0..count).map(|_| self.literal()).collect();
                format!("{of} {no}IN ({})", among.join(", "))
            }
            3 => format!("{of} {no}BETWEEN {} AND {}", self.literal(), self.literal()),
            4 => format!("{of} {no}LIKE '{}'", self.pick(&PATTERNS)),
            5 => format!("{of} IS {no}NULL"),
            6 | 7 => format!(
                "({} AND {})",
                self.condition(depth - 1),
                self.condition(depth - 1)
            ),
            8 | 9 => format!(
                "({} OR {})",
                self.condition(depth - 1),
                self.condition(depth - 1)
            ),
            _ => format!("NOT ({})", self.condition(depth - 1)),
        }
    }
}

/// Returns what JSON writes as Erlang writes it.
fn erlang(json: &str) -> String {
    match json {
        "null" => "undefined".to_owned(),
        text if text.starts_with('"') => format!("<<{text}/utf8>>"),
        number => number.to_owned(),
    }
}
