//! Which system call `restart_syscall` goes on with. A wait with a time limit goes on by that call once a stop has interrupted it: genba's own, when it
//! attaches, or that of `kill -STOP`. It hides what is waited for; the registers still hold the arguments of the first call.
//! Owns: the calls that go on so, and how their arguments differ. Never: reads memory.
//! Source: Linux, kernel/signal.c (`ERESTART_RESTARTBLOCK`); kernel/time/hrtimer.c, kernel/futex/waitwake.c, fs/select.c.

const POLL: u32 = 7;
const NANOSLEEP: u32 = 35;
const FUTEX: u32 = 202;
const RESTART_SYSCALL: u32 = 219;
const CLOCK_NANOSLEEP: u32 = 230;

/// There are a dozen clocks.
const CLOCK_MAX: u64 = 15;
/// `vm.mmap_min_addr`: below, there is no memory.
const ADDRESS_MIN: u64 = 0x1_0000;
const FUTEX_WAIT_PRIVATE: u64 = 128;
const FUTEX_WAIT_BITSET: u64 = 9;
/// `FUTEX_PRIVATE_FLAG` and `FUTEX_CLOCK_REALTIME`.
const FUTEX_FLAGS: u64 = 128 | 256;
const MATCHES_ANY: u64 = u32::MAX as u64;
/// `poll` has its limit in an `int`.
const LIMIT_MAX: u64 = u32::MAX as u64;

/// The number of the call that a thread is in, by that which the kernel tells and its arguments.
#[must_use]
pub const fn begun_as(number: u32, arguments: [u64; 6]) -> u32 {
    if number != RESTART_SYSCALL {
        return number;
    }
    let [first, second, third, fourth, _, sixth] = arguments;
    let is_bitset = second & !FUTEX_FLAGS == FUTEX_WAIT_BITSET && sixth & MATCHES_ANY == MATCHES_ANY;
    if first <= CLOCK_MAX && second == 0 && third >= ADDRESS_MIN {
        CLOCK_NANOSLEEP
    } else if first >= ADDRESS_MIN && fourth >= ADDRESS_MIN && (is_bitset || second == FUTEX_WAIT_PRIVATE) {
        FUTEX
    } else if first >= ADDRESS_MIN && second >= ADDRESS_MIN {
        NANOSLEEP
    } else if second < ADDRESS_MIN && third <= LIMIT_MAX && (first >= ADDRESS_MIN || second == 0) {
        POLL
    } else if first >= ADDRESS_MIN && second == 0 {
        NANOSLEEP
    } else {
        number
    }
}

#[cfg(test)]
mod tests {
    use super::{CLOCK_NANOSLEEP, FUTEX, NANOSLEEP, POLL, RESTART_SYSCALL, begun_as};

    const STACK: u64 = 0x7ffd_1234_5678;
    const HEAP: u64 = 0x55aa_1234_5670;
    /// What a register that the call does not use happens to hold.
    const REST: u64 = 0x7f00_0000_1234;

    #[test]
    fn a_wait_is_told_by_its_arguments() {
        let of = |arguments| begun_as(RESTART_SYSCALL, arguments);
        assert_eq!(of([1, 0, STACK, 0, REST, REST]), CLOCK_NANOSLEEP);
        assert_eq!(of([0, 0, STACK, STACK, 0, 0]), CLOCK_NANOSLEEP);
        // A semaphore and a condition of the C library, with both clocks.
        assert_eq!(of([HEAP, 0x89, 0, STACK, 0, 0xffff_ffff]), FUTEX);
        assert_eq!(of([HEAP, 0x189, 0, STACK, 0, u64::MAX]), FUTEX);
        assert_eq!(of([HEAP, 128, 1, STACK, REST, REST]), FUTEX);
        assert_eq!(of([STACK, STACK, REST, REST, REST, REST]), NANOSLEEP);
        assert_eq!(of([STACK, 0, REST, REST, REST, REST]), NANOSLEEP);
        assert_eq!(of([STACK, 1, 25_000, REST, REST, REST]), POLL);
        assert_eq!(of([HEAP, 0x89, 25_000, REST, REST, REST]), POLL, "137 descriptors");
        assert_eq!(of([0, 0, 25_000, REST, REST, REST]), POLL, "a sleep");
        assert_eq!(of([HEAP, 0, 25_000, REST, REST, REST]), POLL, "none of the descriptors that there is room for");
        assert_eq!(of([5, 3, 1, 0, 0, 0]), RESTART_SYSCALL);
    }

    #[test]
    fn other_calls_are_what_they_are() {
        assert_eq!(begun_as(1, [1, HEAP, 10, 0, 0, 0]), 1);
    }
}
