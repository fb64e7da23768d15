//! What the safe point's work, the callables and the sampler share: the interpreter as far as it is known, and which list is whose.
//! Owns: these words. Never: changes one by itself.

use super::interpreter::Interpreter;
use genba_python::interpreter::collector::Collector;
use genba_python::layout::Layout;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64};

/// What the safe point's work and the callables need to know. Made once, never freed.
pub struct Known {
    pub interpreter: Interpreter,
    pub collector: Collector,
    pub layout: Layout,
}

pub static KNOWN: AtomicPtr<Known> = AtomicPtr::new(core::ptr::null_mut());
/// Where the collector's state lies; 0: not installed yet.
pub static STATE: AtomicU64 = AtomicU64::new(0);
/// `gc.collect` of the interpreter; 0: not known.
pub static EXPLICIT: AtomicU64 = AtomicU64::new(0);
/// Whether the callables note anything.
pub static IS_ON: AtomicBool = AtomicBool::new(false);

/// The program's list, of which genba has taken the collector's reference; null: the collector has it.
pub static REAL: AtomicPtr<core::ffi::c_void> = AtomicPtr::new(core::ptr::null_mut());
/// Genba's own, made once.
pub static PRIVATE: AtomicPtr<core::ffi::c_void> = AtomicPtr::new(core::ptr::null_mut());
