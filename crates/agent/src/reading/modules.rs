//! The loaded files: where their code lies, their build ids, their rows; published for the handler.
//! Owns: `Modules` for the handler (I-08), the list for the merge. Never: frees a table while a handler may read it.
//! Each file is compiled once, a piece at a time, and published when it is complete; a `dlclose` takes its rows out, an `dlopen` brings new ones in.

use crate::reading::cfi::{Compiled, Compiler};
use genba_signal::deposits;
use genba_signal::handler::SHARED;
use genba_signal::request::POOL;
use genba_signal::rows::{ModuleRows, Modules, Row, RuleCache};
use kept::{Kept, Key};
use linked::Found;
use section::Copier;
use std::collections::VecDeque;
use std::sync::atomic::Ordering::SeqCst;

mod changes;
mod kept;
mod linked;
mod module;
mod section;
pub(super) use changes::Changes;
pub use changes::{forked, learn, may_ask_linker, sees_linker_lock};
pub(super) use linked::Listing;
pub use linked::own_executable;
pub use module::Module;
pub(super) use section::copy;

/// A file on its way to rows.
struct Work {
    key: Option<Key>,
    stage: Stage,
}

enum Stage {
    New(Copier),
    Copying(Copier),
    Compiling(Compiler),
    Done(Compiled),
}

impl Work {
    /// One more piece.
    fn advance(self, kept: &Kept) -> Work {
        let key = self.key;
        let stage = match self.stage {
            Stage::New(copier) => match key.and_then(|key| kept.read(key)) {
                Some(compiled) => Stage::Done(compiled),
                None => Stage::Copying(copier),
            },
            Stage::Copying(mut copier) => {
                let is_copied = copier.advance();
                if is_copied { Stage::Compiling(copier.finish()) } else { Stage::Copying(copier) }
            }
            Stage::Compiling(mut compiler) => {
                if compiler.advance(PIECE_ENTRIES) {
                    let compiled = compiler.finish();
                    if let Some(key) = key {
                        kept.write(key, &compiled);
                    }
                    Stage::Done(compiled)
                } else {
                    Stage::Compiling(compiler)
                }
            }
            Stage::Done(compiled) => Stage::Done(compiled),
        };
        Work { key, stage }
    }
}

/// A place in a loaded file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Position in `Loaded::modules`.
    pub module: usize,
    pub file_address: u64,
    /// Where the function around it begins, as an address in the process, when the file tells.
    pub function: Option<u64>,
}

/// The present files and those unloaded last. `order` lists the present ones by address. A position means another file only
/// after a change of the list.
pub struct Loaded {
    pub modules: Vec<Module>,
    order: Vec<usize>,
    /// Files that went, longest ago first: they may come back.
    unloaded: VecDeque<usize>,
    /// Files that went so long ago that they will be forgotten as soon as no handler walks (I-08).
    condemned: Vec<usize>,
    /// Positions of forgotten files, to be used again.
    vacant: Vec<usize>,
    /// Where the code of forgotten files lay: apart from each other, by address.
    once_code: Vec<(u64, u64)>,
    /// Files whose rows are not complete, by position in `modules`.
    compiling: VecDeque<(usize, Work)>,
    /// Since `take_came`, without those that were there when the recording began, or went on after a pause.
    came: Vec<usize>,
    /// Nobody has looked since the recording began, or went on after a pause.
    pub is_begin: bool,
    kept: Kept,
    listing: Listing,
    changes: Changes,
    generation: u64,
    published: Option<Box<Published>>,
    #[expect(clippy::vec_box, reason = "a handler may still hold the address")]
    retired: Vec<Box<Published>>,
    cache: &'static RuleCache,
}

struct Published {
    #[expect(dead_code, reason = "the handler reads it through `table`")]
    list: Vec<ModuleRows>,
    table: Modules,
}

impl Loaded {
    #[must_use]
    pub fn new() -> Loaded {
        // SAFETY: a RuleCache is atomics, for which zeroed memory is a value; leaked on purpose: handlers may read it
        // as long as the process lives. Boxed before it is a value, as it is too large for the stack.
        let cache: &'static RuleCache = unsafe { Box::leak(Box::<RuleCache>::new_zeroed().assume_init()) };
        Loaded {
            modules: Vec::new(),
            order: Vec::new(),
            unloaded: VecDeque::new(),
            condemned: Vec::new(),
            vacant: Vec::new(),
            once_code: Vec::new(),
            compiling: VecDeque::new(),
            came: Vec::new(),
            is_begin: true,
            kept: Kept::beside_agent(),
            listing: Listing::default(),
            changes: Changes::default(),
            generation: 0,
            published: None,
            retired: Vec::new(),
            cache,
        }
    }

    /// Whether the dynamic linker's counts moved since the list was read, and it can be read again.
    #[must_use]
    pub fn is_outdated(&self) -> bool {
        may_ask_linker() && Changes::now() != self.changes
    }

    /// Whether files came, or went, that this process will never learn of.
    #[must_use]
    pub fn is_stuck(&self) -> bool {
        !may_ask_linker() && Changes::of_words() != Some(self.changes)
    }

    /// Reads the list again when it is out of date. True: something changed.
    pub fn refresh(&mut self) -> bool {
        let is_begin = std::mem::take(&mut self.is_begin);
        self.free_retired();
        if !self.is_outdated() {
            return false;
        }
        let mut listing = std::mem::take(&mut self.listing);
        let changes_before = std::mem::replace(&mut self.changes, listing.read());
        let none_went = self.changes.only_came_since(changes_before);
        let found: Vec<Found> = listing.files(&self.modules, none_went).collect();
        self.listing = listing;
        let next = self.generation + 1;
        let before: Vec<bool> = self.modules.iter().map(|module| module.mapped).collect();
        for module in &mut self.modules {
            module.mapped = false;
        }
        for file in found {
            match file {
                Found::Known(index) => self.modules[index].mapped = true,
                Found::New(new) => {
                    let (mut module, copier, key) = *new;
                    let index = self.vacant.pop().unwrap_or(self.modules.len());
                    let mut work = Work { key, stage: Stage::New(copier) };
                    if is_libc(&module) {
                        // At once, some milliseconds: no thread may be asked before its cut writes can be told.
                        module.compiled = loop {
                            work = work.advance(&self.kept);
                            if let Stage::Done(compiled) = work.stage {
                                break compiled;
                            }
                        };
                        self.publish_libc(&module);
                    } else {
                        self.compiling.push_back((index, work));
                    }
                    match self.modules.get_mut(index) {
                        Some(vacant) => *vacant = module,
                        None => self.modules.push(module),
                    }
                }
            }
        }
        for (index, module) in self.modules.iter_mut().enumerate() {
            match (before.get(index) == Some(&true), module.mapped) {
                (false, true) => {
                    module.since = next;
                    if self.generation > 0 && !is_begin {
                        self.came.push(index);
                    }
                    self.unloaded.retain(|&unloaded| unloaded != index);
                    self.condemned.retain(|&condemned| condemned != index);
                }
                (true, false) => {
                    let compiling = self.compiling.len();
                    self.compiling.retain(|&(compiling, _)| compiling != index);
                    module.abandoned = self.compiling.len() < compiling;
                    self.unloaded.push_back(index);
                }
                _ => {}
            }
        }
        while self.unloaded.len() > UNLOADED_MAX {
            self.condemned.extend(self.unloaded.pop_front());
        }
        self.order = (0..self.modules.len()).filter(|&index| self.modules[index].mapped).collect();
        self.order.sort_by_key(|&index| self.modules[index].start);
        self.publish();
        true
    }

    /// The paths of the files that came since this was asked last, as in `came`.
    pub fn take_came(&mut self) -> impl Iterator<Item = &str> {
        let came = std::mem::take(&mut self.came);
        came.into_iter().map(|index| self.modules[index].path.as_str())
    }

    /// Compiles for a while: at least one piece, until `clock` says that `deadline_ns` is over. Rows are published when all
    /// files have theirs, so that early stacks are cut at their leaf, below the Python frames, and not at their root. True: now.
    pub fn compile(&mut self, deadline_ns: u64, clock: impl Fn() -> u64) -> bool {
        let mut finished = false;
        // The executable comes first in the linker's list, and matters most.
        while let Some((index, work)) = self.compiling.pop_front() {
            match work.advance(&self.kept) {
                Work { stage: Stage::Done(compiled), .. } => {
                    self.modules[index].compiled = compiled;
                    finished = true;
                }
                work => self.compiling.push_front((index, work)),
            }
            if clock() >= deadline_ns {
                break;
            }
        }
        finished &= self.compiling.is_empty();
        if finished {
            self.publish();
        }
        finished
    }

    #[must_use]
    pub fn is_compiled(&self) -> bool {
        self.compiling.is_empty()
    }

    fn publish(&mut self) {
        self.generation += 1;
        let list: Vec<ModuleRows> = self
            .order
            .iter()
            .map(|&index| {
                let module = &self.modules[index];
                let rows: &[Row] = &module.compiled.rows;
                ModuleRows { start: module.start, end: module.end, rows: rows.as_ptr(), rows_len: rows.len() }
            })
            .collect();
        let table =
            Modules { modules: list.as_ptr(), modules_len: list.len(), generation: self.generation, cache: self.cache };
        let mut published = Box::new(Published { list, table });
        // SeqCst: a handler swaps its buffer to Walking before it loads this pointer (I-08).
        SHARED.modules.store(&raw mut published.table, SeqCst);
        self.retired.extend(self.published.replace(published));
    }

    /// libc's rows alone, for the handler's look at a write that was cut short: early, and for good.
    fn publish_libc(&self, module: &Module) {
        if !SHARED.write_rows.load(SeqCst).is_null() {
            return;
        }
        let rows = &module.compiled.rows;
        let list = ModuleRows { start: module.start, end: module.end, rows: rows.as_ptr(), rows_len: rows.len() };
        // Generation 0: the whole lists begin with 1.
        let list: &'static ModuleRows = Box::leak(Box::new(list));
        let table = Modules { modules: list, modules_len: 1, generation: 0, cache: self.cache };
        SHARED.write_rows.store(Box::into_raw(Box::new(table)), SeqCst);
    }

    /// Frees what no handler can be reading any more.
    pub fn free_retired(&mut self) {
        self.is_begin = false;
        if (self.retired.is_empty() && self.condemned.is_empty()) || !nobody_walks() {
            return;
        }
        self.retired.clear();
        // The list that is published now is without these.
        for index in std::mem::take(&mut self.condemned) {
            let gone = std::mem::replace(&mut self.modules[index], Module::VACANT);
            remember_code(&mut self.once_code, (gone.start, gone.end));
            self.vacant.push(index);
        }
    }

    /// The list as it is now; a question remembers the one it was asked with.
    #[must_use]
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// Whether a file was there, in the same place, from `generation` until now: else an answer may mean another one.
    #[must_use]
    pub fn was_there(&self, place: Place, generation: u64) -> bool {
        self.modules[place.module].since <= generation
    }

    /// Whether any file ever had code there.
    #[must_use]
    pub fn was_ever_code(&self, address: u64) -> bool {
        self.modules.iter().any(|module| (module.start..module.end).contains(&address))
            || self.once_code.iter().any(|&(start, end)| (start..end).contains(&address))
    }

    /// The present file around `address`.
    #[must_use]
    pub fn place(&self, address: u64) -> Option<Place> {
        let position = self.order.partition_point(|&index| self.modules[index].start <= address).checked_sub(1)?;
        let index = self.order[position];
        let module = &self.modules[index];
        if address >= module.end {
            return None;
        }
        let offset = (address - module.start) as u32;
        let functions = &module.compiled.functions;
        let function = functions
            .partition_point(|&(first, _)| first <= offset)
            .checked_sub(1)
            .map(|at| functions[at])
            .filter(|&(_, behind)| offset < behind)
            .map(|(first, _)| module.start + u64::from(first));
        Some(Place { module: index, file_address: address.wrapping_sub(module.bias), function })
    }

    /// Whether `address` lies in the writable data of a present file: a static object.
    #[must_use]
    pub fn is_static_data(&self, address: u64) -> bool {
        self.order
            .iter()
            .any(|&index| self.modules[index].data.iter().any(|&(start, end)| (start..end).contains(&address)))
    }
}

/// So many ranges of code that went are told apart.
const RANGES_MAX: usize = 1024;

/// Adds a range to ranges that lie apart from each other. Beyond RANGES_MAX the nearest one grows to hold it, and what lies between the two:
/// nothing is forgotten, and a frame there is marked as one of a file that went (I-07).
fn remember_code(ranges: &mut Vec<(u64, u64)>, (mut start, mut end): (u64, u64)) {
    let distance = |&(first, behind): &(u64, u64), (start, end): (u64, u64)| {
        first.saturating_sub(end).max(start.saturating_sub(behind))
    };
    if ranges.len() >= RANGES_MAX
        && let Some(&(first, behind)) = ranges.iter().min_by_key(|range| distance(range, (start, end)))
    {
        (start, end) = (start.min(first), end.max(behind));
    }
    ranges.retain(|&(first, behind)| {
        let apart = behind < start || end < first;
        if !apart {
            (start, end) = (start.min(first), end.max(behind));
        }
        apart
    });
    ranges.push((start, end));
}

/// The file that has `write`. It stays as long as the process.
fn is_libc(module: &Module) -> bool {
    (module.start..module.end).contains(&SHARED.write_begin.load(SeqCst))
}

/// So many files that went are kept with their rows, in case they come back.
const UNLOADED_MAX: usize = 16;
/// So many functions are compiled between two looks at the clock.
const PIECE_ENTRIES: usize = 64;

/// No handler and no thread is inside a buffer: what was replaced before this moment is no longer read.
#[must_use]
pub fn nobody_walks() -> bool {
    POOL.nobody_walks() && deposits::POOL.nobody_walks() && deposits::collections::POOL.nobody_walks()
}

#[cfg(test)]
mod tests {
    use super::{Loaded, RANGES_MAX, UNLOADED_MAX, remember_code};
    use std::ffi::CString;

    #[test]
    fn files_that_went_are_forgotten() {
        let mut loaded = Loaded::new();
        loaded.refresh();
        let at_first = loaded.modules.len();
        let model = loaded
            .modules
            .iter()
            .map(|module| module.path.clone())
            .find(|path| path.contains("libgcc_s") || path.contains("libm.so"))
            .expect("a small library");
        let folder = std::env::temp_dir().join(format!("genba-modules-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for number in 0..3 * UNLOADED_MAX {
            let copy = folder.join(format!("copy-{number}.so"));
            std::fs::copy(&model, &copy).unwrap();
            let path = CString::new(copy.to_str().unwrap()).unwrap();
            // SAFETY: the path ends in NUL; the handle is closed once.
            unsafe {
                let handle = libc::dlopen(path.as_ptr(), libc::RTLD_NOW);
                assert!(!handle.is_null());
                assert!(loaded.refresh(), "the list changed");
                while !loaded.compile(0, || 0) {}
                let here = loaded.modules.iter().find(|module| module.path.ends_with(&format!("copy-{number}.so")));
                let (address, rows) = here.map(|module| (module.start, module.compiled.rows.len())).unwrap();
                assert!(rows > 0 && loaded.place(address).is_some());
                assert_eq!(libc::dlclose(handle), 0);
                loaded.refresh();
                assert!(loaded.place(address).is_none() && loaded.was_ever_code(address));
            }
        }
        std::fs::remove_dir_all(&folder).unwrap();
        let rows =
            loaded.modules.iter().filter(|module| module.path.contains("copy-") && !module.compiled.rows.is_empty());
        assert!(rows.count() <= UNLOADED_MAX + 1);
        assert!(loaded.modules.len() <= at_first + UNLOADED_MAX + 2, "{} of {at_first}", loaded.modules.len());
    }

    /// The next one often lies where the one before it lay, and nobody looked in between.
    #[test]
    fn another_file_of_the_same_name_is_another_one() {
        const LIBRARIES: [&str; 2] = ["libm.so.6", "libresolv.so.2"];
        let mut loaded = Loaded::new();
        let open = |path: &str| {
            let path = CString::new(path).unwrap();
            // SAFETY: the path ends in NUL.
            let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
            assert!(!handle.is_null());
            handle
        };
        for name in LIBRARIES {
            open(name);
        }
        loaded.refresh();
        let found = |loaded: &Loaded, end: &str| {
            let module = loaded.modules.iter().find(|module| module.mapped && module.path.ends_with(end));
            module.map(|module| (module.path.clone(), module.build_id.clone())).unwrap()
        };
        let models = LIBRARIES.map(|name| found(&loaded, name));
        assert_ne!(models[0].1, models[1].1);
        let path = std::env::temp_dir().join(format!("genba-one-name-{}.so", std::process::id()));
        let name = path.to_str().unwrap();
        for ((model, build_id), is_begin) in models.into_iter().zip([false, true]) {
            std::fs::copy(model, &path).unwrap();
            let handle = open(name);
            loaded.is_begin = is_begin;
            assert!(loaded.refresh(), "the list changed");
            assert_eq!(loaded.take_came().any(|path| path.ends_with(name)), !is_begin);
            assert_eq!(found(&loaded, name).1, build_id);
            std::fs::remove_file(&path).unwrap();
            // SAFETY: closed once.
            assert_eq!(unsafe { libc::dlclose(handle) }, 0);
        }
    }

    #[test]
    fn beyond_the_bound_the_nearest_range_grows() {
        let mut ranges = Vec::new();
        let apart = |index: u64| (1000 * index, 1000 * index + 100);
        for index in 0..RANGES_MAX as u64 {
            remember_code(&mut ranges, apart(index));
        }
        assert_eq!(ranges.len(), RANGES_MAX);
        remember_code(&mut ranges, (7_300, 7_400));
        remember_code(&mut ranges, (8_800, 8_850));
        assert_eq!(ranges.len(), RANGES_MAX);
        assert!(ranges.contains(&(7_000, 7_400)) && ranges.contains(&(8_800, 9_100)), "{ranges:?}");
    }

    #[test]
    fn ranges_that_touch_become_one() {
        let mut ranges = Vec::new();
        for range in [(10, 20), (40, 50), (20, 25), (24, 41), (60, 70)] {
            remember_code(&mut ranges, range);
        }
        assert_eq!(ranges, [(10, 50), (60, 70)]);
    }
}
