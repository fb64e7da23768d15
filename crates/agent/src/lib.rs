//! The agent: the library inside the program. Preloaded, it finds the interpreter, samples it and writes the recording.
//! Never: prints, exits, calls the program's malloc from its own thread, brings the program down (style 6.8).
//! ARCHITECTURE.md lists the invariants I-NN that the parts keep.

mod alarm;
mod alternate;
mod api;
mod arena;
mod awaited;
mod bells;
mod calls;
mod carry;
mod cfi;
mod codes;
mod compressor;
mod control;
mod described;
mod descriptor;
mod environment;
mod errno;
mod interpose;
mod last_words;
mod later;
mod life;
mod lifecycle;
mod locks;
mod merge;
mod modules;
mod own_ids;
mod proc;
mod process_key;
mod prompt;
mod python;
mod reaped;
mod recorder;
mod room;
mod sampler;
mod sampler_stack;
mod session;
mod signals;
mod stacks;
mod states;
mod steps;
mod symbols;
mod tables;
mod tasks;
mod threads;
mod time_stamps;
mod waited_on;

extern "C" fn on_load() {
    // What is caught is not told: the program's standard error is the program's.
    std::panic::set_hook(Box::new(|_| {}));
    // A panic in here must not reach the dynamic linker.
    let _ = std::panic::catch_unwind(lifecycle::on_load);
}

extern "C" fn on_unload() {
    let _ = std::panic::catch_unwind(lifecycle::on_unload);
}

#[used]
#[unsafe(link_section = ".init_array")]
static ON_LOAD: extern "C" fn() = on_load;
#[used]
#[unsafe(link_section = ".fini_array")]
static ON_UNLOAD: extern "C" fn() = on_unload;
