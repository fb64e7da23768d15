//! The list: which recordings match, in which order, a page at a time.
//! Owns: the statement, and where the next page begins. Never: reads the search language (`rules/search.rs` does).

use sqlx::Row;

use crate::storage::database::{Database, Statement};
use crate::storage::recordings::{COLUMNS, Recording, count, stored};
use crate::storage::terms::Kind;
use crate::words::problem::Problem;

/// Recordings are counted so far and no further: a word that more of them have is frequent.
const COUNTED_MAX: u64 = 1_000;

/// All must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    pub conditions: Vec<Condition>,
    /// Of this owner only.
    pub owner: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// A word of one of these kinds is one of these.
    Word {
        kinds: Vec<Kind>,
        patterns: Vec<Pattern>,
    },
    Since {
        ms: i64,
    },
    Until {
        ms: i64,
    },
    Number {
        of: Number,
        is_more: bool,
        than: u64,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    Word(String),
    Begins(String),
    /// With `*` in any place: slower, as every word of the kind is looked at.
    Glob(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    CpuNs,
    WallNs,
    Bytes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Newest,
    Oldest,
    Cpu,
    Wall,
    Size,
}

impl Order {
    fn column(self) -> &'static str {
        match self {
            Order::Newest | Order::Oldest => "created_ms",
            Order::Cpu => "cpu_ns",
            Order::Wall => "wall_ns",
            Order::Size => "bytes",
        }
    }

    fn is_descending(self) -> bool {
        self != Order::Oldest
    }
}

/// The last row of a page: its value in the order, and its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    pub value: i64,
    pub id: String,
}

#[derive(Debug)]
pub struct Page {
    pub recordings: Vec<Recording>,
    pub next: Option<Mark>,
}

/// How many recordings match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matched {
    pub recordings: u64,
    /// There are more than these, and nobody counted them.
    pub is_least: bool,
}

impl Matched {
    pub fn exactly(recordings: u64) -> Matched {
        Matched { recordings, is_least: false }
    }

    /// Of those found when one more than the most was asked for.
    fn of_found(found: u64) -> Matched {
        Matched { recordings: found.min(COUNTED_MAX), is_least: found > COUNTED_MAX }
    }
}

/// How the rows are come by: from the rarest word, or in the order of the list.
pub struct Plan<'f> {
    filter: &'f Filter,
    /// The rarest word's condition.
    driver: Option<usize>,
    /// Known without asking for the rows.
    matched: Option<Matched>,
}

/// Looks at how frequent each word is: of a rare one its recordings are taken, a frequent one is asked for in each row of the list.
pub async fn plan<'f>(database: &Database, filter: &'f Filter) -> Result<Plan<'f>, Problem> {
    let mut rarest: Option<(usize, Matched)> = None;
    for (position, condition) in filter.conditions.iter().enumerate() {
        let Condition::Word { kinds, patterns } = condition else { continue };
        let found = counted(database, |statement| {
            statement.say(if is_one(kinds, patterns) { "SELECT recording" } else { "SELECT DISTINCT recording" });
            statement.say(" FROM terms WHERE ");
            say_terms(statement, kinds, patterns);
        });
        let found = found.await?;
        if rarest.is_none_or(|(_, least)| found.recordings < least.recordings) {
            rarest = Some((position, found));
        }
    }
    let is_alone = filter.conditions.len() == 1 && filter.owner.is_none();
    let matched = rarest.map(|(_, found)| found).filter(|found| found.recordings == 0 || is_alone);
    let driver = rarest.filter(|(_, found)| !found.is_least).map(|(position, _)| position);
    Ok(Plan { filter, driver, matched })
}

async fn counted(database: &Database, say_rows: impl FnOnce(&mut Statement)) -> Result<Matched, Problem> {
    let mut statement = Statement::new("SELECT COUNT(*) AS recordings FROM (");
    say_rows(&mut statement);
    statement.say(" LIMIT ");
    statement.value(stored(COUNTED_MAX + 1));
    statement.say(") AS counted");
    let rows = statement.rows(database).await?;
    rows.first().map_or(Ok(0), |row| count(row, "recordings")).map(Matched::of_found)
}

/// A word of one kind stands once for a recording, and its recordings in the order of time.
fn is_one(kinds: &[Kind], patterns: &[Pattern]) -> bool {
    matches!((kinds, patterns), ([_], [Pattern::Word(_)]))
}

impl Plan<'_> {
    fn driver(&self) -> Option<(&[Kind], &[Pattern])> {
        match self.filter.conditions.get(self.driver?)? {
            Condition::Word { kinds, patterns } => Some((kinds, patterns)),
            _ => None,
        }
    }

    fn say_from(&self, statement: &mut Statement) {
        // In both databases a CROSS JOIN takes its left side first.
        match self.driver() {
            Some((kinds, patterns)) if is_one(kinds, patterns) => {
                statement
                    .say(" FROM terms AS found CROSS JOIN recordings WHERE id = found.recording AND listed = 1 AND ");
                say_terms(statement, kinds, patterns);
            }
            Some((kinds, patterns)) => {
                statement.say(" FROM (SELECT DISTINCT recording FROM terms WHERE ");
                say_terms(statement, kinds, patterns);
                statement.say(") AS found CROSS JOIN recordings WHERE id = found.recording AND listed = 1");
            }
            None => statement.say(" FROM recordings WHERE listed = 1"),
        }
        self.say_filter(statement);
    }

    /// The columns of the order as the rows are come by: those of the driver, where it has the order already.
    fn columns(&self, order: Order) -> (&'static str, &'static str) {
        let is_ordered = self.driver().is_some_and(|(kinds, patterns)| is_one(kinds, patterns));
        match order {
            Order::Newest | Order::Oldest if is_ordered => ("found.created_ms", "found.recording"),
            _ => (order.column(), "id"),
        }
    }
}

pub async fn page(
    database: &Database,
    plan: &Plan<'_>,
    order: Order,
    after: Option<&Mark>,
    most: u32,
) -> Result<Page, Problem> {
    if plan.matched.is_some_and(|matched| matched.recordings == 0) {
        return Ok(Page { recordings: Vec::new(), next: None });
    }
    let mut statement = Statement::new("SELECT ");
    statement.say(COLUMNS);
    statement.say(", ");
    statement.say(order.column());
    // Whole rows of those on the page only: sorting takes no more of a row than its place.
    statement.say(" AS place FROM recordings WHERE id IN (SELECT id");
    plan.say_from(&mut statement);
    let columns = plan.columns(order);
    let beyond = if order.is_descending() { " < " } else { " > " };
    if let Some(mark) = after {
        statement.say(" AND (");
        statement.say(columns.0);
        statement.say(", ");
        statement.say(columns.1);
        statement.say(")");
        statement.say(beyond);
        statement.say("(");
        statement.value(mark.value);
        statement.say(", ");
        statement.value(mark.id.clone());
        statement.say(")");
    }
    say_order(&mut statement, columns, order);
    statement.say(" LIMIT ");
    statement.value(i64::from(most) + 1);
    statement.say(")");
    say_order(&mut statement, (order.column(), "id"), order);
    let rows = statement.rows(database).await?;
    let shown = rows.len().min(most as usize);
    let recordings = rows[..shown].iter().map(Recording::of_row).collect::<Result<Vec<_>, _>>()?;
    let last = rows[..shown].last().filter(|_| rows.len() > shown);
    let next = last.map(|row| -> Result<Mark, Problem> {
        let value = row.try_get("place").map_err(|error| crate::storage::database::failed(&error))?;
        Ok(Mark { value, id: crate::storage::recordings::get(row, "id")? })
    });
    Ok(Page { recordings, next: next.transpose()? })
}

fn say_order(statement: &mut Statement, (column, id): (&'static str, &'static str), order: Order) {
    let direction = if order.is_descending() { " DESC" } else { " ASC" };
    statement.say(" ORDER BY ");
    statement.say(column);
    statement.say(direction);
    statement.say(", ");
    statement.say(id);
    statement.say(direction);
}

pub async fn matched(database: &Database, plan: &Plan<'_>) -> Result<Matched, Problem> {
    match plan.matched {
        Some(matched) => Ok(matched),
        None => {
            counted(database, |statement| {
                statement.say("SELECT id");
                plan.say_from(statement);
            })
            .await
        }
    }
}

/// All that are listed, and their bytes. `owner`: only theirs.
pub async fn totals(database: &Database, owner: Option<&str>) -> Result<(u64, u64), Problem> {
    let mut statement = Statement::new(
        "SELECT COUNT(*) AS recordings, CAST(COALESCE(SUM(bytes), 0) AS BIGINT) AS bytes FROM recordings WHERE listed = 1",
    );
    if let Some(owner) = owner {
        statement.say(" AND owner = ");
        statement.value(owner.to_owned());
    }
    let rows = statement.rows(database).await?;
    let Some(row) = rows.first() else { return Ok((0, 0)) };
    Ok((count(row, "recordings")?, count(row, "bytes")?))
}

/// `owner`: only theirs.
pub async fn live(database: &Database, owner: Option<&str>) -> Result<u64, Problem> {
    let mut statement =
        Statement::new("SELECT COUNT(*) AS recordings FROM recordings WHERE state = 'open' AND live = 1");
    if let Some(owner) = owner {
        statement.say(" AND owner = ");
        statement.value(owner.to_owned());
    }
    let rows = statement.rows(database).await?;
    rows.first().map_or(Ok(0), |row| count(row, "recordings"))
}

impl Plan<'_> {
    fn say_filter(&self, statement: &mut Statement) {
        if let Some(owner) = &self.filter.owner {
            statement.say(" AND owner = ");
            statement.value(owner.clone());
        }
        for (position, condition) in self.filter.conditions.iter().enumerate() {
            match condition {
                Condition::Word { .. } if self.driver == Some(position) => {}
                Condition::Word { kinds, patterns } => {
                    statement.say(" AND EXISTS (SELECT 1 FROM terms WHERE terms.recording = recordings.id AND terms.created_ms = recordings.created_ms AND ");
                    say_terms(statement, kinds, patterns);
                    statement.say(")");
                }
                Condition::Since { ms } => {
                    statement.say(" AND recordings.created_ms >= ");
                    statement.value(*ms);
                }
                Condition::Until { ms } => {
                    statement.say(" AND recordings.created_ms < ");
                    statement.value(*ms);
                }
                Condition::Number { of, is_more, than } => {
                    statement.say(match of {
                        Number::CpuNs => " AND cpu_ns",
                        Number::WallNs => " AND wall_ns",
                        Number::Bytes => " AND bytes",
                    });
                    statement.say(if *is_more { " > " } else { " < " });
                    statement.value(stored(*than));
                }
            }
        }
    }
}

/// One of these words, in parentheses.
fn say_terms(statement: &mut Statement, kinds: &[Kind], patterns: &[Pattern]) {
    let mut joint = "(";
    for kind in kinds {
        for pattern in patterns {
            statement.say(joint);
            joint = " OR ";
            statement.say("(kind = ");
            statement.value(kind.word().to_owned());
            match pattern {
                Pattern::Word(word) => {
                    statement.say(" AND word = ");
                    statement.value(word.clone());
                }
                Pattern::Begins(beginning) => {
                    statement.say(" AND word >= ");
                    statement.value(beginning.clone());
                    statement.say(" AND word < ");
                    // No letter is beyond this one.
                    statement.value(format!("{beginning}\u{10ffff}"));
                }
                Pattern::Glob(glob) => {
                    statement.say(" AND word LIKE ");
                    statement.value(like(glob));
                    statement.say(" ESCAPE '!'");
                }
            }
            statement.say(")");
        }
    }
    statement.say(")");
}

fn like(glob: &str) -> String {
    let mut pattern = String::new();
    for letter in glob.chars() {
        match letter {
            '*' => pattern.push('%'),
            '%' | '_' | '!' => pattern.extend(['!', letter]),
            letter => pattern.push(letter),
        }
    }
    pattern
}
