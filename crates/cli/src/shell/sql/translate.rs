//! From what the parser gives to expressions whose names are known.

use fyris_term::Term;
use num_bigint::BigInt;
use sqlparser::ast::{
    BinaryOperator, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, Ident, InTarget, Spanned, UnaryOperator, Value,
};

use super::aggregate::SqlAggregate;
use super::expression::{Arithmetic, Sight, SqlComparison, SqlExpr};
use super::function::SqlFunction;
use super::scope::Scope;
use super::value::SqlValue;
use super::{number, refuse};
use crate::shell::error::ShellError;
use crate::shell::query::Aggregation;

/// Names of results, with what they stand for.
pub(super) type Aliases = [(String, SqlExpr)];

/// Translates the expressions of one part of a query.
pub(super) struct Translator<'q> {
    pub(super) scope: &'q Scope,
    /// Names that are no columns.
    pub(super) aliases: &'q Aliases,
    /// The aggregates so far, where they may stand.
    pub(super) aggregates: Option<&'q mut Vec<SqlAggregate>>,
}

impl Translator<'_> {
    /// Translates an expression; one that is the same in all rows is calculated.
    pub(super) fn expression(&mut self, expr: &Expr) -> Result<SqlExpr, ShellError> {
        let made = self.inside(expr)?;
        // What it is made of was calculated before.
        let parts = made.parts();
        if parts.is_empty() || !parts.into_iter().all(SqlExpr::is_constant) {
            return Ok(made);
        }
        let nothing = Sight {
            row: &[],
            aggregates: &[],
        };
        // What fails here fails in a row, if there is one.
        Ok(made.value(nothing).map_or(made, SqlExpr::Value))
    }

    fn boxed(&mut self, expr: &Expr) -> Result<Box<SqlExpr>, ShellError> {
        Ok(Box::new(self.expression(expr)?))
    }

    fn all(&mut self, exprs: &[Expr]) -> Result<Vec<SqlExpr>, ShellError> {
        exprs.iter().map(|expr| self.expression(expr)).collect()
    }

    fn inside(&mut self, expr: &Expr) -> Result<SqlExpr, ShellError> {
        Ok(match expr {
            Expr::Identifier(name) => self.name(name)?,
            Expr::CompoundIdentifier(parts) => match &parts[..] {
                [table, column] => {
                    let table = self.scope.table(table)?;
                    SqlExpr::Column(table, self.scope.0[table].column(column)?)
                }
                _ => return Err(refuse::part(expr)),
            },
            Expr::Value(value) => literal(&value.value).ok_or_else(|| refuse::part(expr))?,
            Expr::Nested(inner) => self.expression(inner)?,
            Expr::IsNull(of) => SqlExpr::IsNull(self.boxed(of)?),
            Expr::IsNotNull(of) => negated(true, SqlExpr::IsNull(self.boxed(of)?)),
            Expr::In {
                expr,
                target: InTarget::List(list),
                negated: not,
                global: false,
            } => negated(*not, SqlExpr::among(self.boxed(expr)?, self.all(list)?)),
            Expr::Between {
                expr,
                negated: not,
                low,
                high,
            } => {
                let (of, low, high) = (self.boxed(expr)?, self.boxed(low)?, self.boxed(high)?);
                negated(*not, SqlExpr::Between(of, low, high))
            }
            Expr::Like {
                negated: not,
                any: false,
                expr,
                pattern,
                escape_char: None,
            } => negated(*not, SqlExpr::Like(self.boxed(expr)?, self.boxed(pattern)?)),
            Expr::BinaryOp { left, op, right } => self.binary(expr, left, op, right)?,
            Expr::UnaryOp { op, expr: of } => self.unary(expr, *op, of)?,
            Expr::Case {
                operand,
                conditions,
                else_result,
                ..
            } => {
                let of = operand.as_ref().map(|of| self.boxed(of)).transpose()?;
                let mut cases = Vec::new();
                for case in conditions {
                    let when = self.expression(&case.condition)?;
                    cases.push((when, self.expression(&case.result)?));
                }
                let otherwise = match else_result {
                    Some(result) => self.boxed(result)?,
                    None => Box::new(SqlExpr::Value(SqlValue::Null)),
                };
                SqlExpr::Case(of, cases, otherwise)
            }
            Expr::Substring {
                expr: of,
                substring_from: Some(from),
                substring_for,
                special: true,
                ..
            } => {
                let mut arguments = vec![self.expression(of)?, self.expression(from)?];
                if let Some(length) = substring_for {
                    arguments.push(self.expression(length)?);
                }
                SqlExpr::Call(SqlFunction::Substr, arguments)
            }
            Expr::Function(function) => self.function(function)?,
            other => return Err(refuse::part(other)),
        })
    }

    /// Returns the column of a name, or what a result of that name stands for.
    fn name(&mut self, name: &Ident) -> Result<SqlExpr, ShellError> {
        if let Some(column) = self.scope.find(name)? {
            return Ok(column);
        }
        let same = |(alias, _): &&(String, SqlExpr)| alias.eq_ignore_ascii_case(&name.value);
        let Some((_, meant)) = self.aliases.iter().find(same) else {
            return Err(self.scope.missing(name));
        };
        let has_aggregate = meant.any(&|part| matches!(part, SqlExpr::Aggregate(_)));
        if has_aggregate && self.aggregates.is_none() {
            return Err(refuse::at(name.span, &misplaced(&name.value)));
        }
        Ok(meant.clone())
    }

    fn binary(
        &mut self,
        whole: &Expr,
        left: &Expr,
        op: &BinaryOperator,
        right: &Expr,
    ) -> Result<SqlExpr, ShellError> {
        let comparison = match op {
            BinaryOperator::Eq => Some(SqlComparison::Equal),
            BinaryOperator::NotEq => Some(SqlComparison::NotEqual),
            BinaryOperator::Lt => Some(SqlComparison::Less),
            BinaryOperator::LtEq => Some(SqlComparison::LessOrEqual),
            BinaryOperator::Gt => Some(SqlComparison::Greater),
            BinaryOperator::GtEq => Some(SqlComparison::GreaterOrEqual),
            _ => None,
        };
        let (a, b) = (self.boxed(left)?, self.boxed(right)?);
        if let Some(comparison) = comparison {
            return Ok(compared(comparison, a, b));
        }
        let arithmetic = match op {
            BinaryOperator::And => return Ok(SqlExpr::And(a, b)),
            BinaryOperator::Or => return Ok(SqlExpr::Or(a, b)),
            BinaryOperator::StringConcat => return Ok(SqlExpr::Concat(a, b)),
            BinaryOperator::Plus => Arithmetic::Add,
            BinaryOperator::Minus => Arithmetic::Subtract,
            BinaryOperator::Multiply => Arithmetic::Multiply,
            BinaryOperator::Divide => Arithmetic::Divide,
            _ => return Err(refuse::part(whole)),
        };
        Ok(SqlExpr::Arithmetic(arithmetic, a, b))
    }

    fn unary(&mut self, whole: &Expr, op: UnaryOperator, of: &Expr) -> Result<SqlExpr, ShellError> {
        match op {
            UnaryOperator::Not => Ok(negated(true, self.expression(of)?)),
            UnaryOperator::Plus => self.expression(of),
            UnaryOperator::Minus => {
                if let Expr::Value(value) = of
                    && let Value::Number(digits, _) = &value.value
                    && let Some(number) = number_of(&format!("-{digits}"))
                {
                    return Ok(number);
                }
                let zero = Box::new(SqlExpr::Value(SqlValue::Int(0)));
                Ok(SqlExpr::Arithmetic(
                    Arithmetic::Subtract,
                    zero,
                    self.boxed(of)?,
                ))
            }
            _ => Err(refuse::part(whole)),
        }
    }

    fn function(&mut self, function: &Function) -> Result<SqlExpr, ShellError> {
        let name = super::scope::name(&function.name)?
            .value
            .to_ascii_lowercase();
        let FunctionArguments::List(list) = &function.args else {
            return Err(refuse::part(function));
        };
        let mut bare = function.clone();
        bare.args = FunctionArguments::None;
        refuse::rest(function.span(), &bare, &function.name.to_string())?;
        if !list.clauses.is_empty() {
            return Err(refuse::part(function));
        }
        let distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
        let mut exprs = Vec::new();
        for argument in &list.args {
            match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => exprs.push(expr),
                FunctionArg::Unnamed(FunctionArgExpr::Wildcard)
                    if name == "count" && list.args.len() == 1 => {}
                _ => return Err(refuse::part(function)),
            }
        }
        let is_star = exprs.len() < list.args.len();
        if let Some(what) = Aggregation::of(&name, list.args.len())
            && (is_star || !exprs.is_empty())
        {
            if distinct && is_star {
                let text = function.to_string();
                return Err(refuse::function(function.span(), &text, &name));
            }
            return self.aggregate(function, what, exprs.first().copied(), distinct);
        }
        match SqlFunction::named(&name) {
            Some((meant, arguments)) if !distinct && arguments.contains(&exprs.len()) => {
                let exprs = exprs.into_iter().map(|expr| self.expression(expr));
                Ok(SqlExpr::Call(meant, exprs.collect::<Result<_, _>>()?))
            }
            _ => Err(refuse::function(
                function.span(),
                &function.to_string(),
                &name,
            )),
        }
    }

    fn aggregate(
        &mut self,
        function: &Function,
        what: Aggregation,
        argument: Option<&Expr>,
        distinct: bool,
    ) -> Result<SqlExpr, ShellError> {
        let misplaced = || refuse::at(function.span(), &misplaced(&function.to_string()));
        if self.aggregates.is_none() {
            return Err(misplaced());
        }
        // Inside there are none.
        let mut inside = Translator {
            scope: self.scope,
            aliases: &[],
            aggregates: None,
        };
        let argument = argument.map(|expr| inside.expression(expr)).transpose()?;
        let one = SqlAggregate {
            what,
            argument,
            distinct,
        };
        let known = self.aggregates.as_deref_mut().ok_or_else(misplaced)?;
        let place = known.iter().position(|aggregate| *aggregate == one);
        let place = place.unwrap_or_else(|| {
            known.push(one);
            known.len() - 1
        });
        Ok(SqlExpr::Aggregate(place))
    }
}

fn misplaced(text: &str) -> String {
    format!(
        "`{text}` is an aggregate, which WHERE, ON, SET and VALUES cannot have: HAVING filters groups by it"
    )
}

fn negated(not: bool, of: SqlExpr) -> SqlExpr {
    match not {
        true => SqlExpr::Not(Box::new(of)),
        false => of,
    }
}

/// Makes a comparison with values: what TRUE and FALSE are beside others.
fn compared(comparison: SqlComparison, mut a: Box<SqlExpr>, mut b: Box<SqlExpr>) -> SqlExpr {
    for side in [&mut a, &mut b] {
        if let SqlExpr::Flag(flag) = **side {
            **side = SqlExpr::Value(SqlValue::Bool(flag));
        }
    }
    SqlExpr::Compare(comparison, a, b)
}

fn literal(value: &Value) -> Option<SqlExpr> {
    Some(match value {
        Value::Number(digits, _) => number_of(digits)?,
        Value::SingleQuotedString(text) => SqlExpr::Value(SqlValue::Text(text.clone())),
        Value::Boolean(flag) => SqlExpr::Flag(*flag),
        Value::Null => SqlExpr::Value(SqlValue::Null),
        _ => return None,
    })
}

/// Returns the number that digits write: an integer of any size, or a float.
fn number_of(digits: &str) -> Option<SqlExpr> {
    let number = match digits.parse::<BigInt>() {
        Ok(int) => Some(SqlValue::of(&Term::integer(int))),
        Err(_) => number::whole(digits),
    };
    number.map(SqlExpr::Value)
}
