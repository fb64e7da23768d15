//! The loaded files: where their code lies, their build ids, their rows; published for the handler.
//! Owns: `Modules` for the handler (I-08), the list for the merge. Never: frees a table while a handler may read it.
//! Each file is compiled once, a piece at a time, and published when it is complete; a `dlclose` takes its rows out, an `dlopen` brings new ones in.

use crate::cfi::{Compiled, Compiler, Position};
use genba_signal::handler::SHARED;
use genba_signal::request::{POOL, Phase, REQUESTS};
use genba_signal::unwind::{ModuleRows, Modules, Row, RuleCache};
use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::Ordering::SeqCst;

/// One loaded file.
pub struct Module {
    pub path: String,
    pub build_id: Vec<u8>,
    pub kind: ModuleKind,
    /// Address in the process - address in the file.
    pub bias: u64,
    pub start: u64,
    pub end: u64,
    compiled: Compiled,
    /// Writable memory of the file: static objects lie there.
    data: Vec<(u64, u64)>,
    /// The row in the recording's table, once a frame was seen in it.
    pub row: Option<u32>,
    mapped: bool,
    /// The generation of the list in which it is there without a break.
    since: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ModuleKind {
    File = 0,
    Vdso = 1,
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

/// All files ever loaded. Positions stay valid; `order` lists the present ones by address.
pub struct Loaded {
    pub modules: Vec<Module>,
    order: Vec<usize>,
    /// Files whose rows are not complete, by position in `modules`.
    compiling: Vec<(usize, Compiler)>,
    changes: u64,
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
            compiling: Vec::new(),
            changes: 0,
            generation: 0,
            published: None,
            retired: Vec::new(),
            cache,
        }
    }

    /// Reads the list again when the dynamic linker's counts moved. True: something changed.
    pub fn refresh(&mut self) -> bool {
        let changes = linker_changes();
        if changes == self.changes {
            self.free_retired();
            return false;
        }
        self.changes = changes;
        let next = self.generation + 1;
        let before: Vec<bool> = self.modules.iter().map(|module| module.mapped).collect();
        for module in &mut self.modules {
            module.mapped = false;
        }
        for file in loaded_files(&self.modules) {
            match file {
                Found::Known(index) => self.modules[index].mapped = true,
                Found::New(file) => {
                    let (module, compiler) = file.split();
                    self.compiling.push((self.modules.len(), compiler));
                    self.modules.push(module);
                }
            }
        }
        for (index, module) in self.modules.iter_mut().enumerate() {
            if module.mapped && before.get(index) != Some(&true) {
                module.since = next;
            }
        }
        self.order = (0..self.modules.len()).filter(|&index| self.modules[index].mapped).collect();
        self.order.sort_by_key(|&index| self.modules[index].start);
        self.publish();
        true
    }

    /// Compiles for a while: at least one piece, until `clock` says that `deadline_ns` is over. Rows are published when all
    /// files have theirs, so that early stacks are cut at their leaf, below the Python frames, and not at their root. True: now.
    pub fn compile(&mut self, deadline_ns: u64, clock: impl Fn() -> u64) -> bool {
        const PIECE_ENTRIES: usize = 64;
        let mut finished = false;
        // The executable comes first in the linker's list, and matters most.
        while let Some((_, compiler)) = self.compiling.first_mut() {
            if compiler.advance(PIECE_ENTRIES) {
                let (index, compiler) = self.compiling.remove(0);
                self.modules[index].compiled = compiler.finish();
                finished = true;
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
    pub const fn is_compiled(&self) -> bool {
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
        let table = Modules {
            modules: list.as_ptr(),
            modules_len: list.len(),
            generation: self.generation & 0xffff,
            cache: self.cache,
        };
        let mut published = Box::new(Published { list, table });
        // SeqCst: a handler swaps its buffer to Walking before it loads this pointer (I-08).
        SHARED.modules.store(&raw mut published.table, SeqCst);
        self.retired.extend(self.published.replace(published));
    }

    fn free_retired(&mut self) {
        if !self.retired.is_empty() && nobody_walks() {
            self.retired.clear();
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

/// No handler is inside a buffer: what was replaced before this moment is no longer read.
#[must_use]
pub fn nobody_walks() -> bool {
    (0..REQUESTS).all(|index| POOL.phase(index) != Phase::Walking)
}

/// A file that the dynamic linker names.
enum Found {
    /// Position in `Loaded::modules`.
    Known(usize),
    New(LoadedFile),
}

/// A file with its section copied: a `dlclose` may unmap it at any time.
struct LoadedFile {
    path: String,
    build_id: Vec<u8>,
    kind: ModuleKind,
    bias: u64,
    start: u64,
    end: u64,
    data: Vec<(u64, u64)>,
    header_address: u64,
    section_address: u64,
    section: Vec<u8>,
}

impl LoadedFile {
    fn split(self) -> (Module, Compiler) {
        let position = Position {
            section_address: self.section_address,
            header_address: self.header_address,
            start: self.start,
            end: self.end,
        };
        let module = Module {
            path: self.path,
            build_id: self.build_id,
            kind: self.kind,
            bias: self.bias,
            start: self.start,
            end: self.end,
            compiled: Compiled::default(),
            data: self.data,
            row: None,
            mapped: true,
            since: 0,
        };
        (module, Compiler::new(self.section, position))
    }
}

fn linker_changes() -> u64 {
    unsafe extern "C" fn first(info: *mut libc::dl_phdr_info, _bytes: usize, out: *mut c_void) -> c_int {
        // SAFETY: the linker gives a valid record; `out` is the u64 below.
        unsafe { *out.cast::<u64>() = (*info).dlpi_adds.wrapping_mul(1 << 32).wrapping_add((*info).dlpi_subs) };
        1
    }
    let mut changes = 0_u64;
    // SAFETY: the callback gets the address of `changes`, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut changes).cast()) };
    changes
}

fn loaded_files(known: &[Module]) -> Vec<Found> {
    struct Context<'a> {
        known: &'a [Module],
        found: Vec<Found>,
    }
    unsafe extern "C" fn each(info: *mut libc::dl_phdr_info, _bytes: usize, context: *mut c_void) -> c_int {
        // SAFETY: `context` is the one below; the record and what it points to are valid during the callback.
        let (context, info) = unsafe { (&mut *context.cast::<Context>(), &*info) };
        let known = context.known;
        // A panic must not cross the linker's frames: whatever goes wrong with one file leaves it out.
        let file = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            // SAFETY: as above.
            unsafe { loaded_file(info, known) }
        }));
        context.found.extend(file.ok().flatten());
        0
    }
    let mut context = Context { known, found: Vec::new() };
    // SAFETY: the callback gets the address of `context`, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut context).cast()) };
    context.found
}

/// # Safety
/// `info` comes from `dl_iterate_phdr`, within its callback: the file is mapped as its program headers say.
unsafe fn loaded_file(info: &libc::dl_phdr_info, known: &[Module]) -> Option<Found> {
    const PT_GNU_EH_FRAME: u32 = 0x6474_e550;
    let bias = info.dlpi_addr;
    // SAFETY: the linker's own table of this file.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let (mut start, mut end, mut header_address) = (u64::MAX, 0, None);
    let (mut data, mut build_id, mut segments, mut notes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for header in headers {
        let (first, behind) = (bias + header.p_vaddr, bias + header.p_vaddr + header.p_memsz);
        match header.p_type {
            libc::PT_LOAD => {
                segments.push((first, behind));
                if header.p_flags & libc::PF_X != 0 {
                    start = start.min(first);
                    end = end.max(behind);
                }
                if header.p_flags & libc::PF_W != 0 {
                    data.push((first, behind));
                }
            }
            libc::PT_NOTE => notes.push((first, behind)),
            PT_GNU_EH_FRAME => header_address = Some(first),
            _ => {}
        }
    }
    let is_mapped = |first: u64, behind: u64| {
        segments.iter().any(|&(start, end)| start <= first && first < behind && behind <= end)
    };
    for &(first, behind) in notes.iter().filter(|&&(first, behind)| is_mapped(first, behind)) {
        if let Some(found) = copy(first, (behind - first) as usize).as_deref().and_then(build_id_in) {
            build_id = found;
        }
    }
    let header_address = header_address.filter(|&header| is_mapped(header, header + 8));
    if start >= end {
        return None;
    }
    // SAFETY: the name ends in NUL and belongs to the linker.
    let name = unsafe { CStr::from_ptr(info.dlpi_name) }.to_string_lossy().into_owned();
    let kind = if name.starts_with("linux-vdso") { ModuleKind::Vdso } else { ModuleKind::File };
    let path = if name.is_empty() { own_executable() } else { name };
    if let Some(index) = known.iter().position(|known| {
        (known.bias, known.start) == (bias, start) && known.path == path && known.build_id == build_id
    }) {
        return Some(Found::Known(index));
    }
    let (section_address, section) =
        header_address.and_then(|header| eh_frame(header, &segments)).unwrap_or((start, Vec::new()));
    Some(Found::New(LoadedFile {
        path,
        build_id,
        kind,
        bias,
        start,
        end,
        data,
        header_address: header_address.unwrap_or(start),
        section_address,
        section,
    }))
}

/// The `.eh_frame` that a `.eh_frame_hdr` points to (LSB 5.0, chapter 10.6.2), up to its end mark.
fn eh_frame(header: u64, segments: &[(u64, u64)]) -> Option<(u64, Vec<u8>)> {
    const DW_EH_PE_PCREL_SDATA4: u8 = 0x1b;
    let [_, encoding, _, _, relative @ ..] = *copy(header, 8)?.first_chunk::<8>()?;
    if encoding != DW_EH_PE_PCREL_SDATA4 {
        return None;
    }
    let section = (header + 4).wrapping_add_signed(i64::from(i32::from_le_bytes(relative)));
    let &(_, segment_end) = segments.iter().find(|&&(first, behind)| (first..behind).contains(&section))?;
    let mut bytes = copy(section, (segment_end - section) as usize)?;
    let mut at = 0;
    while let Some(length) = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>()) {
        let length = u32::from_le_bytes(*length);
        let next = at + 4 + length as usize;
        if length == 0 || length == u32::MAX || next > bytes.len() {
            break;
        }
        at = next;
    }
    bytes.truncate(at);
    Some((section, bytes))
}

/// Copies memory of the program by the kernel (I-06): a file that was cut short after it was mapped gives `None`, not SIGBUS.
/// Where that system call is forbidden there are no rows and no build ids.
fn copy(address: u64, bytes: usize) -> Option<Vec<u8>> {
    let mut out: Vec<u8> = Vec::with_capacity(bytes);
    let local = libc::iovec { iov_base: out.as_mut_ptr().cast(), iov_len: bytes };
    let remote = libc::iovec { iov_base: address as *mut c_void, iov_len: bytes };
    // SAFETY: the kernel writes at most `bytes` bytes into `out`, which has room for them; a bad address is an error.
    unsafe {
        let copied = libc::syscall(
            libc::SYS_process_vm_readv,
            libc::getpid(),
            &raw const local,
            1_u64,
            &raw const remote,
            1_u64,
            0_u64,
        );
        if copied != bytes as i64 {
            return None;
        }
        out.set_len(bytes);
    }
    Some(out)
}

fn build_id_in(notes: &[u8]) -> Option<Vec<u8>> {
    const NT_GNU_BUILD_ID: u32 = 3;
    let word = |at: usize| Some(u32::from_le_bytes(*notes.get(at..)?.first_chunk::<4>()?));
    let mut at = 0;
    while let (Some(name_bytes), Some(value_bytes), Some(kind)) = (word(at), word(at + 4), word(at + 8)) {
        let name = at + 12;
        let value = name + (name_bytes as usize).next_multiple_of(4);
        if kind == NT_GNU_BUILD_ID && notes.get(name..name + 4) == Some(b"GNU\0") {
            return notes.get(value..value + value_bytes as usize).map(<[u8]>::to_vec);
        }
        at = value + (value_bytes as usize).next_multiple_of(4);
    }
    None
}

/// What `/proc/self/exe` leads to.
#[must_use]
pub fn own_executable() -> String {
    let mut buffer = [0_u8; 4096];
    // SAFETY: writes at most the buffer's bytes.
    let bytes = unsafe { libc::readlink(c"/proc/self/exe".as_ptr(), buffer.as_mut_ptr().cast(), buffer.len()) };
    let path = usize::try_from(bytes).ok().and_then(|bytes| buffer.get(..bytes)).unwrap_or(&[]);
    String::from_utf8_lossy(path).into_owned()
}
