//! A descriptor.
//! Owns: opening, closing, passing descriptors to another thread's table (table.rs). Never: leaves one open by accident, keeps a number
//! that belongs to another table (`forget`, `into_number`).

use crate::system::errno;
use crate::system::own_ids::own_pid;
use std::ffi::{CStr, c_void};

mod table;
pub use table::{descriptor_limit, own_table};

/// A number in the table of the thread that made it.
#[derive(Debug)]
pub struct Descriptor(i32);

/// Which file it is, whatever its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identity {
    pub device: u64,
    pub inode: u64,
}

/// The abstract name that the kernel chooses for a socket: five letters (unix(7), "autobind").
pub type Name = [u8; 8];
const NAME_LETTERS: usize = 5;

impl Descriptor {
    /// # Errors
    /// The `errno` of `openat`.
    pub fn open_at(folder: Option<&Descriptor>, path: &CStr, flags: i32) -> Result<Descriptor, i32> {
        let folder = folder.map_or(libc::AT_FDCWD, |folder| folder.0);
        // SAFETY: the path ends in NUL; no other memory.
        let descriptor = unsafe { libc::openat(folder, path.as_ptr(), flags | libc::O_CLOEXEC) };
        if descriptor < 0 { Err(errno::get()) } else { Ok(Descriptor(descriptor)) }
    }

    /// The beginning of what a symbolic link below this folder says, as far as `buffer` goes. The link is not followed.
    #[must_use]
    pub fn link_at<'a>(&self, path: &CStr, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
        // SAFETY: the path ends in NUL; writes at most `buffer.len()` bytes into it.
        let read = unsafe { libc::readlinkat(self.0, path.as_ptr(), buffer.as_mut_ptr().cast(), buffer.len()) };
        buffer.get(..usize::try_from(read).ok()?)
    }

    /// Reads from the beginning into `buffer`.
    #[must_use]
    pub fn read_at_start<'a>(&self, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
        // SAFETY: writes at most `buffer.len()` bytes into it.
        let read = unsafe { libc::pread(self.0, buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        buffer.get(..usize::try_from(read).ok()?)
    }

    /// So many bytes from an offset on. `None`: there are fewer.
    #[must_use]
    pub fn read_at(&self, offset: u64, count: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0_u8; count];
        // SAFETY: writes at most `count` bytes into the vector.
        let read = unsafe { libc::pread(self.0, bytes.as_mut_ptr().cast(), count, offset.cast_signed()) };
        (usize::try_from(read) == Ok(count)).then_some(bytes)
    }

    /// Reads on.
    #[must_use]
    pub fn read<'a>(&self, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
        // SAFETY: writes at most `buffer.len()` bytes into it.
        let read = unsafe { libc::read(self.0, buffer.as_mut_ptr().cast(), buffer.len()) };
        buffer.get(..usize::try_from(read).ok()?)
    }

    /// One write.
    ///
    /// # Errors
    /// The `errno`, or 0 with fewer bytes written than asked.
    pub fn write(&self, bytes: &[u8]) -> Result<(), i32> {
        // SAFETY: reads `bytes.len()` bytes from it.
        let written = unsafe { libc::write(self.0, bytes.as_ptr().cast(), bytes.len()) };
        match usize::try_from(written) {
            Ok(written) if written == bytes.len() => Ok(()),
            Ok(_) => Err(0),
            Err(_) => Err(errno::get()),
        }
    }

    #[must_use]
    pub const fn number(&self) -> i32 {
        self.0
    }

    /// Gives the number away: it is not closed here.
    #[must_use]
    pub const fn into_number(self) -> i32 {
        let number = self.0;
        std::mem::forget(self);
        number
    }

    /// Takes a number of this thread's table: it is closed here.
    #[must_use]
    pub const fn from_number(number: i32) -> Descriptor {
        Descriptor(number)
    }

    /// The same file under a number of at least `low`, where the limit allows one.
    #[must_use]
    pub fn moved_up(self, low: i32) -> Descriptor {
        // SAFETY: plain numbers.
        match unsafe { libc::fcntl(self.0, libc::F_DUPFD_CLOEXEC, low) } {
            -1 => self,
            number => Descriptor(number),
        }
    }

    /// Whether somebody else holds the file's one exclusive lock (flock(2)).
    #[must_use]
    pub fn is_locked_by_another(&self) -> bool {
        // SAFETY: plain numbers.
        unsafe {
            if libc::flock(self.0, libc::LOCK_SH | libc::LOCK_NB) != 0 {
                return errno::get() == libc::EWOULDBLOCK;
            }
            libc::flock(self.0, libc::LOCK_UN);
        }
        false
    }

    #[must_use]
    pub fn identity(&self) -> Option<Identity> {
        // SAFETY: writes one stat on this stack.
        unsafe {
            let mut found: libc::stat = core::mem::zeroed();
            (libc::fstat(self.0, &raw mut found) == 0).then_some(Identity { device: found.st_dev, inode: found.st_ino })
        }
    }

    #[must_use]
    pub fn is_regular(&self) -> bool {
        // SAFETY: writes one stat on this stack.
        unsafe {
            let mut found: libc::stat = core::mem::zeroed();
            libc::fstat(self.0, &raw mut found) == 0 && found.st_mode & libc::S_IFMT == libc::S_IFREG
        }
    }

    /// When its content changed last: seconds and nanoseconds of CLOCK_REALTIME.
    #[must_use]
    pub fn written(&self) -> Option<(i64, i64)> {
        // SAFETY: writes one stat on this stack.
        unsafe {
            let mut found: libc::stat = core::mem::zeroed();
            (libc::fstat(self.0, &raw mut found) == 0).then_some((found.st_mtime, found.st_mtime_nsec))
        }
    }

    /// How long a file of this kind is (`S_IFREG`, `S_IFDIR`), when it is the user's own and nobody else may write to it.
    #[must_use]
    pub fn private_bytes(&self, kind: u32) -> Option<usize> {
        const WRITABLE_BY_OTHERS: u32 = 0o022;
        // SAFETY: writes one stat on this stack; asks for the user.
        let (found, user) = unsafe {
            let mut found: libc::stat = core::mem::zeroed();
            if libc::fstat(self.0, &raw mut found) != 0 {
                return None;
            }
            (found, libc::geteuid())
        };
        let is_private =
            found.st_mode & libc::S_IFMT == kind && found.st_uid == user && found.st_mode & WRITABLE_BY_OTHERS == 0;
        usize::try_from(found.st_size).ok().filter(|_| is_private)
    }

    /// Puts a whole file into this folder at once, under its name or not at all. `unfinished`: the file's name in the meantime. One process at a
    /// time writes there, whatever its pid namespace; what it leaves there when it is killed, the next one overwrites.
    pub fn put(&self, unfinished: &CStr, name: &CStr, bytes: &[u8]) {
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK;
        // SAFETY: the name ends in NUL; no other memory.
        let number = unsafe { libc::openat(self.0, unfinished.as_ptr(), flags, 0o600) };
        if number < 0 {
            return;
        }
        let file = Descriptor(number);
        // SAFETY: plain numbers.
        if unsafe { libc::flock(file.0, libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            return;
        }
        // Another process may have put this very file in place before it gave up the lock.
        let named = Descriptor::open_at(Some(self), unfinished, libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK);
        if !named.is_ok_and(|named| file.identity().is_some() && named.identity() == file.identity())
            || file.private_bytes(libc::S_IFREG).is_none()
        {
            return;
        }
        // SAFETY: a number of this process, and names that end in NUL.
        unsafe {
            let is_written = libc::ftruncate(file.0, 0) == 0 && file.write(bytes).is_ok();
            if !is_written || libc::renameat(self.0, unfinished.as_ptr(), self.0, name.as_ptr()) != 0 {
                libc::unlinkat(self.0, unfinished.as_ptr(), 0);
            }
        }
    }

    /// Whether it is a folder of /proc.
    #[must_use]
    pub fn is_proc(&self) -> bool {
        // SAFETY: writes one statfs on this stack.
        unsafe {
            let mut found: libc::statfs = core::mem::zeroed();
            libc::fstatfs(self.0, &raw mut found) == 0 && found.f_type == libc::PROC_SUPER_MAGIC
        }
    }

    /// A socket with a name of the kernel's choice, that receives descriptors.
    #[must_use]
    pub fn receiver() -> Option<(Descriptor, Name)> {
        let socket = Descriptor::socket()?;
        // SAFETY: the kernel reads the family alone, and writes at most the record's bytes.
        unsafe {
            // The kernel says with each message who sent it.
            let (yes, yes_bytes) = (1_i32, size_of::<i32>() as u32);
            let (level, option) = (libc::SOL_SOCKET, libc::SO_PASSCRED);
            // By its number, as the two calls below: genba's functions of these names are the program's.
            if libc::syscall(libc::SYS_setsockopt, socket.0, level, option, &raw const yes, yes_bytes) != 0 {
                return None;
            }
            let mut address: libc::sockaddr_un = core::mem::zeroed();
            address.sun_family = libc::AF_UNIX as u16;
            let family_bytes = size_of::<libc::sa_family_t>() as u32;
            if libc::bind(socket.0, (&raw const address).cast(), family_bytes) != 0 {
                return None;
            }
            let mut bytes = size_of::<libc::sockaddr_un>() as u32;
            let named = libc::getsockname(socket.0, (&raw mut address).cast(), &raw mut bytes) == 0;
            if !named || bytes as usize != size_of::<libc::sa_family_t>() + 1 + NAME_LETTERS {
                return None;
            }
            let mut name = Name::default();
            for (letter, &found) in name.iter_mut().zip(&address.sun_path[1..=NAME_LETTERS]) {
                *letter = found as u8;
            }
            Some((socket, name))
        }
    }

    fn socket() -> Option<Descriptor> {
        // SAFETY: plain numbers.
        let number = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        (number >= 0).then_some(Descriptor(number))
    }

    /// Sends two descriptors to the receiver of that name (unix(7), SCM_RIGHTS). Where it fails, nothing arrives.
    pub fn send_two(name: Name, two: [&Descriptor; 2]) {
        let Some(socket) = Descriptor::socket() else { return };
        let numbers = two.map(|descriptor| descriptor.0);
        // SAFETY: every address is of this stack and outlives the call; the control message has room for two numbers.
        unsafe {
            let mut address: libc::sockaddr_un = core::mem::zeroed();
            address.sun_family = libc::AF_UNIX as u16;
            for (place, &letter) in address.sun_path[1..=NAME_LETTERS].iter_mut().zip(&name) {
                *place = letter as libc::c_char;
            }
            let mut byte = 0_u8;
            let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
            let mut control = [0_u64; 8];
            let mut message: libc::msghdr = core::mem::zeroed();
            message.msg_name = (&raw mut address).cast();
            message.msg_namelen = (size_of::<libc::sa_family_t>() + 1 + NAME_LETTERS) as u32;
            message.msg_iov = &raw mut part;
            message.msg_iovlen = 1;
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = libc::CMSG_SPACE(size_of_val(&numbers) as u32) as usize;
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(size_of_val(&numbers) as u32) as usize;
            libc::CMSG_DATA(header).cast::<[i32; 2]>().write_unaligned(numbers);
            let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
            libc::syscall(libc::SYS_sendmsg, socket.0, &raw const message, flags);
        }
    }

    /// The two descriptors that this process sent, if it did. Anybody in the network namespace may send to the socket: what others sent is
    /// closed.
    #[must_use]
    pub fn receive_two(&self) -> Option<[Descriptor; 2]> {
        /// More than the kernel keeps for a socket (net.unix.max_dgram_qlen) by default.
        const MESSAGES_MAX: usize = 64;
        for _ in 0..MESSAGES_MAX {
            if let (Some(sender), [Some(one), Some(other)]) = self.receive(libc::MSG_DONTWAIT)?
                && sender == own_pid()
            {
                return Some([one, other]);
            }
        }
        None
    }

    /// The file of that identity, and one more if there is one, when who listens at the abstract name `name` sends it in answer to `words`.
    /// Each step waits at most `wait_ms`, less than a second.
    #[must_use]
    pub fn asked_for(
        name: &[u8],
        words: &[u8],
        wait_ms: i64,
        identity: Identity,
    ) -> Option<(Descriptor, Option<Descriptor>)> {
        // Strangers may send, too. A call with a time limit ends at any signal, also at libc's own, by which each thread becomes another user.
        const TRIES_MAX: usize = 4;
        let (socket, _) = Descriptor::receiver()?;
        // SAFETY: every address is of this stack, or of what the caller lent, and outlives the calls.
        unsafe {
            let wait = libc::timeval { tv_sec: 0, tv_usec: wait_ms * 1000 };
            for option in [libc::SO_SNDTIMEO, libc::SO_RCVTIMEO] {
                let (at, bytes) = (&raw const wait, size_of_val(&wait));
                if libc::syscall(libc::SYS_setsockopt, socket.0, libc::SOL_SOCKET, option, at, bytes) != 0 {
                    return None;
                }
            }
            let mut address: libc::sockaddr_un = core::mem::zeroed();
            address.sun_family = libc::AF_UNIX as u16;
            for (place, &letter) in address.sun_path.get_mut(1..=name.len())?.iter_mut().zip(name) {
                *place = letter as libc::c_char;
            }
            let mut part = libc::iovec { iov_base: words.as_ptr().cast_mut().cast(), iov_len: words.len() };
            let mut message: libc::msghdr = core::mem::zeroed();
            message.msg_name = (&raw mut address).cast();
            message.msg_namelen = (size_of::<libc::sa_family_t>() + 1 + name.len()) as u32;
            message.msg_iov = &raw mut part;
            message.msg_iovlen = 1;
            let mut tries = 1;
            while libc::syscall(libc::SYS_sendmsg, socket.0, &raw const message, libc::MSG_NOSIGNAL) < 0 {
                if errno::get() != libc::EINTR || tries == TRIES_MAX {
                    return None;
                }
                tries += 1;
            }
        }
        for _ in 0..TRIES_MAX {
            match socket.receive(0) {
                Some((_, [Some(found), other])) if found.identity() == Some(identity) => return Some((found, other)),
                None if errno::get() != libc::EINTR => return None,
                _ => {}
            }
        }
        None
    }

    /// The next message: its sender's process, and at most two descriptors. `None`: there is none.
    fn receive(&self, flags: i32) -> Option<(Option<u32>, [Option<Descriptor>; 2])> {
        // SAFETY: every address is of this stack and outlives the call; the control messages are read where and as far as the kernel wrote them.
        unsafe {
            let mut byte = 0_u8;
            let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
            let mut control = [0_u64; 8];
            let mut message: libc::msghdr = core::mem::zeroed();
            message.msg_iov = &raw mut part;
            message.msg_iovlen = 1;
            message.msg_control = control.as_mut_ptr().cast::<c_void>();
            let room =
                libc::CMSG_SPACE(size_of::<[i32; 2]>() as u32) + libc::CMSG_SPACE(size_of::<libc::ucred>() as u32);
            message.msg_controllen = room as usize;
            let flags = flags | libc::MSG_CMSG_CLOEXEC;
            if libc::syscall(libc::SYS_recvmsg, self.0, &raw mut message, flags) < 0 {
                return None;
            }
            let (mut sender, mut two) = (None, [None, None]);
            let mut header = libc::CMSG_FIRSTHDR(&raw const message);
            while let Some(found) = header.as_ref() {
                let (kind, place) = (found.cmsg_type, libc::CMSG_DATA(header));
                let bytes = found.cmsg_len.saturating_sub(libc::CMSG_LEN(0) as usize);
                if found.cmsg_level == libc::SOL_SOCKET
                    && kind == libc::SCM_CREDENTIALS
                    && bytes == size_of::<libc::ucred>()
                {
                    sender = u32::try_from(place.cast::<libc::ucred>().read_unaligned().pid).ok();
                } else if found.cmsg_level == libc::SOL_SOCKET && kind == libc::SCM_RIGHTS {
                    let mut numbers =
                        (0..bytes / size_of::<i32>()).map(|at| place.cast::<i32>().add(at).read_unaligned());
                    two = [numbers.next().map(Descriptor), numbers.next().map(Descriptor)];
                    // More than two are somebody else's.
                    numbers.map(Descriptor).for_each(drop);
                }
                header = libc::CMSG_NXTHDR(&raw const message, header);
            }
            Some((sender, two))
        }
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: ours, closed once.
        unsafe { libc::close(self.0) };
    }
}

impl Identity {
    /// Of the file at `path`, if this thread may write to it.
    #[must_use]
    pub fn of_writable(path: &CStr) -> Option<Identity> {
        // SAFETY: the path ends in NUL; writes one stat on this stack.
        unsafe {
            let mut found: libc::stat = core::mem::zeroed();
            let (here, path) = (libc::AT_FDCWD, path.as_ptr());
            // Before Linux 5.8 the kernel asks for the real user alone, who is the same one where a library can be preloaded. EPERM: the seccomp
            // filter of an older Docker does not know the newer call.
            let is_unknown = || matches!(errno::get(), libc::ENOSYS | libc::EPERM);
            let may = libc::stat(path, &raw mut found) == 0
                && (libc::syscall(libc::SYS_faccessat2, here, path, libc::W_OK, libc::AT_EACCESS) == 0
                    || is_unknown() && libc::syscall(libc::SYS_faccessat, here, path, libc::W_OK) == 0);
            may.then_some(Identity { device: found.st_dev, inode: found.st_ino })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Descriptor;

    fn null() -> Descriptor {
        Descriptor::open_at(None, c"/dev/null", libc::O_WRONLY).unwrap()
    }

    #[test]
    fn what_another_process_sends_is_not_taken() {
        let (receiver, name) = Descriptor::receiver().unwrap();
        let theirs = [null(), null()];
        // SAFETY: the child makes two system calls and ends without running anything of the parent's.
        let child = unsafe { libc::fork() };
        if child == 0 {
            Descriptor::send_two(name, [&theirs[0], &theirs[1]]);
            // SAFETY: as above.
            unsafe { libc::_exit(0) };
        }
        // SAFETY: waits for that child; the status is not asked for.
        assert_eq!(unsafe { libc::waitpid(child, core::ptr::null_mut(), 0) }, child);
        assert!(receiver.receive_two().is_none());
        let ours = Descriptor::open_at(None, c"/dev/zero", libc::O_RDONLY).unwrap();
        Descriptor::send_two(name, [&ours, &ours]);
        let [one, other] = receiver.receive_two().unwrap();
        assert_eq!((one.identity(), other.identity()), (ours.identity(), ours.identity()));
    }
}
