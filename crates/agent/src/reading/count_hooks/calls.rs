//! The calls of memcpy and memmove in the files of a process that was running when genba came: led to genba's hooks, and back when the recording
//! ends.
//! Owns: which slots were changed, and what they held. Never: writes where a write could fault or meet the linker's own: each slot is changed
//! under the linker's lock, in a file that is wholly loaded, in one step, and only if it holds what the linker put there.
//!
//! A file that is being loaded is left for the next time: its slots lie in pages that the linker makes read-only as its last step, or hold no
//! address yet. Whether the list of files is still the one that was read is asked under the lock, so that no file can have come in between.

use super::own;
use super::relocations::{self, FUNCTIONS};
use crate::reading::modules::{Changes, Listing, copy, may_ask_linker};
use crate::system::proc;
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

const PAGE_BYTES: u64 = 4096;
const PT_GNU_RELRO: u32 = 0x6474_e552;
/// So often the list may change between reading it and the lock.
const TRIES: usize = 8;
/// Ticks until files that were not wholly loaded are looked at again: at first, and when that was for nothing many times.
const PAUSE_TICKS_MIN: u32 = 32;
const PAUSE_TICKS_MAX: u32 = 1 << 14;
/// At the end, when there is no next time.
const TRIES_AT_THE_END: usize = 200;

/// A slot that is led elsewhere.
#[derive(Clone, Copy)]
struct Call {
    slot: u64,
    holds: u64,
    gets: u64,
}

/// A loaded file and its slots, of which most files have none.
struct File {
    bias: u64,
    /// As the linker has them: what else is loaded at the same place has others.
    headers: Vec<u8>,
    calls: Vec<Call>,
    /// No slot of its waits for the linker any more.
    is_whole: bool,
    /// Read-only since the file was loaded: made writable for the moment in which `calls` are changed.
    sealed: Range<u64>,
}

/// All of them.
pub(super) struct Calls {
    memmove: u64,
    listing: Listing,
    /// The list as it was when every file in it was looked at, and whether all of them were wholly loaded.
    looked_at: Option<Changes>,
    is_whole: bool,
    /// Of the pause that is on, while the list stays as it is: how many are left, and how many it had.
    ticks_left: u32,
    pause_ticks: u32,
    /// Every file that was led, as far as it was loaded.
    led: Vec<File>,
}

/// What a file's slots may hold besides an address in the file itself, which finds the function at the first call.
struct Wanted {
    libc: Range<u64>,
    hooks: [u64; FUNCTIONS.len()],
    /// Files around these addresses are left alone: genba's own, libc, the linker.
    left_alone: Vec<u64>,
}

impl Calls {
    /// None are led yet. `memmove` and `memmove_checked`: libc's.
    pub(super) fn of(memmove: u64, memmove_checked: u64) -> Calls {
        own::REAL.store(memmove, SeqCst);
        own::REAL_CHECKED.store(memmove_checked, SeqCst);
        Calls {
            memmove,
            listing: Listing::default(),
            looked_at: None,
            is_whole: false,
            ticks_left: 0,
            pause_ticks: 0,
            led: Vec::new(),
        }
    }

    /// Leads the calls of files that came since the last time to the hooks. Once a tick.
    pub(super) fn lead(&mut self) {
        if !may_ask_linker() {
            return;
        }
        if self.looked_at != Some(Changes::now()) {
            self.pause_ticks = 0;
        } else if self.is_whole {
            return;
        } else if self.ticks_left > 0 {
            self.ticks_left -= 1;
            return;
        }
        for _ in 0..TRIES {
            if self.try_to_lead() {
                return;
            }
        }
    }

    /// False: the list changed meanwhile.
    fn try_to_lead(&mut self) -> bool {
        let memmove = self.memmove;
        let changes = self.listing.read();
        let Some(writable) = Writable::read() else { return true };
        // SAFETY: asks what the kernel told the program.
        let linker = unsafe { libc::getauxval(libc::AT_BASE) };
        let mut wanted = Wanted {
            libc: 0..0,
            hooks: [
                own::copy as *const () as u64,
                own::copy as *const () as u64,
                own::copy_checked as *const () as u64,
                own::copy_checked as *const () as u64,
            ],
            left_alone: vec![memmove, own::copy as *const () as u64, linker],
        };
        for (_, file) in self.listing.loaded().map(|(bias, headers)| (bias, segments(bias, headers, libc::PF_X))) {
            if let Some(code) = file.into_iter().find(|code| code.contains(&memmove)) {
                wanted.libc = code;
            }
        }
        self.led.retain(|file| self.listing.loaded().any(|(bias, headers)| file.is(bias, headers)));
        let (mut all_loaded, mut files) = (true, Vec::new());
        for (bias, headers) in self.listing.loaded() {
            let known = self.led.iter().position(|file| file.is(bias, headers));
            if known.is_some_and(|known| self.led[known].is_whole && self.led[known].calls.iter().all(Call::is_made)) {
                continue;
            }
            let (mut calls, sealed, is_whole) =
                calls_of(bias, headers, &wanted, &writable).unwrap_or((Vec::new(), 0..0, true));
            // The file went and came back to the same place, or the linker has led some of its calls to their function meanwhile.
            let before = known.map_or(&[][..], |known| &self.led[known].calls);
            calls.extend(before.iter().copied().filter(Call::is_made));
            all_loaded &= is_whole;
            if is_whole || !calls.is_empty() {
                files.push(File { bias, headers: bytes_of(headers), calls, is_whole, sealed });
            }
        }
        if !change(&files, changes) {
            return false;
        }
        self.led.retain(|file| !files.iter().any(|new| (new.bias, &new.headers) == (file.bias, &file.headers)));
        self.led.extend(files);
        (self.looked_at, self.is_whole) = (Some(changes), all_loaded);
        self.pause_ticks = self.pause_ticks.saturating_mul(2).clamp(PAUSE_TICKS_MIN, PAUSE_TICKS_MAX);
        self.ticks_left = self.pause_ticks;
        true
    }

    /// Back to what the slots held. A file that has gone has nothing to be led back.
    pub(super) fn lead_back(&mut self) {
        for _ in 0..TRIES_AT_THE_END {
            // Without the linker the hooks stay, and only count.
            if self.led.is_empty() || !may_ask_linker() {
                break;
            }
            let changes = self.listing.read();
            // The same.
            let Some(writable) = Writable::read() else { return };
            self.led.retain(|file| self.listing.loaded().any(|(bias, headers)| file.is(bias, headers)));
            for file in &mut self.led {
                // What was loaded anew at the same place, and is not sealed yet, holds nothing of genba's.
                let sealed = file.sealed.clone();
                file.calls.retain(|call| writable.at(call.slot) != sealed.contains(&call.slot));
            }
            let back: Vec<File> = self.led.iter().map(File::turned).collect();
            if change(&back, changes) {
                self.led.clear();
            }
        }
        self.looked_at = None;
    }
}

impl Call {
    fn is_made(&self) -> bool {
        held_by(self.slot) == Some(self.gets)
    }
}

fn held_by(slot: u64) -> Option<u64> {
    Some(u64::from_le_bytes(*copy(slot, 8)?.first_chunk::<8>()?))
}

impl File {
    fn is(&self, bias: u64, headers: &[libc::Elf64_Phdr]) -> bool {
        self.bias == bias && self.headers == bytes_of(headers)
    }

    fn turned(&self) -> File {
        let calls =
            self.calls.iter().map(|call| Call { slot: call.slot, holds: call.gets, gets: call.holds }).collect();
        File {
            bias: self.bias,
            headers: self.headers.clone(),
            calls,
            is_whole: self.is_whole,
            sealed: self.sealed.clone(),
        }
    }
}

/// The slots of a file, the range that is sealed, and whether the file is wholly loaded. None: it is left alone.
fn calls_of(
    bias: u64,
    headers: &[libc::Elf64_Phdr],
    wanted: &Wanted,
    writable: &Writable,
) -> Option<(Vec<Call>, Range<u64>, bool)> {
    let mapped = segments(bias, headers, 0);
    if wanted.left_alone.iter().any(|address| mapped.iter().any(|segment| segment.contains(address))) {
        return None;
    }
    let part = |kind: u32| {
        headers.iter().find(|header| header.p_type == kind).map(|header| {
            let first = bias.wrapping_add(header.p_vaddr);
            first..first.wrapping_add(header.p_memsz)
        })
    };
    let dynamic = part(libc::PT_DYNAMIC).filter(|part| part.end - part.start < 1 << 16)?;
    let dynamic = copy(dynamic.start, (dynamic.end - dynamic.start) as usize)?;
    let data = segments(bias, headers, libc::PF_W);
    let code = segments(bias, headers, libc::PF_X);
    let sealed = part(PT_GNU_RELRO).map_or(0..0, |part| part.start & !(PAGE_BYTES - 1)..part.end & !(PAGE_BYTES - 1));
    let mut is_loaded = true;
    let mut calls = Vec::new();
    for slot in relocations::slots(bias, &dynamic, copy)? {
        let is_sealed = sealed.contains(&slot.address);
        if slot.address % 8 != 0
            || !data.iter().any(|data| data.contains(&slot.address) && data.contains(&(slot.address + 7)))
        {
            continue;
        }
        if is_sealed == writable.at(slot.address) {
            // Not sealed yet: it is being loaded. Else somebody else has sealed it.
            is_loaded &= !is_sealed;
            continue;
        }
        let Some(holds) = held_by(slot.address) else { continue };
        // What the file itself has there, before the linker adds where the file lies: nothing, or the place of code that finds the function.
        let at = holds.wrapping_add(bias);
        if bias != 0 && (holds == 0 || code.iter().any(|code| code.contains(&at))) {
            is_loaded = false;
            continue;
        }
        // Another address: a function of somebody else's, which knows what it does.
        if wanted.libc.contains(&holds) || code.iter().any(|code| code.contains(&holds)) {
            calls.push(Call { slot: slot.address, holds, gets: wanted.hooks[slot.function] });
        }
    }
    Some((calls, sealed, is_loaded))
}

/// The loaded segments with these flags.
fn segments(bias: u64, headers: &[libc::Elf64_Phdr], flags: u32) -> Vec<Range<u64>> {
    let loaded = headers.iter().filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & flags == flags);
    loaded
        .map(|header| bias.wrapping_add(header.p_vaddr)..bias.wrapping_add(header.p_vaddr).wrapping_add(header.p_memsz))
        .collect()
}

fn bytes_of(headers: &[libc::Elf64_Phdr]) -> Vec<u8> {
    let fields = |header: &libc::Elf64_Phdr| {
        let flags = u64::from(header.p_type) << 32 | u64::from(header.p_flags);
        [flags, header.p_offset, header.p_vaddr, header.p_filesz, header.p_memsz, header.p_align]
    };
    headers.iter().flat_map(fields).flat_map(u64::to_le_bytes).collect()
}

/// Gives each slot what it gets. False: the list is no longer that of `changes`, and nothing was changed.
fn change(files: &[File], changes: Changes) -> bool {
    struct Order<'a> {
        files: &'a [File],
        changes: Changes,
        is_same: bool,
    }
    /// Runs under the linker's lock, which keeps files from going, and allocates nothing.
    unsafe extern "C" fn first(info: *mut libc::dl_phdr_info, _bytes: usize, order: *mut c_void) -> c_int {
        // SAFETY: the linker gives a valid record; `order` is the value below.
        let (info, order) = unsafe { (&*info, &mut *order.cast::<Order>()) };
        order.is_same = Changes::told_by(info) == order.changes;
        if order.is_same {
            order.files.iter().for_each(File::change);
        }
        1
    }
    let mut order = Order { files, changes, is_same: false };
    // SAFETY: the callback gets the address of `order`, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut order).cast()) };
    order.is_same
}

impl File {
    /// Under the linker's lock: the file is loaded, and its slots are mapped.
    fn change(&self) {
        let is_sealed = self.calls.iter().any(|call| self.sealed.contains(&call.slot));
        let protect = |protection: c_int| {
            let bytes = (self.sealed.end - self.sealed.start) as usize;
            // SAFETY: pages of this file's that the linker made read-only after it had written to them.
            unsafe { libc::mprotect(self.sealed.start as *mut c_void, bytes, protection) == 0 }
        };
        let is_open = !is_sealed || protect(libc::PROT_READ | libc::PROT_WRITE);
        for call in &self.calls {
            if is_open || !self.sealed.contains(&call.slot) {
                // SAFETY: aligned, mapped and writable, as `calls_of` and the line above have seen to. The linker writes to it in one step, too.
                let slot = unsafe { AtomicU64::from_ptr(call.slot as *mut u64) };
                let _ = slot.compare_exchange(call.holds, call.gets, SeqCst, SeqCst);
            }
        }
        if is_sealed && is_open {
            protect(libc::PROT_READ);
        }
    }
}

/// Which memory can be written to.
struct Writable(Vec<Range<u64>>);

impl Writable {
    fn read() -> Option<Writable> {
        let text = proc::read_whole(None, c"/proc/self/maps")?;
        Some(Writable(text.split(|&byte| byte == b'\n').filter_map(Self::range).collect()))
    }

    fn range(line: &[u8]) -> Option<Range<u64>> {
        let line = std::str::from_utf8(line.get(..line.len().min(64))?.split(|&byte| byte == b'/').next()?).ok()?;
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        rest.starts_with("rw").then_some(number(start)?..number(end)?)
    }

    fn at(&self, address: u64) -> bool {
        self.0.iter().any(|range| range.contains(&address))
    }
}
