//! The functions that guards and bodies may call.

use std::cmp::Ordering;

/// A comparison of two terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Greater,
    GreaterEqual,
    Less,
    LessEqual,
    Equal,
    NotEqual,
    Exact,
    NotExact,
}

impl Comparison {
    /// Returns the comparison that holds when this one does not.
    pub(crate) fn negated(self) -> Comparison {
        match self {
            Comparison::Greater => Comparison::LessEqual,
            Comparison::GreaterEqual => Comparison::Less,
            Comparison::Less => Comparison::GreaterEqual,
            Comparison::LessEqual => Comparison::Greater,
            Comparison::Equal => Comparison::NotEqual,
            Comparison::NotEqual => Comparison::Equal,
            Comparison::Exact => Comparison::NotExact,
            Comparison::NotExact => Comparison::Exact,
        }
    }

    /// Returns the comparison that holds for `(b, a)` when this one holds for `(a, b)`.
    pub(crate) fn mirrored(self) -> Comparison {
        match self {
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterEqual => Comparison::LessEqual,
            Comparison::Less => Comparison::Greater,
            Comparison::LessEqual => Comparison::GreaterEqual,
            same => same,
        }
    }

    /// Returns the orders of two terms for which it holds, a bit each from less to greater. Whether terms that are
    /// `==` are `=:=` is for the caller to check.
    #[inline]
    pub(crate) fn orders(self) -> u8 {
        const LESS: u8 = 1;
        const EQUAL: u8 = 2;
        const GREATER: u8 = 4;
        match self {
            Comparison::Greater => GREATER,
            Comparison::GreaterEqual => GREATER | EQUAL,
            Comparison::Less => LESS,
            Comparison::LessEqual => LESS | EQUAL,
            Comparison::Equal | Comparison::Exact => EQUAL,
            Comparison::NotEqual | Comparison::NotExact => LESS | GREATER,
        }
    }

    /// Returns whether it holds for terms in this order. By a mask: a branch for each comparison would be mispredicted
    /// where objects differ.
    #[inline]
    pub(crate) fn holds(self, order: Ordering) -> bool {
        self.orders() >> (order as i8 + 1) & 1 == 1
    }
}

/// The meaning of a name in front of arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Callee {
    Function(Function),
    Compare(Comparison),
    /// One argument or more, all evaluated.
    And,
    Or,
    /// One argument or more, evaluated until the value is known.
    AndAlso,
    OrElse,
    /// One argument, taken as it is.
    Const,
}

macro_rules! functions {
    ($($variant:ident $name:literal $arity:literal,)*) => {
        /// A function of 0 to 3 arguments.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub(crate) enum Function {
            $($variant,)*
        }

        /// Every function: its name and its number of arguments. OTP has no `map_put` and `map_remove`.
        const FUNCTIONS: &[(&str, usize, Function)] = &[$(($name, $arity, Function::$variant),)*];
    };
}

functions! {
    IsAtom "is_atom" 1,
    IsFloat "is_float" 1,
    IsInteger "is_integer" 1,
    IsIntegerBetween "is_integer" 3,
    IsList "is_list" 1,
    IsNumber "is_number" 1,
    IsPid "is_pid" 1,
    IsPort "is_port" 1,
    IsReference "is_reference" 1,
    IsTuple "is_tuple" 1,
    IsMap "is_map" 1,
    IsBinary "is_binary" 1,
    IsBitstring "is_bitstring" 1,
    IsBoolean "is_boolean" 1,
    IsFun "is_function" 1,
    IsFunOfArity "is_function" 2,
    IsRecord "is_record" 3,
    IsMapKey "is_map_key" 2,
    Max "max" 2,
    Min "min" 2,
    Abs "abs" 1,
    Element "element" 2,
    Hd "hd" 1,
    Tl "tl" 1,
    Length "length" 1,
    Node "node" 0,
    NodeOf "node" 1,
    SelfPid "self" 0,
    Round "round" 1,
    Trunc "trunc" 1,
    Floor "floor" 1,
    Ceil "ceil" 1,
    Float "float" 1,
    Size "size" 1,
    TupleSize "tuple_size" 1,
    BitSize "bit_size" 1,
    ByteSize "byte_size" 1,
    MapSize "map_size" 1,
    MapGet "map_get" 2,
    MapPut "map_put" 3,
    MapRemove "map_remove" 2,
    BinaryPart "binary_part" 2,
    BinaryPartOf "binary_part" 3,
    Plus "+" 1,
    Minus "-" 1,
    Add "+" 2,
    Subtract "-" 2,
    Multiply "*" 2,
    Divide "/" 2,
    Div "div" 2,
    Rem "rem" 2,
    Band "band" 2,
    Bor "bor" 2,
    Bxor "bxor" 2,
    Bnot "bnot" 1,
    Bsl "bsl" 2,
    Bsr "bsr" 2,
    Not "not" 1,
    Xor "xor" 2,
}

const COMPARISONS: &[(&str, Comparison)] = &[
    (">", Comparison::Greater),
    (">=", Comparison::GreaterEqual),
    ("<", Comparison::Less),
    ("=<", Comparison::LessEqual),
    ("==", Comparison::Equal),
    ("/=", Comparison::NotEqual),
    ("=:=", Comparison::Exact),
    ("=/=", Comparison::NotExact),
];

/// The functions that only tracing has.
const TRACING: &[&str] = &[
    "is_seq_trace",
    "set_seq_token",
    "get_seq_token",
    "message",
    "return_trace",
    "exception_trace",
    "process_dump",
    "enable_trace",
    "disable_trace",
    "trace",
    "display",
    "caller",
    "caller_line",
    "current_stacktrace",
    "set_tcw",
    "get_tcw",
    "silent",
];

/// The reason why a call is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoCall {
    Unknown,
    /// It takes another number of arguments: which, in words.
    Arity(&'static str),
    OnlyForTracing,
}

/// Returns the meaning of a call of `name` with a number of arguments.
pub(crate) fn lookup(name: &str, arguments: usize) -> Result<Callee, NoCall> {
    let special = match name {
        "const" if arguments == 1 => Some(Callee::Const),
        "const" => return Err(NoCall::Arity("one argument")),
        "and" => Some(Callee::And),
        "or" => Some(Callee::Or),
        "andalso" => Some(Callee::AndAlso),
        "orelse" => Some(Callee::OrElse),
        _ => None,
    };
    match special {
        Some(_) if arguments == 0 => Err(NoCall::Arity("one argument or more")),
        Some(callee) => Ok(callee),
        None => ordinary(name, arguments),
    }
}

fn ordinary(name: &str, arguments: usize) -> Result<Callee, NoCall> {
    if let Some(&(_, comparison)) = COMPARISONS.iter().find(|(known, _)| *known == name) {
        return match arguments {
            2 => Ok(Callee::Compare(comparison)),
            _ => Err(NoCall::Arity("two arguments")),
        };
    }
    let mut of_name = FUNCTIONS
        .iter()
        .filter(|(known, ..)| *known == name)
        .peekable();
    let Some(&&(_, arity, _)) = of_name.peek() else {
        let tracing = TRACING.contains(&name);
        return Err(if tracing {
            NoCall::OnlyForTracing
        } else {
            NoCall::Unknown
        });
    };
    of_name
        .clone()
        .find(|(_, arity, _)| *arity == arguments)
        .map(|&(.., function)| Callee::Function(function))
        .ok_or(NoCall::Arity(match (arity, of_name.count()) {
            (0, 1) => "no argument",
            (1, 1) => "one argument",
            (2, 1) => "two arguments",
            (3, 1) => "three arguments",
            (0, _) => "no argument or one",
            (1, _) if name == "is_integer" => "one or three arguments",
            (1, _) => "one or two arguments",
            _ => "two or three arguments",
        }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_by_their_arguments() {
        assert_eq!(lookup("is_atom", 1), Ok(Callee::Function(Function::IsAtom)));
        assert_eq!(lookup("-", 1), Ok(Callee::Function(Function::Minus)));
        assert_eq!(lookup("-", 2), Ok(Callee::Function(Function::Subtract)));
        assert_eq!(lookup("and", 7), Ok(Callee::And));
        assert_eq!(lookup("and", 0), Err(NoCall::Arity("one argument or more")));
        assert_eq!(lookup("const", 2), Err(NoCall::Arity("one argument")));
        assert_eq!(lookup("self", 1), Err(NoCall::Arity("no argument")));
        assert_eq!(lookup("node", 2), Err(NoCall::Arity("no argument or one")));
        assert_eq!(
            lookup("is_integer", 2),
            Err(NoCall::Arity("one or three arguments"))
        );
        assert_eq!(lookup(">", 1), Err(NoCall::Arity("two arguments")));
        assert_eq!(lookup("caller", 0), Err(NoCall::OnlyForTracing));
        assert_eq!(lookup("spawn", 1), Err(NoCall::Unknown));
    }
}
