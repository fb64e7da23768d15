//! Names of C functions, from the bytes of the ELF files they were loaded from.
//! Owns: the order of the sources (docs/names.md). Never: reads files, takes the nearest symbol: an address that no
//! source covers has no name. Keeps: any bytes give names or `NotAnElf`, never a panic; each source is read when an
//! address first needs it.
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod answers;
mod code;
mod file;
mod python;
mod words;

pub use answers::Answer;
pub use file::elf::{Image, NotAnElf};
pub use file::inlined::{CPlace, DebugSections, Places, UnitExtent};
pub use words::spelling::Shown;

use code::flow::Flow;
use code::lineage::Lineage;
use code::{ifunc, lineage};
use file::cells::Cells;
use file::extents::{ExtentIndex, Extents};
use file::stubs;
use file::symbols::{Resolver, Symbols, Table};
use python::{landmarks, scan};
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::rc::Rc;
use words::spelling;

/// One C function. Addresses are file addresses, `end` is the first one behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CFunction {
    pub start: u64,
    pub end: u64,
    pub name: String,
    /// With argument types or hash, where `name` leaves something out.
    pub full_name: Option<String>,
    pub origin: Origin,
}

/// How a name was found. The words are stored in recordings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    SymbolTable,
    DebugFile,
    DynamicSymbols,
    /// Static types, type specifications, module definitions, method and property tables.
    PythonTables,
    /// The agent asked the dynamic linker in the program.
    Ifunc,
    /// The candidates in the code that chooses.
    IfuncResolver,
    LinkerStub,
    /// A part that the compiler moved out of the named function.
    ColdPart,
    /// A helper of the interpreter that is known by what it calls and the texts it uses.
    Landmark,
    /// Every way to the function begins in the named one: `NAME⁺`.
    Dominated,
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Origin::SymbolTable => "symbol table",
            Origin::DebugFile => "debug file",
            Origin::DynamicSymbols => "dynamic symbols",
            Origin::PythonTables => "method table",
            Origin::Ifunc => "IFUNC",
            Origin::IfuncResolver => "IFUNC resolver",
            Origin::LinkerStub => "linker stub",
            Origin::ColdPart => "cold part",
            Origin::Landmark => "landmark",
            Origin::Dominated => "dominated",
        })
    }
}

/// A function whose address the dynamic linker chose when the program ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownFunction<'a> {
    pub address: u64,
    pub name: &'a str,
}

/// The names of one file.
pub struct Names<'a> {
    image: Rc<Image<'a>>,
    debug: Option<Image<'a>>,
    known: BTreeMap<u64, String>,
    extents: OnceCell<Extents<'a>>,
    own_symbols: OnceCell<Symbols<'a>>,
    debug_symbols: OnceCell<Option<Symbols<'a>>>,
    dynamic_symbols: OnceCell<Symbols<'a>>,
    cells: OnceCell<Cells<'a>>,
    tables: OnceCell<BTreeMap<u64, String>>,
    candidates: OnceCell<BTreeMap<u64, String>>,
    flow: OnceCell<Option<Flow>>,
    landmarks: Known<CFunction>,
    named: Known<Rc<str>>,
    wholes: Known<Rc<str>>,
    interpreter: OnceCell<Option<Interpreter>>,
}

/// What was found for an extent, or that there is nothing.
type Known<T> = RefCell<HashMap<ExtentIndex, Option<T>>>;

fn known_or<T: Clone>(known: &Known<T>, index: ExtentIndex, find: impl FnOnce() -> Option<T>) -> Option<T> {
    if let Some(known) = known.borrow().get(&index) {
        return known.clone();
    }
    let found = find();
    known.borrow_mut().insert(index, found.clone());
    found
}

/// What tells that the file is the interpreter.
#[derive(Clone, Copy)]
struct Interpreter {
    type_type: u64,
    /// 11, 14 or 15: the minor version at the least, by what the file exports.
    minor: u8,
}

impl<'a> Names<'a> {
    /// `debug` is the separate file with the symbols; it is used when its build id is that of `image`.
    /// Err: `image` is not an ELF file for x86-64.
    pub fn new(image: &'a [u8], debug: Option<&'a [u8]>, known: &[KnownFunction<'_>]) -> Result<Self, NotAnElf> {
        let image = Rc::new(Image::parse(image)?);
        let same_build = |debug: &Image<'_>| debug.build_id().is_some() && debug.build_id() == image.build_id();
        let debug = debug.and_then(|bytes| Image::parse(bytes).ok()).filter(same_build);
        let mut by_address: BTreeMap<u64, String> = BTreeMap::new();
        for function in known {
            let name = by_address.entry(function.address).or_insert_with(|| function.name.to_owned());
            if ifunc::is_preferred(function.name, name) {
                function.name.clone_into(name);
            }
        }
        Ok(Names {
            image,
            debug,
            known: by_address,
            extents: OnceCell::new(),
            own_symbols: OnceCell::new(),
            debug_symbols: OnceCell::new(),
            dynamic_symbols: OnceCell::new(),
            cells: OnceCell::new(),
            tables: OnceCell::new(),
            candidates: OnceCell::new(),
            flow: OnceCell::new(),
            landmarks: RefCell::default(),
            named: RefCell::default(),
            wholes: RefCell::default(),
            interpreter: OnceCell::new(),
        })
    }

    pub fn build_id(&self) -> Option<&'a [u8]> {
        self.image.build_id()
    }

    /// The function that covers a file address. For a return address ask for the byte before it.
    pub fn name_of(&self, address: u64) -> Option<CFunction> {
        if let Some(function) = self.by_symbol(address) {
            return Some(function);
        }
        let Some(index) = self.extents().containing(address) else {
            return self.by_stub(address);
        };
        self.by_start(index)
            .or_else(|| self.by_stub(address))
            .or_else(|| self.by_landmark(index))
            .or_else(|| self.by_lineage(index))
    }

    /// First and behind-last address of the code around an address, as the unwind table has it, named or not.
    pub fn extent_of(&self, address: u64) -> Option<(u64, u64)> {
        let extent = self.extents().get(self.extents().containing(address)?);
        Some((extent.start, extent.end))
    }

    /// Debug information of the file or of its debug file; None: it has none.
    pub fn debug_sections(&self) -> Option<DebugSections<'a>> {
        let libc = self.image.is_libc();
        DebugSections::of(&self.image, libc).or_else(|| DebugSections::of(self.debug.as_ref()?, libc))
    }

    /// First address of every function of the unwind table.
    pub fn function_starts(&self) -> impl Iterator<Item = u64> + '_ {
        self.extents().all().iter().map(|extent| extent.start)
    }

    fn by_symbol(&self, address: u64) -> Option<CFunction> {
        let sources = [
            (Some(self.own_symbols()), Origin::SymbolTable),
            (self.debug_symbols(), Origin::DebugFile),
            (Some(self.dynamic_symbols()), Origin::DynamicSymbols),
        ];
        for (symbols, origin) in sources {
            let Some(symbols) = symbols else { continue };
            if let Some(symbol) = symbols.covering(address) {
                let spelled = symbols.spelling(symbol);
                let Shown { name, full_name } = spelling::shown_spelling(&spelled.name);
                return Some(CFunction {
                    start: symbol.start,
                    end: symbol.end,
                    name,
                    full_name,
                    origin: if spelled.cold { Origin::ColdPart } else { origin },
                });
            }
        }
        None
    }

    /// Sources that know a function by its first address.
    fn by_start(&self, index: ExtentIndex) -> Option<CFunction> {
        let extent = self.extents().get(index);
        let sources = [
            (self.tables(), Origin::PythonTables),
            (&self.known, Origin::Ifunc),
            (self.candidates(), Origin::IfuncResolver),
        ];
        sources.into_iter().find_map(|(names, origin)| {
            let name = names.get(&extent.start)?.clone();
            Some(CFunction { start: extent.start, end: extent.end, name, full_name: None, origin })
        })
    }

    fn by_stub(&self, address: u64) -> Option<CFunction> {
        let (range, name) = stubs::stub_at(&self.image, self.cells(), address, &|own| Some(self.by_symbol(own)?.name))?;
        let Shown { name, full_name } = spelling::shown_spelling(&name);
        let at_stub = |name: String| format!("{name}@plt");
        Some(CFunction {
            start: range.start,
            end: range.end,
            name: at_stub(name),
            full_name: full_name.map(at_stub),
            origin: Origin::LinkerStub,
        })
    }

    fn by_lineage(&self, index: ExtentIndex) -> Option<CFunction> {
        let extents = self.extents();
        let lineage = Lineage { extents, flow: self.flow()? };
        let extent = extents.get(index);
        let function = |name: String, origin: Origin| CFunction {
            start: extent.start,
            end: extent.end,
            name,
            full_name: None,
            origin,
        };
        if let Some(whole) = self.named_whole(&lineage, index) {
            return Some(function(whole.to_string(), Origin::ColdPart));
        }
        let part_or_name = |index| self.named(index).or_else(|| self.named_whole(&lineage, index));
        let dominators = lineage.dominators_of(index, &part_or_name)?;
        Some(function(lineage::dominated_name(&dominators)?, Origin::Dominated))
    }

    /// The name of an extent by all that does not ask who leads to it.
    fn named(&self, index: ExtentIndex) -> Option<Rc<str>> {
        known_or(&self.named, index, || {
            let start = self.extents().get(index).start;
            let function =
                self.by_symbol(start).or_else(|| self.by_start(index)).or_else(|| self.by_landmark(index))?;
            Some(function.name.into())
        })
    }

    /// The name of the function that an extent was moved out of.
    fn named_whole(&self, lineage: &Lineage<'_>, part: ExtentIndex) -> Option<Rc<str>> {
        known_or(&self.wholes, part, || lineage.named_whole_of(part, &|index| self.named(index)))
    }

    /// What a call leads to, as far as symbols and tables tell; through a stub, the function behind it.
    fn called(&self, to: u64) -> Option<String> {
        if let Some(function) = self.by_symbol(to) {
            return Some(function.name);
        }
        match self.extents().starting_at(to).and_then(|index| self.by_start(index)) {
            Some(function) => Some(function.name),
            None => self.by_stub(to).map(|function| function.name.trim_end_matches("@plt").to_owned()),
        }
    }

    /// Helpers of the interpreter that are known by what they do.
    fn by_landmark(&self, index: ExtentIndex) -> Option<CFunction> {
        known_or(&self.landmarks, index, || {
            let name = self.landmark(index)?.to_owned();
            let extent = self.extents().get(index);
            let (start, end) = (extent.start, extent.end);
            Some(CFunction { start, end, name, full_name: None, origin: Origin::Landmark })
        })
    }

    fn landmark(&self, index: ExtentIndex) -> Option<&'static str> {
        let interpreter = self.interpreter()?;
        let (extents, flow) = (self.extents(), self.flow()?);
        let deeds = landmarks::deeds_of(&self.image, extents, flow, index, &|to| self.called(to));
        let callers = || {
            let edges = flow.edges_to(extents, index).iter();
            let name = |index| self.called(extents.get(index).start);
            let of_whole = |part| name(Lineage { extents, flow }.whole_of(part)?);
            edges.filter_map(|edge| edge.from).filter_map(|from| name(from).or_else(|| of_whole(from))).collect()
        };
        landmarks::name_of(&deeds, &callers, interpreter.minor)
    }

    fn interpreter(&self) -> Option<Interpreter> {
        *self.interpreter.get_or_init(|| {
            let exports = |name| self.image.exported(name).is_some();
            let minor = match () {
                () if exports("_Py_VectorCallInstrumentation_StackRefSteal") => 15,
                () if exports("PyUnicodeWriter_Create") => 14,
                () => 11,
            };
            Some(Interpreter { type_type: self.image.exported("PyType_Type")?, minor })
        })
    }

    fn extents(&self) -> &Extents<'a> {
        self.extents.get_or_init(|| Extents::new(&self.image))
    }

    fn own_symbols(&self) -> &Symbols<'a> {
        self.own_symbols.get_or_init(|| Symbols::read(&self.image, Table::Full, self.extents(), self.image.is_libc()))
    }

    fn debug_symbols(&self) -> Option<&Symbols<'a>> {
        self.debug_symbols
            .get_or_init(|| {
                let debug = self.debug.as_ref()?;
                Some(Symbols::read(debug, Table::Full, self.extents(), self.image.is_libc()))
            })
            .as_ref()
    }

    fn dynamic_symbols(&self) -> &Symbols<'a> {
        self.dynamic_symbols
            .get_or_init(|| Symbols::read(&self.image, Table::Dynamic, self.extents(), self.image.is_libc()))
    }

    fn cells(&self) -> &Cells<'a> {
        self.cells.get_or_init(|| Cells::new(Rc::clone(&self.image)))
    }

    fn tables(&self) -> &BTreeMap<u64, String> {
        self.tables.get_or_init(|| {
            let type_type = self.interpreter().map(|interpreter| interpreter.type_type);
            if type_type.is_none() && !self.image.imports_python() {
                return BTreeMap::new();
            }
            scan::scan(&self.image, self.extents(), self.cells(), type_type)
        })
    }

    fn candidates(&self) -> &BTreeMap<u64, String> {
        self.candidates.get_or_init(|| {
            let all: Vec<Resolver<'_>> = [self.own_symbols(), self.dynamic_symbols()]
                .into_iter()
                .flat_map(|symbols| symbols.resolvers.iter().copied())
                .collect();
            ifunc::candidates(&self.image, self.extents(), &all)
        })
    }

    fn flow(&self) -> Option<&Flow> {
        self.flow.get_or_init(|| Flow::read(&self.image, self.extents(), self.cells())).as_ref()
    }
}
