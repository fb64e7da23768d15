//! The list: which recordings match, in which order, a page at a time.
//! Owns: the statement, and where the next page begins. Never: reads the search language (`rules/search.rs` does).

use sqlx::any::AnyRow;

use crate::storage::database::{Database, Statement};
use crate::storage::recordings::{COLUMNS, NOT_TOLD, Recording, count, get, stored};
use crate::storage::terms::{Kind, folded};
use crate::words::problem::Problem;

pub mod own;

/// Recordings are counted so far and no further: a word that more of them have is frequent.
const COUNTED_MAX: u64 = 1_000;
/// Recordings that one request looks at where no word is rare: two frequent words may never meet.
const LOOKED_MAX: u32 = 10_000;

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

impl Condition {
    /// Those of an owner who has few are found as those with a rare word are.
    pub fn of_owner(owner: &str) -> Condition {
        Condition::Word { kinds: vec![Kind::Who], patterns: vec![Pattern::Word(folded(owner))] }
    }

    /// Of a list in the order of this column, it only says where it begins or ends.
    fn column(&self) -> Option<&'static str> {
        match self {
            Condition::Word { .. } => None,
            Condition::Since { .. } | Condition::Until { .. } => Some(Order::Newest.column()),
            Condition::Number { of, .. } => Some(of.column()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    CpuNs,
    WallNs,
    Bytes,
}

impl Number {
    fn column(self) -> &'static str {
        match self {
            Number::CpuNs => "cpu_ns",
            Number::WallNs => "wall_ns",
            Number::Bytes => "bytes",
        }
    }
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
            Order::Cpu => Number::CpuNs.column(),
            Order::Wall => Number::WallNs.column(),
            Order::Size => Number::Bytes.column(),
        }
    }

    fn is_descending(self) -> bool {
        self != Order::Oldest
    }
}

/// The last row of a page, or the last that was looked at: its value in the order, and its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    pub value: i64,
    pub id: String,
}

#[derive(Debug)]
pub struct Page {
    pub recordings: Vec<Recording>,
    /// Where the list goes on. The page may have few rows or none before it: more were not looked at.
    pub next: Option<Mark>,
    /// Its last recording.
    last: Option<Mark>,
    /// How many were looked at before it. None: nothing is behind this page, or a request looks at all that there are.
    pub looked: Option<u64>,
}

/// How many recordings match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matched {
    pub recordings: u64,
    /// There may be more than these: nobody counted on.
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
    /// Rows that one request looks at. None: all that there are, or all that the rarest word has.
    looked_max: Option<u32>,
}

/// Looks at how frequent each word is: of a rare one its recordings are taken, a frequent one is asked for in each row of the list.
/// `all`: how many recordings are listed.
pub async fn plan<'f>(database: &Database, filter: &'f Filter, all: u64) -> Result<Plan<'f>, Problem> {
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
    let is_whole = *filter == Filter::default();
    let looked_max = Some(LOOKED_MAX).filter(|max| driver.is_none() && !is_whole && all > u64::from(*max));
    Ok(Plan { filter, driver, matched, looked_max })
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

    /// The last row that a request looks at which begins behind `after`. None: there are not so many.
    async fn end(&self, database: &Database, order: Order, after: Option<&Mark>) -> Result<Option<Mark>, Problem> {
        let Some(looked_max) = self.looked_max else { return Ok(None) };
        let mut statement = Statement::new("SELECT id, ");
        statement.say(order.column());
        // An index has all of it: to skip its rows takes little, and to look at them is the work.
        statement.say(" AS place");
        self.say_looked_at(&mut statement, order, after);
        say_order(&mut statement, (order.column(), "id"), order);
        statement.say(" LIMIT 2 OFFSET ");
        statement.value(i64::from(looked_max) - 1);
        let rows = statement.rows(database).await?;
        // Without one more behind it nothing is left out.
        rows.first().filter(|_| rows.len() == 2).map(mark_of).transpose()
    }

    /// How many rows a request looked at which began behind `after` and was full with `last`; without one it looked at as many as it may.
    async fn looked(
        &self,
        database: &Database,
        order: Order,
        after: Option<&Mark>,
        last: Option<&Mark>,
    ) -> Result<Option<u64>, Problem> {
        let Some(looked_max) = self.looked_max else { return Ok(None) };
        let Some(last) = last else { return Ok(Some(u64::from(looked_max))) };
        let mut statement = Statement::new("SELECT COUNT(*) AS recordings");
        self.say_looked_at(&mut statement, order, after);
        say_up_to(&mut statement, (order.column(), "id"), order, last);
        let rows = statement.rows(database).await?;
        rows.first().map(|row| count(row, "recordings")).transpose()
    }

    /// The rows behind `after` that a request may look at: without those that the order itself leaves out.
    fn say_looked_at(&self, statement: &mut Statement, order: Order, after: Option<&Mark>) {
        statement.say(" FROM recordings WHERE listed = 1");
        for condition in self.filter.conditions.iter().filter(|condition| condition.column() == Some(order.column())) {
            say_condition(statement, condition);
        }
        if let Some(mark) = after {
            say_beyond(statement, (order.column(), "id"), order, mark);
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
        return Ok(Page { recordings: Vec::new(), next: None, last: None, looked: None });
    }
    let end = plan.end(database, order, after).await?;
    let mut statement = Statement::new("SELECT ");
    statement.say(COLUMNS);
    statement.say(", ");
    statement.say(order.column());
    // Whole rows of those on the page only: sorting takes no more of a row than its place.
    statement.say(" AS place FROM recordings WHERE id IN (SELECT id");
    plan.say_from(&mut statement);
    let columns = plan.columns(order);
    if let Some(mark) = after {
        say_beyond(&mut statement, columns, order, mark);
    }
    if let Some(mark) = &end {
        say_up_to(&mut statement, columns, order, mark);
    }
    say_order(&mut statement, columns, order);
    statement.say(" LIMIT ");
    statement.value(i64::from(most) + 1);
    statement.say(")");
    say_order(&mut statement, (order.column(), "id"), order);
    let rows = statement.rows(database).await?;
    let shown = rows.len().min(most as usize);
    let recordings = rows[..shown].iter().map(Recording::of_row).collect::<Result<Vec<_>, _>>()?;
    let last = rows[..shown].last().map(mark_of).transpose()?;
    let full = last.clone().filter(|_| rows.len() > shown);
    let looked = match full.is_some() || end.is_some() {
        true => plan.looked(database, order, after, full.as_ref()).await?,
        false => None,
    };
    Ok(Page { recordings, next: full.or(end), last, looked })
}

fn mark_of(row: &AnyRow) -> Result<Mark, Problem> {
    Ok(Mark { value: get(row, "place")?, id: get(row, "id")? })
}

/// Those behind the mark.
fn say_beyond(statement: &mut Statement, columns: (&'static str, &'static str), order: Order, mark: &Mark) {
    say_compared(statement, columns, if order.is_descending() { " < " } else { " > " }, mark);
}

/// Those before the mark, and the mark.
fn say_up_to(statement: &mut Statement, columns: (&'static str, &'static str), order: Order, mark: &Mark) {
    say_compared(statement, columns, if order.is_descending() { " >= " } else { " <= " }, mark);
}

fn say_compared(statement: &mut Statement, columns: (&'static str, &'static str), with: &'static str, mark: &Mark) {
    statement.say(" AND (");
    statement.say(columns.0);
    statement.say(", ");
    statement.say(columns.1);
    statement.say(")");
    statement.say(with);
    statement.say("(");
    statement.value(mark.value);
    statement.say(", ");
    statement.value(mark.id.clone());
    statement.say(")");
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

/// Among those that the first page looks at.
pub async fn matched(database: &Database, plan: &Plan<'_>, order: Order) -> Result<Matched, Problem> {
    if let Some(matched) = plan.matched {
        return Ok(matched);
    }
    let end = plan.end(database, order, None).await?;
    let found = counted(database, |statement| {
        statement.say("SELECT id");
        plan.say_from(statement);
        if let Some(mark) = &end {
            say_up_to(statement, plan.columns(order), order, mark);
        }
    });
    let found = found.await?;
    Ok(Matched { is_least: found.is_least || end.is_some(), ..found })
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
            if self.driver != Some(position) {
                say_condition(statement, condition);
            }
        }
    }
}

fn say_condition(statement: &mut Statement, condition: &Condition) {
    match condition {
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
            statement.say(" AND ");
            statement.say(of.column());
            statement.say(if *is_more { " > " } else { " < " });
            statement.value(stored(*than));
            if !is_more {
                statement.say(" AND ");
                statement.say(of.column());
                statement.say(" <> ");
                statement.value(NOT_TOLD);
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

#[cfg(test)]
mod tests;
