//! Addresses of symbols in the loaded files.
//! Owns: the one use of dlsym, and of dladdr. Never: calls what it finds.

use genba_python::symbols::Symbols;
use std::ffi::CStr;

/// The dynamic linker of this process.
#[derive(Clone, Copy)]
pub struct Linker;

impl Symbols for Linker {
    fn address(&self, name: &CStr) -> Option<u64> {
        address(name)
    }
}

/// In the order of the dynamic linker.
#[must_use]
pub fn address(name: &CStr) -> Option<u64> {
    // SAFETY: the name ends in NUL; dlsym reads the linker's tables under the linker's own lock.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found as u64)
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
        let found = libc::dlsym(libc, name.as_ptr());
        libc::dlclose(libc);
        found
    };
    (!found.is_null()).then_some(found as u64)
}

/// The definition that the program would get without genba's.
#[must_use]
pub fn next(name: &CStr) -> Option<u64> {
    // SAFETY: as above; RTLD_NEXT starts behind the library that this code is in.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
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
