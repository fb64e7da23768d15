//! The walk by flat tables, on stacks made of text: each rule kind, each reason to end. Cites I-06, I-07.

use genba_python::memory::{Address, Fault, Memory};
use genba_signal::rows::{ModuleRows, Modules, Registers, Row, Rule, RuleKind};
use genba_signal::unwind::{NATIVE_MAX, Walk};
use std::collections::HashMap;

/// Memory that holds only what was put there.
#[derive(Default)]
struct Words(HashMap<u64, u64>);

impl Memory for Words {
    fn word(&self, address: Address) -> Result<u64, Fault> {
        self.0.get(&address.0).copied().ok_or(Fault)
    }
}

/// A table for one module at 0x1000..0x2000 with a row for each rule, 0x100 apart.
fn with_table<T>(rules: &[Rule], use_table: impl FnOnce(&Modules) -> T) -> T {
    let rows: Vec<Row> = (0..).zip(rules).map(|(n, &rule)| Row { start: n * 0x100, rule }).collect();
    let modules = [ModuleRows { start: 0x1000, end: 0x2000, rows: rows.as_ptr(), rows_len: rows.len() }];
    // SAFETY: atomics, for which zero is a value.
    let cache = unsafe { Box::new_zeroed().assume_init() };
    let table = Modules { modules: modules.as_ptr(), modules_len: 1, generation: 7, cache: &raw const *cache };
    use_table(&table)
}

/// Walks from pc 0x1010 with rsp 0x8000; `words` is `address=value …` in hex. The result is `pc/cfa … end`.
fn check(rules: &[Rule], rbp: Option<u64>, words: &str, expected: &str) {
    let hex = |text: &str| u64::from_str_radix(text, 16).unwrap();
    let memory = Words(
        words.split_whitespace().map(|word| word.split_once('=').unwrap()).map(|(a, v)| (hex(a), hex(v))).collect(),
    );
    let seen = with_table(rules, |table| {
        let mut walk = Walk::new(Registers { rip: 0x1010, rsp: 0x8000, rbp });
        let mut seen = String::new();
        for _ in 0..NATIVE_MAX {
            match walk.step(&memory, table) {
                Ok(frame) => seen += &format!("{:x}/{:x} ", frame.pc, frame.cfa),
                Err((frame, end)) => return seen + &format!("{:x}/{:x} {end:?}", frame.pc, frame.cfa),
            }
        }
        seen + "…"
    });
    assert_eq!(seen, expected);
}

fn rsp(bytes: i64, rbp: Option<i64>) -> Rule {
    Rule::new(RuleKind::Rsp, bytes, rbp).unwrap()
}

#[test]
fn the_caller_is_found_from_rsp_and_ends_where_its_return_address_is_undefined() {
    check(&[rsp(16, None), Rule::END], None, "8008=1150", "1010/8010 1150/8010 Complete");
}

#[test]
fn a_return_address_behind_the_function_belongs_to_it() {
    // 0x1200 is the first byte of the next row: the call before it ends the row before.
    check(&[rsp(16, None), Rule::END, Rule::UNKNOWN], None, "8008=1200", "1010/8010 1200/8010 Complete");
}

#[test]
fn a_saved_rbp_is_used_by_the_caller() {
    let rbp_based = Rule::new(RuleKind::Rbp, 16, None).unwrap();
    check(
        &[rsp(24, Some(16)), rbp_based, Rule::END],
        None,
        "8010=1150 8008=9000 9008=1250",
        "1010/8018 1150/9010 1250/9010 Complete",
    );
}

#[test]
fn a_sleeper_without_rbp_ends_where_rbp_is_needed() {
    check(&[Rule::new(RuleKind::Rbp, 16, None).unwrap()], None, "", "1010/8000 NoFramePointer");
}

#[test]
fn a_realigned_stack_keeps_its_cfa_in_memory() {
    let realigned = Rule::new(RuleKind::Realigned, 8, None).unwrap();
    check(&[realigned, Rule::END], Some(0x8100), "80f8=8200 8100=9000 81f8=1150", "1010/8200 1150/8200 Complete");
}

#[test]
fn a_plt_entry_has_pushed_its_number_from_its_eleventh_byte_on() {
    let plt = Rule::new(RuleKind::Plt, 11 * 8, None).unwrap();
    // pc & 15 is 0: nothing is pushed yet.
    check(&[plt, Rule::END], None, "8000=1150", "1010/8008 1150/8008 Complete");
}

#[test]
fn a_signal_frame_leads_to_what_was_interrupted() {
    // rsp + 40 + 80, 120, 128: rbp, rsp, rip. The interrupted pc is exact: its row is its own.
    check(
        &[Rule::SIGNAL, rsp(8, None), Rule::END],
        None,
        "8078=1 80a0=a000 80a8=1100 a000=1250",
        "1010/8008 1100/a008 1250/a008 Complete",
    );
}

#[test]
fn a_word_of_the_stack_is_no_return_address() {
    let rbp_based = Rule::new(RuleKind::Rbp, 16, None).unwrap();
    // The unwind data knows of no `push rbp`: the frame pointer lies in the return address's place, and that one above it.
    let rules = [rsp(8, None), rbp_based, Rule::END];
    check(&rules, None, "8000=8100 8008=1150 8108=1250", "1010/8010 1150/8110 1250/8110 Complete");
    check(&[rsp(8, None), Rule::UNKNOWN], None, "8000=8100 8008=1150", "1010/8008 NotRising");
    check(&[rsp(8, None)], None, "8000=8100 8008=77", "1010/8008 NotRising");
    check(&[rsp(8, None)], None, "8000=8100", "1010/8008 NotRising");
    check(&rules, None, "8000=1050 8008=8100 8010=1150", "1010/8008 1050/8010 NotRising");
    // Code may begin at any byte, and lie far from the stack.
    check(&[rsp(8, None)], None, "8000=8101", "1010/8008 8101/8008 NoModule");
    check(&[rsp(8, None)], None, "8000=7000", "1010/8008 7000/8008 NoModule");
    check(&[rsp(8, None)], None, "8000=18008", "1010/8008 18008/8008 NoModule");
}

#[test]
fn each_reason_to_end_is_told() {
    check(&[rsp(16, None)], None, "", "1010/8010 Fault");
    check(&[rsp(16, None)], None, "8008=77", "1010/8010 77/8010 NoModule");
    check(&[rsp(16, None), Rule::UNKNOWN], None, "8008=1150", "1010/8010 1150/8010 NoRule");
    check(&[rsp(16, None)], None, "8008=0", "1010/8010 Complete");
    check(&[Rule::new(RuleKind::Rbp, 16, None).unwrap()], Some(0x10), "", "1010/8000 NotRising");
}

#[test]
fn frames_may_be_large() {
    // The largest of the small frames, and of the large ones.
    for (cfa_bytes, rbp_bytes) in [(0x7_fff8, 0x7ff8), (0x8_0000, 16), (0x9_27e0, 0x78), (0x7ff_fff8, 0x78)] {
        let (cfa, rbp_at) = (0x8000 + cfa_bytes, 0x8000 + cfa_bytes - rbp_bytes);
        check(
            &[rsp(cfa_bytes, Some(rbp_bytes)), Rule::new(RuleKind::Rbp, 16, None).unwrap(), Rule::END],
            None,
            &format!("{:x}=1150 {rbp_at:x}=10000000 10000008=1250", cfa - 8),
            &format!("1010/{cfa:x} 1150/10000010 1250/10000010 Complete"),
        );
    }
    check(&[rsp(0x9_27e0, None), Rule::END], Some(1), "9a7d8=1150", "1010/9a7e0 1150/9a7e0 Complete");
}

#[test]
fn rules_that_do_not_fit_are_refused() {
    assert_eq!(Rule::new(RuleKind::Rsp, -8, None), None);
    assert_eq!(Rule::new(RuleKind::Rsp, 12, None), None);
    assert_eq!(Rule::new(RuleKind::Rsp, 8 << 24, None), None);
    assert_eq!(Rule::new(RuleKind::Rsp, 8, Some(8 << 12)), None);
    assert_eq!(Rule::new(RuleKind::Rsp, 8 << 16, Some(8 << 4)), None);
}

#[test]
fn the_cache_answers_as_the_search_does() {
    with_table(&[rsp(8, None), rsp(16, None), Rule::END], |table| {
        for _ in 0..2 {
            for pc in 0x0ff0..0x2010 {
                assert_eq!(table.rule(pc), table.search(pc), "{pc:#x}");
            }
        }
    });
}

#[test]
fn the_caches_answer_as_the_search_does_where_rows_are_dense_or_far_between() {
    // Gaps of 1 to 200 bytes, from a fixed recurrence; two modules, the second begins where nothing is known.
    let gap = |n: u32| if n.is_multiple_of(7) { 200 } else { 1 + n * 37 % 5 };
    let mut starts = vec![0_u32];
    (1..900).for_each(|n| starts.push(starts[n as usize - 1] + gap(n)));
    let rows: Vec<Row> = (0..).zip(&starts).map(|(n, &start)| Row { start, rule: rsp(8 * (n % 9), None) }).collect();
    let end = 0x1000 + u64::from(starts[899]) + 50;
    let second = end + 0x123;
    let late: Vec<Row> = rows.iter().map(|row| Row { start: row.start + 70, rule: row.rule }).collect();
    let modules = [
        ModuleRows { start: 0x1000, end, rows: rows.as_ptr(), rows_len: rows.len() },
        ModuleRows { start: second, end: second + 20_000, rows: late.as_ptr(), rows_len: late.len() },
    ];
    // SAFETY: atomics, for which zero is a value.
    let cache = unsafe { Box::new_zeroed().assume_init() };
    for generation in [7, 8] {
        let table = Modules { modules: modules.as_ptr(), modules_len: 2, generation, cache: &raw const *cache };
        for step in [1_u64, 7919] {
            for n in 0..=(second + 21_000 - 0xff0) {
                let pc = 0xff0 + n * step % (second + 21_000 - 0xff0);
                assert_eq!(table.rule(pc), table.search(pc), "{pc:#x}");
            }
        }
    }
}

#[test]
fn no_generation_is_taken_for_another() {
    let (old, new) = ([Row { start: 0, rule: rsp(16, None) }], [Row { start: 0, rule: rsp(24, None) }]);
    let table = |rows: &[Row; 1], generation: u64, cache: *const _, pc: u64| {
        let module = ModuleRows { start: 0x1000, end: 0x2000, rows: rows.as_ptr(), rows_len: 1 };
        Modules { modules: &raw const module, modules_len: 1, generation, cache }.rule(pc)
    };
    for later in [1, 1 << 8, 1 << 16, 3 << 16, 1 << 28, 1 << 48] {
        // SAFETY: atomics, for which zero is a value.
        let cache: Box<_> = unsafe { Box::new_zeroed().assume_init() };
        for pc in 0x1000..0x1100 {
            assert_eq!(table(&old, 1, &raw const *cache, pc), Some(old[0].rule));
        }
        for pc in 0x1000..0x1100 {
            assert_eq!(table(&new, 1 + later, &raw const *cache, pc), Some(new[0].rule), "{later} generations later");
        }
    }
}
