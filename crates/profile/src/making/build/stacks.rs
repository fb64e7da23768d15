//! From stored stack nodes to nodes of the profile: functions, frames and nodes are made once and found again.
//! Owns: what a node is called and where it is. Never: makes a node that no sample needs.
//! Keeps: a parent node stands before its children; no two nodes under one parent have the same frame.

use foldhash::HashMap;
use std::rc::Rc;

use genba_format::proto;

use crate::making::build::c_functions::{self, CFunctions};
use crate::making::build::c_places::{CPlace, CPlaces};
use crate::tables::locations::{Location, Locations};
use crate::tables::owner::{self, Owner, Places};
use crate::tables::profile::{
    CLine, File, FileIndex, Frame, FrameIndex, FrameKind, Function, FunctionIndex, Home, LOST_FRAME, LOST_REST, Module,
    ModuleIndex, Node, NodeIndex, Profile,
};
use crate::tables::stored::{Stored, StoredNode, absolute};

/// How the names of inlined functions were found.
const DEBUG_INFORMATION: &str = "debug information";
/// The kind of module that stands for memory of no file, and how it is shown.
const ANONYMOUS: u32 = 2;
const GENERATED: &str = "[generated code]";
/// Stands for work of genba's on a thread of the program's.
const OWN_WORK: &str = "[genba's own work]";

/// Rows that are already in the profile, by what they hold; shared by all processes.
#[derive(Default)]
pub struct Interned {
    files: HashMap<File, FileIndex>,
    modules: HashMap<Module, ModuleIndex>,
    functions: HashMap<FunctionKey, FunctionIndex>,
    frames: HashMap<(FunctionIndex, FrameKind, Option<Location>, Option<CLine>), FrameIndex>,
    nodes: HashMap<(Option<NodeIndex>, FrameIndex), NodeIndex>,
}

/// What makes two functions one. How a name was found does not: a function and its cold part are the same.
#[derive(PartialEq, Eq, Hash)]
struct FunctionKey {
    name: String,
    place: Place,
}

#[derive(PartialEq, Eq, Hash)]
enum Place {
    Python { file: FileIndex, first_line: u32, table_bytes: u32 },
    C { module: ModuleIndex, full_name: Option<String> },
    Mark,
}

/// The stacks of one process.
pub struct Stacks<'a> {
    stored: &'a Stored<'a>,
    c_functions: &'a CFunctions<'a>,
    c_places: &'a CPlaces<'a>,
    interned: &'a mut Interned,
    places: Places<'a>,
    cwd: Option<&'a str>,
    /// Of the process's program.
    family: u64,
    /// Modules, by stored index: genba's library that wraps functions of libc.
    own_library: Vec<u32>,
    /// By stored index.
    nodes: HashMap<u32, NodeIndex>,
    codes: HashMap<u32, Code>,
    /// By what stored nodes hold beside their parents: one address is in many stacks. `None`: a call that is only handed on.
    by_content: HashMap<(u32, u32, u64), Option<Rc<Frames>>>,
}

/// What a stored node stands for, under any parent: a frame, and those that were inlined into it, outermost first.
struct Frames {
    own: FrameIndex,
    inlined: Vec<FrameIndex>,
}

struct Code {
    function: FunctionIndex,
    locations: Locations,
}

impl<'a> Stacks<'a> {
    pub fn new(
        stored: &'a Stored<'a>,
        c_functions: &'a CFunctions<'a>,
        c_places: &'a CPlaces<'a>,
        packages: &'a [String],
        family: u64,
        interned: &'a mut Interned,
    ) -> Stacks<'a> {
        let start = stored.start();
        let text = |text: &'a str| (!text.is_empty()).then_some(text);
        let is_own = |module: &proto::Module| stored.string(module.path).is_some_and(|path| owner::is_agent(&path));
        let own_library = stored.modules.iter().filter(|(_, module)| is_own(module)).map(|(index, _)| index).collect();
        Stacks {
            stored,
            c_functions,
            c_places,
            interned,
            places: Places { executable: start.map_or("", |start| &start.executable), packages },
            cwd: start.and_then(|start| text(&start.cwd)),
            family,
            own_library,
            nodes: HashMap::default(),
            codes: HashMap::default(),
            by_content: HashMap::default(),
        }
    }

    /// The profile's node for a stored leaf.
    pub fn node(&mut self, leaf: u32, profile: &mut Profile) -> NodeIndex {
        let mut unknown = Vec::new();
        let mut next = Some(leaf);
        let mut parent = None;
        while let Some(index) = next {
            if let Some(known) = self.nodes.get(&index) {
                parent = Some(*known);
                break;
            }
            let Some(row) = self.stored.node(index) else {
                let frame = self.mark_frame(LOST_REST.to_string(), profile);
                parent = Some(self.child(None, frame, profile));
                break;
            };
            unknown.push((index, row));
            // A parent is stored before its children; anything else would be a circle.
            next = row.parent.filter(|parent| *parent < index);
        }
        for (index, row) in unknown.into_iter().rev() {
            let node = self.placed(parent, row, profile);
            self.nodes.insert(index, node);
            parent = Some(node);
        }
        parent.expect("a leaf that is not known was pushed, and one that is known has a node")
    }

    /// The frames of a stack without C, outermost first. None: it has some, or a part of it is lost.
    pub fn of_python_alone(&mut self, leaf: u32, profile: &mut Profile) -> Option<Vec<FrameIndex>> {
        let mut rows = Vec::new();
        let mut next = Some(leaf);
        while let Some(index) = next {
            let row = self.stored.node(index).filter(|row| row.kind == proto::NodeKind::Python as u32)?;
            next = row.parent.filter(|parent| *parent < index);
            rows.push(row);
        }
        rows.into_iter().rev().map(|row| Some(self.known(&row, profile)?.own)).collect()
    }

    /// Whether it is a call that genba's library only hands on, so no step of the program's.
    fn is_handed_on(&self, row: &StoredNode) -> bool {
        let hands_on = [proto::NodeKind::CReturn, proto::NodeKind::CInferredCall, proto::NodeKind::CInferredOperands];
        hands_on.iter().any(|kind| *kind as u32 == row.kind) && self.is_in_own_library(row)
    }

    fn is_in_own_library(&self, row: &StoredNode) -> bool {
        let without_module = [proto::NodeKind::Python, proto::NodeKind::Mark];
        self.own_library.contains(&row.table) && !without_module.iter().any(|kind| *kind as u32 == row.kind)
    }

    /// Where a stack of the program's ends in genba's library: at libc's function, if that is what genba's was called for, else in genba's own work.
    fn own_leaf(&mut self, row: &StoredNode, profile: &mut Profile) -> FrameIndex {
        let next = |row: &StoredNode| row.parent.and_then(|parent| self.stored.node(parent));
        let own = std::iter::successors(Some(*row), next).take_while(|row| self.is_in_own_library(row)).last();
        match own.and_then(|first| self.of_libc(&first, profile)) {
            Some(function) => self.located(function, FrameKind::C, None, profile),
            None => self.mark_frame(OWN_WORK.to_string(), profile),
        }
    }

    /// The function of libc that genba's takes the place of.
    fn of_libc(&mut self, own: &StoredNode, profile: &mut Profile) -> Option<FunctionIndex> {
        let is_call = own.kind != proto::NodeKind::CLeaf as u32;
        let module = self.stored.modules.get(own.table)?;
        let path = self.stored.string(module.path)?;
        let named = self.c_functions.at(&path, &module.build_id, own.address.saturating_sub(u64::from(is_call)))?;
        if named.origin == c_functions::NO_NAME || named.name.starts_with("genba_") {
            return None;
        }
        let mut paths = self.stored.modules.iter().filter_map(|(_, module)| self.stored.string(module.path));
        let libc = paths.find(|path| owner::is_libc(path))?;
        let module = self.module(libc, false, profile);
        let home = Home::C { module, origin: Some(named.origin.clone()), full_name: None };
        Some(self.function(Function { name: named.name.clone(), home }, profile))
    }

    fn module(&mut self, path: String, is_replaced: bool, profile: &mut Profile) -> ModuleIndex {
        let owner = owner::of_module(&path, self.places);
        let module = Module { path, owner, is_replaced };
        *self.interned.modules.entry(module).or_insert_with_key(|module| profile.modules.push(module.clone()))
    }

    /// Whether genba's library runs there, or what it calls: no Python function is further in.
    pub fn is_within_own_library(&self, leaf: u32) -> bool {
        let mut next = Some(leaf);
        while let Some((index, row)) = next.and_then(|index| Some((index, self.stored.node(index)?))) {
            if row.kind == proto::NodeKind::Python as u32 {
                return false;
            }
            if self.is_in_own_library(&row) {
                return true;
            }
            next = row.parent.filter(|parent| *parent < index);
        }
        false
    }

    /// `None`: a call that is only handed on.
    fn known(&mut self, row: &StoredNode, profile: &mut Profile) -> Option<Rc<Frames>> {
        if let Some(known) = self.by_content.get(&row.content()) {
            return known.clone();
        }
        let known = (!self.is_handed_on(row)).then(|| Rc::new(self.frames_of(row, profile)));
        self.by_content.entry(row.content()).or_insert(known).clone()
    }

    /// Puts a row under its parent, unless one of the two is an inferred frame that repeats the other: the callee that
    /// a tail call hid, and the cold part of the same function that was found on the stack.
    fn placed(&mut self, parent: Option<NodeIndex>, row: StoredNode, profile: &mut Profile) -> NodeIndex {
        if let Some(parent) =
            parent.filter(|_| row.kind == proto::NodeKind::CLeaf as u32 && self.is_in_own_library(&row))
        {
            let frame = self.own_leaf(&row, profile);
            return self.child(Some(parent), frame, profile);
        }
        let frames = match (self.known(&row, profile), parent) {
            (Some(frames), _) => frames,
            (None, Some(parent)) => return parent,
            (None, None) => Rc::new(self.frames_of(&row, profile)),
        };
        let frame = frames.own;
        let mut own_parent = parent;
        let is_inlined = |node: &NodeIndex| profile.frames[profile.nodes[*node].frame].kind == FrameKind::Inlined;
        let above = std::iter::successors(parent, |node| profile.nodes[*node].parent).find(|node| !is_inlined(node));
        if let (Some(above), Some(parent)) = (above, parent) {
            let (kind, kind_above) = (profile.frames[frame].kind, profile.frames[profile.nodes[above].frame].kind);
            let function_above = profile.frames[profile.nodes[above].frame].function;
            if profile.frames[frame].function == function_above {
                match (kind_above, kind) {
                    (FrameKind::C | FrameKind::Inferred, FrameKind::Inferred) => return parent,
                    (FrameKind::Inferred, FrameKind::C) => own_parent = profile.nodes[above].parent,
                    _ => {}
                }
            }
        }
        let own = self.child(own_parent, frame, profile);
        frames.inlined.iter().fold(own, |above, frame| self.child(Some(above), *frame, profile))
    }

    pub fn child(&mut self, parent: Option<NodeIndex>, frame: FrameIndex, profile: &mut Profile) -> NodeIndex {
        *self.interned.nodes.entry((parent, frame)).or_insert_with(|| profile.nodes.push(Node { parent, frame }))
    }

    fn frames_of(&mut self, row: &StoredNode, profile: &mut Profile) -> Frames {
        let own = match proto::NodeKind::try_from(row.kind as i32) {
            Ok(proto::NodeKind::Python) => self.python_frame(row, profile),
            Ok(proto::NodeKind::CLeaf) => return self.c_frames(row, row.address, FrameKind::C, profile),
            // The call may be a function's last instruction: the return address is then the next function's first.
            Ok(proto::NodeKind::CReturn) => {
                return self.c_frames(row, row.address.saturating_sub(1), FrameKind::C, profile);
            }
            Ok(proto::NodeKind::CInferredCall | proto::NodeKind::CInferredOperands) => {
                return self.c_frames(row, row.address, FrameKind::Inferred, profile);
            }
            Ok(proto::NodeKind::Mark) => {
                let words = self.stored.string(row.table).unwrap_or_else(|| LOST_FRAME.to_string());
                self.mark_frame(words, profile)
            }
            Err(_) => self.mark_frame(format!("frame of kind {} (of a newer genba)", row.kind), profile),
        };
        Frames { own, inlined: Vec::new() }
    }

    fn python_frame(&mut self, row: &StoredNode, profile: &mut Profile) -> FrameIndex {
        if !self.codes.contains_key(&row.table) {
            let Some(code) = self.code(row.table, profile) else {
                return self.mark_frame(LOST_FRAME.to_string(), profile);
            };
            self.codes.insert(row.table, code);
        }
        let code = &self.codes[&row.table];
        let unit = u32::try_from(row.address).ok();
        let location = unit.and_then(|unit| code.locations.at(unit));
        let function = code.function;
        let key = (function, FrameKind::Python, location, None);
        *self.interned.frames.entry(key).or_insert_with(|| {
            let expression = location.and_then(|location| {
                let source = profile.source_of(function)?;
                source.expression(location)
            });
            profile.frames.push(Frame { function, kind: FrameKind::Python, location, expression, c_line: None })
        })
    }

    fn code(&mut self, index: u32, profile: &mut Profile) -> Option<Code> {
        let code = self.stored.codes.get(index)?;
        let path = absolute(&self.stored.string(code.filename)?, self.cwd);
        let owner = match owner::of_python(&path, self.places) {
            Owner::User if profile.sources.get(&path).is_some_and(|text| owner::is_starter(&path, text)) => {
                Owner::Library
            }
            owner => owner,
        };
        // Many texts have one such name.
        let is_nameless = owner::is_nameless(&path);
        let family = if is_nameless { self.family } else { 0 };
        let table_bytes = if is_nameless { code.linetable_bytes } else { 0 };
        let file = File { path, owner, family };
        let file = *self.interned.files.entry(file).or_insert_with_key(|file| profile.files.push(file.clone()));
        let name = self.stored.string(code.qualname)?;
        let home = Home::Python { file, first_line: code.first_line, table_bytes };
        Some(Code {
            function: self.function(Function { name, home }, profile),
            locations: Locations::decode(&self.stored.linetable(index, code), code.first_line),
        })
    }

    fn c_frames(&mut self, row: &StoredNode, look_up: u64, kind: FrameKind, profile: &mut Profile) -> Frames {
        let Some(module) = self.stored.modules.get(row.table) else {
            return Frames { own: self.mark_frame(LOST_FRAME.to_string(), profile), inlined: Vec::new() };
        };
        let stored_path = self.stored.string(module.path).unwrap_or_default();
        let named = self.c_functions.at(&stored_path, &module.build_id, look_up);
        let is_replaced = self.c_functions.is_replaced(&stored_path, &module.build_id);
        // An inferred frame is known by its function alone.
        let places = match kind {
            FrameKind::C => self.c_places.at(&stored_path, &module.build_id, look_up),
            _ => Vec::new(),
        };
        // The dynamic linker's choice is known by its first address alone, which is what an inferred call names.
        let known = || {
            let mut addresses = self.stored.known_addresses();
            let known = addresses.find(|known| known.module == row.table && known.address == look_up)?;
            self.stored.string(known.name)
        };
        let path = match module.kind {
            1 => "[vdso]".to_string(),
            ANONYMOUS => GENERATED.to_string(),
            _ => stored_path,
        };
        let full_name = named.map(|found| found.full_name.clone()).filter(|name| !name.is_empty());
        let (name, origin) = match named {
            Some(found) => {
                (found.name.clone(), Some(found.origin.clone()).filter(|origin| origin != c_functions::NO_NAME))
            }
            None => match known() {
                Some(name) => (name, Some("IFUNC".to_string())),
                // Nobody tells where a function of it begins, and the next process has it at another address.
                None if module.kind == ANONYMOUS => ("generated code".to_string(), None),
                None => (format!("{}+{:#x}", owner::base_name(&path), row.address), None),
            },
        };
        let module = self.module(path, is_replaced, profile);
        let function = self.function(Function { name, home: Home::C { module, origin, full_name } }, profile);
        let mut places = places.into_iter();
        let own = self.located(function, kind, places.next().and_then(|place| place.line), profile);
        let inlined = places.filter_map(|place| self.inlined_frame(place, module, profile)).collect();
        Frames { own, inlined }
    }

    /// None: the debug information has no name for it.
    fn inlined_frame(&mut self, place: CPlace, module: ModuleIndex, profile: &mut Profile) -> Option<FrameIndex> {
        let home = Home::C {
            module,
            origin: Some(DEBUG_INFORMATION.to_string()),
            full_name: place.full_name.map(str::to_string),
        };
        let function = self.function(Function { name: place.name?.to_string(), home }, profile);
        Some(self.located(function, FrameKind::Inlined, place.line, profile))
    }

    fn mark_frame(&mut self, words: String, profile: &mut Profile) -> FrameIndex {
        let function = self.function(Function { name: words, home: Home::Mark }, profile);
        self.located(function, FrameKind::Mark, None, profile)
    }

    fn located(
        &mut self,
        function: FunctionIndex,
        kind: FrameKind,
        c_line: Option<CLine>,
        profile: &mut Profile,
    ) -> FrameIndex {
        *self
            .interned
            .frames
            .entry((function, kind, None, c_line.clone()))
            .or_insert_with(|| profile.frames.push(Frame { function, kind, location: None, expression: None, c_line }))
    }

    fn function(&mut self, function: Function, profile: &mut Profile) -> FunctionIndex {
        let place = match &function.home {
            Home::Python { file, first_line, table_bytes } => {
                Place::Python { file: *file, first_line: *first_line, table_bytes: *table_bytes }
            }
            Home::C { module, full_name, .. } => Place::C { module: *module, full_name: full_name.clone() },
            Home::Mark => Place::Mark,
        };
        let key = FunctionKey { name: function.name.clone(), place };
        *self.interned.functions.entry(key).or_insert_with(|| profile.functions.push(function))
    }
}
