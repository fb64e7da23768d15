//! `genba-twin image PID --to FILE`: writes the image of a living program, the words of its memory that a look at its threads reads, for
//! the tests of crates/python. The program must sleep meanwhile.
//! Owns: what is read, and that it is found again without the program. Never: writes an image of threads that ran.

use std::cell::RefCell;
use std::ffi::CStr;
use std::fs;
use std::path::PathBuf;

use genba_python::memory::{Address, Fault, Memory};
use genba_python::symbols::Symbols;

use crate::files::{Loaded, loaded};
use crate::process::Process;

// The form in which those tests read it.
#[path = "../../crates/python/tests/structures/image.rs"]
mod text;
use text::{Image, look};

pub struct Options {
    pub pid: i32,
    pub file: PathBuf,
}

/// The process, and what was read of it.
struct Recorder {
    process: Process,
    files: Vec<Loaded>,
    image: RefCell<Image>,
}

impl Memory for Recorder {
    fn word(&self, address: Address) -> Result<u64, Fault> {
        let word = self.process.word(address.0);
        self.image.borrow_mut().words.insert(address.0, word);
        word.ok_or(Fault)
    }
}

impl Symbols for Recorder {
    fn address(&self, name: &CStr) -> Option<u64> {
        let name = name.to_str().ok()?;
        let address = self.files.iter().find_map(|loaded| Some(loaded.file.symbol(name)?.wrapping_add(loaded.bias)))?;
        self.image.borrow_mut().symbols.insert(name.to_owned(), address);
        Some(address)
    }
}

pub fn run(options: &Options) -> Result<(), String> {
    let process = Process { pid: options.pid };
    let mut tids: Vec<u32> = Vec::new();
    let folder = format!("/proc/{}/task", options.pid);
    for task in fs::read_dir(&folder).map_err(|error| format!("cannot read {folder}: {error}"))? {
        tids.extend(task.ok().and_then(|task| task.file_name().to_str()?.parse::<u32>().ok()));
    }
    tids.sort_unstable();
    let recorder = Recorder { process, files: loaded(process)?, image: RefCell::default() };
    let found = look(&recorder, &tids).ok_or("no interpreter that genba knows is in it")?;
    let text = recorder.image.into_inner().to_text();
    if look(&Image::from_text(&text), &tids).as_ref() != Some(&found) {
        return Err("its threads did not sleep all the time".to_owned());
    }
    for thread in &found.threads {
        println!("thread {} {:?}", thread.tid, thread.end);
        for frame in &thread.frames {
            println!("  {} ({}:{})", frame.qualname, frame.filename, frame.first_line);
        }
    }
    let tids: Vec<String> = tids.iter().map(ToString::to_string).collect();
    let file = options.file.display();
    fs::write(&options.file, format!("CPython {}, threads {}\n{text}", found.version, tids.join(" ")))
        .map_err(|error| format!("cannot write {file}: {error}"))
}
