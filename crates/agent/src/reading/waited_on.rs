//! What a system call waits on: a socket, a pipe, a file, a lock of CPython.
//! Owns: which calls wait on a descriptor. Never: follows a link of /proc (what it
//! names may hang), keeps the name it leads to, says a kind where it is not sure. Keeps: I-06, I-07.

use crate::system::descriptor::Descriptor;
use crate::system::proc::Call;
use genba_format::state::WaitedOn;
use genba_python::memory::{Address, Memory};
use genba_python::waits::locks::{Lock, lock_at};
use std::ffi::CStr;
use std::io::Write;

/// `poll` on more than these waits on nothing that one word could name.
const ENTRIES_MAX: u64 = 8;
const ENTRY_BYTES: u64 = size_of::<libc::pollfd>() as u64;
/// As much of a link's text as tells the kinds apart.
const LINK_BYTES: usize = 16;

/// Calls that wait on their first argument, a descriptor.
const ON_FIRST: [i64; 29] = [
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_preadv,
    libc::SYS_pwritev,
    libc::SYS_preadv2,
    libc::SYS_pwritev2,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_connect,
    libc::SYS_ioctl,
    libc::SYS_fcntl,
    libc::SYS_flock,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_sync_file_range,
    libc::SYS_syncfs,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_getdents64,
];

/// By the beginning of the link in `fd`.
fn of_link(text: &[u8]) -> Option<WaitedOn> {
    let begins = |names: &[&str]| names.iter().any(|name| text.starts_with(name.as_bytes()));
    if begins(&["socket:["]) {
        Some(WaitedOn::Socket)
    } else if begins(&["pipe:["]) {
        Some(WaitedOn::Pipe)
    } else if begins(&["/dev/pts/", "/dev/tty", "/dev/ptmx", "/dev/console"]) {
        Some(WaitedOn::Terminal)
    } else if begins(&["/dev/"]) && !begins(&["/dev/shm/", "/dev/mqueue/", "/dev/hugepages/"]) {
        Some(WaitedOn::Device)
    } else {
        // The others, `anon_inode:[eventfd]`, are no path.
        begins(&["/"]).then_some(WaitedOn::File)
    }
}

const fn of_lock(lock: Lock) -> WaitedOn {
    match lock {
        Lock::Plain => WaitedOn::Lock,
        Lock::RLock => WaitedOn::RLock,
        Lock::SimpleQueue => WaitedOn::SimpleQueue,
    }
}

/// What a thread waits on in `call`; `None` where it is on neither a descriptor nor a lock, on several kinds, or cannot be told. The thread's clock
/// tells afterwards whether it was in that call all the time.
pub fn waited_on(call: Call, memory: &impl Memory, kind: impl Fn(u32) -> Option<WaitedOn>) -> Option<WaitedOn> {
    let [first, second] = call.arguments;
    let number = i64::from(call.number);
    if ON_FIRST.contains(&number) {
        return kind(first as u32);
    }
    if number == libc::SYS_futex {
        return lock_at(first, memory).map(of_lock);
    }
    if !matches!(number, libc::SYS_poll | libc::SYS_ppoll) || second > ENTRIES_MAX {
        return None;
    }
    let mut found = None;
    for entry in 0..second {
        let descriptor = memory.word(Address(first).at(entry * ENTRY_BYTES)).ok()? as u32;
        // The kernel passes over negative ones.
        if (descriptor as i32) < 0 {
            continue;
        }
        let one = kind(descriptor)?;
        if found.is_some_and(|found| found != one) {
            return None;
        }
        found = Some(one);
    }
    found
}

/// By the table of descriptors of the thread with that number below `/proc/self/task`: the sampler has another.
pub fn kind_in(tasks: &Descriptor, number: u32, descriptor: u32) -> Option<WaitedOn> {
    let mut path = [0_u8; 32];
    write!(path.as_mut_slice(), "{number}/fd/{descriptor}\0").ok()?;
    let mut link = [0_u8; LINK_BYTES];
    of_link(tasks.link_at(CStr::from_bytes_until_nul(&path).ok()?, &mut link)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use genba_python::memory::Fault;

    const SOCKET: u32 = 3;
    const OTHER_SOCKET: u32 = 4;
    const PIPE: u32 = 5;
    const EVENT: u32 = 6;
    const ARRAY: u64 = 0x1000;

    /// The array of `poll`, and nothing behind it.
    struct Array<'a>(&'a [i32]);

    impl Memory for Array<'_> {
        fn word(&self, address: Address) -> Result<u64, Fault> {
            let entry = address.0.checked_sub(ARRAY).ok_or(Fault)? / ENTRY_BYTES;
            let events = u64::from(libc::POLLIN as u16) << 32;
            self.0.get(entry as usize).map(|number| u64::from(*number as u32) | events).ok_or(Fault)
        }
    }

    fn kind(descriptor: u32) -> Option<WaitedOn> {
        match descriptor {
            SOCKET | OTHER_SOCKET => Some(WaitedOn::Socket),
            PIPE => Some(WaitedOn::Pipe),
            _ => None,
        }
    }

    fn of(number: i64, arguments: [u64; 2], array: &[i32]) -> Option<WaitedOn> {
        waited_on(Call { number: number as u32, arguments }, &Array(array), kind)
    }

    #[test]
    fn a_link_tells_the_kind() {
        let of = |text: &str| of_link(&text.as_bytes()[..text.len().min(LINK_BYTES)]);
        assert_eq!(of("socket:[4242424242]"), Some(WaitedOn::Socket));
        assert_eq!(of("pipe:[1]"), Some(WaitedOn::Pipe));
        assert_eq!(of("/dev/pts/12"), Some(WaitedOn::Terminal));
        assert_eq!(of("/dev/tty"), Some(WaitedOn::Terminal));
        assert_eq!(of("/dev/urandom"), Some(WaitedOn::Device));
        assert_eq!(of("/dev/hugepages/pool"), Some(WaitedOn::File));
        assert_eq!(of("/device/file"), Some(WaitedOn::File));
        assert_eq!(of("/memfd:x (deleted)"), Some(WaitedOn::File));
        for text in ["anon_inode:[eventfd]", "anon_inode:[timerfd]", "net:[4026531840]", "(unreachable)/x", ""] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn of_the_first_argument() {
        assert_eq!(of(libc::SYS_recvfrom, [SOCKET.into(), ARRAY], &[]), Some(WaitedOn::Socket));
        assert_eq!(of(libc::SYS_read, [PIPE.into(), ARRAY], &[]), Some(WaitedOn::Pipe));
        assert_eq!(of(libc::SYS_read, [EVENT.into(), ARRAY], &[]), None);
        // The kernel takes 32 bits of the register.
        assert_eq!(of(libc::SYS_read, [0xffff_ffff << 32 | u64::from(PIPE), ARRAY], &[]), Some(WaitedOn::Pipe));
    }

    #[test]
    fn not_of_calls_without_a_descriptor() {
        for number in [libc::SYS_futex, libc::SYS_epoll_wait, libc::SYS_clock_nanosleep, libc::SYS_wait4] {
            assert_eq!(of(number, [SOCKET.into(), 1], &[3]), None, "{number}");
        }
    }

    #[test]
    fn of_an_array_of_one_kind() {
        let poll = |array: &[i32]| of(libc::SYS_poll, [ARRAY, array.len() as u64], array);
        assert_eq!(poll(&[3]), Some(WaitedOn::Socket));
        assert_eq!(poll(&[3, -1, 4, !3]), Some(WaitedOn::Socket));
        assert_eq!(poll(&[3, 5]), None);
        assert_eq!(poll(&[3, 6]), None);
        assert_eq!(poll(&[-1]), None);
        assert_eq!(poll(&[]), None);
        assert_eq!(poll(&[3; 8]), Some(WaitedOn::Socket));
        assert_eq!(poll(&[3; 9]), None, "the ninth may be of another kind");
        assert_eq!(of(libc::SYS_ppoll, [ARRAY, 2], &[3]), None, "cannot be read");
    }

    #[test]
    fn each_call_has_room_below_the_kinds() {
        assert!(ON_FIRST.iter().all(|number| *number < i64::from(genba_format::state::STATES_PER_KIND)));
    }
}
