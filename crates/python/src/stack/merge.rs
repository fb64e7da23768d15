//! Native and Python frames into one stack: by address, not by counting.
//! Owns: the rule (I-11). Pure: no memory is read here. Never: shows a frame twice or in a place it was not; what does not fit
//! together loses its native half and says so.
//!
//! Each run of the eval loop has a C local (the shim) at address A. It lies in exactly one native frame k:
//! `cfa[k-1] <= A < cfa[k]`. That frame is the eval loop which executes the Python frames up to the shim: they replace it.
//! Where each instruction is a function of its own (tail calls between instructions), the frame above it is the one that runs, and
//! as much the eval loop: they replace both.

use crate::memory::{Address, Memory};
use crate::stack::native::{NativeEnd, NativeFrame};

/// A Python frame as the merge sees it: `F` is whatever names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Python<F> {
    Frame(F),
    Shim(u64),
}

/// One frame of the merged stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Merged<F> {
    Python(F),
    /// Position in the native frames.
    Native(usize),
    /// The function that the call at native position `caller` named, hidden by a tail call.
    InferredCall {
        caller: usize,
    },
    /// The function that the operands of the innermost Python frame name; the agent puts it in.
    InferredOperand,
    Mark(Mark),
}

/// Why a stack is not whole. The text is what the views show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    NativeCut(NativeEnd),
    NativeLeftOut,
    PythonCut,
    PythonTooDeep,
    PythonNotFound,
}

impl Mark {
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Mark::NativeCut(NativeEnd::TooDeep) => "[C stack cut: more than 512 frames]",
            Mark::NativeCut(NativeEnd::NoModule) => "[C stack cut: code of no known file]",
            Mark::NativeCut(NativeEnd::NoRule) => "[C stack cut: no unwind row]",
            Mark::NativeCut(NativeEnd::NoFramePointer) => "[C stack cut: read from outside]",
            Mark::NativeCut(_) => "[C stack cut: not readable]",
            Mark::NativeLeftOut => "[C frames left out: they do not fit the Python frames]",
            Mark::PythonCut => "[Python stack cut: not readable]",
            Mark::PythonTooDeep => "[Python stack cut: more than 1,536 frames]",
            Mark::PythonNotFound => "[Python frames left out: not found]",
        }
    }
}

/// What is known beside the frames.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances<'a> {
    pub native_end: NativeEnd,
    /// Set when the walk over the Python frames did not reach the first one.
    pub python_cut: Option<Mark>,
    /// For each native position: a tail call hid a function between it and the frame that it called.
    pub hidden: &'a [bool],
    /// What an eval loop calls is an instruction's own function.
    pub instructions_apart: bool,
    /// For each native position: an eval loop, whose frames must be there once there are frames above it. Empty: nobody asks, because a thread in
    /// one interpreter has one chain of frames, and that is cut with words.
    pub eval_loops: &'a [bool],
}

/// The frames of several thread states of one thread as one list, innermost first: the C locals of all of them lie on one stack. Each
/// chain is innermost first. `None`: where the frames of one lie among the others' cannot be told.
#[must_use]
pub fn interleave<F: Copy>(chains: &[&[Python<F>]]) -> Option<Vec<Python<F>>> {
    let chains: Vec<&[Python<F>]> = chains.iter().copied().filter(|chain| !chain.is_empty()).collect();
    if let [alone] = chains[..] {
        return Some(alone.to_vec());
    }
    let mut runs: Vec<(u64, &[Python<F>])> = Vec::new();
    let mut rest: Option<(u64, &[Python<F>])> = None;
    for chain in chains {
        let (mut begin, mut last) = (0, 0);
        for (at, entry) in chain.iter().enumerate() {
            let Python::Shim(address) = *entry else { continue };
            if address <= last {
                return None;
            }
            runs.push((address, &chain[begin..=at]));
            (begin, last) = (at + 1, address);
        }
        // What was cut before its C local has its place only where nothing comes after it.
        if begin < chain.len() && rest.replace((last, &chain[begin..])).is_some() {
            return None;
        }
    }
    runs.sort_by_key(|&(address, _)| address);
    if let (Some((above, _)), Some(&(outermost, _))) = (rest, runs.last())
        && outermost > above
    {
        return None;
    }
    Some(runs.into_iter().chain(rest).flat_map(|(_, run)| run).copied().collect())
}

/// Merges, innermost first. `native` may be empty (Python only).
#[must_use]
pub fn merge<F: Copy>(native: &[NativeFrame], python: &[Python<F>], circumstances: Circumstances) -> Vec<Merged<F>> {
    let mut out = Vec::with_capacity(native.len() + python.len());
    if native.is_empty() {
        python_only(python, circumstances, &mut out);
        return out;
    }
    let mut next_native = 0;
    let mut group = 0;
    while group < python.len() {
        let shim = python[group..].iter().position(|entry| matches!(entry, Python::Shim(_))).map(|at| group + at);
        let frames_end = shim.unwrap_or(python.len());
        let eval = match shim.and_then(|at| python.get(at)) {
            Some(&Python::Shim(address)) => eval_frame(native, next_native, address, circumstances.native_end),
            _ => Eval::Beyond,
        };
        match eval {
            Eval::At(position) => {
                let inner = position - usize::from(circumstances.instructions_apart && position > next_native);
                mark_not_found(next_native..inner, circumstances, &mut out);
                push_native(native, next_native..inner, circumstances, &mut out);
                if inner > next_native && circumstances.hidden.get(inner) == Some(&true) {
                    out.push(Merged::InferredCall { caller: inner });
                }
                next_native = position + 1;
            }
            Eval::Beyond => {
                // The C stack was cut before this run of the eval loop: what is left of it comes above.
                if next_native < native.len() && shim.is_some() {
                    mark_not_found(next_native..native.len(), circumstances, &mut out);
                    push_native(native, next_native..native.len(), circumstances, &mut out);
                    out.push(Merged::Mark(Mark::NativeCut(circumstances.native_end)));
                    next_native = native.len();
                }
            }
            Eval::Nowhere => {
                out.clear();
                out.push(Merged::Mark(Mark::NativeLeftOut));
                python_only(python, circumstances, &mut out);
                return out;
            }
        }
        push_python(&python[group..frames_end], &mut out);
        group = frames_end + 1;
    }
    if let Some(mark) = circumstances.python_cut {
        out.push(Merged::Mark(mark));
    }
    mark_not_found(next_native..native.len(), circumstances, &mut out);
    push_native(native, next_native..native.len(), circumstances, &mut out);
    if next_native < native.len() && circumstances.native_end != NativeEnd::Complete {
        out.push(Merged::Mark(Mark::NativeCut(circumstances.native_end)));
    }
    out
}

enum Eval {
    At(usize),
    /// Behind the end of a C stack that was cut.
    Beyond,
    /// In none of the frames: native and Python do not fit together.
    Nowhere,
}

fn eval_frame(native: &[NativeFrame], from: usize, address: u64, end: NativeEnd) -> Eval {
    // The last frame of a cut stack has no CFA of its own, so nothing can be said to lie in it.
    let whole = if end == NativeEnd::Complete { native.len() } else { native.len().saturating_sub(1) };
    for (position, frame) in native.iter().enumerate().take(whole).skip(from) {
        if address < frame.cfa {
            let low = if position == 0 { 0 } else { native[position - 1].cfa };
            return if address >= low { Eval::At(position) } else { Eval::Nowhere };
        }
    }
    if end == NativeEnd::Complete { Eval::Nowhere } else { Eval::Beyond }
}

/// Before an eval loop whose frames are missing, where there are frames above it: a thread state was not found. An innermost one may not have begun yet.
fn mark_not_found<F>(range: std::ops::Range<usize>, circumstances: Circumstances, out: &mut Vec<Merged<F>>) {
    let is_missing = circumstances.eval_loops.get(range).is_some_and(|range| range.contains(&true));
    if is_missing && out.iter().any(|frame| matches!(frame, Merged::Python(_))) {
        out.push(Merged::Mark(Mark::PythonNotFound));
    }
}

fn push_native<F>(
    native: &[NativeFrame],
    range: std::ops::Range<usize>,
    circumstances: Circumstances,
    out: &mut Vec<Merged<F>>,
) {
    for position in range.start..range.end.min(native.len()) {
        // The callee of the first one is an eval loop, or nothing: its own steps are no news.
        if position > range.start && circumstances.hidden.get(position) == Some(&true) {
            out.push(Merged::InferredCall { caller: position });
        }
        out.push(Merged::Native(position));
    }
}

fn push_python<F: Copy>(python: &[Python<F>], out: &mut Vec<Merged<F>>) {
    out.extend(python.iter().filter_map(|entry| match entry {
        Python::Frame(frame) => Some(Merged::Python(*frame)),
        Python::Shim(_) => None,
    }));
}

fn python_only<F: Copy>(python: &[Python<F>], circumstances: Circumstances, out: &mut Vec<Merged<F>>) {
    push_python(python, out);
    if let Some(mark) = circumstances.python_cut {
        out.push(Merged::Mark(mark));
    }
}

/// Whether each instruction is a function of its own: then the eval loop is short, and calls the first of them by a table. `begin` is that of
/// the eval loop, `function_at` the beginning of the function that has an address.
pub fn are_instructions_apart(memory: &impl Memory, begin: u64, function_at: impl Fn(u64) -> Option<u64>) -> bool {
    const EVAL_LOOP_BYTES_MIN: u64 = 4096;
    let is_within = |address| function_at(address) == Some(begin);
    if !is_within(begin) || is_within(begin + EVAL_LOOP_BYTES_MIN) {
        return false;
    }
    let mut code = (begin..begin + EVAL_LOOP_BYTES_MIN).take_while(|&at| is_within(at));
    code.any(|at| memory.word(Address(at)).is_ok_and(calls_by_table))
}

/// `call *table(,%index,8)`, with or without a base: `ff /2`, then a SIB byte whose scale is eight.
fn calls_by_table(code: u64) -> bool {
    let [opcode, operand, index, ..] = code.to_le_bytes();
    opcode == 0xff && operand & 0x3f == 0x14 && index >> 6 == 3
}

#[cfg(test)]
mod tests;
