//! What the dynamic linker says: which files are loaded, where, and their unwind sections, copied.
//! Owns: the walk over its list. Never: keeps a lock of the linker's, reads the program's memory raw (I-06). A part of modules.rs.

use super::{Module, ModuleKind};
use crate::cfi::{Compiled, Compiler, Position};
use std::ffi::{CStr, c_int, c_void};

/// A file that the dynamic linker names.
pub(super) enum Found {
    /// Position in `Loaded::modules`.
    Known(usize),
    New(LoadedFile),
}

/// A file with its section copied: a `dlclose` may unmap it at any time.
pub(super) struct LoadedFile {
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
    pub(super) fn split(self) -> (Module, Compiler) {
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

pub(super) fn linker_changes() -> u64 {
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

pub(super) fn loaded_files(known: &[Module]) -> Vec<Found> {
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
