//! Rows of threads: their names and their clocks.
//! Owns: which of a thread's names is shown, and whether the kernel's is told beside it. Never: a thread's time (samples.rs).

use crate::making::build::Clock;
use crate::tables::profile::{ProcessIndex, Profile, Thread, ThreadIndex};
use crate::tables::stored::Stored;
use foldhash::HashMap;

/// Bytes of a thread's name that the kernel keeps.
const KERNEL_NAME_BYTES: usize = 15;

pub(super) fn rows(
    stored: &Stored,
    process: ProcessIndex,
    clock: &Clock,
    profile: &mut Profile,
) -> HashMap<u32, ThreadIndex> {
    let mut index_of = HashMap::default();
    // Those of an earlier segment of the process go on.
    let mut known: HashMap<(u32, u64), ThreadIndex> = HashMap::default();
    for (index, thread) in profile.threads.enumerate().filter(|(_, thread)| thread.process == process) {
        known.extend(thread.tid.zip(thread.start_ns).map(|thread| (thread, index)));
    }
    for (index, thread) in stored.threads.iter() {
        let start_ns = clock.at(thread.start_ns);
        if let Some(&row) = known.get(&(thread.tid, start_ns)) {
            index_of.insert(index, row);
            continue;
        }
        let row = Thread {
            process,
            tid: Some(thread.tid),
            // Until `settle_kernel_names` a thread has no other name than one of Python's.
            name: None,
            kernel_name: stored.string(thread.name).filter(|name| !name.is_empty()),
            former_names: Vec::new(),
            start_ns: Some(start_ns),
            cpu_ns: None,
            cpu_not_sampled_ns: None,
            turns: None,
            cpu_queue_ns: None,
            ended: false,
        };
        index_of.insert(index, profile.threads.push(row));
    }
    for accounting in stored.blocks.iter().filter_map(|read| read.block.accounting.as_ref()) {
        for clocks in &accounting.thread_clocks {
            if let Some(thread) = index_of.get(&clocks.thread) {
                let thread = &mut profile.threads[*thread];
                thread.cpu_ns = Some(clocks.cpu_ns);
                thread.cpu_not_sampled_ns = Some(clocks.cpu_not_sampled_ns);
                if clocks.turns > 0 {
                    // Of a thread that has ended, the kernel told them last with the block before.
                    thread.turns = Some(clocks.turns).filter(|_| !clocks.ended);
                    thread.cpu_queue_ns = Some(clocks.cpu_queue_ns);
                }
                thread.ended = clocks.ended;
                if let Some(name) = clocks.name.checked_sub(1).and_then(|name| stored.string(name)) {
                    rename(thread, name);
                }
            }
        }
    }
    index_of
}

/// From now on `threading` calls the thread so.
fn rename(thread: &mut Thread, name: String) {
    if name.is_empty() {
        return;
    }
    let former = thread.name.replace(name);
    thread.former_names.retain(|former| Some(former) != thread.name.as_ref());
    if let Some(former) = former.filter(|former| Some(former) != thread.name.as_ref()) {
        thread.former_names.push(former);
    }
}

/// A thread that Python did not name has the kernel's name. Of others that stays where it tells something: it is not the process's, as all
/// threads have it before CPython 3.14, and no beginning of a name of Python's, as they have it from 3.14 on.
pub(super) fn settle_kernel_names(profile: &mut Profile) {
    let mut of_process: HashMap<ProcessIndex, String> = HashMap::default();
    for thread in profile.threads.iter() {
        if let Some(name) = &thread.kernel_name
            && thread.tid == profile.processes[thread.process].pid
        {
            of_process.insert(thread.process, name.clone());
        }
    }
    for thread in profile.threads.iter_mut() {
        if thread.name.is_none() {
            thread.name = thread.kernel_name.take();
        }
        let is_known = |kernel: &String| {
            let mut names = thread.name.iter().chain(&thread.former_names);
            of_process.get(&thread.process) == Some(kernel)
                || names.any(|name| name == kernel || is_kernels_part(name, kernel))
        };
        if thread.kernel_name.as_ref().is_some_and(is_known) {
            thread.kernel_name = None;
        }
    }
}

/// Whether the kernel's name is as much of this one as fits.
fn is_kernels_part(name: &str, kernel: &str) -> bool {
    // A letter of several bytes may not fit any more, or in part: what is left of it is no letter.
    let kernel = kernel.trim_end_matches(char::REPLACEMENT_CHARACTER);
    name.len() > kernel.len() && kernel.len() > KERNEL_NAME_BYTES - 4 && name.starts_with(kernel)
}
