//! From `.eh_frame` to flat rows.
//! Owns: which call-frame rules become which row kind. Never: runs in the handler, keeps what it does not understand (such a
//! stretch is a row UNKNOWN). Partner: genba_signal::unwind reads the rows.

use genba_signal::rows::{Row, Rule, RuleKind};
use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameOffset, EndianSlice, Expression, LittleEndian, Register, RegisterRule,
    UnwindContext, UnwindSection, UnwindTableRow,
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

/// A file on its way to rows, a piece at a time: the sampler must not miss its ticks for a large one.
pub struct Compiler {
    section: Vec<u8>,
    position: Position,
    /// Where the functions' entries begin in the section; those before `next` are done.
    entries: Vec<u32>,
    next: usize,
    context: Box<UnwindContext<usize>>,
    rows: Rows,
    functions: Vec<(u32, u32)>,
    are_functions_sorted: bool,
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
    /// `entries`: where each function's entry begins in the section, best in the order of the functions.
    #[must_use]
    pub fn new(section: Vec<u8>, entries: Vec<u32>, position: Position) -> Compiler {
        Compiler {
            section,
            position,
            entries,
            next: 0,
            context: Box::new(UnwindContext::new()),
            rows: Rows { rows: Vec::new(), are_sorted: true },
            functions: Vec::new(),
            are_functions_sorted: true,
        }
    }

    /// Compiles up to `entries` more functions. True: all are done.
    pub fn advance(&mut self, entries: usize) -> bool {
        let until = self.entries.len().min(self.next + entries);
        let Position { section_address, header_address, start, end } = self.position;
        let bases =
            BaseAddresses::default().set_eh_frame(section_address).set_eh_frame_hdr(header_address).set_text(start);
        let eh_frame = eh_frame(&self.section);
        for &offset in &self.entries[self.next..until] {
            let offset = EhFrameOffset(offset as usize);
            let cie = |_: &EhFrame<Slice<'_>>, bases: &BaseAddresses, offset| eh_frame.cie_from_offset(bases, offset);
            let Ok(fde) = eh_frame.fde_from_offset(&bases, offset, cie) else { continue };
            let (first, behind) = (fde.initial_address(), fde.end_address());
            if first < start || behind > end || first >= behind || behind - start > u64::from(u32::MAX) {
                continue;
            }
            let function = ((first - start) as u32, (behind - start) as u32);
            self.are_functions_sorted &= self.functions.last().is_none_or(|&before| before < function);
            self.functions.push(function);
            let signal = fde.is_signal_trampoline();
            let before = self.rows.rows.len();
            let rows = &mut self.rows;
            let complete = fde.rows(&eh_frame, &bases, &mut self.context).is_ok_and(|mut table| {
                loop {
                    match table.next_row() {
                        // BOLT writes a row for the end itself, where the next function begins.
                        Ok(Some(row)) if row.start_address() >= behind => {}
                        Ok(Some(row)) => {
                            let rule = if signal { Rule::SIGNAL } else { rule(&eh_frame, row) };
                            rows.push(row.start_address().wrapping_sub(start) as u32, rule);
                        }
                        Ok(None) => return true,
                        Err(_) => return false,
                    }
                }
            });
            if !complete {
                rows.rows.truncate(before);
                rows.push(function.0, Rule::UNKNOWN);
            }
            rows.push(function.1, Rule::UNKNOWN);
        }
        self.next = until;
        until == self.entries.len()
    }

    /// The rows, sorted and without repetitions.
    #[must_use]
    pub fn finish(mut self) -> Compiled {
        if !self.are_functions_sorted {
            self.functions.sort();
            self.functions.dedup();
        }
        Compiled { rows: self.rows.finish(), functions: self.functions }
    }
}

/// Rows as they come: functions in the order of their code give sorted ones, and nothing is left to do at the end.
struct Rows {
    rows: Vec<Row>,
    are_sorted: bool,
}

impl Rows {
    fn push(&mut self, start: u32, rule: Rule) {
        let row = Row { start, rule };
        match self.rows.last_mut() {
            // The end of one function gives way to the beginning of the next at the same place.
            Some(last) if last.start == start && self.are_sorted => *last = row,
            Some(last) if last.rule == rule && last.start < start && self.are_sorted => {}
            last => {
                self.are_sorted &= last.is_none_or(|last| last.start < start);
                self.rows.push(row);
            }
        }
    }

    fn finish(mut self) -> Vec<Row> {
        if !self.are_sorted {
            // At one place, what a function says comes behind the end of another.
            self.rows.sort_by_key(|row| (row.start, row.rule != Rule::UNKNOWN));
            let mut sorted = Rows { rows: Vec::with_capacity(self.rows.len()), are_sorted: true };
            for row in self.rows {
                sorted.push(row.start, row.rule);
            }
            self.rows = sorted.rows;
        }
        self.rows.shrink_to_fit();
        self.rows
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

#[cfg(test)]
mod tests {
    use super::{Rows, Rule};
    use genba_signal::rows::RuleKind;

    /// Rows of functions at `start..end`, each with one rule, in this order.
    fn rows(functions: &[(u32, u32, Rule)]) -> Vec<(u32, Rule)> {
        let mut rows = Rows { rows: Vec::new(), are_sorted: true };
        for &(start, end, rule) in functions {
            rows.push(start, rule);
            rows.push(end, Rule::UNKNOWN);
        }
        rows.finish().iter().map(|row| (row.start, row.rule)).collect()
    }

    #[test]
    fn the_order_of_the_functions_changes_nothing() {
        let rule = |bytes| Rule::new(RuleKind::Rsp, bytes, None).unwrap();
        let mut functions = [(0, 16, rule(8)), (16, 40, rule(16)), (64, 80, rule(16)), (80, 90, rule(24))];
        let expected =
            [(0, rule(8)), (16, rule(16)), (40, Rule::UNKNOWN), (64, rule(16)), (80, rule(24)), (90, Rule::UNKNOWN)];
        for turn in 0..functions.len() {
            assert_eq!(rows(&functions), expected, "turned {turn} times");
            functions.rotate_left(1);
        }
        functions.reverse();
        assert_eq!(rows(&functions), expected);
    }
}
