//! The plan of a SELECT.

use sqlparser::ast::{
    Distinct, Expr, GroupByExpr, Ident, JoinConstraint, JoinOperator, LimitClause, OrderByKind,
    OrderBySort, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, Spanned,
    TableWithJoins, Value,
};

use super::aggregate::SqlAggregate;
use super::expression::SqlExpr;
use super::join::JoinPlan;
use super::refuse;
use super::scan::Scan;
use super::scope::{Scope, Source};
use super::translate::{Aliases, Translator};
use super::value::SqlValue;
use crate::shell::error::ShellError;
use crate::shell::session::Session;

/// A SELECT that is ready to run.
pub(super) struct SelectPlan {
    pub(super) scan: Scan,
    pub(super) joins: Vec<JoinPlan>,
    /// What makes a group, if rows are no results by themselves.
    pub(super) groups: Option<Vec<SqlExpr>>,
    pub(super) aggregates: Vec<SqlAggregate>,
    pub(super) having: Option<SqlExpr>,
    pub(super) names: Vec<String>,
    pub(super) results: Vec<SqlExpr>,
    pub(super) is_distinct: bool,
    /// Values to sort by, and whether the greatest comes first.
    pub(super) order: Vec<(SqlExpr, bool)>,
    pub(super) limit: Option<usize>,
    pub(super) offset: usize,
}

impl SelectPlan {
    /// Plans a query.
    pub(super) fn new(session: &Session, query: &Query) -> Result<SelectPlan, ShellError> {
        let SetExpr::Select(select) = &*query.body else {
            return Err(refuse::part(query));
        };
        check_query(query)?;
        check_select(select)?;
        let (scope, joins) = from(session, &select.from)?;
        let mut aggregates = Vec::new();
        let results = results(&scope, &select.projection, &mut aggregates)?;
        let condition = single(&scope, &results, select.selection.as_ref())?;
        let groups = groups(&scope, &results, &select.group_by)?;
        let mut of_groups = Translator {
            scope: &scope,
            aliases: &results,
            aggregates: Some(&mut aggregates),
        };
        let having = select.having.as_ref();
        let having = having.map(|expr| of_groups.expression(expr)).transpose()?;
        let order = order(&mut of_groups, query)?;
        let is_grouped = !groups.is_empty() || !aggregates.is_empty() || having.is_some();
        if is_grouped {
            let of_results = results.iter().map(|(_, expr)| expr);
            let of_order = order.iter().map(|(expr, _)| expr);
            for expr in of_results.chain(of_order).chain(&having) {
                check_grouped(&scope, expr, &groups)?;
            }
        }
        let (limit, offset) = limits(query)?;
        let table = scope.0[0].table.clone();
        let (condition, late) = split(condition);
        let mut scan = Scan::new(&table, condition)?;
        scan.behind.extend(late);
        let (names, results) = results.into_iter().unzip();
        Ok(SelectPlan {
            scan,
            joins,
            groups: is_grouped.then_some(groups),
            aggregates,
            having,
            names,
            results,
            is_distinct: matches!(select.distinct, Some(Distinct::Distinct)),
            order,
            limit,
            offset,
        })
    }

    /// Returns the plan in words, a line each.
    pub(super) fn explain(&self) -> Result<Vec<String>, ShellError> {
        let mut lines = self.scan.words()?;
        lines.extend(self.joins.iter().map(JoinPlan::words));
        let stages = [
            (self.groups.is_some(), "groups, in memory"),
            (self.is_distinct, "distinct rows, in memory"),
            (!self.order.is_empty(), "sorted, in memory"),
        ];
        lines.extend(
            stages
                .iter()
                .filter(|(is, _)| *is)
                .map(|(_, what)| (*what).to_owned()),
        );
        Ok(lines)
    }
}

/// Parts a condition into what is about the first table alone, and the rest.
fn split(condition: Option<SqlExpr>) -> (Option<SqlExpr>, Vec<SqlExpr>) {
    let parts = condition.into_iter().flat_map(SqlExpr::conjuncts);
    let is_first = |part: &SqlExpr| !part.any(&|part| matches!(part, SqlExpr::Column(1.., _)));
    let (first, late): (Vec<_>, Vec<_>) = parts.partition(is_first);
    let first = first
        .into_iter()
        .reduce(|a, b| SqlExpr::And(Box::new(a), Box::new(b)));
    (first, late)
}

/// Refuses all that is not known around a SELECT.
fn check_query(query: &Query) -> Result<(), ShellError> {
    let mut bare = query.clone();
    (bare.order_by, bare.limit_clause) = (None, None);
    refuse::rest(query.span(), &bare, &query.body.to_string())
}

/// Refuses all that is not known in a SELECT.
fn check_select(select: &Select) -> Result<(), ShellError> {
    let mut bare = select.clone();
    bare.projection.clear();
    bare.from.clear();
    (bare.selection, bare.having, bare.distinct) = (None, None, None);
    bare.group_by = GroupByExpr::Expressions(vec![], vec![]);
    refuse::rest(select.span(), &bare, "SELECT")?;
    match &select.distinct {
        Some(Distinct::On(_)) => Err(refuse::part(select)),
        _ => Ok(()),
    }
}

/// Finds the tables, and how they are joined.
fn from(session: &Session, from: &[TableWithJoins]) -> Result<(Scope, Vec<JoinPlan>), ShellError> {
    let [first] = from else {
        let second = from
            .get(1)
            .map(|second| second.span())
            .unwrap_or_else(sqlparser::tokenizer::Span::empty);
        return Err(refuse::at(
            second,
            "tables with commas between are not supported: write `JOIN ... ON a.x = b.key`",
        ));
    };
    let mut scope = Scope::default();
    scope.add(
        Source::new(session, &first.relation)?,
        first.relation.span(),
    )?;
    let mut joins = Vec::new();
    for join in &first.joins {
        let span = join.relation.span();
        let (on, is_left) = match &join.join_operator {
            JoinOperator::Join(JoinConstraint::On(on))
            | JoinOperator::Inner(JoinConstraint::On(on)) => (on, false),
            JoinOperator::Left(JoinConstraint::On(on))
            | JoinOperator::LeftOuter(JoinConstraint::On(on)) => (on, true),
            _ => return Err(refuse::named(span, &join.to_string())),
        };
        scope.add(Source::new(session, &join.relation)?, span)?;
        let on = single(&scope, &[], Some(on))?;
        let on = on.unwrap_or(SqlExpr::Flag(true));
        let plan = JoinPlan::new(&scope, on, is_left);
        joins.push(plan.map_err(|problem| refuse::at(span, &problem))?);
    }
    Ok((scope, joins))
}

/// Translates a condition on rows.
pub(super) fn single(
    scope: &Scope,
    aliases: &Aliases,
    expr: Option<&Expr>,
) -> Result<Option<SqlExpr>, ShellError> {
    let mut rows = Translator {
        scope,
        aliases,
        aggregates: None,
    };
    expr.map(|expr| rows.expression(expr)).transpose()
}

/// Translates what is between SELECT and FROM.
fn results(
    scope: &Scope,
    items: &[SelectItem],
    aggregates: &mut Vec<SqlAggregate>,
) -> Result<Vec<(String, SqlExpr)>, ShellError> {
    let mut results = Vec::new();
    for item in items {
        let mut translator = Translator {
            scope,
            aliases: &[],
            aggregates: Some(aggregates),
        };
        match item {
            SelectItem::UnnamedExpr(expr) => {
                let made = translator.expression(expr)?;
                results.push((title(scope, expr, &made), made));
            }
            SelectItem::ExprWithAlias { expr, alias } => {
                results.push((alias.value.clone(), translator.expression(expr)?));
            }
            SelectItem::Wildcard(options) => {
                refuse::rest(item.span(), options, "")?;
                for table in 0..scope.0.len() {
                    results.extend(columns(scope, table)?);
                }
            }
            SelectItem::QualifiedWildcard(
                SelectItemQualifiedWildcardKind::ObjectName(name),
                options,
            ) => {
                refuse::rest(item.span(), options, "")?;
                let table = scope.table(super::scope::name(name)?)?;
                results.extend(columns(scope, table)?);
            }
            other => return Err(refuse::part(other)),
        }
    }
    Ok(results)
}

/// Returns all columns of a table.
fn columns(
    scope: &Scope,
    table: usize,
) -> Result<impl Iterator<Item = (String, SqlExpr)>, ShellError> {
    let columns = scope.0[table].all_columns()?.into_iter().enumerate();
    Ok(columns.map(move |(place, name)| (name, SqlExpr::Column(table, place))))
}

/// Returns the name of a result that was given none.
fn title(scope: &Scope, expr: &Expr, made: &SqlExpr) -> String {
    match made {
        SqlExpr::Column(table, place) => {
            let name = scope.0[*table].columns.get(*place);
            name.cloned().unwrap_or_else(|| expr.to_string())
        }
        _ => expr.to_string(),
    }
}

/// Translates GROUP BY, in which a number is that of a result.
fn groups(scope: &Scope, results: &Aliases, by: &GroupByExpr) -> Result<Vec<SqlExpr>, ShellError> {
    let GroupByExpr::Expressions(exprs, modifiers) = by else {
        return Err(refuse::named(by.span(), &by.to_string()));
    };
    if !modifiers.is_empty() {
        return Err(refuse::named(by.span(), &by.to_string()));
    }
    let mut groups = Vec::new();
    for expr in exprs {
        let group = match ordinal(expr, results)? {
            Some((_, result)) => Some(result.clone()),
            None => single(scope, results, Some(expr))?,
        };
        let has_aggregate =
            |group: &SqlExpr| group.any(&|part| matches!(part, SqlExpr::Aggregate(_)));
        if group.as_ref().is_some_and(has_aggregate) {
            let problem = "GROUP BY cannot have an aggregate: HAVING filters groups by it";
            return Err(refuse::at(expr.span(), problem));
        }
        groups.extend(group);
    }
    Ok(groups)
}

/// Returns the result that a number means.
fn ordinal<'r>(
    expr: &Expr,
    results: &'r Aliases,
) -> Result<Option<&'r (String, SqlExpr)>, ShellError> {
    let Expr::Value(value) = expr else {
        return Ok(None);
    };
    let Value::Number(digits, _) = &value.value else {
        return Ok(None);
    };
    let place = digits
        .parse::<usize>()
        .ok()
        .and_then(|number| number.checked_sub(1));
    match place.and_then(|place| results.get(place)) {
        Some(result) => Ok(Some(result)),
        None => {
            let problem = format!("there are {} results, and no {digits}", results.len());
            Err(refuse::at(expr.span(), &problem))
        }
    }
}

/// Translates ORDER BY, in which a number or a name may be that of a result.
fn order(
    translator: &mut Translator<'_>,
    query: &Query,
) -> Result<Vec<(SqlExpr, bool)>, ShellError> {
    let Some(order) = &query.order_by else {
        return Ok(vec![]);
    };
    let OrderByKind::Expressions(exprs) = &order.kind else {
        return Err(refuse::part(order));
    };
    if order.interpolate.is_some() {
        return Err(refuse::part(order));
    }
    let mut values = Vec::new();
    for one in exprs {
        let is_known = one.with_fill.is_none() && one.options.nulls_first.is_none();
        let descending = match &one.options.sort {
            None | Some(OrderBySort::Asc) if is_known => false,
            Some(OrderBySort::Desc) if is_known => true,
            _ => return Err(refuse::part(one)),
        };
        let results = translator.aliases;
        let alias = |name: &Ident| {
            results
                .iter()
                .find(|(alias, _)| alias.eq_ignore_ascii_case(&name.value))
        };
        let result = match &one.expr {
            Expr::Identifier(name) => alias(name),
            expr => ordinal(expr, results)?,
        };
        let value = match result {
            Some((_, result)) => result.clone(),
            None => translator.expression(&one.expr)?,
        };
        values.push((value, descending));
    }
    Ok(values)
}

/// Refuses a column that may differ within a group.
fn check_grouped(scope: &Scope, expr: &SqlExpr, groups: &[SqlExpr]) -> Result<(), ShellError> {
    if groups.contains(expr) {
        return Ok(());
    }
    if let SqlExpr::Column(table, place) = expr {
        let name = scope.0[*table]
            .columns
            .get(*place)
            .map_or("a column", String::as_str);
        return Err(ShellError::other(format!(
            "{name} may differ within a group: put it into GROUP BY, or into avg, count, max, min or sum"
        )));
    }
    let parts = expr.parts();
    parts
        .into_iter()
        .try_for_each(|part| check_grouped(scope, part, groups))
}

/// Returns LIMIT and OFFSET; a limit below zero is none.
fn limits(query: &Query) -> Result<(Option<usize>, usize), ShellError> {
    let (limit, offset) = match &query.limit_clause {
        None => (None, None),
        Some(LimitClause::LimitOffset {
            limit,
            offset,
            limit_by,
        }) if limit_by.is_empty() => (limit.as_ref(), offset.as_ref().map(|offset| &offset.value)),
        Some(LimitClause::OffsetCommaLimit { offset, limit }) => (Some(limit), Some(offset)),
        Some(other) => return Err(refuse::part(other)),
    };
    let number = |expr: &Expr| match single(&Scope::default(), &[], Some(expr))? {
        Some(SqlExpr::Value(SqlValue::Int(number))) => Ok(number),
        _ => Err(refuse::at(expr.span(), "a whole number is needed here")),
    };
    let limit = limit.map(number).transpose()?;
    let offset = offset.map(number).transpose()?.unwrap_or(0);
    let limit = limit.and_then(|limit| usize::try_from(limit).ok());
    Ok((limit, usize::try_from(offset).unwrap_or(0)))
}
