//! `--export-markdown`, `--export-asciidoc`, `--export-orgmode`: the same table, three ways.
//! Owns: the marks of each language, blank for blank those of hyperfine 1.15, whose tables scripts read. Never: computes a number.

use crate::judging::findings::{Findings, Row};
use crate::words::units::Unit;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    Markdown,
    AsciiDoc,
    Org,
}

impl Table {
    /// `order`: into the rows. `unit`: else the one that fits the first row.
    #[must_use]
    pub fn page(self, findings: &Findings<'_>, order: &[usize], unit: Option<Unit>) -> String {
        let first = order.first().map_or(0.0, |row| findings.rows[*row].summary.mean);
        let unit = unit.unwrap_or_else(|| Unit::fitting(first));
        let head = ["Command".to_owned()]
            .into_iter()
            .chain(["Mean", "Min", "Max"].map(|name| format!("{name} [{}]", unit.name())))
            .chain(["Relative".to_owned()]);
        let mut page = self.begin().to_owned() + &self.row(&head.collect::<Vec<_>>()) + self.divider();
        for position in order {
            let row = &findings.rows[*position];
            let summary = &row.summary;
            let deviation =
                summary.deviation.map_or(String::new(), |deviation| format!(" ± {}", unit.number(deviation)));
            page += self.before_row();
            page += &self.row(&[
                self.code(&row.measured.line.name),
                format!("{}{deviation}", unit.number(summary.mean)),
                unit.number(summary.min),
                unit.number(summary.max),
                relative(row, *position == findings.reference),
            ]);
        }
        page + self.end()
    }

    fn begin(self) -> &'static str {
        match self {
            Table::AsciiDoc => "[cols=\"<,>,>,>,>\"]\n|===\n",
            Table::Markdown | Table::Org => "",
        }
    }

    fn divider(self) -> &'static str {
        match self {
            Table::Markdown => "|:---|---:|---:|---:|---:|\n",
            Table::AsciiDoc => "",
            Table::Org => "|--+--+--+--+--|\n",
        }
    }

    fn before_row(self) -> &'static str {
        if self == Table::AsciiDoc { "\n" } else { "" }
    }

    fn end(self) -> &'static str {
        if self == Table::AsciiDoc { "|===\n" } else { "" }
    }

    fn row(self, cells: &[String]) -> String {
        match self {
            Table::Markdown => format!("| {} |\n", cells.join(" | ")),
            Table::AsciiDoc => cells.iter().map(|cell| format!("| {cell} \n")).collect(),
            Table::Org => {
                let cell = |(column, cell): (usize, &String)| match column {
                    0 => format!("| {cell}  |"),
                    _ => format!("  {cell} |"),
                };
                cells.iter().enumerate().map(cell).collect::<String>() + "\n"
            }
        }
    }

    fn code(self, name: &str) -> String {
        let name = name.replace('|', "\\|").replace('\n', " ");
        if self == Table::Org { format!("={name}=") } else { format!("`{name}`") }
    }
}

/// Between which bounds, where hyperfine has a deviation.
fn relative(row: &Row<'_>, is_reference: bool) -> String {
    match row.ratio {
        Some(ratio) => {
            let interval = ratio.interval().map_or(String::new(), |(low, high)| format!(" ({low:.2} … {high:.2})"));
            format!("{:.2}{interval}", ratio.ratio())
        }
        None if is_reference => "1.00".to_owned(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::Table;
    use crate::judging::findings::{Asked, Findings};
    use crate::subjects::lines::{Line, Parameters};
    use crate::subjects::measured::{Measured, Run, Session};
    use crate::words::units::Unit;

    #[test]
    fn the_same_table_three_ways() {
        let measured = [("a | b", 1.0), ("c", 2.0)].map(|(name, factor)| Measured {
            line: Line { name: name.into(), command: name.into(), parameters: Parameters::default() },
            runs: [1.0e8, 3.0e8].map(|time| Run { time_ns: time * factor, ..Run::default() }).to_vec(),
            loops: None,
            instructions: None,
        });
        let session = Session {
            measured: measured.to_vec(),
            is_interleaved: true,
            shell_ns: None,
            memory_floor_bytes: 0,
            ended_early: None,
            start_up: None,
        };
        let findings = Findings::of(&session, &Asked::default()).unwrap();
        let page = |table: Table| table.page(&findings, &[0, 1], None);
        assert_eq!(
            page(Table::Markdown),
            "| Command | Mean [ms] | Min [ms] | Max [ms] | Relative |\n|:---|---:|---:|---:|---:|\n\
             | `a \\| b` | 200.0 ± 141.4 | 100.0 | 300.0 | 1.00 |\n| `c` | 400.0 ± 282.8 | 200.0 | 600.0 | 2.00 |\n"
        );
        assert_eq!(
            page(Table::Org),
            "| Command  |  Mean [ms] |  Min [ms] |  Max [ms] |  Relative |\n|--+--+--+--+--|\n\
             | =a \\| b=  |  200.0 ± 141.4 |  100.0 |  300.0 |  1.00 |\n| =c=  |  400.0 ± 282.8 |  200.0 |  600.0 |  2.00 |\n"
        );
        assert_eq!(
            page(Table::AsciiDoc),
            "[cols=\"<,>,>,>,>\"]\n|===\n| Command \n| Mean [ms] \n| Min [ms] \n| Max [ms] \n| Relative \n\n\
             | `a \\| b` \n| 200.0 ± 141.4 \n| 100.0 \n| 300.0 \n| 1.00 \n\n\
             | `c` \n| 400.0 ± 282.8 \n| 200.0 \n| 600.0 \n| 2.00 \n|===\n"
        );
        // One unit for all rows, as in hyperfine.
        let in_seconds = Table::Markdown.page(&findings, &[1], Some(Unit::Second));
        assert!(
            in_seconds.contains("| Mean [s] | Min [s] | Max [s] |")
                && in_seconds.contains("| 0.400 ± 0.283 | 0.200 | 0.600 |"),
            "{in_seconds}"
        );
    }
}
