//! The merge as text: native frames `name@cfa` innermost first, Python frames by name, `^address` a shim.

use super::{Circumstances, Mark, Merged, Python, calls_by_table, interleave, merge};
use crate::stack::native::{NativeEnd, NativeFrame};

/// Merges and spells the result innermost first; a native frame named `-f` had `f`'s callee hidden by a tail call,
/// `+f` says that an eval loop calls the instructions' own functions, `!f` that it is an eval loop of a thread in several interpreters.
fn check(native: &str, python: &str, end: NativeEnd, expected: &str) {
    let names: Vec<&str> = native.split_whitespace().collect();
    let frames: Vec<NativeFrame> = names
        .iter()
        .map(|name| NativeFrame { pc: 1, cfa: name.split_once('@').map_or(0, |(_, cfa)| cfa.parse().unwrap()) })
        .collect();
    let hidden: Vec<bool> = names.iter().map(|name| name.starts_with('-')).collect();
    let instructions_apart = names.iter().any(|name| name.starts_with('+'));
    let entries = entries(python);
    let eval_loops: Vec<bool> = names.iter().map(|name| name.starts_with('!')).collect();
    let python_cut =
        (!python.is_empty() && !python.ends_with(|last: char| last.is_ascii_digit())).then_some(Mark::PythonCut);
    let circumstances =
        Circumstances { native_end: end, python_cut, hidden: &hidden, instructions_apart, eval_loops: &eval_loops };
    let name =
        |position: usize| names[position].trim_start_matches(['-', '+', '!']).split('@').next().unwrap().to_owned();
    let merged: Vec<String> = merge(&frames, &entries, circumstances)
        .iter()
        .map(|frame| match *frame {
            Merged::Python(frame) => frame.to_owned(),
            Merged::Native(position) => name(position),
            Merged::InferredCall { caller } => format!("?{}", name(caller)),
            Merged::InferredOperand => "operand".to_owned(),
            Merged::Mark(mark) => format!("[{mark:?}]"),
        })
        .collect();
    assert_eq!(merged.join(" "), expected, "{native} | {python}");
}

fn entries(python: &str) -> Vec<Python<&str>> {
    python
        .split_whitespace()
        .map(|entry| match entry.strip_prefix('^') {
            Some(address) => Python::Shim(address.parse().unwrap()),
            None => Python::Frame(entry),
        })
        .collect()
}

/// The chains of several thread states, separated by bars, as one.
fn check_chains(chains: &str, expected: Option<&str>) {
    let chains: Vec<Vec<Python<&str>>> = chains.split('|').map(entries).collect();
    let chains: Vec<&[Python<&str>]> = chains.iter().map(Vec::as_slice).collect();
    assert_eq!(interleave(&chains), expected.map(entries), "{chains:?}");
}

#[test]
fn chains_of_several_interpreters_follow_each_other_on_the_stack() {
    check_chains("f ^50 | g ^150", Some("f ^50 g ^150"));
    check_chains("g ^150 | f ^50", Some("f ^50 g ^150"));
    check_chains("a ^10 b c ^90 | d ^40 | e ^20 f ^190", Some("a ^10 e ^20 d ^40 b c ^90 f ^190"));
    check_chains("|f ^50|", Some("f ^50"));
    check_chains("", Some(""));
}

#[test]
fn a_cut_chain_has_its_place_at_the_end_only() {
    check_chains("f ^50 | g ^150 h", Some("f ^50 g ^150 h"));
    check_chains("f ^50 h | g ^150", None);
    check_chains("f ^50 h | g ^150 i", None);
    check_chains("h | g ^150", None);
}

#[test]
fn chains_that_jump_have_no_order_among_others() {
    check_chains("f ^50 g ^20", Some("f ^50 g ^20"));
    check_chains("f ^50 g ^20 | h ^100", None);
}

#[test]
fn python_frames_replace_the_eval_loop_that_runs_them() {
    check("memmove@100 getitem@110 eval@200 main@300", "f g ^150", NativeEnd::Complete, "memmove getitem f g main");
}

#[test]
fn each_run_of_the_eval_loop_takes_its_own_frames() {
    check(
        "leaf@10 eval@100 sort@120 eval@200 main@300",
        "key ^50 body top ^190",
        NativeEnd::Complete,
        "leaf key sort body top main",
    );
}

#[test]
fn a_shim_on_the_boundary_belongs_to_the_frame_above_it() {
    check("a@100 eval@200 main@300", "f ^100", NativeEnd::Complete, "a f main");
    check("eval@100 b@200 main@300", "f ^99", NativeEnd::Complete, "f b main");
}

#[test]
fn an_eval_loop_without_frames_yet_stays_a_c_frame() {
    check("eval@100 vectorcall@150 eval@200 main@300", "f ^160", NativeEnd::Complete, "eval vectorcall f main");
}

#[test]
fn python_frames_replace_the_instruction_that_runs_them() {
    check("getitem@50 slice@100 +eval@200 main@300", "f ^150", NativeEnd::Complete, "getitem f main");
    check("slot@40 -slice@100 +eval@200 main@300", "f ^150", NativeEnd::Complete, "slot ?slice f main");
    check("slice@100 +eval@200 main@300", "f ^150", NativeEnd::Complete, "f main");
    check("+eval@200 main@300", "f ^150", NativeEnd::Complete, "f main");
    check(
        "add@90 +eval@100 sort@120 call@150 +eval@200 main@300",
        "f ^95 g ^190",
        NativeEnd::Complete,
        "f sort g main",
    );
}

#[test]
fn an_empty_group_makes_its_eval_loop_vanish() {
    check("a@10 eval@100 b@150 eval@200 main@300", "^50 f ^160", NativeEnd::Complete, "a b f main");
}

#[test]
fn an_eval_loop_below_frames_has_frames_or_a_mark() {
    let all = "leaf@10 !eval@100 run@150 !eval@200 main@300";
    check(all, "f ^50 g ^190", NativeEnd::Complete, "leaf f run g main");
    // A thread state was not found: of the outer interpreter, of the inner one.
    check(all, "f ^50", NativeEnd::Complete, "leaf f [PythonNotFound] run eval main");
    check(all, "g ^190", NativeEnd::Complete, "leaf eval run g main");
    let three = "!eval@100 run@150 !eval@200 run@250 !eval@300";
    check(three, "f ^50 h ^290", NativeEnd::Complete, "f [PythonNotFound] run eval run h");
    check(all, "f ^50 g ^310", NativeEnd::NoRule, "leaf f [PythonNotFound] run eval main [NativeCut(NoRule)] g");
}

#[test]
fn hidden_functions_stand_between_caller_and_callee() {
    check("leaf@10 -mid@20 -eval@100 main@300", "f ^50", NativeEnd::Complete, "leaf ?mid mid ?eval f main");
}

#[test]
fn what_an_eval_loop_hid_above_the_next_one_is_left_out() {
    // The callee of `call` is an eval loop: how it got there is the interpreter's own business.
    check("eval@100 -call@150 eval@200 main@300", "f ^50 g ^190", NativeEnd::Complete, "f call g main");
}

#[test]
fn a_cut_c_stack_keeps_all_python_frames() {
    check(
        "leaf@10 eval@100 sort@120 lost@130",
        "key ^50 body ^190",
        NativeEnd::NoRule,
        "leaf key sort lost [NativeCut(NoRule)] body",
    );
}

#[test]
fn frames_that_do_not_fit_lose_their_native_half_and_say_so() {
    check("a@10 eval@100 main@300", "f ^150 g ^500", NativeEnd::Complete, "[NativeLeftOut] f g");
}

#[test]
fn without_native_frames_python_stands_alone() {
    check("", "f g ^150", NativeEnd::Off, "f g");
}

#[test]
fn cut_python_frames_are_marked() {
    check("leaf@10 eval@100 main@300", "f ^50 g", NativeEnd::Complete, "leaf f g [PythonCut] main");
}

/// Nothing is shown twice or in another order, whatever the shims say (seeded, 20,000 stacks).
#[test]
fn each_frame_appears_at_most_once_and_in_order() {
    let mut seed = 0x9E37_79B9_u64;
    let mut random = |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % below
    };
    for _ in 0..20_000 {
        let mut cfa = 0;
        let native: Vec<NativeFrame> = (0..random(8))
            .map(|_| {
                cfa += 1 + random(20);
                NativeFrame { pc: 1, cfa }
            })
            .collect();
        let mut next = 0;
        let python: Vec<Python<u64>> = (0..random(10))
            .map(|_| {
                if random(3) == 0 {
                    Python::Shim(random(120))
                } else {
                    next += 1;
                    Python::Frame(next)
                }
            })
            .collect();
        let native_end = if random(2) == 0 { NativeEnd::Complete } else { NativeEnd::Fault };
        let hidden = vec![random(2) == 0; native.len()];
        let merged = merge(
            &native,
            &python,
            Circumstances {
                native_end,
                python_cut: None,
                hidden: &hidden,
                instructions_apart: random(2) == 0,
                eval_loops: &[],
            },
        );
        let (mut last_python, mut last_native) = (0, None);
        for frame in &merged {
            match *frame {
                Merged::Python(frame) => {
                    assert_eq!(frame, last_python + 1);
                    last_python = frame;
                }
                Merged::Native(position) => {
                    assert!(last_native.is_none_or(|last| last < position));
                    last_native = Some(position);
                }
                _ => {}
            }
        }
        assert_eq!(last_python, next, "every Python frame is there: {native:?} {python:?}");
    }
}

#[test]
fn calls_by_a_table_of_addresses_are_told_from_others() {
    let calls = |code: &[u8]| {
        let mut bytes = [0; 8];
        bytes[..code.len()].copy_from_slice(code);
        calls_by_table(u64::from_le_bytes(bytes))
    };
    assert!(calls(&[0xff, 0x14, 0xc5, 0x60, 0x68, 0xfc, 0x00]), "call *0xfc6860(,%rax,8)");
    assert!(calls(&[0xff, 0x14, 0xc1]), "call *(%rcx,%rax,8)");
    assert!(!calls(&[0xff, 0x14, 0x24]), "call *(%rsp)");
    assert!(!calls(&[0xff, 0x50, 0x30]), "call *0x30(%rax)");
    assert!(!calls(&[0xff, 0x24, 0xc5]), "jmp *table(,%rax,8)");
    assert!(!calls(&[0xe8, 0x14, 0xc5]), "call, to an address");
}
