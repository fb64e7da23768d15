//! What the server keeps of a recording to list it and to find it: small, whatever the recording holds.
//! Owns: the facts, and how long each may be. What is cut ends with `…`, and what is left out is counted.
//! Never: adds up samples in another way than the views of genba-profile do.

use std::collections::{BTreeSet, HashMap, HashSet};

use genba_profile::owner::Owner;
use genba_profile::profile::{Home, Profile};
use genba_profile::reading::Reading;
use genba_profile::report::printable;
use genba_profile::source_text::SourceText;
use genba_profile::weight::{Totals, Weight};
use serde::{Deserialize, Serialize};

use super::opened::Opened;

const SPARK_BINS: u32 = 60;
const FUNCTIONS_MAX: usize = 2_000;
const TAGS_MAX: usize = 64;
const FAULTS_MAX: usize = 20;
const PYTHONS_MAX: usize = 16;
/// In characters.
const NAME_MAX: usize = 200;
const WORDS_MAX: usize = 1_000;
/// Stands for a secret on a command line (genba-format's masking.rs).
const MASK: &str = "***";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// The command line as it was typed; the file's name where the recording tells none.
    pub program: String,
    pub verdict: VerdictFact,
    /// The program's, without genba's own. None: an imported file tells no such time.
    pub cpu_ns: Option<u64>,
    pub wall_ns: Option<u64>,
    pub samples: u64,
    pub processes: u64,
    pub threads: u64,
    pub started_ms: Option<u64>,
    pub pythons: Vec<String>,
    pub tags: Vec<String>,
    pub tags_more: u64,
    /// CPU time in bins of equal length; wall time, or samples, where the recording tells none. Empty: the samples have no times.
    pub spark: Vec<u64>,
    pub span_ns: u64,
    /// Law 1 in words.
    pub accounting: String,
    /// Words of command lines in which a secret was replaced.
    pub masked: u64,
    pub sources: SourcesFact,
    pub faults: Vec<String>,
    pub faults_more: u64,
    /// False: recording goes on, or was cut off.
    pub ended: bool,
    /// The heaviest first. Not in the list, which finds recordings by them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub functions: Option<Vec<FunctionFact>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub functions_more: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictFact {
    pub kind: String,
    pub words: String,
}

/// A function of Python or C anywhere on a stack; a recursion counts once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionFact {
    pub name: String,
    pub cpu_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SourcesFact {
    #[serde(rename = "own files whole")]
    OwnFilesWhole,
    #[serde(rename = "lines around hits")]
    LinesAroundHits,
    #[serde(rename = "none")]
    Absent,
}

impl Facts {
    /// `name`: of the file.
    pub(super) fn of(opened: &Opened, name: &str) -> Facts {
        let reading = opened.reading_in_bins(SPARK_BINS);
        let profile = &reading.profile;
        let totals = Totals::of_profile(profile);
        let clocks = profile.clocks();
        let is_imported = profile.is_imported();
        let verdict = reading.verdict();
        let (functions, functions_more) = functions(&reading);
        let (tags, tags_more) = first(tags(profile), TAGS_MAX, NAME_MAX);
        let (faults, faults_more) = first(profile.faults.iter().map(String::as_str), FAULTS_MAX, WORDS_MAX);
        let (pythons, _) = first(pythons(profile), PYTHONS_MAX, NAME_MAX);
        Facts {
            program: cut(&program(profile).unwrap_or_else(|| name.to_owned()), WORDS_MAX),
            verdict: VerdictFact {
                kind: verdict.reason.name().to_owned(),
                words: cut(&verdict.said(&reading).first.to_string(), WORDS_MAX),
            },
            cpu_ns: told(is_imported, clocks.cpu_program_ns(), totals.cpu_ns),
            wall_ns: told(is_imported, profile.wall_ns(), totals.wall_ns),
            samples: totals.samples,
            processes: profile.processes.len() as u64,
            threads: profile.threads.len() as u64,
            started_ms: profile.start_realtime_ns.map(|start_ns| start_ns / 1_000_000),
            pythons,
            tags,
            tags_more,
            spark: spark(profile),
            span_ns: profile.span_ns,
            accounting: cut(&profile.accounting().words(), WORDS_MAX),
            masked: masked(profile),
            sources: sources(profile),
            faults,
            faults_more,
            ended: is_imported
                || profile.recorder.is_some()
                || !profile.processes.is_empty() && profile.have_all_ended(),
            functions: Some(functions),
            functions_more: Some(functions_more),
        }
    }
}

/// An imported file that tells no time has samples without any.
fn told(is_imported: bool, clock_ns: u64, sampled_ns: u64) -> Option<u64> {
    match is_imported {
        false => Some(clock_ns),
        true => Some(sampled_ns).filter(|ns| *ns > 0),
    }
}

/// Of the first process, without the interpreter: what `genba run` was given names genba's own options as well.
fn program(profile: &Profile) -> Option<String> {
    let typed = profile.recorder.as_ref().map(|recorder| recorder.argv.as_slice());
    let of_first = profile.processes.iter().next().map(|process| process.argv.as_slice());
    let argv = of_first.filter(|argv| !argv.is_empty()).or(typed)?;
    let is_interpreter = |word: &String| word.rsplit('/').next().is_some_and(|name| name.starts_with("python"));
    let argv = if argv.len() > 1 && is_interpreter(&argv[0]) { &argv[1..] } else { argv };
    Some(argv.join(" ")).filter(|line| !line.trim().is_empty())
}

fn tags(profile: &Profile) -> impl Iterator<Item = &str> {
    let mut known = HashSet::new();
    let tags = profile.processes.iter().flat_map(|process| &process.tags).map(String::as_str);
    tags.filter(move |tag| known.insert(*tag))
}

fn pythons(profile: &Profile) -> impl Iterator<Item = &str> {
    let recorded = profile.processes.iter().filter(|process| process.refused.is_none());
    recorded.filter_map(|process| process.python.as_deref()).collect::<BTreeSet<_>>().into_iter()
}

fn masked(profile: &Profile) -> u64 {
    // A forked process has the command line of its parent.
    let of_processes: BTreeSet<&[String]> = profile.processes.iter().map(|process| process.argv.as_slice()).collect();
    let words = of_processes.into_iter().flatten().filter(|word| word.contains(MASK)).count();
    let typed = profile.recorder.iter().flat_map(|recorder| &recorder.argv).filter(|word| word.contains(MASK)).count();
    words.max(typed) as u64
}

fn spark(profile: &Profile) -> Vec<u64> {
    if profile.moments.is_empty() {
        return Vec::new();
    }
    let totals = Totals::of_profile(profile);
    let weight = [Weight::Cpu, Weight::Wall].into_iter().find(|weight| totals.by(*weight) > 0);
    let mut bins = vec![0_u64; SPARK_BINS as usize];
    for moment in &profile.moments {
        let more = match weight {
            Some(Weight::Cpu) => moment.cpu_ns,
            Some(Weight::Wall) => moment.wall_ns,
            Some(Weight::Samples | Weight::Copied | Weight::Allocated) | None => u64::from(moment.samples),
        };
        let bin = &mut bins[moment.bin.min(SPARK_BINS - 1) as usize];
        *bin = bin.saturating_add(more);
    }
    bins
}

fn sources(profile: &Profile) -> SourcesFact {
    let own: HashSet<&str> =
        profile.files.iter().filter(|file| file.owner == Owner::User).map(|file| file.path.as_str()).collect();
    let mut stored = profile.sources.iter().filter(|source| !source.chunks.is_empty()).peekable();
    if stored.peek().is_none() {
        return SourcesFact::Absent;
    }
    match stored.any(|source| own.contains(source.path.as_str()) && is_whole(source)) {
        true => SourcesFact::OwnFilesWhole,
        false => SourcesFact::LinesAroundHits,
    }
}

fn is_whole(source: &SourceText) -> bool {
    source.line(1).is_some() && source.line(source.line_count).is_some() && source.chunks.len() == 1
}

fn functions(reading: &Reading) -> (Vec<FunctionFact>, u64) {
    let (profile, weight) = (&reading.profile, reading.choice.weight);
    let mut sums: HashMap<&str, Totals> = HashMap::new();
    let mut seen = HashSet::new();
    for group in &profile.samples {
        seen.clear();
        for frame in profile.stack(group.node) {
            let function = &profile.functions[profile.frames[frame].function];
            let is_named = match &function.home {
                Home::Python { .. } => true,
                Home::C { origin, .. } => origin.is_some(),
                Home::Mark => false,
            };
            if is_named && seen.insert(function.name.as_str()) {
                sums.entry(&function.name).or_default().add(Totals::of_group(group));
            }
        }
    }
    let mut sums: Vec<(&str, Totals)> = sums.into_iter().collect();
    sums.sort_by_key(|(name, totals)| (std::cmp::Reverse(totals.by(weight)), *name));
    let more = sums.len().saturating_sub(FUNCTIONS_MAX) as u64;
    let kept = sums.into_iter().take(FUNCTIONS_MAX);
    (kept.map(|(name, totals)| FunctionFact { name: cut(name, NAME_MAX), cpu_ns: totals.cpu_ns }).collect(), more)
}

/// The first of some words, each no longer than that, and how many others there are.
fn first<'a>(words: impl Iterator<Item = &'a str>, count_max: usize, letters_max: usize) -> (Vec<String>, u64) {
    let mut words = words;
    let kept = words.by_ref().take(count_max).map(|words| cut(words, letters_max)).collect();
    (kept, words.count() as u64)
}

/// In one line, without what would steer a terminal.
fn cut(words: &str, letters_max: usize) -> String {
    // Longer words than these are cut in any case: nobody needs megabytes of them made printable.
    let end = words.char_indices().nth(letters_max + 1).map_or(words.len(), |(at, _)| at);
    let words = printable(&words[..end]);
    match words.char_indices().nth(letters_max) {
        None => words,
        Some(_) => words.chars().take(letters_max - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_says_so() {
        assert_eq!(cut("abcde", 5), "abcde");
        assert_eq!(cut("abcdef", 5), "abcd…");
        assert_eq!(cut("ääääää", 5), "ääää…");
        assert_eq!(cut("", 5), "");
        let (kept, more) = first(["a", "b", "c"].into_iter(), 2, 5);
        assert_eq!((kept.join(" ").as_str(), more), ("a b", 1));
    }
}
