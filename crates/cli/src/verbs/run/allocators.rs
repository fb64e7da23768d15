//! Which allocators of CPython `--alloc` can count.
//! Owns: the refusal of the others before the program starts. Never: looks at an allocator; the agent does.

use crate::words::failure::Failure;

const VARIABLE: &str = "PYTHONMALLOC";
/// The usual one, and malloc for everything. The others serve sizes from places that the hooks cannot tell apart.
const COUNTED: [&str; 4] = ["", "default", "pymalloc", "malloc"];

/// # Errors
/// The environment asks for an allocator whose bytes would be counted twice, or not at all.
pub fn check() -> Result<(), Failure> {
    let asked = std::env::var_os(VARIABLE).unwrap_or_default();
    match asked.to_str() {
        Some(asked) if COUNTED.contains(&asked) => Ok(()),
        _ => Err(Failure::usage(format!("--alloc cannot count what {VARIABLE}={} serves", asked.display()))
            .detail("it counts CPython's small object allocator and malloc")
            .hint(format!("record without the variable: env -u {VARIABLE} genba run --alloc app.py"))),
    }
}
