//! The verdict in JSON.
//! Owns: its keys, which docs/reading/json.md explains. Never: leaves out what the terminal says.

use serde::Serialize;

use super::blocks::Elsewhere;
use super::words::{Line, Piece, Target};
use super::{About, Advice, At, Blocks, Copies, Place, Reason, ShortBlocks, Verdict};
use crate::tables::profile::{FileIndex, FrameIndex, Home, Profile};
use crate::tables::state::in_words;
use crate::words::figures::share;

#[derive(Serialize)]
pub struct VerdictPage<'a> {
    name: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    may_be: Vec<&'static str>,
    words: String,
    details: Vec<String>,
    weight: &'static str,
    whole_ns: u64,
    figures: Reason,
    places: Vec<PlacePage<'a>>,
    advice: Vec<AdvicePage<'a>>,
    waited_for_work: Option<WaitedPage<'a>>,
    blocks: Option<BlocksPage<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    short_blocks: Option<ShortBlocksPage<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    copies: Vec<CopiesPage<'a>>,
    allocations: Vec<AllocationsPage<'a>>,
    lines: Vec<Vec<PiecePage>>,
}

/// `file`, `line`, `function` and `expression` as in a row; `name` where it is none of these.
#[derive(Default, Serialize)]
struct PlacePage<'a> {
    kind: &'static str,
    share: f64,
    part_ns: u64,
    #[serde(flatten)]
    at: AtPage<'a>,
    expression: Option<&'a str>,
    threads: Option<u64>,
    expressions: Option<u64>,
    import: Option<ImportPage>,
    wait: Option<WaitPage<'a>>,
    /// For whom it worked, or the parts of which it is the sum.
    others: Vec<OtherPage<'a>>,
    others_left_out: u64,
}

#[derive(Default, Serialize)]
struct AtPage<'a> {
    file: Option<&'a str>,
    line: Option<u32>,
    function: Option<&'a str>,
    name: Option<&'a str>,
}

#[derive(Serialize)]
struct ImportPage {
    running_ns: u64,
    loading_ns: u64,
    waiting_ns: u64,
    rest_ns: u64,
}

#[derive(Serialize)]
struct WaitPage<'a> {
    state: String,
    wall_ns: u64,
    seen: u64,
    turns: u64,
    holder: Option<HolderPage<'a>>,
}

#[derive(Serialize)]
struct HolderPage<'a> {
    tid: Option<u32>,
    thread: Option<&'a str>,
    wall_ns: u64,
}

#[derive(Serialize)]
struct OtherPage<'a> {
    share: Option<f64>,
    #[serde(flatten)]
    at: AtPage<'a>,
}

#[derive(Serialize)]
struct AdvicePage<'a> {
    kind: &'static str,
    share: Option<f64>,
    #[serde(flatten)]
    at: AtPage<'a>,
}

#[derive(Serialize)]
struct WaitedPage<'a> {
    wall_ns: u64,
    share: f64,
    threads: u64,
    places: Vec<WaitedPlacePage<'a>>,
}

#[derive(Serialize)]
struct WaitedPlacePage<'a> {
    share: f64,
    wall_ns: u64,
    #[serde(flatten)]
    at: AtPage<'a>,
    expression: Option<&'a str>,
}

#[derive(Serialize)]
struct BlocksPage<'a> {
    times: u64,
    longest_ns: u64,
    #[serde(flatten)]
    at: AtPage<'a>,
    expression: Option<&'a str>,
    callback: Option<AtPage<'a>>,
    elsewhere: Option<ElsewherePage>,
}

#[derive(Serialize)]
struct ElsewherePage {
    times: u64,
    longest_ns: u64,
}

#[derive(Serialize)]
struct ShortBlocksPage<'a> {
    sum_ns: u64,
    #[serde(flatten)]
    blocks: BlocksPage<'a>,
}

#[derive(Serialize)]
struct CopiesPage<'a> {
    bytes: u64,
    margin_bytes: Option<u64>,
    copies: u64,
    each_bytes: Option<u64>,
    share: f64,
    #[serde(flatten)]
    at: AtPage<'a>,
    expression: Option<&'a str>,
}

#[derive(Serialize)]
struct AllocationsPage<'a> {
    bytes: u64,
    margin_bytes: Option<u64>,
    allocations: u64,
    each_bytes: Option<u64>,
    share: f64,
    #[serde(flatten)]
    at: AtPage<'a>,
    expression: Option<&'a str>,
}

#[derive(Serialize)]
struct PiecePage {
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function: Option<String>,
}

pub fn page<'a>(profile: &'a Profile, verdict: &'a Verdict) -> VerdictPage<'a> {
    let said = verdict.said(profile);
    let pages = Pages { profile, verdict };
    let lines = std::iter::once(&said.first).chain(&said.details);
    VerdictPage {
        name: verdict.reason.name(),
        may_be: verdict.may_be.clone(),
        words: said.first.to_string(),
        details: said.details.iter().map(Line::to_string).collect(),
        weight: verdict.reason.weight().key(),
        whole_ns: verdict.whole_ns,
        figures: verdict.reason,
        places: verdict.lead.iter().chain(&verdict.places).map(|place| pages.place(place)).collect(),
        advice: verdict.advice.iter().map(|advice| pages.advice(*advice)).collect(),
        waited_for_work: verdict.waited_for_work.as_ref().map(|waited| WaitedPage {
            wall_ns: waited.wall_ns,
            share: share(waited.wall_ns, waited.whole_ns),
            threads: waited.threads,
            places: waited
                .places
                .iter()
                .map(|(frame, wall_ns)| pages.waited(*frame, *wall_ns, waited.whole_ns))
                .collect(),
        }),
        blocks: verdict.blocks.map(|blocks| pages.blocks(blocks)),
        short_blocks: verdict
            .short_blocks
            .map(|ShortBlocks { sum_ns, at }| ShortBlocksPage { sum_ns, blocks: pages.blocks(at) }),
        copies: verdict.copies.iter().map(|copies| pages.copies(*copies)).collect(),
        allocations: verdict.allocations.iter().map(|allocations| pages.allocations(*allocations)).collect(),
        lines: lines.map(|line| line.0.iter().map(|piece| pages.piece(piece)).collect()).collect(),
    }
}

struct Pages<'a> {
    profile: &'a Profile,
    verdict: &'a Verdict,
}

impl<'a> Pages<'a> {
    fn waited(&self, frame: Option<FrameIndex>, wall_ns: u64, whole_ns: u64) -> WaitedPlacePage<'a> {
        WaitedPlacePage {
            share: share(wall_ns, whole_ns),
            wall_ns,
            at: frame.map(|frame| self.frame(frame)).unwrap_or_default(),
            expression: frame.and_then(|frame| self.expression(frame)),
        }
    }

    fn blocks(&self, Blocks { times, longest_ns, place, callback, elsewhere }: Blocks) -> BlocksPage<'a> {
        BlocksPage {
            times,
            longest_ns,
            at: self.frame(place),
            expression: self.expression(place),
            callback: callback.map(|callback| self.frame(callback)),
            elsewhere: elsewhere.map(|Elsewhere { times, longest_ns }| ElsewherePage { times, longest_ns }),
        }
    }

    fn copies(&self, copies: Copies) -> CopiesPage<'a> {
        let Copies { place, bytes, margin_bytes, copies, each_bytes, whole_bytes } = copies;
        CopiesPage {
            bytes,
            margin_bytes,
            each_bytes,
            copies,
            share: share(bytes, whole_bytes),
            at: place.map(|frame| self.frame(frame)).unwrap_or_default(),
            expression: place.and_then(|frame| self.expression(frame)),
        }
    }

    fn expression(&self, frame: FrameIndex) -> Option<&'a str> {
        self.profile.frames[frame].expression.as_ref().map(|expression| expression.text.as_str())
    }

    fn allocations(&self, allocations: Copies) -> AllocationsPage<'a> {
        let CopiesPage { bytes, margin_bytes, copies, each_bytes, share, at, expression } = self.copies(allocations);
        AllocationsPage { bytes, margin_bytes, allocations: copies, each_bytes, share, at, expression }
    }

    fn place(&self, place: &'a Place) -> PlacePage<'a> {
        let (kind, at) = match &place.at {
            At::Expression(Some(frame)) => ("expression", self.frame(*frame)),
            At::Expression(None) => ("outside of Python", AtPage::default()),
            At::Line { file, line, function } => {
                ("line", AtPage { line: Some(*line), ..self.function(*file, function) })
            }
            At::LineOf(frame) => ("line", self.frame(*frame)),
            At::Whole { file, function } => ("function", self.function(*file, function)),
            At::Function(function) => {
                let row = &self.profile.functions[*function];
                let at = match row.home {
                    Home::Python { file, first_line, .. } => {
                        AtPage { line: Some(first_line), ..self.function(file, &row.name) }
                    }
                    Home::C { .. } | Home::Mark => AtPage { function: Some(&row.name), ..AtPage::default() },
                };
                ("function", at)
            }
            At::Library(name) => ("library", AtPage { name: Some(name), ..AtPage::default() }),
            At::NativeLibrary(module) => {
                let name = self.profile.modules[*module].base_name();
                ("native library", AtPage { name: Some(name), ..AtPage::default() })
            }
            At::IdleThreads(_) => ("idle threads", AtPage::default()),
            At::Exit => ("exit", AtPage::default()),
        };
        let expression = match place.at {
            At::Expression(Some(frame)) => self.expression(frame),
            _ => None,
        };
        let page = PlacePage {
            kind,
            share: self.share(place.part_ns),
            part_ns: place.part_ns,
            at,
            expression,
            threads: if let At::IdleThreads(threads) = place.at { Some(threads) } else { None },
            ..PlacePage::default()
        };
        self.with_about(page, &place.about)
    }

    fn with_about(&self, page: PlacePage<'a>, about: &About) -> PlacePage<'a> {
        let other = |frame: Option<FrameIndex>, part_ns: u64| OtherPage {
            share: Some(self.share(part_ns)),
            at: frame.map_or_else(AtPage::default, |frame| self.frame(frame)),
        };
        match about {
            About::Nothing => page,
            &About::Import(super::Import { running_ns, loading_ns, waiting_ns, rest_ns }) => {
                PlacePage { import: Some(ImportPage { running_ns, loading_ns, waiting_ns, rest_ns }), ..page }
            }
            &About::Wait(super::Wait { state, wall_ns, seen, turns, holder }) => {
                let holder = holder.map(|holder| {
                    let thread = &self.profile.threads[holder.thread];
                    HolderPage { tid: thread.tid, thread: thread.name.as_deref(), wall_ns: holder.wall_ns }
                });
                let wait = WaitPage { state: in_words(state), wall_ns, seen, turns, holder };
                PlacePage { wait: Some(wait), ..page }
            }
            About::Places(places) => {
                PlacePage { others: places.iter().map(|(frame, ns)| other(*frame, *ns)).collect(), ..page }
            }
            About::Callers(callers, more) => {
                let others = callers.iter().map(|(frame, ns)| other(Some(*frame), *ns)).collect();
                PlacePage { others, others_left_out: *more, ..page }
            }
            About::Expressions(number) => PlacePage { expressions: Some(*number), ..page },
            About::Threads(threads, caller) => {
                let others = caller.iter().map(|frame| OtherPage { share: None, at: self.frame(*frame) }).collect();
                PlacePage { threads: Some(*threads), others, ..page }
            }
        }
    }

    fn advice(&self, advice: Advice) -> AdvicePage<'a> {
        let only = |kind| AdvicePage { kind, share: None, at: AtPage::default() };
        match advice {
            Advice::ProcessesOrReleaseGil => only("processes_or_release_gil"),
            Advice::WhoKeepsGil => only("who_keeps_gil"),
            Advice::FreezeAtExit => only("freeze_at_exit"),
            Advice::RaiseGcThreshold { .. } => only("raise_gc_threshold"),
            Advice::FindCycles { .. } => only("find_cycles"),
            Advice::FewerLargerCallbacks { loop_cpu_ns } => {
                AdvicePage { share: Some(self.share(loop_cpu_ns)), ..only("fewer_larger_callbacks") }
            }
            Advice::LookAt { function, total_cpu_ns } => {
                let row = &self.profile.functions[function];
                let at = match row.home {
                    Home::Python { file, .. } => self.function(file, &row.name),
                    Home::C { .. } | Home::Mark => AtPage { function: Some(&row.name), ..AtPage::default() },
                };
                AdvicePage { kind: "look_at_function", share: Some(self.share(total_cpu_ns)), at }
            }
            Advice::AlsoOnePlace { frame, cpu_ns } => {
                AdvicePage { kind: "also_one_place", share: Some(self.share(cpu_ns)), at: self.frame(frame) }
            }
            Advice::MeasureClock { clock_cpu_ns } => {
                AdvicePage { share: Some(self.share(clock_cpu_ns)), ..only("measure_clock") }
            }
            Advice::RunLonger => only("run_longer"),
            Advice::TickMoreOften => only("tick_more_often"),
        }
    }

    fn piece(&self, piece: &Piece) -> PiecePage {
        let plain = PiecePage { text: piece.text().to_owned(), file: None, line: None, function: None };
        match piece {
            Piece::Place(_, Target { file, line, function }) => PiecePage {
                file: Some(self.profile.files[*file].path.clone()),
                line: *line,
                function: Some(function.clone()),
                ..plain
            },
            Piece::Text(_) | Piece::Code(_) => plain,
        }
    }

    fn share(&self, part_ns: u64) -> f64 {
        share(part_ns, self.verdict.whole_ns)
    }

    fn frame(&self, frame: FrameIndex) -> AtPage<'a> {
        let row = &self.profile.frames[frame];
        let function = &self.profile.functions[row.function];
        match function.home {
            Home::Python { file, .. } => {
                AtPage { line: row.location.map(|location| location.line), ..self.function(file, &function.name) }
            }
            Home::C { .. } | Home::Mark => AtPage { function: Some(&function.name), ..AtPage::default() },
        }
    }

    fn function(&self, file: FileIndex, name: &'a str) -> AtPage<'a> {
        AtPage { file: Some(&self.profile.files[file].path), function: Some(name), ..AtPage::default() }
    }
}
