//! The parts of the repository, as edges.toml lists them.
//! Owns: the reading of the table. Never: compares it with anything.

use crate::sources::SourceFile;

pub const TABLE: &str = "edges.toml";

/// A row of the table.
#[derive(Debug, Default, Clone)]
pub struct Part {
    pub name: String,
    pub path: String,
    pub crate_name: Option<String>,
    pub may: Vec<String>,
    pub libraries: Vec<String>,
    pub build: Vec<String>,
    pub imports: Option<Vec<String>>,
    pub never: Vec<String>,
    /// Folders below `src`, the lowest first: each imports only from those before it.
    pub floors: Vec<String>,
}

impl Part {
    pub fn holds(&self, path: &str) -> bool {
        path.strip_prefix(self.path.as_str()).is_some_and(|rest| rest.starts_with('/'))
    }
}

pub fn read_table(files: &[SourceFile]) -> Result<Vec<Part>, String> {
    let file = files.iter().find(|file| file.path == TABLE).ok_or_else(|| format!("no {TABLE} at the root"))?;
    let table: toml::Table = file.text.parse().map_err(|error| format!("{TABLE} is not TOML: {error}"))?;
    let rows = table.get("part").and_then(toml::Value::as_array).ok_or_else(|| format!("{TABLE} has no [[part]]"))?;
    rows.iter().map(part).collect()
}

fn part(row: &toml::Value) -> Result<Part, String> {
    let text = |key: &str| row.get(key).and_then(toml::Value::as_str).map(str::to_owned);
    let list = |key: &str| {
        row.get(key)
            .and_then(toml::Value::as_array)
            .map(|items| items.iter().filter_map(toml::Value::as_str).map(str::to_owned).collect::<Vec<_>>())
    };
    let must = |key: &str| text(key).ok_or_else(|| format!("{TABLE}: a [[part]] without `{key}`"));
    Ok(Part {
        name: must("name")?,
        path: must("path")?,
        crate_name: text("crate"),
        may: list("may").ok_or_else(|| format!("{TABLE}: a [[part]] without `may`"))?,
        libraries: list("libraries").unwrap_or_default(),
        build: list("build").unwrap_or_default(),
        imports: list("imports"),
        never: list("never").unwrap_or_default(),
        floors: list("floors").unwrap_or_default(),
    })
}
