//! The unwind tables of one file: where the registers of a function's caller are.
//! Owns: one step by `.eh_frame`. Never: guesses where there is no rule, takes a register for known that is not.

use genba_python::stack::native::NativeEnd;
use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EhFrameOffset, Encoding, EndianSlice, EvaluationResult, Expression,
    FrameDescriptionEntry, LittleEndian, Location, Pointer, Register, RegisterRule, UnwindContext, UnwindSection,
    Value,
};
use object::elf;

use crate::elf::files::Segment;
use crate::kernel::registers::{KEPT_BY_CALLEES, RIP, RSP, Registers};

type Slice<'a> = EndianSlice<'a, LittleEndian>;

const WORD_BYTES: u8 = 8;
/// What every linker for x86-64 writes: version 1, where `.eh_frame` is and how many rows there are in four bytes each, and rows of two times
/// four bytes.
const HEADER: [u8; 4] = [1, 0x1b, 0x03, 0x3b];
const HEADER_ROW_BYTES: u64 = 8;
/// Libraries of some hundred MB have tables of ten.
const TABLE_BYTES_MAX: u64 = 64 << 20;
/// An expression asks for so few words; one that asks for more is none of a compiler's.
const QUESTIONS_MAX: usize = 16;
const OPERATIONS_MAX: u32 = 1000;

#[derive(Debug)]
pub struct Tables {
    header: Vec<u8>,
    frames: Vec<u8>,
    /// Addresses of the process.
    bases: BaseAddresses,
}

/// From a frame to its caller.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub cfa: u64,
    /// `None`: it is the thread's first frame.
    pub caller: Option<Registers>,
    /// The kernel called it in the middle of its caller.
    pub is_signal: bool,
}

impl Tables {
    /// `bytes_at` gives what lies at an address of the process.
    pub fn of(segments: &[Segment], bytes_at: impl Fn(u64, u64) -> Option<Vec<u8>>) -> Option<Tables> {
        let header_segment = segments.iter().find(|segment| segment.kind == elf::PT_GNU_EH_FRAME.0)?;
        let header = bytes_at(header_segment.address, header_segment.memory_bytes.min(TABLE_BYTES_MAX))?;
        // gimli multiplies and subtracts what is in it.
        let count = header.strip_prefix(&HEADER).and_then(|rest| rest.get(4..8)?.first_chunk());
        let rows_bytes = u64::from(count.map(|four| u32::from_le_bytes(*four))?) * HEADER_ROW_BYTES;
        if rows_bytes + 12 > header.len() as u64 {
            return None;
        }
        let bases = BaseAddresses::default().set_eh_frame_hdr(header_segment.address);
        let parsed = EhFrameHdr::new(&header, LittleEndian).parse(&bases, WORD_BYTES).ok()?;
        let Pointer::Direct(address) = parsed.eh_frame_ptr() else { return None };
        let around = segments.iter().find(|segment| {
            segment.kind == elf::PT_LOAD.0
                && (segment.address..segment.address.saturating_add(segment.file_bytes)).contains(&address)
        })?;
        let bytes = around.address.saturating_add(around.file_bytes) - address;
        let frames = bytes_at(address, bytes.min(TABLE_BYTES_MAX))?;
        Some(Tables { header, frames, bases: bases.set_eh_frame(address) })
    }

    /// The beginning of the function that has an address.
    pub fn function_at(&self, address: u64) -> Option<u64> {
        self.entry(&self.frames(), address).map(|entry| entry.initial_address())
    }

    /// The caller of the function that has `inside`, called with `registers`. `word` reads the thread's stack.
    pub fn step(
        &self,
        registers: &Registers,
        inside: u64,
        word: impl Fn(u64) -> Option<u64>,
    ) -> Result<Step, NativeEnd> {
        let frames = self.frames();
        let entry = self.entry(&frames, inside).ok_or(NativeEnd::NoRule)?;
        let mut context = UnwindContext::new();
        let row = entry.unwind_info_for_address(&frames, &self.bases, &mut context, inside);
        let row = row.map_err(|_| NativeEnd::NoRule)?;
        let known = |register: Register| registers.get(register.0).ok_or(NativeEnd::NoFramePointer);
        let word = |address: u64| word(address).ok_or(NativeEnd::Fault);
        let value_of = |expression: Expression<Slice<'_>>, cfa: Option<u64>| {
            evaluated(expression, entry.cie().encoding(), cfa, &known, &word)
        };
        let cfa = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => known(*register)?.wrapping_add_signed(*offset),
            CfaRule::Expression(expression) => value_of(expression.get(&frames).map_err(|_| NativeEnd::NoRule)?, None)?,
        };
        let is_signal = entry.is_signal_trampoline();
        if !is_signal && registers.stack_pointer() >= cfa {
            return Err(NativeEnd::NotRising);
        }
        let mut caller = Registers::default();
        for number in KEPT_BY_CALLEES {
            caller.set(number, registers.get(number));
        }
        caller.set(RSP, Some(cfa));
        for (register, rule) in row.registers() {
            let value = match rule {
                RegisterRule::Undefined => None,
                RegisterRule::SameValue => registers.get(register.0),
                RegisterRule::Offset(offset) => Some(word(cfa.wrapping_add_signed(*offset))?),
                RegisterRule::ValOffset(offset) => Some(cfa.wrapping_add_signed(*offset)),
                RegisterRule::Register(other) => registers.get(other.0),
                RegisterRule::Expression(expression) => {
                    let expression = expression.get(&frames).map_err(|_| NativeEnd::NoRule)?;
                    Some(word(value_of(expression, Some(cfa))?)?)
                }
                RegisterRule::ValExpression(expression) => {
                    let expression = expression.get(&frames).map_err(|_| NativeEnd::NoRule)?;
                    Some(value_of(expression, Some(cfa))?)
                }
                RegisterRule::Constant(value) => Some(*value),
                RegisterRule::Architectural => return Err(NativeEnd::NoRule),
            };
            caller.set(register.0, value);
        }
        let is_first = caller.get(RIP).is_none_or(|address| address == 0);
        Ok(Step { cfa, caller: (!is_first).then_some(caller), is_signal })
    }

    fn frames(&self) -> EhFrame<Slice<'_>> {
        let mut frames = EhFrame::new(&self.frames, LittleEndian);
        frames.set_address_size(WORD_BYTES);
        frames
    }

    fn entry<'t>(&'t self, frames: &EhFrame<Slice<'t>>, address: u64) -> Option<FrameDescriptionEntry<Slice<'t>>> {
        let header = EhFrameHdr::new(&self.header, LittleEndian).parse(&self.bases, WORD_BYTES).ok()?;
        let (Pointer::Direct(frame), Pointer::Direct(begin)) =
            (header.table()?.lookup(address, &self.bases).ok()?, header.eh_frame_ptr())
        else {
            return None;
        };
        // A damaged table names places before the first entry: gimli would subtract.
        let offset = EhFrameOffset(usize::try_from(frame.checked_sub(begin)?).ok()?);
        let found = frames.fde_from_offset(&self.bases, offset, EhFrame::cie_from_offset);
        found.ok().filter(|entry| entry.contains(address))
    }
}

fn evaluated(
    expression: Expression<Slice<'_>>,
    encoding: Encoding,
    cfa: Option<u64>,
    known: &impl Fn(Register) -> Result<u64, NativeEnd>,
    word: &impl Fn(u64) -> Result<u64, NativeEnd>,
) -> Result<u64, NativeEnd> {
    let no_rule = |_| NativeEnd::NoRule;
    let mut evaluation = expression.evaluation(encoding);
    evaluation.set_max_iterations(OPERATIONS_MAX);
    if let Some(cfa) = cfa {
        evaluation.set_initial_value(cfa);
    }
    let mut result = evaluation.evaluate().map_err(no_rule)?;
    for _ in 0..QUESTIONS_MAX {
        result = match result {
            EvaluationResult::Complete => {
                return match evaluation.as_result().last().map(|piece| &piece.location) {
                    Some(Location::Address { address }) => Ok(*address),
                    _ => Err(NativeEnd::NoRule),
                };
            }
            EvaluationResult::RequiresRegister { register, .. } => {
                evaluation.resume_with_register(Value::Generic(known(register)?)).map_err(no_rule)?
            }
            EvaluationResult::RequiresMemory { address, size: WORD_BYTES, .. } => {
                evaluation.resume_with_memory(Value::Generic(word(address)?)).map_err(no_rule)?
            }
            _ => return Err(NativeEnd::NoRule),
        };
    }
    Err(NativeEnd::NoRule)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::Tables;
    use crate::elf::files::{Segment, of_image};
    use crate::kernel::registers::Registers;

    const START: u64 = 0x10_0000;

    fn own() -> (Vec<u8>, Vec<Segment>) {
        let image = std::fs::read("/proc/self/exe").unwrap();
        let segments = of_image(&image, START).unwrap().0;
        (image, segments)
    }

    fn bytes_at(image: &[u8], segments: &[Segment], address: u64, bytes: u64) -> Option<Vec<u8>> {
        let holds = |segment: &&Segment| {
            segment.kind == object::elf::PT_LOAD.0
                && (segment.address..segment.address + segment.file_bytes).contains(&address)
        };
        let segment = segments.iter().find(holds)?;
        let at = usize::try_from(segment.offset + (address - segment.address)).ok()?;
        image.get(at..)?.get(..usize::try_from(bytes).ok()?).map(<[u8]>::to_vec)
    }

    fn code(segments: &[Segment]) -> std::ops::Range<u64> {
        let executable = segments.iter().filter(|segment| segment.flags & object::elf::PF_X.0 != 0);
        let code = executable.max_by_key(|segment| segment.file_bytes).unwrap();
        code.address..code.address + code.file_bytes
    }

    #[test]
    fn each_function_of_this_program_has_a_caller() {
        let (image, segments) = own();
        let tables = Tables::of(&segments, |address, bytes| bytes_at(&image, &segments, address, bytes)).unwrap();
        let registers = Registers::of_all(std::array::from_fn(|number| 0x7000_0000 + 8 * number as u64));
        let (mut found, mut risen) = (0, 0);
        for address in code(&segments).step_by(997) {
            let Some(begin) = tables.function_at(address) else { continue };
            assert!(begin <= address);
            found += 1;
            // At its first instruction the return address lies at the stack pointer.
            let step = tables.step(&registers, begin, |word| Some(word ^ 1));
            risen += u32::from(step.is_ok_and(|step| step.cfa == registers.stack_pointer() + 8));
        }
        assert!(found > 100 && risen * 10 > found * 9, "{found} {risen}");
    }

    #[test]
    fn damaged_tables_give_another_answer_or_none() {
        let (image, segments) = own();
        let state = Cell::new(20_261_124_u64);
        let random = || {
            state.set(state.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
            state.get() >> 33
        };
        let code = code(&segments);
        for _ in 0..300 {
            let damaged = Tables::of(&segments, |address, bytes| {
                let mut found = bytes_at(&image, &segments, address, bytes)?;
                for _ in 0..1 + random() % 2000 {
                    let at = random() as usize % found.len();
                    found[at] = random() as u8;
                }
                Some(found)
            });
            let Some(tables) = damaged else { continue };
            for _ in 0..50 {
                let address = code.start + random() % (code.end - code.start);
                let registers = Registers::of_all(std::array::from_fn(|_| random() << 33 | random()));
                let _ = tables.step(&registers, address, |word| (word % 3 != 0).then_some(word));
            }
        }
    }
}
