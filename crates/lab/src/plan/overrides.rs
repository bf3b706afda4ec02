//! What the command line changes in a plan: a pure function of its tables. It must not know what a
//! changed plan means; that is checked afterwards, as if it had been written so.

use std::borrow::Cow;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::problem::{Place, Places, Problem, unknown};
use super::tables::TABLES;

/// The arguments of `assay run` that change the plan, as they were given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides {
    pub(crate) target: Option<String>,
    pub(crate) users: Option<u64>,
    pub(crate) rate: Option<String>,
    pub(crate) duration: Option<String>,
    /// `name=value`: a variable, an option of the plan, or `populations.NAME.option`.
    pub(crate) set: Vec<String>,
}

/// One change.
#[derive(Debug)]
pub(super) struct Argument {
    /// As it is shown: without a value that may be a secret.
    shown: String,
    change: Change,
    value: String,
}

#[derive(Debug)]
enum Change {
    Target,
    Users,
    Rate,
    Duration,
    Set(String),
}

impl Overrides {
    /// The changes, in the order in which they are made; a `--set` without `=` is a problem.
    pub(super) fn arguments(&self) -> Result<Vec<Argument>, Problem> {
        let users = self.users.map(|users| users.to_string());
        let options = [
            ("--target", Change::Target, self.target.clone()),
            ("--users", Change::Users, users),
            ("--rate", Change::Rate, self.rate.clone()),
            ("--duration", Change::Duration, self.duration.clone()),
        ];
        let options = options.into_iter().filter_map(|(name, change, value)| {
            let value = value?;
            let shown = format!("{name} {value}");
            Some(Ok(Argument {
                shown,
                change,
                value,
            }))
        });
        options
            .chain(self.set.iter().map(|set| set_argument(set)))
            .collect()
    }
}

fn set_argument(text: &str) -> Result<Argument, Problem> {
    let Some((name, value)) = text.split_once('=') else {
        return Err(Problem {
            place: Place::Argument(format!("--set {text}")),
            option: String::new(),
            what: "expected `--set name=value`".to_owned(),
        });
    };
    Ok(Argument {
        shown: format!("--set {name}=…"),
        change: Change::Set(name.to_owned()),
        value: value.to_owned(),
    })
}

/// Makes the changes. A changed value stands at the place of its argument.
pub(super) fn apply<'a>(
    root: &mut DeTable<'a>,
    arguments: &'a [Argument],
    places: &mut Places,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    for argument in arguments {
        let span = places.add_argument(argument.shown.clone());
        let text = DeValue::String(Cow::Borrowed(argument.value.as_str()));
        let applied = match &argument.change {
            Change::Target => {
                insert(root, "target", &span, text);
                Ok(())
            }
            Change::Users => level(root, ("users", "rate"), &span, number(&argument.value)),
            Change::Rate => level(root, ("rate", "users"), &span, text),
            Change::Duration => duration(root, &span, text),
            Change::Set(name) => set(root, name, &span, &argument.value),
        };
        problems.extend(applied.err().map(|what| Problem {
            place: places.at(span.start),
            option: String::new(),
            what,
        }));
    }
    problems
}

/// A list or a table, if the text is one. Everything in it stands at the place of the argument.
fn compound<'a>(text: &'a str, span: &Range<usize>) -> Option<DeValue<'a>> {
    match DeValue::parse(text).map(Spanned::into_inner) {
        Ok(value @ (DeValue::Array(_) | DeValue::Table(_))) => Some(moved(value, span)),
        _ => None,
    }
}

/// The value with all that is in it at one place.
fn moved<'a>(value: DeValue<'a>, span: &Range<usize>) -> DeValue<'a> {
    let place =
        |value: Spanned<DeValue<'a>>| Spanned::new(span.clone(), moved(value.into_inner(), span));
    match value {
        DeValue::Array(list) => DeValue::Array(list.into_iter().map(place).collect()),
        DeValue::Table(table) => {
            let entries = table.into_iter();
            let entries = entries
                .map(|(key, value)| (Spanned::new(span.clone(), key.into_inner()), place(value)));
            DeValue::Table(entries.collect())
        }
        other => other,
    }
}

/// A number or a truth value if the text is one, and else the text.
fn number(text: &str) -> DeValue<'_> {
    match DeValue::parse(text).map(Spanned::into_inner) {
        Ok(value @ (DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_))) => value,
        _ => DeValue::String(Cow::Borrowed(text)),
    }
}

fn find<'t, 'a>(table: &'t mut DeTable<'a>, name: &str) -> Option<&'t mut DeValue<'a>> {
    table.get_mut(name).map(Spanned::get_mut)
}

fn has(table: &DeTable<'_>, name: &str) -> bool {
    table.contains_key(name)
}

fn insert<'a>(table: &mut DeTable<'a>, name: &str, span: &Range<usize>, value: DeValue<'a>) {
    // The key that is there has its old place; what is wrong is the value.
    drop(table.remove(name));
    let key: DeString<'a> = Cow::Owned(name.to_owned());
    let (key, value) = (
        Spanned::new(span.clone(), key),
        Spanned::new(span.clone(), value),
    );
    drop(table.insert(key, value));
}

/// Tables of a list, as far as they are tables.
fn tables<'t, 'a>(root: &'t mut DeTable<'a>, list: &str) -> Vec<&'t mut DeTable<'a>> {
    let Some(DeValue::Array(array)) = find(root, list) else {
        return Vec::new();
    };
    let elements = array
        .iter_mut()
        .filter_map(|element| match element.get_mut() {
            DeValue::Table(table) => Some(table),
            _ => None,
        });
    elements.collect()
}

fn name_of(table: &DeTable<'_>) -> Option<String> {
    table.get("name")?.get_ref().as_str().map(str::to_owned)
}

/// The only one, or what to write instead.
fn only<'t, 'a>(
    found: Vec<&'t mut DeTable<'a>>,
    option: &str,
) -> Result<&'t mut DeTable<'a>, String> {
    let names: Vec<_> = found.iter().filter_map(|table| name_of(table)).collect();
    let mut found = found.into_iter();
    match (found.next(), found.next()) {
        (Some(table), None) => Ok(table),
        (None, _) => Err(format!("no population has `{option}`")),
        _ => {
            let ways = names
                .iter()
                .map(|name| format!("`--set populations.{name}.{option}=…`"));
            let ways = ways.collect::<Vec<_>>().join(" or ");
            Err(format!(
                "there are several populations: say which by {ways}"
            ))
        }
    }
}

/// Sets `users` or `rate` of the population that has one, or of the only population.
fn level<'a>(
    root: &mut DeTable<'a>,
    (option, other): (&str, &str),
    span: &Range<usize>,
    value: DeValue<'a>,
) -> Result<(), String> {
    let all = tables(root, "populations");
    let is_alone = all.len() == 1;
    let fitting = all
        .into_iter()
        .filter(|table| is_alone || has(table, option));
    let table = only(fitting.collect(), option)?;
    if has(table, "stages") {
        return Err("the population has `stages`: change them in the plan".to_owned());
    }
    if !has(table, option) {
        // From one kind of load to the other: what belongs to the old kind goes with it.
        let of_users = ["users", "loops", "think", "pacing"];
        let of_rates = ["rate", "arrivals", "limit", "backlog"];
        let old = if other == "users" { of_users } else { of_rates };
        for name in old {
            drop(table.remove(name));
        }
    }
    insert(table, option, span, value);
    Ok(())
}

fn duration<'a>(
    root: &mut DeTable<'a>,
    span: &Range<usize>,
    value: DeValue<'a>,
) -> Result<(), String> {
    let table = only(tables(root, "populations"), "duration")?;
    if has(table, "stages") {
        return Err("the population has `stages`: change them in the plan".to_owned());
    }
    drop(table.remove("hold"));
    insert(table, "duration", span, value);
    Ok(())
}

fn set<'a>(
    root: &mut DeTable<'a>,
    name: &str,
    span: &Range<usize>,
    value: &'a str,
) -> Result<(), String> {
    let text = DeValue::String(Cow::Borrowed(value));
    let path: Vec<&str> = name.split('.').collect();
    match path.as_slice() {
        [variable] | ["variables", variable] => {
            let variables = match find(root, "variables") {
                Some(DeValue::Table(variables)) => Some(variables),
                _ => None,
            };
            let names: Vec<String> = variables
                .as_ref()
                .map(|table| table.keys().map(|key| key.get_ref().to_string()).collect())
                .unwrap_or_default();
            if let Some(variables) = variables.filter(|table| has(table, variable)) {
                insert(variables, variable, span, text);
                return Ok(());
            }
            let options = TABLES[0].options.iter().map(|spec| spec.name);
            if path.len() == 1 && options.clone().any(|option| option == *variable) {
                let value = compound(value, span).unwrap_or_else(|| number(value));
                insert(root, variable, span, value);
                return Ok(());
            }
            let known = names.iter().map(String::as_str).chain(options);
            Err(unknown("variable or option", variable, known))
        }
        [way @ .., option] => {
            let table = walk(root, way)?;
            let is_text = matches!(find(table, option), Some(DeValue::String(_)));
            let simple = || if is_text { text } else { number(value) };
            let value = compound(value, span).unwrap_or_else(simple);
            insert(table, option, span, value);
            Ok(())
        }
        [] => Ok(()),
    }
}

/// The table at a path; an element of a list is named by its `name` or counted from 0.
fn walk<'t, 'a>(root: &'t mut DeTable<'a>, way: &[&str]) -> Result<&'t mut DeTable<'a>, String> {
    let Some((first, rest)) = way.split_first() else {
        return Ok(root);
    };
    let keys: Vec<String> = root.keys().map(|key| key.get_ref().to_string()).collect();
    if matches!(find(root, first), Some(DeValue::Array(_))) {
        let Some((element, rest)) = rest.split_first() else {
            return Err(format!("`{first}` is a list: write `{first}.NAME.…`"));
        };
        return walk(pick(tables(root, first), first, element)?, rest);
    }
    match find(root, first) {
        Some(DeValue::Table(table)) => walk(table, rest),
        Some(_) => Err(format!("`{first}` is no table")),
        None => Err(unknown("table", first, keys.iter().map(String::as_str))),
    }
}

fn pick<'t, 'a>(
    tables: Vec<&'t mut DeTable<'a>>,
    list: &str,
    element: &str,
) -> Result<&'t mut DeTable<'a>, String> {
    let names: Vec<_> = tables.iter().map(|table| name_of(table)).collect();
    let by_name = names
        .iter()
        .position(|name| name.as_deref() == Some(element));
    let index = by_name.or_else(|| element.parse().ok());
    let found = index.and_then(|index| tables.into_iter().nth(index));
    let known = names.iter().flatten().map(String::as_str);
    found.ok_or_else(|| unknown(&format!("table of `{list}`"), element, known))
}
