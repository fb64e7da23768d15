//! A process with its threads, their frames with their places in the source and in C.
//! Owns: from code objects to lines and expressions, from addresses to names. Never: lays out text.

use std::collections::BTreeMap;
use std::path::Path;

use genba_entry::unstopped::Unstopped;
use genba_format::proto;
use genba_process::c_stack::{Module, Place};
use genba_process::facts::Facts;
use genba_process::interpreter::{self, Search};
use genba_process::look::{Locals, Looker, Shown};
use genba_process::refusal::Refusal;
use genba_process::snapshot::{self, Thread, Wanted};
use genba_profile::hits::{HitAddresses, HitModule};
use genba_profile::locations::{Location, Locations};
use genba_profile::source_text::Expression;

use super::sources::Sources;
use crate::finish::{self, Root};

/// A process with its threads.
pub struct Dumped {
    pub facts: Facts,
    pub version: String,
    pub threads: Vec<(Thread, Vec<Frame>)>,
    /// Files whose text is not that of what runs.
    pub changed: Vec<String>,
}

pub enum Frame {
    Python(PythonFrame),
    C(CFrame),
    /// Why frames are missing here.
    Mark(&'static str),
}

/// A Python frame with its place in the source.
#[derive(Default)]
pub struct PythonFrame {
    /// `None`: its code object could not be read.
    pub name: Option<String>,
    pub file: Option<String>,
    pub first_line: Option<u32>,
    pub location: Option<Location>,
    pub expression: Option<Expression>,
    pub locals: Option<Locals>,
}

pub struct CFrame {
    pub name: String,
    /// The file that it lies in.
    pub module: String,
    /// How the name was found. `None`: there is no name but the address.
    pub origin: Option<String>,
    pub full_name: Option<String>,
}

/// Looks at one process, and finds the places of its frames in the source.
pub fn dumped(pid: u32, wanted: Wanted) -> Result<Dumped, Refusal> {
    let interpreter = interpreter::find_in(Facts::of(pid)?, Search::All)?;
    let sources = Sources::of(&interpreter.facts);
    let mut looker = Looker::new(interpreter);
    let threads = snapshot::snapshot(&mut looker, wanted, &Unstopped::begin)?;
    Ok(placed(threads, looker, sources))
}

/// The same of a process that has ended and left a core file.
pub fn dumped_core(path: &Path, wanted: Wanted) -> Result<Dumped, Refusal> {
    let interpreter = interpreter::of_core(path)?;
    let mut looker = Looker::new(interpreter);
    let threads = snapshot::snapshot_of_core(&mut looker, wanted)?;
    Ok(placed(threads, looker, Sources::here(path)))
}

fn placed(threads: Vec<Thread>, looker: Looker, mut sources: Sources) -> Dumped {
    let names = Names::of(&threads, &looker, sources.root.as_ref());
    let resolved = threads
        .into_iter()
        .map(|mut thread| {
            let python = std::mem::take(&mut thread.look.frames);
            let python = python.into_iter().map(|frame| resolve(frame, &looker, &mut sources));
            let frames = match &thread.merged {
                None => python.map(Frame::Python).collect(),
                Some(merged) => {
                    let mut python: Vec<Option<PythonFrame>> = python.map(Some).collect();
                    let shown = merged.iter().filter_map(|frame| match *frame {
                        Shown::Python(position) => python.get_mut(position)?.take().map(Frame::Python),
                        Shown::C(place) => Some(Frame::C(names.frame(place, &looker))),
                        Shown::Mark(words) => Some(Frame::Mark(words)),
                    });
                    shown.collect()
                }
            };
            (thread, frames)
        })
        .collect();
    let changed = sources.changed();
    Dumped { version: looker.interpreter.version, facts: looker.interpreter.facts, threads: resolved, changed }
}

/// Names of C functions, of all threads at once: each file is read once.
struct Names(BTreeMap<HitModule, Vec<proto::CName>>);

impl Names {
    fn of(threads: &[Thread], looker: &Looker, root: Option<&Root>) -> Names {
        let mut hit: BTreeMap<HitModule, HitAddresses> = BTreeMap::new();
        for shown in threads.iter().filter_map(|thread| thread.merged.as_ref()).flatten() {
            let Shown::C(place) = shown else { continue };
            let Some(module) = looker.modules.all.get(place.module) else { continue };
            let addresses = hit.entry(of_module(module)).or_default();
            addresses.began_realtime_ns = looker.interpreter.facts.began_realtime_ns.unwrap_or(0);
            addresses.inside.insert(place.address);
        }
        let mut names: BTreeMap<HitModule, Vec<proto::CName>> = BTreeMap::new();
        for name in root.map(|root| finish::c_names(&hit, root)).unwrap_or_default() {
            let module = HitModule { path: name.module.clone(), build_id: name.build_id.clone() };
            names.entry(module).or_default().push(name);
        }
        Names(names)
    }

    fn frame(&self, place: Place, looker: &Looker) -> CFrame {
        let Some(module) = looker.modules.all.get(place.module).map(of_module) else {
            return CFrame {
                name: format!("{:#x}", place.address),
                module: String::new(),
                origin: None,
                full_name: None,
            };
        };
        let known = self.0.get(&module).into_iter().flatten();
        let named = known.filter(|name| !name.name.is_empty());
        let found = named.into_iter().find(|name| (name.start..name.end).contains(&place.address));
        let text = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        match found {
            Some(found) => CFrame {
                name: found.name.clone(),
                module: module.path,
                origin: text(&found.origin),
                full_name: text(&found.full_name),
            },
            None => {
                let file = module.path.rsplit('/').next().unwrap_or_default().to_owned();
                CFrame {
                    name: format!("{file}+{:#x}", place.address),
                    module: module.path,
                    origin: None,
                    full_name: None,
                }
            }
        }
    }
}

fn of_module(module: &Module) -> HitModule {
    HitModule { path: module.path.to_string_lossy().into_owned(), build_id: module.build_id.clone() }
}

fn resolve(frame: genba_process::look::Frame, looker: &Looker, sources: &mut Sources) -> PythonFrame {
    let Some(code) = frame.code.and_then(|row| looker.codes.row(row)) else {
        return PythonFrame { locals: frame.locals, ..PythonFrame::default() };
    };
    let location = Locations::decode(&code.linetable, code.first_line).at(frame.instruction);
    let typed = |name: &str| looker.typed_text(name);
    let expression = location.and_then(|location| sources.get(&code.filename, typed)?.expression(location));
    PythonFrame {
        name: Some(code.qualname.clone()),
        file: Some(code.filename.clone()),
        first_line: Some(code.first_line),
        location,
        expression,
        locals: frame.locals,
    }
}
