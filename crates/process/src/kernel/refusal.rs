//! Why genba does not look at a process, and what would allow it.
//! Owns: the reasons and their words. Never: prints, knows which verb asked.

use std::fmt;
use std::path::PathBuf;

/// Why a process is left alone. `Display` is what happened; `details` and `hint` are the lines below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    NoSuchProcess {
        pid: u32,
    },
    /// It exists, but this /proc does not show it.
    Hidden {
        pid: u32,
    },
    /// It ended while genba looked.
    Ended {
        pid: u32,
    },
    Zombie {
        pid: u32,
        name: String,
        parent: u32,
    },
    KernelThread {
        pid: u32,
        name: String,
    },
    NotPermitted {
        pid: u32,
        why: NotPermitted,
    },
    /// Somebody else traces it: its threads cannot be stopped.
    Traced {
        pid: u32,
        tracer: u32,
    },
    NotPython {
        pid: u32,
        program: PathBuf,
    },
    /// An interpreter without a table of offsets.
    UnknownVersion {
        pid: u32,
        program: PathBuf,
        version: String,
        reason: String,
    },
    /// What lies in its memory is not what this version has there.
    Misfit {
        pid: u32,
        program: PathBuf,
        version: String,
    },
    OtherMachine {
        pid: u32,
        program: PathBuf,
        machine: &'static str,
    },
    Musl {
        pid: u32,
        program: PathBuf,
        version: String,
    },
    /// An executable that is called Python and names no `_PyRuntime`.
    NoSymbols {
        pid: u32,
        program: PathBuf,
    },
    /// The interpreter that a core file was made of is not on this machine.
    NoFileOfCore {
        core: PathBuf,
        path: PathBuf,
    },
    BadCore {
        path: PathBuf,
        reason: String,
    },
    /// The file of a mapping cannot be opened, or is another one by now.
    NoFile {
        pid: u32,
        path: PathBuf,
    },
}

/// Which rule of the kernel's says no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotPermitted {
    OtherUser {
        owner: u32,
        own: u32,
    },
    /// It has capabilities that genba has not.
    MoreRights,
    OtherUserNamespace,
    /// `kernel.yama.ptrace_scope`, 1 to 3.
    PtraceScope(u8),
    /// A seccomp filter around genba itself, as containers have.
    OwnSeccomp,
    /// It changed its user, or its executable may not be read: the kernel keeps its memory private.
    NotDumpable,
    /// Even with CAP_SYS_PTRACE: a security module, or a sandbox.
    EvenWithRights,
}

impl Refusal {
    /// Whether the process is a CPython, though not one to look at. `None`: that could not be seen.
    #[must_use]
    pub const fn is_of_python(&self) -> Option<bool> {
        match self {
            Refusal::UnknownVersion { .. } | Refusal::Musl { .. } | Refusal::Misfit { .. } => Some(true),
            Refusal::NotPython { .. }
            | Refusal::KernelThread { .. }
            | Refusal::Ended { .. }
            | Refusal::Zombie { .. } => Some(false),
            _ => None,
        }
    }

    #[must_use]
    pub fn details(&self) -> Vec<String> {
        let of = |program: &PathBuf| program.display().to_string();
        match self {
            Refusal::Zombie { name, .. } => vec![format!("`{name}` has ended; only its exit code is left")],
            Refusal::KernelThread { name, .. } => vec![format!("`{name}` is a thread of the kernel")],
            Refusal::NotPermitted { why, .. } => vec![why.fact()],
            Refusal::NotPython { program, .. } => {
                vec![format!("it runs {}, which contains no interpreter that genba knows", of(program))]
            }
            Refusal::UnknownVersion { program, version, reason, .. } => {
                vec![format!("found {version} at {}: {reason}", of(program))]
            }
            Refusal::Misfit { program, version, .. } => {
                vec![format!(
                    "found CPython {version} at {}, whose structures are not where this version has them",
                    of(program)
                )]
            }
            Refusal::OtherMachine { program, machine, .. } => {
                vec![format!("{} is a program for {machine}; genba knows x86-64", of(program))]
            }
            Refusal::Musl { program, version, .. } => {
                vec![format!(
                    "found CPython {version} at {}, built for musl; genba knows builds for glibc",
                    of(program)
                )]
            }
            Refusal::NoSymbols { program, .. } => {
                vec![format!("{} is linked statically or stripped: it does not say where `_PyRuntime` is", of(program))]
            }
            Refusal::BadCore { reason, .. } => vec![reason.clone()],
            Refusal::NoFileOfCore { path, .. } => {
                vec![format!("{} is not on this machine, or is another file by now", of(path))]
            }
            Refusal::NoFile { path, .. } => {
                vec![format!("{} was removed, replaced, or lies where genba may not go", of(path))]
            }
            _ => Vec::new(),
        }
    }

    /// What the reader can do about it; asks no more than is needed.
    #[must_use]
    pub fn hint(&self) -> String {
        let known = "genba knows CPython 3.11 to 3.15 (releases for x86-64 with glibc)";
        match self {
            Refusal::NoSuchProcess { .. } | Refusal::Ended { .. } => "genba ps lists the Python processes".to_owned(),
            Refusal::Hidden { .. } => {
                "as root, or as the user of that process, /proc shows it (mounted with hidepid)".to_owned()
            }
            Refusal::Zombie { parent, .. } => {
                format!("process {parent} started it and has not asked for its exit code yet")
            }
            Refusal::KernelThread { .. } | Refusal::NotPython { .. } => {
                "genba ps lists the Python processes".to_owned()
            }
            Refusal::NotPermitted { why, .. } => why.hint(),
            Refusal::Traced { tracer, .. } if is_genba(*tracer) => {
                format!("another genba enters it just now, process {tracer}: try again when that has begun")
            }
            Refusal::Traced { tracer, .. } => format!("end the debugger or strace that does so: process {tracer}"),
            Refusal::UnknownVersion { .. } | Refusal::Musl { .. } | Refusal::OtherMachine { .. } => known.to_owned(),
            Refusal::Misfit { .. } => {
                "this is a mistake of genba's own, or a changed CPython; please report it".to_owned()
            }
            Refusal::NoSymbols { .. } => {
                "a Python with its dynamic symbols: any of the distributions', pyenv's or uv's".to_owned()
            }
            Refusal::NoFileOfCore { .. } => {
                "read the core file where it was written, with the same Python installed".to_owned()
            }
            Refusal::BadCore { .. } => {
                "a core file is what the kernel or gcore writes of a process, uncompressed".to_owned()
            }
            Refusal::NoFile { .. } => "as root, genba opens the file by its mapping".to_owned(),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, page: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NoSuchProcess { pid } => write!(page, "there is no process {pid}"),
            Refusal::Hidden { pid } => write!(page, "process {pid} is hidden from this user"),
            Refusal::Ended { pid } => write!(page, "process {pid} ended while genba looked at it"),
            Refusal::Zombie { pid, .. } => write!(page, "process {pid} is a zombie"),
            Refusal::KernelThread { pid, .. } | Refusal::NotPython { pid, .. } => {
                write!(page, "process {pid} is not a Python process")
            }
            Refusal::NotPermitted { pid, .. } => write!(page, "genba may not look at process {pid}"),
            Refusal::Traced { pid, tracer } => write!(page, "process {pid} is traced by process {tracer}"),
            Refusal::UnknownVersion { pid, .. } | Refusal::Musl { pid, .. } | Refusal::Misfit { pid, .. } => {
                write!(page, "genba does not know the Python of process {pid}")
            }
            Refusal::OtherMachine { pid, .. } => write!(page, "genba cannot read process {pid}"),
            Refusal::NoSymbols { pid, .. } => write!(page, "genba cannot find the interpreter in process {pid}"),
            Refusal::NoFileOfCore { core, .. } => {
                write!(page, "genba cannot open the interpreter of the core file {}", core.display())
            }
            Refusal::BadCore { path, .. } => write!(page, "cannot read the core file {}", path.display()),
            Refusal::NoFile { pid, .. } => write!(page, "genba cannot open the interpreter of process {pid}"),
        }
    }
}

/// By its name: the command is called so.
fn is_genba(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim_end() == "genba")
}

impl std::error::Error for Refusal {}

impl NotPermitted {
    #[must_use]
    pub fn fact(self) -> String {
        match self {
            NotPermitted::OtherUser { owner, own } => format!("it belongs to user {owner}, genba runs as user {own}"),
            NotPermitted::MoreRights => "it has capabilities that genba does not have".to_owned(),
            NotPermitted::OtherUserNamespace => {
                "it is in another user namespace, as in a container without root".to_owned()
            }
            NotPermitted::PtraceScope(1) => {
                "kernel.yama.ptrace_scope is 1: a process may look at those that it started, and only at those"
                    .to_owned()
            }
            NotPermitted::PtraceScope(2) => "kernel.yama.ptrace_scope is 2: it takes CAP_SYS_PTRACE".to_owned(),
            NotPermitted::PtraceScope(scope) => {
                format!("kernel.yama.ptrace_scope is {scope}: no process may look at another, until the next boot")
            }
            NotPermitted::OwnSeccomp => {
                "the seccomp filter of this container forbids process_vm_readv and ptrace".to_owned()
            }
            NotPermitted::EvenWithRights => {
                "genba has CAP_SYS_PTRACE, and the kernel says no all the same: a security module or a sandbox"
                    .to_owned()
            }
            NotPermitted::NotDumpable => {
                "the kernel keeps its memory private: it changed its user, or its executable may not be read".to_owned()
            }
        }
    }

    #[must_use]
    pub fn hint(self) -> String {
        match self {
            NotPermitted::OtherUser { owner, .. } => {
                format!("run genba as user {owner} (sudo -u '#{owner}'), or as root")
            }
            NotPermitted::MoreRights | NotPermitted::NotDumpable => "run genba as root (sudo)".to_owned(),
            NotPermitted::OtherUserNamespace => {
                "run genba inside of that container, or as root of this machine".to_owned()
            }
            NotPermitted::PtraceScope(1) => {
                "run genba as root (sudo), or allow it for your own processes: sysctl kernel.yama.ptrace_scope=0"
                    .to_owned()
            }
            NotPermitted::PtraceScope(2) => "run genba as root (sudo)".to_owned(),
            NotPermitted::PtraceScope(_) => {
                "genba run starts a program and records it without any of these rights".to_owned()
            }
            NotPermitted::EvenWithRights => {
                "run genba where the process runs: in the same container or sandbox".to_owned()
            }
            NotPermitted::OwnSeccomp => {
                "run genba outside of the container, or start it with --cap-add SYS_PTRACE".to_owned()
            }
        }
    }
}
