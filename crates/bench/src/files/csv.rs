//! `--export-csv`: hyperfine's columns, in seconds, and one for each parameter.
//! Owns: the quoting (RFC 4180). Never: rounds.

use crate::judging::findings::Findings;

const NS: f64 = 1e9;

#[must_use]
pub fn csv(findings: &Findings<'_>) -> String {
    let mut names: Vec<&str> = Vec::new();
    for row in &findings.rows {
        for (name, _) in &row.measured.line.parameters.0 {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
    }
    let columns = ["command", "mean", "stddev", "median", "user", "system", "min", "max"].map(str::to_owned);
    let parameters = names.iter().map(|name| format!("parameter_{name}"));
    let mut page = line(columns.into_iter().chain(parameters));
    for row in &findings.rows {
        let (summary, runs) = (&row.summary, &row.measured.runs);
        let count = runs.len().max(1) as f64;
        let user = runs.iter().map(|run| run.user_ns).sum::<f64>() / count;
        let system = runs.iter().map(|run| run.system_ns).sum::<f64>() / count;
        let deviation = summary.deviation.unwrap_or(0.0);
        let numbers = [summary.mean, deviation, summary.median, user, system, summary.min, summary.max];
        let values = &row.measured.line.parameters.0;
        let value = |name: &&str| {
            let found = values.iter().find(|(other, _)| other == name);
            found.map(|(_, value)| value.clone()).unwrap_or_default()
        };
        let command = std::iter::once(row.measured.line.name.clone());
        let numbers = numbers.into_iter().map(|number| (number / NS).to_string());
        page += &line(command.chain(numbers).chain(names.iter().map(value)));
    }
    page
}

fn line(fields: impl Iterator<Item = String>) -> String {
    let quoted = fields.map(|field| match field.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field,
    });
    quoted.collect::<Vec<_>>().join(",") + "\n"
}

#[cfg(test)]
mod tests {
    use super::csv;
    use crate::judging::findings::{Asked, Findings};
    use crate::subjects::lines::{Line, Parameters};
    use crate::subjects::measured::{Measured, Run, Session};

    #[test]
    fn columns_are_hyperfines() {
        let measured = Measured {
            line: Line {
                name: "echo \"a\", b".into(),
                command: String::new(),
                parameters: Parameters(vec![("n".into(), "1".into())]),
            },
            runs: [1.5e9, 2.5e9].map(|time_ns| Run { time_ns, user_ns: 1e8, ..Run::default() }).to_vec(),
            loops: None,
            instructions: None,
        };
        let session = Session {
            measured: vec![measured],
            is_interleaved: true,
            shell_ns: None,
            memory_floor_bytes: 0,
            ended_early: None,
            start_up: None,
        };
        let page = csv(&Findings::of(&session, &Asked::default()).unwrap());
        let (head, row) = page.trim_end().split_once('\n').unwrap();
        assert_eq!(head, "command,mean,stddev,median,user,system,min,max,parameter_n");
        assert_eq!(row, "\"echo \"\"a\"\", b\",2,0.7071067811865476,2,0.1,0,1.5,2.5,1");
    }
}
