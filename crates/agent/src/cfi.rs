//! From `.eh_frame` to flat rows.
//! Owns: which call-frame rules become which row kind. Never: runs in the handler, keeps what it does not understand (such a
//! stretch is a row UNKNOWN). Partner: genba_signal::unwind reads the rows.

use genba_signal::unwind::{Row, Rule, RuleKind};
use gimli::{
    BaseAddresses, CfaRule, CieOrFde, EhFrame, EhFrameOffset, EndianSlice, Expression, LittleEndian, Register,
    RegisterRule, UnwindContext, UnwindSection, UnwindTableRow,
};

const RBP: Register = Register(6);
const RSP: Register = Register(7);
const RETURN_ADDRESS: Register = Register(16);

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// The code of one file: rows relative to `start`, and where its functions begin and end.
#[derive(Default)]
pub struct Compiled {
    pub rows: Vec<Row>,
    /// Sorted, not overlapping: (first address, address behind the last), relative to `start`.
    pub functions: Vec<(u32, u32)>,
}

/// Where a rule begins, as one number that sorts by place: offset << 33 | whether a function's row begins there << 32 | rule.
/// So the end of one function gives way to the beginning of the next at the same place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place(u64);

impl Place {
    const fn begin(offset: u64, rule: Rule) -> Place {
        Place(offset << 33 | 1 << 32 | rule.bits() as u64)
    }

    const fn end(offset: u64) -> Place {
        Place(offset << 33 | Rule::UNKNOWN.bits() as u64)
    }
}

/// A file on its way to rows, a piece at a time: the sampler must not miss its ticks for a large one.
pub struct Compiler {
    section: Vec<u8>,
    section_address: u64,
    header_address: u64,
    start: u64,
    end: u64,
    /// Where the section's function entries begin; those before `next` are done.
    entries: Vec<EhFrameOffset>,
    next: usize,
    context: Box<UnwindContext<usize>>,
    rows: Vec<Place>,
    functions: Vec<(u32, u32)>,
}

/// Where a section lies: `start..end` is the file's executable memory.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    pub section_address: u64,
    pub header_address: u64,
    pub start: u64,
    pub end: u64,
}

impl Compiler {
    #[must_use]
    pub fn new(section: Vec<u8>, position: Position) -> Compiler {
        let Position { section_address, header_address, start, end } = position;
        let mut compiler = Compiler {
            section,
            section_address,
            header_address,
            start,
            end,
            entries: Vec::new(),
            next: 0,
            context: Box::new(UnwindContext::new()),
            rows: Vec::new(),
            functions: Vec::new(),
        };
        let mut found = Vec::new();
        let eh_frame = eh_frame(&compiler.section);
        let bases = compiler.bases();
        let mut entries = eh_frame.entries(&bases);
        // A damaged entry ends the section: what came before it stays.
        while let Ok(Some(entry)) = entries.next() {
            if let CieOrFde::Fde(partial) = entry {
                found.push(EhFrameOffset(partial.offset()));
            }
        }
        compiler.entries = found;
        compiler
    }

    fn bases(&self) -> BaseAddresses {
        BaseAddresses::default()
            .set_eh_frame(self.section_address)
            .set_eh_frame_hdr(self.header_address)
            .set_text(self.start)
    }

    /// Compiles up to `entries` more functions. True: all are done.
    pub fn advance(&mut self, entries: usize) -> bool {
        let until = self.entries.len().min(self.next + entries);
        let start = self.start;
        let bases = self.bases();
        let eh_frame = eh_frame(&self.section);
        for &offset in &self.entries[self.next..until] {
            let cie = |_: &EhFrame<Slice<'_>>, bases: &BaseAddresses, offset| eh_frame.cie_from_offset(bases, offset);
            let Ok(fde) = eh_frame.fde_from_offset(&bases, offset, cie) else { continue };
            let (first, behind) = (fde.initial_address(), fde.end_address());
            if first < self.start || behind > self.end || first >= behind || behind - start > u64::from(u32::MAX >> 1) {
                continue;
            }
            self.functions.push(((first - self.start) as u32, (behind - self.start) as u32));
            let signal = fde.is_signal_trampoline();
            let before = self.rows.len();
            let rows = &mut self.rows;
            let complete = fde.rows(&eh_frame, &bases, &mut self.context).is_ok_and(|mut table| {
                loop {
                    match table.next_row() {
                        Ok(Some(row)) => {
                            let rule = if signal { Rule::SIGNAL } else { rule(&eh_frame, row) };
                            rows.push(Place::begin(row.start_address().wrapping_sub(start), rule));
                        }
                        Ok(None) => return true,
                        Err(_) => return false,
                    }
                }
            });
            if !complete {
                rows.truncate(before);
                rows.push(Place::begin(first - start, Rule::UNKNOWN));
            }
            rows.push(Place::end(behind - start));
        }
        self.next = until;
        until == self.entries.len()
    }

    /// The rows, sorted and without repetitions.
    #[must_use]
    pub fn finish(mut self) -> Compiled {
        // Stable sorting makes use of what is in order already: nearly all.
        self.rows.sort();
        let mut rows: Vec<Row> = Vec::with_capacity(self.rows.len());
        for place in self.rows {
            let row = Row { start: (place.0 >> 33) as u32, rule: Rule::from_bits(place.0 as u32) };
            match rows.last_mut() {
                Some(last) if last.start == row.start => *last = row,
                Some(last) if last.rule == row.rule => {}
                _ => rows.push(row),
            }
        }
        rows.shrink_to_fit();
        self.functions.sort();
        self.functions.dedup();
        Compiled { rows, functions: self.functions }
    }
}

fn eh_frame(section: &[u8]) -> EhFrame<Slice<'_>> {
    let mut eh_frame = EhFrame::new(section, LittleEndian);
    eh_frame.set_address_size(8);
    eh_frame
}

fn rule(eh_frame: &EhFrame<Slice<'_>>, row: &UnwindTableRow<usize>) -> Rule {
    if matches!(row.register(RETURN_ADDRESS), Some(RegisterRule::Undefined)) {
        return Rule::END;
    }
    let rbp_below_cfa_bytes = match row.register(RBP) {
        None | Some(RegisterRule::SameValue | RegisterRule::Undefined) => None,
        Some(RegisterRule::Offset(offset)) => Some(-offset),
        Some(RegisterRule::Expression(_)) if matches!(row.cfa(), CfaRule::Expression(_)) => None,
        Some(_) => return Rule::UNKNOWN,
    };
    let found = match row.cfa() {
        CfaRule::RegisterAndOffset { register: RSP, offset } => Rule::new(RuleKind::Rsp, *offset, rbp_below_cfa_bytes),
        CfaRule::RegisterAndOffset { register: RBP, offset } => Rule::new(RuleKind::Rbp, *offset, rbp_below_cfa_bytes),
        CfaRule::Expression(expression) => match expression.get(eh_frame) {
            Ok(Expression(bytes)) => expression_rule(bytes.slice()),
            Err(_) => None,
        },
        CfaRule::RegisterAndOffset { .. } => None,
    };
    found.unwrap_or(Rule::UNKNOWN)
}

/// The two expressions that compilers and linkers write. Opcodes: DWARF 5, section 7.7.1.
fn expression_rule(bytes: &[u8]) -> Option<Rule> {
    const BREG_RBP: u8 = 0x76;
    const BREG_RSP: u8 = 0x77;
    const BREG_RIP: u8 = 0x80;
    const DEREF: u8 = 0x06;
    const LIT0: u8 = 0x30;
    match *bytes {
        // A lazy PLT: rsp + 8 + ((rip & 15) >= n) << 3.
        [BREG_RSP, 8, BREG_RIP, 0, 0x3f, 0x1a, literal @ LIT0..=0x4f, 0x2a, 0x33, 0x24, 0x22] => {
            Rule::new(RuleKind::Plt, i64::from(literal - LIT0) * 8, None)
        }
        // A realigned stack: the word at rbp - n. One byte of SLEB128: 0x40 to 0x7f are negative.
        [BREG_RBP, below @ 0x40..=0x7f, DEREF] => Rule::new(RuleKind::Realigned, 128 - i64::from(below), None),
        _ => None,
    }
}
