//! Each number of the accounting, wrong by one, is a violation that names it; a lost block excuses only the running sum.

use genba_format::proto::{Accounting, Block};
use genba_format::{BlockHeader, laws, read};

use crate::small;

#[test]
fn the_laws_hold_on_the_small_recording() {
    check(|_| {}, &[]);
}

#[test]
fn ticks_that_do_not_add_up_are_named() {
    check(
        |blocks| accounting(&mut blocks[0]).ticks += 1,
        &["TicksAddUp block 0 accounting.ticks: expected 7, found 8"],
    );
    check(
        |blocks| accounting(&mut blocks[0]).refused[1].ticks += 1,
        &["TicksAddUp block 0 accounting.ticks: expected 8, found 7"],
    );
    check(
        |blocks| accounting(&mut blocks[1]).dropped.clear(),
        &["TicksAddUp block 1 accounting.ticks: expected 4, found 5"],
    );
    check(
        |blocks| samples(&mut blocks[1]).ticks[1] = 2,
        &["TicksAddUp block 1 accounting.sampled: expected 3, found 4"],
    );
    check(
        |blocks| samples(&mut blocks[1]).ticks = vec![0, 4],
        &["TicksAddUp block 1 samples.ticks[0]: expected at least 1, found 0"],
    );
    check(
        |blocks| blocks[1].accounting = None,
        &["TicksAddUp block 1 accounting: expected one beside samples, found none"],
    );
}

#[test]
fn time_that_is_not_conserved_is_named() {
    check(
        |blocks| accounting(&mut blocks[0]).cpu_process_ns -= 1,
        &["TimeIsConserved block 0 accounting.cpu_process_ns: expected 25000000, found 24999999"],
    );
    check(
        |blocks| accounting(&mut blocks[0]).cpu_not_sampled_ns += 1,
        &["TimeIsConserved block 0 accounting.cpu_process_ns: expected 25000001, found 25000000"],
    );
    check(
        |blocks| samples(&mut blocks[1]).cpu_quanta[0] += 1,
        &[
            "TimeIsConserved block 1 accounting.cpu_sampled_ns: expected 6016000, found 6000000",
            "TimeIsConserved block 3 accounting.cpu_sampled_ns: expected 6016000, found 6000000",
        ],
    );
}

#[test]
fn a_waiting_sample_uses_no_cpu() {
    check(
        |blocks| samples(&mut blocks[1]).cpu_quanta = vec![189, 1],
        &["TimeIsConserved block 1 samples.cpu_quanta[1]: expected 0 in state 23, found 1"],
    );
}

/// Sums that exceed 64 bits are sums all the same.
#[test]
fn totals_may_not_wrap() {
    check(
        |blocks| {
            let accounting = accounting(&mut blocks[3]);
            accounting.cpu_genba_ns = u64::MAX;
            accounting.cpu_not_sampled_ns += 29_500_000 - 6_000_000 - 23_410_000 + 1;
        },
        &["TimeIsConserved block 3 accounting.cpu_process_ns: expected 18446744073739051616, found 29500000"],
    );
}

#[test]
fn a_lost_block_excuses_the_running_sum_alone() {
    let mut blocks = small::blocks();
    blocks.remove(1);
    blocks[2].1.accounting.as_mut().expect("accounting").ticks = 1;
    let recording = read(&small::encode(&blocks)).expect("a recording");
    let found: Vec<_> = laws::check(&recording).iter().map(text).collect();
    assert_eq!(found, ["TicksAddUp block 2 accounting.ticks: expected 0, found 1"]);
}

#[test]
fn a_measure_that_is_not_conserved_is_named() {
    check_of(small::version_3(), |_| {}, &[]);
    check_of(
        small::version_3(),
        |blocks| accounting(&mut blocks[0]).measures[0].exact += 1,
        &["TimeIsConserved block 0 accounting.measures.exact of kind 77: expected 5000, found 5001"],
    );
    check_of(
        small::version_3(),
        |blocks| blocks[0].weights[0].weight[0] -= 1,
        &[
            "TimeIsConserved block 0 accounting.measures.sampled of kind 77: expected 4099, found 4100",
            "TimeIsConserved block 1 accounting.measures.sampled of kind 77: expected 4099, found 4100",
            "TimeIsConserved block 3 accounting.measures.sampled of kind 77: expected 4099, found 4100",
        ],
    );
}

fn check(change: impl FnOnce(&mut [Block]), expected: &[&str]) {
    check_of(small::blocks(), change, expected);
}

fn check_of(blocks: Vec<(BlockHeader, Block)>, change: impl FnOnce(&mut [Block]), expected: &[&str]) {
    let (headers, mut blocks): (Vec<_>, Vec<_>) = blocks.into_iter().unzip();
    change(&mut blocks);
    let blocks: Vec<_> = headers.into_iter().zip(blocks).collect();
    let recording = read(&small::encode(&blocks)).expect("a recording");
    assert_eq!(recording.faults, []);
    let found: Vec<_> = laws::check(&recording).iter().map(text).collect();
    assert_eq!(found, expected);
}

fn text(violation: &laws::Violation) -> String {
    let laws::Violation { law, block, field, expected, found, .. } = violation;
    format!("{law:?} block {block} {field}: expected {expected}, found {found}")
}

fn accounting(block: &mut Block) -> &mut Accounting {
    block.accounting.as_mut().expect("accounting")
}

fn samples(block: &mut Block) -> &mut genba_format::proto::Samples {
    block.samples.as_mut().expect("samples")
}
