//! Addresses of symbols in the loaded files.
//! Owns: the one use of dlsym, and of dladdr. Never: calls what it finds.

use genba_python::symbols::Symbols;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::SeqCst};

/// The dynamic linker of this process.
#[derive(Clone, Copy)]
pub struct Linker;

impl Symbols for Linker {
    fn address(&self, name: &CStr) -> Option<u64> {
        address(name)
    }
}

/// A libpython that only one library of the program's sees (`RTLD_LOCAL`); null: none was found.
static LOCAL_PYTHON: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// In the order of the dynamic linker; then in an interpreter that `find_local_python` has found.
#[must_use]
pub fn address(name: &CStr) -> Option<u64> {
    in_handle(libc::RTLD_DEFAULT, name).or_else(|| {
        let local = LOCAL_PYTHON.load(SeqCst);
        in_handle((!local.is_null()).then_some(local)?, name)
    })
}

/// The one of libc, not the wrapper in doors/late.rs.
///
/// # Safety
/// As libc's.
#[inline(always)]
unsafe fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    // SAFETY: libc's function has this type; it takes the caller's place for that of this library.
    unsafe {
        let real: unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void = core::mem::transmute(real_dlsym());
        real(handle, name)
    }
}

fn in_handle(handle: *mut c_void, name: &CStr) -> Option<u64> {
    // SAFETY: a handle of the linker's and a name that ends in NUL; dlsym reads the linker's tables under the linker's own lock.
    let found = unsafe { dlsym(handle, name.as_ptr()) };
    (!found.is_null()).then_some(found as u64)
}

/// Looks for a libpython that is loaded for one library alone: mod_wsgi's, say. Once found it stays loaded.
pub fn find_local_python() {
    unsafe extern "C" fn each(info: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
        // SAFETY: the linker's record; `found` is the caller's below.
        unsafe {
            let name = libpython_name(&*info).map(CStr::to_bytes_with_nul);
            let Some(name) = name.filter(|name| name.len() <= NAME_BYTES) else { return 0 };
            core::ptr::copy_nonoverlapping(name.as_ptr(), found.cast::<u8>(), name.len());
        }
        1
    }
    const NAME_BYTES: usize = 4096;
    if in_handle(libc::RTLD_DEFAULT, c"_PyRuntime").is_some() || !LOCAL_PYTHON.load(SeqCst).is_null() {
        return;
    }
    let mut name = [0 as c_char; NAME_BYTES];
    // SAFETY: `each` writes at most the name's bytes. What is opened is loaded already, under that name.
    unsafe {
        if libc::dl_iterate_phdr(Some(each), name.as_mut_ptr().cast()) == 1 {
            LOCAL_PYTHON.store(libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD), SeqCst);
        }
    }
}

/// Whether a libpython is loaded, as its file's name has it. Takes no memory, and no lock but that of the linker's list.
#[must_use]
pub fn has_libpython() -> bool {
    unsafe extern "C" fn each(info: *mut libc::dl_phdr_info, _: usize, _: *mut c_void) -> c_int {
        // SAFETY: the linker's record.
        c_int::from(libpython_name(unsafe { &*info }).is_some())
    }
    // SAFETY: `each` reads the linker's names alone.
    unsafe { libc::dl_iterate_phdr(Some(each), core::ptr::null_mut()) == 1 }
}

/// The name of a loaded file, if it is a libpython. In the linker's callback.
fn libpython_name(info: &libc::dl_phdr_info) -> Option<&CStr> {
    // SAFETY: null, or the linker's own, which stays as long as the callback.
    let name = (!info.dlpi_name.is_null()).then(|| unsafe { CStr::from_ptr(info.dlpi_name) })?;
    let base = name.to_bytes().rsplit(|&byte| byte == b'/').next()?;
    base.starts_with(b"libpython3.").then_some(name)
}

/// The file that a symbol is in stays loaded from here on, or no file has it. False: it does not.
#[must_use]
pub fn stays_loaded(name: &CStr) -> bool {
    let Some((_, file)) = address(name).map(|found| loaded_around(found).unwrap_or((0, c""))) else { return true };
    let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE;
    // SAFETY: what is opened is loaded already, under that name.
    !unsafe { libc::dlopen(file.as_ptr(), flags) }.is_null()
}

/// How many files the linker has loaded since the program began, and has taken out again; 0: it does not say.
#[must_use]
pub fn loaded_count() -> u64 {
    unsafe extern "C" fn first(info: *mut libc::dl_phdr_info, bytes: usize, count: *mut c_void) -> c_int {
        // SAFETY: the linker's record, as long as it says; `count` is the caller's below.
        unsafe {
            if bytes >= size_of::<libc::dl_phdr_info>() {
                *count.cast::<u64>() = (*info).dlpi_adds;
            }
        }
        1
    }
    let mut count = 0_u64;
    // SAFETY: `first` writes the number alone.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut count).cast()) };
    count
}

/// The `dlsym` of libc, which doors/late.rs wraps.
#[must_use]
pub fn real_dlsym() -> u64 {
    static REAL: AtomicU64 = AtomicU64::new(0);
    unsafe extern "C" {
        fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
    }
    let mut real = REAL.load(SeqCst);
    // It has moved from libdl to libc, which still has the older version, too. A version that is not there costs the program's `malloc`.
    for version in [c"GLIBC_2.2.5", c"GLIBC_2.34"] {
        if real == 0 {
            // SAFETY: names that end in NUL; RTLD_NEXT starts behind the library that this code is in.
            real = unsafe { dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), version.as_ptr()) } as u64;
        }
    }
    if real == 0 {
        // A C library that has neither gives nobody an address.
        return no_dlsym as *const () as u64;
    }
    REAL.store(real, SeqCst);
    real
}

extern "C" fn no_dlsym(_handle: *mut c_void, _name: *const c_char) -> *mut c_void {
    core::ptr::null_mut()
}

/// glibc's own definition, whatever an executable or another library has under that name. None: there is no glibc.
#[must_use]
pub fn of_libc(name: &CStr) -> Option<u64> {
    // SAFETY: names that end in NUL; nothing is loaded that is not there, and libc stays.
    let found = unsafe {
        let libc = libc::dlopen(c"libc.so.6".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if libc.is_null() {
            return None;
        }
        let found = dlsym(libc, name.as_ptr());
        libc::dlclose(libc);
        found
    };
    (!found.is_null()).then_some(found as u64)
}

/// The definition that the program would get without genba's.
#[must_use]
pub fn next(name: &CStr) -> Option<u64> {
    // SAFETY: as above; RTLD_NEXT starts behind the library that this code is in.
    let found = unsafe { dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    (!found.is_null()).then_some(found as u64)
}

/// Where a function of libc begins and ends, as its symbol says.
#[must_use]
pub fn extent(name: &CStr) -> Option<(u64, u64)> {
    extent_at(next(name)?)
}

/// The same of what begins at an address.
#[must_use]
pub fn extent_at(begin: u64) -> Option<(u64, u64)> {
    let bytes = symbol_at(begin)?.st_size;
    (bytes > 0).then_some((begin, begin + bytes))
}

/// The symbol of the function or the data that begins there, as the file has it that it lies in. Asked of files that stay.
fn symbol_at(address: u64) -> Option<&'static libc::Elf64_Sym> {
    const RTLD_DL_SYMENT: libc::c_int = 1;
    unsafe extern "C" {
        fn dladdr1(
            address: *const libc::c_void,
            info: *mut libc::Dl_info,
            extra: *mut *mut libc::c_void,
            flags: libc::c_int,
        ) -> libc::c_int;
    }
    // SAFETY: the linker fills the record and the pointer, which leads to its own table of symbols.
    unsafe {
        let mut info: libc::Dl_info = core::mem::zeroed();
        let mut symbol: *mut libc::c_void = core::ptr::null_mut();
        if dladdr1(address as *const libc::c_void, &raw mut info, &raw mut symbol, RTLD_DL_SYMENT) == 0 {
            return None;
        }
        symbol.cast::<libc::Elf64_Sym>().as_ref().filter(|_| info.dli_saddr as u64 == address)
    }
}

/// Where to open the loaded file around an address.
#[must_use]
pub fn file_around(address: u64) -> Option<&'static CStr> {
    let (base, name) = loaded_around(address)?;
    // SAFETY: asks what the kernel told the program. Of the program itself the linker knows no more than what it was called by.
    let program = unsafe { libc::getauxval(libc::AT_PHDR) };
    let is_program = loaded_around(program).is_some_and(|(program_base, _)| program_base == base);
    Some(if is_program { c"/proc/self/exe" } else { name })
}

/// The program's calls of a function lead to the file around an address.
#[must_use]
pub fn is_defined_beside(name: &CStr, place: u64) -> bool {
    let Some(found) = address(name) else { return false };
    let base = |address| loaded_around(address).map(|(base, _)| base);
    // An executable at a fixed address gives everybody the address of its own way to the function, whose symbol it does not define.
    let is_way = symbol_at(found).is_some_and(|symbol| symbol.st_shndx == 0);
    is_way || base(found).is_some() && base(found) == base(place)
}

/// Where the file around an address begins, and its name, which stays as long as the file is loaded.
fn loaded_around(address: u64) -> Option<(u64, &'static CStr)> {
    // SAFETY: the linker fills the record, with a pointer to its own list. Asked of the program's and the interpreter's files alone, which
    // stay.
    unsafe {
        let mut info: libc::Dl_info = core::mem::zeroed();
        let found = libc::dladdr(address as *const libc::c_void, &raw mut info) != 0;
        (found && !info.dli_fname.is_null()).then(|| (info.dli_fbase as u64, CStr::from_ptr(info.dli_fname)))
    }
}

/// Where this library was loaded from.
#[must_use]
pub fn own_path() -> Option<String> {
    // SAFETY: dladdr fills the record; its name belongs to the linker.
    unsafe {
        let mut found: libc::Dl_info = core::mem::zeroed();
        if libc::dladdr((own_path as *const ()).cast(), &raw mut found) == 0 || found.dli_fname.is_null() {
            return None;
        }
        Some(CStr::from_ptr(found.dli_fname).to_string_lossy().into_owned())
    }
}
