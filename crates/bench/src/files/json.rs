//! `--export-json`, the history, and what `--against` reads: hyperfine's keys, and genba's beside them.
//! Owns: the keys; docs/bench.md lists them. Times are in seconds, as hyperfine's are. Never: reads what hyperfine would not write.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;
use serde_json::{Deserializer, Value};

use crate::judging::findings::{Beside, Earlier, Findings, Row};
use crate::subjects::measured::Run;
use crate::words::refusal::Refusal;

#[derive(Serialize)]
pub struct Page<'a> {
    results: Vec<OneResult<'a>>,
    genba: About<'a>,
}

/// A line of a history.
#[derive(Serialize)]
struct OneSession<'a> {
    ended_unix_seconds: u64,
    results: Vec<OneResult<'a>>,
    genba: About<'a>,
}

#[derive(Serialize)]
struct About<'a> {
    version: &'static str,
    interleaved: bool,
    rounds: usize,
    interrupted: bool,
    failed: Option<&'a str>,
    shell_seconds: Option<f64>,
    memory_floor_byte: u64,
    start_up: Option<OneStartUp<'a>>,
}

#[derive(Serialize)]
struct OneStartUp<'a> {
    command: &'a str,
    mean: f64,
    stddev: Option<f64>,
    times: Vec<f64>,
}

/// What is left of a command without the start-up.
#[derive(Serialize)]
struct Beyond<'a> {
    mean: f64,
    stddev: Option<f64>,
    relative: Option<Relative<'a>>,
}

#[derive(Serialize)]
struct OneResult<'a> {
    command: &'a str,
    mean: f64,
    stddev: Option<f64>,
    median: f64,
    user: f64,
    system: f64,
    min: f64,
    max: f64,
    times: Vec<f64>,
    memory_usage_byte: Vec<u64>,
    exit_codes: Vec<i32>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<&'a str, &'a str>,
    genba: More<'a>,
}

#[derive(Serialize)]
struct More<'a> {
    command_line: &'a str,
    user_times: Vec<f64>,
    system_times: Vec<f64>,
    minor_faults: Vec<u64>,
    major_faults: Vec<u64>,
    voluntary_switches: Vec<u64>,
    involuntary_switches: Vec<u64>,
    loops: Option<u64>,
    instructions: Option<u64>,
    instructions_by: Option<&'a str>,
    noise_floor: Option<f64>,
    noise_left_out: Option<usize>,
    trend: Option<OneTrend>,
    relative: Option<Relative<'a>>,
    against: Option<Against>,
    beyond_start_up: Option<Beyond<'a>>,
}

#[derive(Serialize)]
struct OneTrend {
    correlation: f64,
    p: f64,
    first_third: f64,
    last_third: f64,
}

#[derive(Serialize)]
struct Relative<'a> {
    to: &'a str,
    ratio: f64,
    low: Option<f64>,
    high: Option<f64>,
    shown: bool,
    difference: f64,
    runs_needed: Option<usize>,
}

#[derive(Serialize)]
struct Against {
    sessions: usize,
    ratio: f64,
    low: Option<f64>,
    high: Option<f64>,
    shown: bool,
    spread: f64,
    spread_is_assumed: bool,
}

const NS: f64 = 1e9;

/// # Errors
/// A number that JSON has no word for.
pub fn json(findings: &Findings<'_>) -> serde_json::Result<String> {
    genba_text::json::pretty(&page(findings))
}

/// The same on one line, which a history grows by.
///
/// # Errors
/// As `json`.
pub fn history_line(findings: &Findings<'_>, ended_unix_seconds: u64) -> serde_json::Result<String> {
    let Page { results, genba } = page(findings);
    genba_text::json::compact(&OneSession { ended_unix_seconds, results, genba })
}

/// What the file holds.
#[must_use]
pub fn page<'a>(findings: &Findings<'a>) -> Page<'a> {
    let session = findings.session;
    let early = session.ended_early.as_ref();
    let genba = About {
        version: env!("CARGO_PKG_VERSION"),
        interleaved: session.is_interleaved,
        rounds: session.rounds(),
        interrupted: early.is_some_and(|early| early.failure.is_none()),
        failed: early.and_then(|early| early.failure.as_ref()).map(|failure| failure.what.as_str()),
        shell_seconds: session.shell_ns.map(|time| time / NS),
        memory_floor_byte: session.memory_floor_bytes,
        start_up: findings.start_up.as_ref().map(|start_up| OneStartUp {
            command: &start_up.measured.line.name,
            mean: start_up.summary.mean / NS,
            stddev: start_up.summary.deviation.map(|deviation| deviation / NS),
            times: start_up.measured.times().iter().map(|time| time / NS).collect(),
        }),
    };
    let results = findings.rows.iter().map(|row| result(findings, row)).collect();
    Page { results, genba }
}

fn relative<'a>(findings: &Findings<'a>, row: &Row<'a>) -> Option<Relative<'a>> {
    let ratio = row.ratio?;
    Some(Relative {
        to: &findings.rows[findings.reference].measured.line.name,
        ratio: ratio.ratio(),
        low: ratio.interval().map(|(low, _)| low),
        high: ratio.interval().map(|(_, high)| high),
        shown: ratio.is_shown(),
        difference: findings.difference,
        runs_needed: match ratio {
            Beside::Interleaved { runs_needed, .. } => runs_needed,
            Beside::Apart(_) => None,
        },
    })
}

/// A command that was measured has its place there, too, unless its round has no start-up.
fn beyond<'a>(findings: &Findings<'a>, row: &Row<'a>) -> Option<Beyond<'a>> {
    let beyond = &findings.start_up.as_ref()?.beyond;
    let left = beyond.rows.iter().find(|left| left.measured.line == row.measured.line)?;
    Some(Beyond {
        mean: left.summary.mean / NS,
        stddev: left.summary.deviation.map(|deviation| deviation / NS),
        relative: relative(beyond, left),
    })
}

fn result<'a>(findings: &Findings<'a>, row: &Row<'a>) -> OneResult<'a> {
    let (measured, summary) = (row.measured, &row.summary);
    let seconds = |value: &dyn Fn(&Run) -> f64| measured.runs.iter().map(|run| value(run) / NS).collect::<Vec<f64>>();
    let counts = |value: &dyn Fn(&Run) -> u64| measured.runs.iter().map(value).collect::<Vec<u64>>();
    let (user_times, system_times) = (seconds(&|run| run.user_ns), seconds(&|run| run.system_ns));
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let against = row.apart.map(|apart| Against {
        sessions: apart.sessions,
        ratio: apart.ratio,
        low: apart.interval.map(|(low, _)| low),
        high: apart.interval.map(|(_, high)| high),
        shown: apart.is_shown(),
        spread: apart.spread,
        spread_is_assumed: apart.is_spread_assumed,
    });
    OneResult {
        command: &measured.line.name,
        mean: summary.mean / NS,
        stddev: summary.deviation.map(|deviation| deviation / NS),
        median: summary.median / NS,
        user: mean(&user_times),
        system: mean(&system_times),
        min: summary.min / NS,
        max: summary.max / NS,
        times: seconds(&|run| run.time_ns),
        memory_usage_byte: counts(&|run| run.memory_bytes),
        exit_codes: measured.runs.iter().map(|run| run.exit_code).collect(),
        parameters: measured.line.parameters.0.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect(),
        genba: More {
            command_line: &measured.line.command,
            user_times,
            system_times,
            minor_faults: counts(&|run| run.minor_faults),
            major_faults: counts(&|run| run.major_faults),
            voluntary_switches: counts(&|run| run.voluntary_switches),
            involuntary_switches: counts(&|run| run.involuntary_switches),
            loops: measured.loops.map(|loops| loops.turns),
            instructions: measured.instructions.map(|instructions| instructions.count),
            instructions_by: measured.instructions.map(|instructions| instructions.by.word()),
            noise_floor: row.noise.map(|noise| noise.part),
            noise_left_out: row.noise.map(|noise| noise.left_out),
            trend: row.trend.map(|trend| OneTrend {
                correlation: trend.correlation,
                p: trend.p,
                first_third: trend.first_third / NS,
                last_third: trend.last_third / NS,
            }),
            relative: relative(findings, row),
            against,
            beyond_start_up: beyond(findings, row),
        },
    }
}

/// A file of `--export-json`, of genba or of hyperfine; or a history, which is several of them, one behind the other. Of a history each command
/// has its last session: a program changes, and what it took before that tells nothing.
///
/// # Errors
/// It is none.
pub fn earlier(file: &str, text: &str) -> Result<Earlier, Refusal> {
    let no = |what: &str| {
        Refusal::no(
            format!("{file} is no export of a bench: {what}"),
            "genba bench --export-json FILE writes one, and --history FILE adds a line to a history",
        )
    };
    let result = |result: &Value| {
        let command = result.get("command").and_then(Value::as_str);
        let times = result.get("times").and_then(Value::as_array);
        let (Some(command), Some(times)) = (command, times) else {
            return Err(no("a result without `command` or `times`"));
        };
        let times: Option<Vec<f64>> = times.iter().map(|time| Some(time.as_f64()? * NS)).collect();
        let times = times.filter(|times| !times.is_empty()).ok_or_else(|| no("`times` that are no numbers"))?;
        Ok((command.to_owned(), times))
    };
    if text.trim().is_empty() {
        return Err(no("it is empty"));
    }
    let mut times: Vec<(String, Vec<f64>)> = Vec::new();
    for session in Deserializer::from_str(text).into_iter::<Value>() {
        let session = session.map_err(|error| no(&format!("not JSON ({error})")))?;
        let results = session.get("results").and_then(Value::as_array);
        let results = results.ok_or_else(|| no("it has no list `results`"))?;
        let found: Vec<(String, Vec<f64>)> = results.iter().map(result).collect::<Result<_, _>>()?;
        let names: HashSet<String> = found.iter().map(|(name, _)| name.clone()).collect();
        times.retain(|(name, _)| !names.contains(name));
        times.extend(found);
    }
    Ok(Earlier { file: file.to_owned(), times })
}

#[cfg(test)]
mod tests {
    use super::{earlier, history_line, json};
    use crate::judging::findings::{Asked, Findings};
    use crate::subjects::lines::{Line, Parameters};
    use crate::subjects::measured::{Measured, Run, Session};

    #[test]
    fn what_is_written_is_read_again_and_has_hyperfines_keys() {
        let run = |time_ns: f64| Run { time_ns, user_ns: 1e6, memory_bytes: 4096, ..Run::default() };
        let line = |name: &str| Line {
            name: name.into(),
            command: format!("run {name}"),
            parameters: Parameters(vec![("n".into(), "1".into())]),
        };
        let measured = ["a", "b"].map(|name| Measured {
            line: line(name),
            runs: vec![run(1e9), run(2e9)],
            loops: None,
            instructions: None,
        });
        let session = Session {
            measured: measured.to_vec(),
            is_interleaved: true,
            shell_ns: Some(1e6),
            memory_floor_bytes: 0,
            ended_early: None,
            start_up: None,
        };
        let text = json(&Findings::of(&session, &Asked::default()).unwrap()).unwrap();
        let page: serde_json::Value = serde_json::from_str(&text).unwrap();
        let first = page["results"][0].as_object().unwrap();
        // Of hyperfine 1.15, and `memory_usage_byte` of 1.19.
        for key in
            ["command", "mean", "stddev", "median", "user", "system", "min", "max", "times", "exit_codes", "parameters"]
        {
            assert!(first.contains_key(key), "{key}");
        }
        assert_eq!((first["mean"].as_f64(), first["memory_usage_byte"][1].as_u64()), (Some(1.5), Some(4096)));
        // In seconds.
        let numbers =
            [("stddev", 0.5_f64.sqrt()), ("median", 1.5), ("user", 0.001), ("system", 0.0), ("min", 1.0), ("max", 2.0)];
        for (key, number) in numbers {
            assert!((first[key].as_f64().unwrap() - number).abs() < 1e-12, "{key}: {}", first[key]);
        }
        assert_eq!(
            (&first["times"], &first["exit_codes"], &first["parameters"]),
            (&serde_json::json!([1.0, 2.0]), &serde_json::json!([0, 0]), &serde_json::json!({"n": "1"}))
        );
        assert_eq!(page["results"][1]["genba"]["relative"]["to"], "a");
        let read = earlier("bench.json", &text).unwrap();
        assert_eq!(read.times, [("a".to_owned(), vec![1e9, 2e9]), ("b".to_owned(), vec![1e9, 2e9])]);
    }

    #[test]
    fn a_history_has_a_line_for_each_session_and_the_last_one_counts() {
        let run = |time_ns: f64| Run { time_ns, ..Run::default() };
        let added = |name: &str, times: [f64; 2]| {
            let line = Line { name: name.into(), command: name.into(), parameters: Parameters::default() };
            let measured = vec![Measured { line, runs: times.map(run).to_vec(), loops: None, instructions: None }];
            let session = Session {
                measured,
                is_interleaved: true,
                shell_ns: None,
                memory_floor_bytes: 0,
                ended_early: None,
                start_up: None,
            };
            history_line(&Findings::of(&session, &Asked::default()).unwrap(), 1_767_225_600).unwrap()
        };
        let history = added("a", [1e9, 2e9]) + &added("b", [5e9, 6e9]) + &added("a", [3e9, 4e9]);
        assert_eq!(history.lines().count(), 3, "{history}");
        let last: serde_json::Value = serde_json::from_str(history.lines().last().unwrap()).unwrap();
        assert_eq!(last["ended_unix_seconds"].as_u64(), Some(1_767_225_600));
        assert_eq!(last["results"][0]["command"].as_str(), Some("a"));
        // `b` was not measured in the last session.
        let read = earlier("bench.jsonl", &history).unwrap();
        assert_eq!(read.times, [("b".to_owned(), vec![5e9, 6e9]), ("a".to_owned(), vec![3e9, 4e9])]);
        let half = &history[..history.len() - 9];
        let said = earlier("bench.jsonl", half).unwrap_err().what;
        assert!(said.contains("is no export of a bench: not JSON (") && said.contains("line 3"), "{said}");
    }

    #[test]
    fn what_is_no_export_says_why() {
        let said = |text: &str| earlier("x.json", text).unwrap_err().what;
        assert!(said("{").starts_with("x.json is no export of a bench: not JSON"));
        assert_eq!(said(" \n"), "x.json is no export of a bench: it is empty");
        assert_eq!(said("[]"), "x.json is no export of a bench: it has no list `results`");
        assert_eq!(
            said(r#"{"results": [{"command": "a"}]}"#),
            "x.json is no export of a bench: a result without `command` or `times`"
        );
        assert_eq!(
            said(r#"{"results": [{"command": "a", "times": ["x"]}]}"#),
            "x.json is no export of a bench: `times` that are no numbers"
        );
        assert!(earlier("x.json", r#"{"results": []}"#).unwrap().times.is_empty());
    }
}
