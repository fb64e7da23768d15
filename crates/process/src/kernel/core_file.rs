//! A core file: the memory of a process at its end, its threads with their registers, the files it had mapped.
//! Owns: reading the ELF file and its notes. Never: takes a byte from a mapped file that was not compared with the core (elf/files.rs does).
//! Source: Linux, fs/binfmt_elf.c; include/uapi/linux/elfcore.h, printed by offsetof (x86-64).

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use nix::errno::Errno;
use object::Endianness;
use object::elf;
use object::read::elf::{FileHeader, ProgramHeader};
use object::read::{ReadCache, ReadRef};

use crate::kernel::maps::{Mapping, Permissions};
use crate::kernel::memory::Bytes;
use crate::kernel::refusal::Refusal;
use crate::kernel::registers::Registers;
use crate::kernel::threads::{Call, Task};

const NT_PRSTATUS: u32 = 1;
const NT_PRPSINFO: u32 = 3;
const NT_FILE: u32 = 0x4649_4c45;
const NOTES_BYTES_MAX: u64 = 64 << 20;
/// In `elf_prstatus`.
const STATUS_PID: usize = 32;
const STATUS_REGISTERS: usize = 112;
/// In `user_regs_struct`; by number in unwind tables.
const REGISTERS: [usize; 17] = [80, 96, 88, 40, 104, 112, 32, 152, 72, 64, 56, 48, 24, 16, 8, 0, 128];
const ORIG_RAX: usize = 120;
const ARGUMENTS: [usize; 6] = [112, 104, 96, 56, 72, 64];
/// In `elf_prpsinfo`.
const INFO_USER: usize = 16;
const INFO_PID: usize = 24;
const INFO_PARENT: usize = 28;
const INFO_NAME: std::ops::Range<usize> = 40..56;
const INFO_ARGUMENTS: std::ops::Range<usize> = 56..136;

type Header = elf::FileHeader64<Endianness>;

/// A core file, opened.
#[derive(Debug)]
pub struct CoreFile {
    pub path: PathBuf,
    pub pid: u32,
    pub parent: u32,
    pub user: u32,
    pub name: String,
    /// As the kernel kept it: at most 80 bytes, its words divided by blanks.
    pub command_line: String,
    pub threads: Vec<CoreThread>,
    pub maps: Vec<Mapping>,
    segments: Vec<Segment>,
    file: File,
    /// A file that was compared with the core, for what that leaves out.
    attached: OnceLock<(PathBuf, File)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreThread {
    pub task: Task,
    pub registers: Registers,
    pub call: Option<Call>,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    address: u64,
    bytes: u64,
    offset: u64,
    flags: u32,
}

impl CoreFile {
    /// # Errors
    /// `BadCore`: it cannot be read, or is no core file of a program for x86-64.
    pub fn open(path: &Path) -> Result<CoreFile, Refusal> {
        let bad = |reason: &str| Refusal::BadCore { path: path.to_path_buf(), reason: reason.to_owned() };
        let is_file = std::fs::metadata(path).map_err(|error| bad(&error.to_string()))?.is_file();
        if !is_file {
            return Err(bad("it is not a regular file"));
        }
        let file = File::open(path).map_err(|error| bad(&error.to_string()))?;
        let contents = ReadCache::new(file.try_clone().map_err(|error| bad(&error.to_string()))?);
        let data = &contents;
        let header = Header::parse(data).map_err(|_| bad("it is not a 64-bit ELF file"))?;
        let endian = header.endian().map_err(|_| bad("it is not an ELF file that genba knows"))?;
        if header.e_type(endian) != elf::ET_CORE || header.e_machine(endian) != elf::EM_X86_64 {
            return Err(bad("it is not a core file of a program for x86-64"));
        }
        let headers = header.program_headers(endian, data).map_err(|_| bad("it is cut"))?;
        let mut core = CoreFile {
            path: path.to_path_buf(),
            pid: 0,
            parent: 0,
            user: 0,
            name: String::new(),
            command_line: String::new(),
            threads: Vec::new(),
            maps: Vec::new(),
            segments: Vec::new(),
            file,
            attached: OnceLock::new(),
        };
        for segment in headers.iter().filter(|segment| segment.p_type(endian) == elf::PT_LOAD) {
            core.segments.push(Segment {
                address: segment.p_vaddr(endian),
                bytes: segment.p_filesz(endian),
                offset: segment.p_offset(endian),
                flags: segment.p_flags(endian).0,
            });
        }
        for segment in headers.iter().filter(|segment| segment.p_type(endian) == elf::PT_NOTE) {
            let bytes = segment.p_filesz(endian).min(NOTES_BYTES_MAX);
            let notes = data.read_bytes_at(segment.p_offset(endian), bytes).map_err(|()| bad("it is cut"))?;
            core.take_notes(notes);
        }
        if core.threads.is_empty() { Err(bad("it tells of no thread")) } else { Ok(core) }
    }

    /// Name, content and kind of each note, all padded to four bytes.
    fn take_notes(&mut self, mut notes: &[u8]) {
        while let Some((head, rest)) = notes.split_at_checked(12) {
            let size = |at| half(head, at) as usize;
            let padded = |bytes: usize| bytes.saturating_add(3) & !3;
            let Some((_, rest)) = rest.split_at_checked(padded(size(0))) else { return };
            let content = rest.get(..size(4)).unwrap_or_default();
            match half(head, 8) {
                NT_PRSTATUS => self.threads.extend(thread(content)),
                NT_PRPSINFO => {
                    (self.user, self.pid, self.parent) =
                        (half(content, INFO_USER), half(content, INFO_PID), half(content, INFO_PARENT));
                    self.name = text(content.get(INFO_NAME).unwrap_or_default());
                    self.command_line = text(content.get(INFO_ARGUMENTS).unwrap_or_default());
                }
                NT_FILE => self.take_files(content),
                _ => {}
            }
            notes = rest.get(padded(size(4))..).unwrap_or_default();
        }
    }

    /// A count, the size of a page, then start, end and page of each mapping, then their paths.
    fn take_files(&mut self, content: &[u8]) {
        let (count, page_bytes) = (word(content, 0), word(content, 8));
        let Some(rows_bytes) = usize::try_from(count).ok().and_then(|count| count.checked_mul(24)) else { return };
        let Some((rows, names)) = content.get(16..).and_then(|rest| rest.split_at_checked(rows_bytes)) else { return };
        for (index, (row, name)) in rows.chunks_exact(24).zip(names.split(|&byte| byte == 0)).enumerate() {
            let (start, end) = (word(row, 0), word(row, 8));
            let flags =
                self.segments.iter().find(|segment| segment.address == start).map_or(0, |segment| segment.flags);
            let path = PathBuf::from(String::from_utf8_lossy(name).into_owned());
            // A file's number is that of its first row: the core does not keep inodes.
            let first = self.maps.iter().position(|known| known.path.as_ref() == Some(&path)).unwrap_or(index);
            self.maps.push(Mapping {
                start,
                end,
                permissions: permissions(flags),
                offset: word(row, 16).saturating_mul(page_bytes),
                device: (0, 0),
                inode: first as u64 + 1,
                path: Some(path),
            });
        }
    }

    /// Fills in the rights of mappings that have no segment, by the flags of the file at a path where it is mapped from this offset on.
    /// gdb's gcore writes no segment for what lies unchanged in a file; the kernel writes one for each mapping.
    pub fn complete_rights(&mut self, flags_at: impl Fn(&Path, u64) -> Option<u32>) {
        let CoreFile { maps, segments, .. } = self;
        for mapping in maps.iter_mut().filter(|mapping| segments.iter().all(|known| known.address != mapping.start)) {
            let flags = mapping.path.as_ref().and_then(|path| flags_at(path, mapping.offset));
            mapping.permissions = permissions(flags.unwrap_or(0));
        }
    }

    /// Lets what the core leaves out of this mapped file be read from the file. Of one file only: the first one.
    pub fn attach(&self, path: &Path, file: File) {
        let _ = self.attached.set((path.to_path_buf(), file));
    }
}

impl Bytes for Arc<CoreFile> {
    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Errno> {
        let len = bytes.len() as u64;
        let holds = |segment: &&Segment| {
            address
                .checked_sub(segment.address)
                .and_then(|into| into.checked_add(len))
                .is_some_and(|end| end <= segment.bytes)
        };
        if let Some(segment) = self.segments.iter().find(holds) {
            let offset = segment.offset + (address - segment.address);
            return self.file.read_exact_at(bytes, offset).map_err(|_| Errno::EFAULT);
        }
        let mapping = self.maps.iter().find(|mapping| mapping.contains(address) && !mapping.permissions.write);
        let mapping = mapping.filter(|mapping| address.saturating_add(len) <= mapping.end).ok_or(Errno::EFAULT)?;
        let is_same = |(path, _): &&(PathBuf, File)| Some(path) == mapping.path.as_ref();
        let (_, file) = self.attached.get().filter(is_same).ok_or(Errno::EFAULT)?;
        let offset = mapping.offset + (address - mapping.start);
        // The last page of a file is filled up with zeros.
        let mut there = 0;
        while let Some(rest) = bytes.get_mut(there..).filter(|rest| !rest.is_empty()) {
            match file.read_at(rest, offset + there as u64) {
                Ok(0) => {
                    rest.fill(0);
                    break;
                }
                Ok(more) => there += more,
                Err(_) => return Err(Errno::EFAULT),
            }
        }
        Ok(())
    }
}

const fn permissions(flags: u32) -> Permissions {
    Permissions {
        read: flags & elf::PF_R.0 != 0,
        write: flags & elf::PF_W.0 != 0,
        execute: flags & elf::PF_X.0 != 0,
        shared: false,
    }
}

fn thread(content: &[u8]) -> Option<CoreThread> {
    let registers = content.get(STATUS_REGISTERS..)?;
    let tid = half(content, STATUS_PID);
    // -1: it was in no system call.
    let call = u32::try_from(word(registers, ORIG_RAX).cast_signed()).ok();
    let call = call.map(|number| Call::of(number, ARGUMENTS.map(|at| word(registers, at))));
    let task = Task { tid, own_tid: tid, name: String::new(), state: 'X', switches: (0, 0) };
    Some(CoreThread { task, registers: Registers::of_all(REGISTERS.map(|at| word(registers, at))), call })
}

fn half(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |four| u32::from_le_bytes(*four))
}

fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |eight| u64::from_le_bytes(*eight))
}

fn text(bytes: &[u8]) -> String {
    let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).trim_end().to_owned()
}
