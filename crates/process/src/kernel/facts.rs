//! What /proc says about a process.
//! Owns: reading `status`, `exe`, `root`, `cmdline`, the start and the namespaces. Never: judges them (rights.rs does).

use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use nix::errno::Errno;
use nix::sys::signal;
use nix::unistd::Pid;

use crate::kernel::refusal::Refusal;

/// Real, effective, saved and of the file system.
pub type Ids = [u32; 4];

/// The kernel tells the beginning of a process in hundredths of a second since the machine's start, whose moment the clock's corrections move.
const BEGINNING_WITHIN_NS: u64 = 2_000_000_000;

/// Bits of `Facts::capabilities`. Source: Linux, include/uapi/linux/capability.h.
pub const SYS_PTRACE: u32 = 19;

/// A process, as it was when it was asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    pub pid: u32,
    /// `comm`: the name of the first thread, at most 15 bytes.
    pub name: String,
    /// The state's letter: `R`, `S`, `D`, `T`, `t`, `Z`, `X`.
    pub state: char,
    pub parent: u32,
    /// 0: nobody traces it.
    pub tracer: u32,
    pub users: Ids,
    pub groups: Ids,
    /// Its number in each PID namespace, from the one of this /proc inwards.
    pub pids: Vec<u32>,
    pub threads: u32,
    /// The effective ones, a bit each.
    pub capabilities: u64,
    pub permitted: u64,
    pub seccomp: Seccomp,
    pub no_new_privileges: bool,
    /// The link's text: `(deleted)` at its end means that the file was removed or replaced. `None`: it may not be read, or there is none.
    pub executable: Option<PathBuf>,
    /// Its root directory, as this process sees it.
    pub root: Option<PathBuf>,
    pub command_line: Vec<String>,
    pub working_directory: Option<PathBuf>,
    pub namespaces: Namespaces,
    /// When it began, on CLOCK_REALTIME, to about 20 ms.
    pub began_realtime_ns: Option<u64>,
    /// The same as the kernel counts it, exactly: see `began_ticks`.
    pub began_ticks: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seccomp {
    Off,
    /// Only read, write and exit.
    Strict,
    Filter,
}

/// Each by the number of its inode. `None`: it may not be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Namespaces {
    pub mount: Option<u64>,
    pub pid: Option<u64>,
    pub user: Option<u64>,
    pub network: Option<u64>,
}

impl Facts {
    /// `pid` may be the number of any thread: the facts are those of its process.
    ///
    /// # Errors
    /// `NoSuchProcess`, or `Hidden` where it exists but this /proc does not show it.
    pub fn of(pid: u32) -> Result<Facts, Refusal> {
        let gone = |error: std::io::Error| match error.kind() {
            ErrorKind::PermissionDenied => Refusal::Hidden { pid },
            _ if exists(pid) => Refusal::Hidden { pid },
            _ => Refusal::NoSuchProcess { pid },
        };
        let status = fs::read(format!("/proc/{pid}/status")).map_err(gone)?;
        let status = String::from_utf8_lossy(&status).into_owned();
        let process: u32 = field(&status, "Tgid").and_then(|text| text.parse().ok()).unwrap_or(pid);
        if process != pid {
            return Facts::of(process);
        }
        let folder = PathBuf::from(format!("/proc/{pid}"));
        let command_line = fs::read(folder.join("cmdline")).unwrap_or_default();
        let began_ticks = began_ticks(pid);
        Ok(Facts {
            executable: fs::read_link(folder.join("exe")).ok(),
            root: fs::read_link(folder.join("root")).ok(),
            working_directory: fs::read_link(folder.join("cwd")).ok(),
            began_realtime_ns: began_ticks.and_then(began_realtime_ns),
            began_ticks,
            command_line: words(&command_line),
            namespaces: Namespaces::of(&folder),
            ..Facts::parse(pid, &status)
        })
    }

    /// This process itself.
    ///
    /// # Errors
    /// As `of`: without a /proc.
    pub fn own() -> Result<Facts, Refusal> {
        Facts::of(std::process::id())
    }

    /// From the text of `status`; what it does not tell is 0 or absent.
    pub(crate) fn parse(pid: u32, status: &str) -> Facts {
        let number = |name| field(status, name).and_then(|text| text.parse().ok()).unwrap_or(0);
        let ids = |name| {
            let mut ids = field(status, name).unwrap_or_default().split_whitespace().map(|id| id.parse().unwrap_or(0));
            std::array::from_fn(|_| ids.next().unwrap_or(0))
        };
        let mask = |name| field(status, name).and_then(|text| u64::from_str_radix(text, 16).ok()).unwrap_or(0);
        let pids = field(status, "NSpid").unwrap_or_default().split_whitespace().filter_map(|id| id.parse().ok());
        Facts {
            pid,
            name: field(status, "Name").unwrap_or_default().to_owned(),
            state: field(status, "State").and_then(|text| text.chars().next()).unwrap_or('?'),
            parent: number("PPid"),
            tracer: number("TracerPid"),
            users: ids("Uid"),
            groups: ids("Gid"),
            pids: pids.collect(),
            threads: number("Threads"),
            capabilities: mask("CapEff"),
            permitted: mask("CapPrm"),
            seccomp: match number("Seccomp") {
                0 => Seccomp::Off,
                1 => Seccomp::Strict,
                _ => Seccomp::Filter,
            },
            no_new_privileges: number("NoNewPrivs") == 1,
            executable: None,
            root: None,
            command_line: Vec::new(),
            working_directory: None,
            namespaces: Namespaces::default(),
            began_realtime_ns: None,
            began_ticks: None,
        }
    }

    #[must_use]
    pub const fn is_zombie(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }

    /// Whether it surely began after that moment of CLOCK_REALTIME: then it is not the process that had its number at that moment.
    #[must_use]
    pub fn began_after(&self, realtime_ns: u64) -> bool {
        self.began_realtime_ns.is_some_and(|began_ns| began_ns > realtime_ns.saturating_add(BEGINNING_WITHIN_NS))
    }

    /// A thread of the kernel's: no executable, no command line, and `kthreadd` started it. A process that is about to end has lost both, too.
    #[must_use]
    pub fn is_kernel_thread(&self) -> bool {
        const KTHREADD: u32 = 2;
        let is_below = self.parent == KTHREADD || self.pid == KTHREADD;
        self.executable.is_none() && self.command_line.is_empty() && is_below && !self.is_zombie()
    }

    #[must_use]
    pub const fn has_capability(&self, capability: u32) -> bool {
        self.capabilities >> capability & 1 == 1
    }

    /// Its number in the innermost PID namespace, as the process itself knows it.
    #[must_use]
    pub fn own_pid(&self) -> u32 {
        self.pids.last().copied().unwrap_or(self.pid)
    }
}

impl Namespaces {
    fn of(folder: &Path) -> Namespaces {
        let inode = |name: &str| fs::metadata(folder.join("ns").join(name)).ok().map(|found| found.ino());
        Namespaces { mount: inode("mnt"), pid: inode("pid"), user: inode("user"), network: inode("net") }
    }
}

/// Whether this process and that one live in the same container, as far as anybody can tell: one PID and one mount namespace, and the same
/// control groups. What cannot be read counts as different.
#[must_use]
pub fn is_beside(pid: u32) -> bool {
    let surroundings = |folder: PathBuf| (Namespaces::of(&folder), fs::read(folder.join("cgroup")).ok());
    are_same(&surroundings(PathBuf::from("/proc/self")), &surroundings(PathBuf::from(format!("/proc/{pid}"))))
}

/// Whether this process and that one share a PID and a mount namespace.
#[must_use]
pub fn is_in_same_namespaces(pid: u32) -> bool {
    let folders = [PathBuf::from("/proc/self"), PathBuf::from(format!("/proc/{pid}"))];
    let [own, other] = folders.map(|folder| Namespaces::of(&folder));
    own.mount.is_some() && own.pid.is_some() && (own.mount, own.pid) == (other.mount, other.pid)
}

fn are_same(one: &(Namespaces, Option<Vec<u8>>), other: &(Namespaces, Option<Vec<u8>>)) -> bool {
    let is_known = one.0.mount.is_some() && one.0.pid.is_some() && one.1.is_some();
    is_known && one.0.mount == other.0.mount && one.0.pid == other.0.pid && one.1 == other.1
}

/// Field 22 of `stat`: when the process began, in hundredths of a second since the machine did. With the number of a process it tells two
/// processes apart that have it one after the other.
#[must_use]
pub fn began_ticks(pid: u32) -> Option<u64> {
    // The name in it need not be text.
    ticks_in(&String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/stat")).ok()?))
}

fn ticks_in(stat: &str) -> Option<u64> {
    // The name in parentheses is field 2, and may hold any letter.
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.split(' ').nth(22 - 3)?.parse().ok()
}

/// Of the start, `/proc/uptime` tells the age.
fn began_realtime_ns(began: u64) -> Option<u64> {
    const HUNDREDTH_NS: u64 = 10_000_000;
    let uptime = fs::read_to_string("/proc/uptime").ok()?;
    let (seconds, hundredths) = uptime.split(' ').next()?.split_once('.')?;
    let up = seconds.parse::<u64>().ok()? * 100 + hundredths.parse::<u64>().ok()?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
    u64::try_from(now.as_nanos()).ok()?.checked_sub(up.checked_sub(began)? * HUNDREDTH_NS)
}

/// All processes that this /proc shows.
#[must_use]
pub fn all_pids() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut pids: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    pids
}

/// The value of a line `Name:\tvalue`.
pub(crate) fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

/// A process that gave itself a title, as by `setproctitle`, has one word, and behind it zeros or blanks that fill the room of the words before.
fn words(command_line: &[u8]) -> Vec<String> {
    let whole = command_line.strip_suffix(&[0]).unwrap_or(command_line);
    if whole.is_empty() {
        return Vec::new();
    }
    let word = |word: &[u8]| std::ffi::OsString::from_vec(word.to_vec()).to_string_lossy().into_owned();
    let mut words: Vec<String> = whole.split(|&byte| byte == 0).map(word).collect();
    if words[1..].iter().all(String::is_empty) {
        words = vec![words[0].trim_end().to_owned()];
    }
    words
}

fn exists(pid: u32) -> bool {
    let Ok(number) = i32::try_from(pid) else { return false };
    number > 0 && matches!(signal::kill(Pid::from_raw(number), None), Ok(()) | Err(Errno::EPERM))
}

#[cfg(test)]
mod tests {
    use super::{Facts, Namespaces, Seccomp, are_same, began_ticks, is_beside, is_in_same_namespaces, ticks_in, words};
    use crate::kernel::refusal::Refusal;

    const STATUS: &str = "Name:\tpython3\nState:\tS (sleeping)\nTgid:\t40\nPid:\t40\nPPid:\t7\nTracerPid:\t9\nUid:\t1\t2\t3\t4\n\
        Gid:\t5\t6\t7\t8\nNSpid:\t40\t1\nThreads:\t3\nCapPrm:\t0000000000080000\nCapEff:\t0000000000080000\nNoNewPrivs:\t1\nSeccomp:\t2\n";

    #[test]
    fn status_is_read() {
        let facts = Facts::parse(40, STATUS);
        assert_eq!((facts.name.as_str(), facts.state, facts.parent, facts.tracer), ("python3", 'S', 7, 9));
        assert_eq!((facts.users, facts.groups), ([1, 2, 3, 4], [5, 6, 7, 8]));
        assert_eq!((facts.own_pid(), facts.threads, facts.seccomp), (1, 3, Seccomp::Filter));
        assert!(facts.no_new_privileges && facts.has_capability(super::SYS_PTRACE) && !facts.has_capability(1));
    }

    #[test]
    fn this_process_has_facts_and_number_zero_has_none() {
        let own = Facts::own().expect("a /proc");
        assert_eq!((own.pid, own.is_zombie(), own.is_kernel_thread()), (std::process::id(), false, false));
        assert_eq!(Facts::of(0), Err(Refusal::NoSuchProcess { pid: 0 }));
    }

    #[test]
    fn a_later_process_of_the_same_number_is_told() {
        const SECOND_NS: u64 = 1_000_000_000;
        let began = |began_realtime_ns| Facts { began_realtime_ns, ..Facts::parse(40, STATUS) };
        let later = began(Some(100 * SECOND_NS));
        assert!(later.began_after(90 * SECOND_NS) && !later.began_after(99 * SECOND_NS));
        assert!(!later.began_after(200 * SECOND_NS) && !began(None).began_after(0));
    }

    #[test]
    fn a_start_is_told_behind_any_name() {
        let stat = "40 (a) b 9) S 7 40 40 0 -1 4194560 1 0 0 0 3 4 0 0 20 0 3 0 8712 1 2";
        assert_eq!((ticks_in(stat), ticks_in("40 (a")), (Some(8712), None));
        let own = began_ticks(std::process::id());
        assert!(own.is_some() && own == Facts::own().expect("a /proc").began_ticks);
        assert_eq!(began_ticks(0), None);
    }

    #[test]
    fn beside_is_who_shares_both_namespaces_and_the_groups() {
        let namespaces = |mount, pid| Namespaces { mount, pid, user: None, network: None };
        let own = (namespaces(Some(1), Some(2)), Some(b"0::/a\n".to_vec()));
        assert!(are_same(&own, &own));
        for other in [
            (namespaces(Some(9), Some(2)), own.1.clone()),
            (namespaces(Some(1), Some(9)), own.1.clone()),
            (namespaces(Some(1), None), own.1.clone()),
            (own.0, Some(b"0::/b\n".to_vec())),
            (own.0, None),
        ] {
            assert!(!are_same(&own, &other), "{other:?}");
        }
        let unknown = (namespaces(None, None), None);
        assert!(!are_same(&unknown, &unknown), "two that nobody may look at");
        assert!(is_beside(std::process::id()) && !is_beside(0));
        assert!(is_in_same_namespaces(std::process::id()) && !is_in_same_namespaces(0));
    }

    #[test]
    fn an_empty_word_is_one() {
        assert_eq!(words(b"python\0-c\0\0"), ["python", "-c", ""]);
        assert!(words(b"").is_empty());
    }

    #[test]
    fn a_title_has_nothing_behind_it() {
        let title = "gunicorn: worker [app]";
        assert_eq!(words(format!("{title}\0\0\0\0\0\0").as_bytes()), [title]);
        assert_eq!(words(format!("{title}      ").as_bytes()), [title]);
        assert_eq!(words(format!("{title}   \0\0").as_bytes()), [title]);
        assert_eq!(words(b"python\0app.py \0"), ["python", "app.py "]);
    }
}
