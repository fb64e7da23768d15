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
    /// Chains of folders below `src`, each with the lowest first: a folder imports only from those before it in a chain of its own.
    pub floors: Vec<Vec<String>>,
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
        floors: row.get("floors").map(chains).transpose()?.unwrap_or_default(),
    })
}

/// A list of lists of words, and nothing else: a floor that is misread would hold nobody to it.
fn chains(floors: &toml::Value) -> Result<Vec<Vec<String>>, String> {
    let chain = |chain: &toml::Value| -> Option<Vec<String>> {
        chain.as_array()?.iter().map(|floor| floor.as_str().map(str::to_owned)).collect()
    };
    let chains: Option<Vec<_>> = floors.as_array().and_then(|chains| chains.iter().map(chain).collect());
    chains.ok_or_else(|| format!("{TABLE}: `floors` is no list of lists of folders"))
}

#[cfg(test)]
mod tests {
    use super::read_table;
    use crate::sources::SourceFile;

    fn floors(written: &str) -> Result<Vec<Vec<String>>, String> {
        let text = format!("[[part]]\nname = \"a\"\npath = \"a\"\nmay = []\nfloors = {written}\n");
        let files = [SourceFile { path: super::TABLE.into(), text }];
        read_table(&files).map(|parts| parts[0].floors.clone())
    }

    #[test]
    fn floors_are_chains_and_nothing_else() {
        assert_eq!(
            floors("[['low', 'high'], ['low', 'side']]"),
            Ok(vec![vec!["low".into(), "high".into()], vec!["low".into(), "side".into()]])
        );
        for wrong in ["['low', 'high']", "'low'", "[['low', 1]]"] {
            assert!(floors(wrong).is_err_and(|error| error.contains("`floors` is no list of lists")), "{wrong}");
        }
    }
}
