//! Random filters, and what the kernel answers under them.

use super::bpf::{Instruction, Value, computed, values};
use super::tests::{ALLOW, NUMBER, install, jump, op};
use nix::libc::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// A call that never fails by itself, and that nothing else in the child makes.
const CALL: i64 = SYS_getppid;
/// Filters begin with stores in these words: the kernel refuses one that reads what it has not written.
const WORDS: u32 = 3;
const COMPUTES: [u32; 9] = [BPF_ADD, BPF_SUB, BPF_MUL, BPF_AND, BPF_OR, BPF_XOR, BPF_DIV, BPF_LSH, BPF_RSH];

/// What became of the call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    Made,
    Failed,
    Ended,
}

impl Outcome {
    /// Nobody traces the child, and no supervisor listens: then both fail with ENOSYS.
    fn of(value: Value) -> Outcome {
        match value.cast_unsigned() {
            SECCOMP_RET_ALLOW | SECCOMP_RET_LOG => Outcome::Made,
            SECCOMP_RET_ERRNO | SECCOMP_RET_TRACE | SECCOMP_RET_USER_NOTIF => Outcome::Failed,
            _ => Outcome::Ended,
        }
    }
}

/// `known`: it loads only what genba knows.
fn instruction(known: bool) -> impl Strategy<Value = Instruction> {
    let load =
        if known { prop_oneof![Just(0_u32), Just(4)].boxed() } else { (0_u32..16).prop_map(|word| word * 4).boxed() };
    let small = prop_oneof![0_u32..8, Just(CALL as u32), Just(u32::MAX), any::<u32>()];
    let source = prop_oneof![Just(BPF_K), Just(BPF_X)];
    let computes =
        prop::sample::select(vec![BPF_ADD, BPF_SUB, BPF_MUL, BPF_AND, BPF_OR, BPF_XOR, BPF_DIV, BPF_LSH, BPF_RSH]);
    let compares = prop::sample::select(vec![BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET]);
    let answers = prop::sample::select(vec![
        SECCOMP_RET_KILL_PROCESS,
        SECCOMP_RET_KILL_THREAD,
        SECCOMP_RET_TRAP,
        SECCOMP_RET_ERRNO | 5,
        SECCOMP_RET_TRACE,
        SECCOMP_RET_LOG,
        SECCOMP_RET_ALLOW,
    ]);
    prop_oneof![
        4 => load.prop_map(|at| op(BPF_LD | BPF_W | BPF_ABS, at)),
        1 => Just(op(BPF_LD | BPF_W | BPF_LEN, 0)),
        1 => Just(op(BPF_LDX | BPF_W | BPF_LEN, 0)),
        2 => (prop_oneof![Just(BPF_LD), Just(BPF_LDX)], small.clone()).prop_map(|(to, k)| op(to | BPF_IMM, k)),
        2 => (prop_oneof![Just(BPF_LD), Just(BPF_LDX)], 0..WORDS).prop_map(|(to, k)| op(to | BPF_MEM, k)),
        2 => (prop_oneof![Just(BPF_ST), Just(BPF_STX)], 0..WORDS).prop_map(|(from, k)| op(from, k)),
        2 => prop_oneof![Just(0), Just(0x80)].prop_map(|which| op(BPF_MISC | which, 0)),
        1 => Just(op(BPF_ALU | BPF_NEG, 0)),
        6 => (computes, source.clone(), small.clone()).prop_map(|(operation, source, k)| {
            // The kernel refuses a shift by more, and a division by zero.
            let k = if [BPF_LSH, BPF_RSH].contains(&operation) { k % 32 } else { k.max(1) };
            op(BPF_ALU | operation | source, if source == BPF_K { k } else { 0 })
        }),
        6 => (compares, source, small, 0_u8..6, 0_u8..6).prop_map(|(condition, source, k, if_true, if_false)| {
            jump(condition | source, if source == BPF_K { k } else { 0 }, if_true, if_false)
        }),
        1 => (0_u32..4).prop_map(|count| op(BPF_JMP | BPF_JA, count)),
        1 => answers.prop_map(|answer| op(BPF_RET, answer)),
        1 => Just(op(BPF_RET | 0x10, 0)),
    ]
}

fn filter(known: bool) -> impl Strategy<Value = Vec<Instruction>> {
    vec(instruction(known), 1..40).prop_map(|body| {
        let mut filter = vec![NUMBER, jump(BPF_JEQ, CALL as u32, 1, 0), ALLOW];
        filter.extend((0..WORDS).map(|word| op(BPF_ST, word)));
        filter.extend(body);
        // Room for the longest jump.
        filter.extend([
            NUMBER,
            NUMBER,
            NUMBER,
            op(BPF_RET, SECCOMP_RET_ERRNO | 3),
            ALLOW,
            op(BPF_RET, SECCOMP_RET_TRAP),
        ]);
        filter
    })
}

/// What the kernel does at the call, in a child under this filter.
fn kernel(filter: &[Instruction], arguments: [u64; 6]) -> Outcome {
    const NOT_SET: i32 = 99;
    // SAFETY: the child only makes system calls on memory that was made before the fork, and ends.
    let status = unsafe {
        let child = fork();
        if child == 0 {
            let no_core = rlimit { rlim_cur: 0, rlim_max: 0 };
            setrlimit(RLIMIT_CORE, &raw const no_core);
            if !install(filter) {
                _exit(NOT_SET);
            }
            let [a, b, c, d, e, f] = arguments;
            _exit(i32::from(syscall(CALL, a, b, c, d, e, f) <= 0));
        }
        let mut status = 0;
        assert_eq!(waitpid(child, &raw mut status, 0), child);
        status
    };
    match (WIFSIGNALED(status), WEXITSTATUS(status)) {
        (true, _) => Outcome::Ended,
        (false, NOT_SET) => panic!("the kernel refuses the filter"),
        (false, 0) => Outcome::Made,
        (false, _) => Outcome::Failed,
    }
}

fn outcomes(filter: &[Instruction]) -> Vec<Outcome> {
    values(filter, CALL as u32).into_iter().map(Outcome::of).collect()
}

/// Each operation on numbers at its edges: genba's result is compared by the kernel with its own.
#[test]
fn operations_compute_as_the_kernel_does() {
    const COMPARES: [u32; 4] = [BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET];
    const NUMBERS: [(u32, u32); 6] = [(7, 7), (6, 5), (5, 6), (u32::MAX, 1), (1, 33), (0x8000_0000, u32::MAX)];
    for (a, by) in NUMBERS {
        let begin =
            [NUMBER, jump(BPF_JEQ, CALL as u32, 1, 0), ALLOW, op(BPF_LDX | BPF_IMM, by), op(BPF_LD | BPF_IMM, a)];
        let fails = op(BPF_RET, SECCOMP_RET_ERRNO | 1);
        for operation in COMPUTES {
            let Ok(Some(result)) = computed(operation, Some(a), Some(by)) else { panic!("{operation:#x}") };
            let mut filter = begin.to_vec();
            filter.extend([op(BPF_ALU | operation | BPF_X, 0), jump(BPF_JEQ, result, 1, 0), fails, ALLOW]);
            assert_eq!(kernel(&filter, [0; 6]), Outcome::Made, "{operation:#x} {a} {by}");
        }
        for condition in COMPARES {
            let mut filter = begin.to_vec();
            filter.extend([jump(condition | BPF_X, 0, 1, 0), fails, ALLOW]);
            assert_eq!(outcomes(&filter), [kernel(&filter, [0; 6])], "{condition:#x} {a} {by}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn without_arguments_the_answer_is_the_kernel_s(filter in filter(true)) {
        prop_assert_eq!(outcomes(&filter), [kernel(&filter, [0; 6])]);
    }

    #[test]
    fn whatever_the_arguments_are_the_kernel_s_answer_is_among_the_answers(
        filter in filter(false),
        arguments in proptest::array::uniform6(prop_oneof![0_u64..8, any::<u64>()]),
    ) {
        let found = kernel(&filter, arguments);
        prop_assert!(outcomes(&filter).contains(&found), "{found:?}");
    }
}
