//! The agent: the library inside the program. Preloaded, it finds the interpreter, samples it and writes the recording.
//! Never: prints, exits, calls the program's malloc from its own thread, brings the program down (style 6.8).
//! ARCHITECTURE.md lists the invariants I-NN that the parts keep.

mod collections;
mod doors;
mod heap;
mod lifecycle;
mod process;
mod reading;
mod sampling;
mod system;
mod tracing;
mod writing;

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
