//! The run's door: a process that cannot open the recording by its path asks here for it, and gets the table of bells with it. What root starts may
//! go on as a user who cannot come near root's files, or in another root folder.
//! Owns: the socket, and the thread that answers for as long as genba runs. Never: gives the recording to anybody who cannot say this run's
//! secret, or to be read. Whoever has it may write there, and cut it: the kernel knows no right to append alone.
//! Partner: crates/agent/src/process/files_over_fork.rs.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, sendmsg_addr};
use rustix::rand::{GetRandomFlags, getrandom};

use crate::files::cache_folder::is_root;

pub struct Door {
    socket: UnixDatagram,
    recording: File,
    bells: Option<OwnedFd>,
    name: String,
    /// Abstract names can be listed by everybody. A process of the run has this from its environment.
    secret: String,
}

impl Door {
    /// `None`: genba is not root's, whose programs alone become another user's, or has no such socket. Then processes that cannot open the
    /// recording are named as not followed.
    pub fn open(recording: &Path, bells: Option<OwnedFd>) -> Option<Door> {
        if !is_root() {
            return None;
        }
        let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).ok()?;
        let recording = OpenOptions::new().append(true).custom_flags(flags).open(recording).ok()?;
        let name = format!("genba-{}", random()?);
        let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).ok()?).ok()?;
        Some(Door { socket, recording, bells, name, secret: random()? })
    }

    /// What the agent finds it by.
    pub fn name(&self) -> String {
        let (device, inode) = self.recording.metadata().map(|found| (found.dev(), found.ino())).unwrap_or_default();
        format!("{device},{inode},{},{}", self.name, self.secret)
    }

    /// In a thread, until genba ends. Without memory for one, nobody is answered, as where there is no door.
    pub fn answer(self) {
        let _ = std::thread::Builder::new().spawn(move || {
            let mut words = [0; 64];
            loop {
                match self.socket.recv_from(&mut words) {
                    Ok((bytes, from)) if &words[..bytes] == self.secret.as_bytes() => drop(self.hand_to(&from)),
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) => return,
                }
            }
        });
    }

    /// Who asks has a name of the kernel's choice. Where nobody is there any more, or has no room, nobody gets it.
    fn hand_to(&self, from: &SocketAddr) -> Option<()> {
        let to = SocketAddrUnix::new_abstract_name(from.as_abstract_name()?).ok()?;
        let own = self.opened_anew();
        let recording = own.as_ref().unwrap_or(&self.recording).as_fd();
        let files: Vec<_> = [recording].into_iter().chain(self.bells.as_ref().map(AsFd::as_fd)).collect();
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut control = SendAncillaryBuffer::new(&mut room);
        control.push(SendAncillaryMessage::ScmRights(&files));
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        sendmsg_addr(&self.socket, &to, &[IoSlice::new(b"\0")], &mut control, flags).ok().map(drop)
    }

    /// Whoever has a descriptor may change its flags (fcntl(2), F_SETFL) for all that share it: each gets one of its own. `None`: without /proc.
    fn opened_anew(&self) -> Option<File> {
        let path = format!("/proc/self/fd/{}", self.recording.as_raw_fd());
        OpenOptions::new().append(true).open(path).ok()
    }
}

fn random() -> Option<String> {
    let mut bytes = [0_u8; 16];
    let read = getrandom(&mut bytes, GetRandomFlags::empty()).ok()?;
    (read == bytes.len()).then(|| bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
