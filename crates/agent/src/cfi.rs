//! From `.eh_frame` to flat rows.
//! Owns: which call-frame rules become which row kind. Never: runs in the handler, keeps what it does not understand (such a
//! stretch is a row UNKNOWN). Partner: genba_signal::unwind reads the rows.

use genba_signal::unwind::{Row, Rule, RuleKind};
use gimli::{
    BaseAddresses, CfaRule, CieOrFde, EhFrame, EndianSlice, Expression, LittleEndian, Register, RegisterRule,
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

/// Compiles the section that lies at `section_address`; `start..end` is the file's executable memory.
#[must_use]
pub fn compile(section: &[u8], section_address: u64, header_address: u64, start: u64, end: u64) -> Compiled {
    let mut eh_frame = EhFrame::new(section, LittleEndian);
    eh_frame.set_address_size(8);
    let bases = BaseAddresses::default().set_eh_frame(section_address).set_eh_frame_hdr(header_address).set_text(start);
    let mut context = Box::new(UnwindContext::new());
    let mut rows: Vec<(u64, bool, Rule)> = Vec::new();
    let mut functions = Vec::new();
    let mut entries = eh_frame.entries(&bases);
    // A damaged entry ends the section: what came before it stays.
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else { continue };
        let Ok(fde) = partial.parse(|_, bases, offset| eh_frame.cie_from_offset(bases, offset)) else { continue };
        let (first, behind) = (fde.initial_address(), fde.end_address());
        if first < start || behind > end || first >= behind {
            continue;
        }
        functions.push(((first - start) as u32, (behind - start) as u32));
        let signal = fde.is_signal_trampoline();
        let before = rows.len();
        let complete = fde.rows(&eh_frame, &bases, &mut context).is_ok_and(|mut table| {
            loop {
                match table.next_row() {
                    Ok(Some(row)) => {
                        let rule = if signal { Rule::SIGNAL } else { rule(&eh_frame, row) };
                        rows.push((row.start_address(), true, rule));
                    }
                    Ok(None) => return true,
                    Err(_) => return false,
                }
            }
        });
        if !complete {
            rows.truncate(before);
            rows.push((first, true, Rule::UNKNOWN));
        }
        rows.push((behind, false, Rule::UNKNOWN));
    }
    // The end of one function gives way to the beginning of the next at the same address.
    rows.sort_by_key(|&(address, begins, _)| (address, begins));
    let mut compiled = Compiled::default();
    for (address, _, rule) in rows {
        let row = Row { start: (address - start) as u32, rule };
        match compiled.rows.last_mut() {
            Some(last) if last.start == row.start => *last = row,
            Some(last) if last.rule == row.rule => {}
            _ => compiled.rows.push(row),
        }
    }
    functions.sort_unstable();
    functions.dedup();
    compiled.rows.shrink_to_fit();
    compiled.functions = functions;
    compiled
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
