//! The asker: a thread that plays the sampler, asks the program's thread at random moments and collects the numbers.
//! Owns: preparing the tables (rows, layout, code objects) as the sampler does. Never: asks before the last answer is there.

use std::time::{Duration, Instant};

use framehop::x86_64::UnwinderX86_64;
use framehop::{ExplicitModuleSectionInfo, Module, Unwinder};
use genba_python::stack::walked::{PythonEnd, PythonEntry};
use genba_python::thread_states::ThreadHints;
use genba_signal::handler::{SAMPLE_CODE, SHARED};
use genba_signal::memory::Guarded;
use genba_signal::request::{POOL, Question, Reading};
use std::sync::atomic::Ordering::SeqCst;

use crate::files::{self, Loaded};
use crate::measured::{Bench, Numbers, WAYS, Way, on_signal};
use crate::process::Process;
use crate::reading::codes::Codes;
use crate::reading::modules;
use crate::system::symbols::Linker;
use crate::writing::tables::Tables;
use genba_python::find::{Found, Python, find};
use genba_python::lists::ThreadStates;

/// What was measured, by way.
pub struct Measured {
    pub numbers: Vec<(Way, Vec<Numbers>)>,
    pub tsc_per_ns: f64,
    /// Handler runs whose Python walk did not reach the first frame.
    pub python_cut: usize,
}

/// The loop that does nothing is told how long to last by the handler's median; until there is one, no longer than this.
const SPIN_TSC_MAX: u64 = 100_000;
const GAP_NS: u64 = 40_000;
/// Runs that warm tables and caches and count nowhere.
const WARM_UP: usize = 2000;

pub fn run(tid: u32, runs: usize, seed: u64) -> Result<Measured, String> {
    let files = files::loaded(Process { pid: std::process::id() as i32 })?;
    modules::publish(&files);
    let Found::Yes { python, .. } = find(&Guarded, &Linker) else {
        return Err("no CPython that genba knows".to_owned());
    };
    let layout = Box::leak(Box::new(python.layout));
    SHARED.layout.store(layout, SeqCst);
    SHARED.pid.store(std::process::id(), SeqCst);
    let bench = Bench::new(framehop(files));
    install()?;
    let mut sampler =
        Sampler { bench, tid, codes: Codes::new(), tables: Tables::default(), states: ThreadStates::default() };
    sampler.states.refresh(&Guarded, &python, std::process::id());
    let mut measured = Measured { numbers: WAYS.map(|way| (way, Vec::new())).into(), tsc_per_ns: 0.0, python_cut: 0 };
    let mut chance = seed | 1;
    let begin = (Instant::now(), tsc());
    for round in 0..runs + WARM_UP {
        for (place, (way, numbers)) in measured.numbers.iter_mut().enumerate() {
            // The whole handler and its yardstick every time, the three others in turn.
            if !matches!(way, Way::Handler | Way::Nothing) && place != round % 3 {
                continue;
            }
            // xorshift64: Marsaglia, "Xorshift RNGs", 2003.
            chance ^= chance << 13;
            chance ^= chance >> 7;
            chance ^= chance << 17;
            std::thread::sleep(Duration::from_nanos(GAP_NS / 2 + chance % GAP_NS));
            let (found, cut) = sampler.ask(*way, &python)?;
            if round < WARM_UP {
                if *way == Way::Handler && round == WARM_UP - 1 {
                    bench.spin_tsc.store(found.first_tsc.min(SPIN_TSC_MAX), SeqCst);
                }
                continue;
            }
            measured.python_cut += usize::from(cut);
            numbers.push(found);
            if *way == Way::Handler && numbers.len() == 500 {
                let mut times: Vec<u64> = numbers.iter().map(|one| one.first_tsc).collect();
                times.sort_unstable();
                bench.spin_tsc.store(times[times.len() / 2], SeqCst);
            }
        }
    }
    measured.tsc_per_ns = (tsc() - begin.1) as f64 / begin.0.elapsed().as_nanos() as f64;
    Ok(measured)
}

fn framehop(files: Vec<Loaded>) -> UnwinderX86_64<Vec<u8>, framehop::MustNotAllocateDuringUnwind> {
    let mut unwinder = UnwinderX86_64::<Vec<u8>, framehop::MustNotAllocateDuringUnwind>::default();
    for loaded in files {
        let (start, end) = loaded.code();
        let file = loaded.file;
        let range = |address: u64, bytes: &[u8]| address..address + bytes.len() as u64;
        let sections = ExplicitModuleSectionInfo {
            base_svma: 0,
            eh_frame_svma: Some(range(file.eh_frame.address, &file.eh_frame.bytes)),
            eh_frame: Some(file.eh_frame.bytes),
            eh_frame_hdr_svma: Some(range(file.eh_frame_header.address, &file.eh_frame_header.bytes)),
            eh_frame_hdr: Some(file.eh_frame_header.bytes),
            ..ExplicitModuleSectionInfo::default()
        };
        unwinder.add_module(Module::new(file.path, start..end, loaded.bias, sections));
    }
    unwinder
}

fn install() -> Result<(), String> {
    // SAFETY: a handler of the kernel's signature; the mask is the one that the agent sets.
    let done = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        action.sa_sigaction = on_signal as *const () as usize;
        libc::sigfillset(&raw mut action.sa_mask);
        libc::sigaction(libc::SIGURG, &raw const action, std::ptr::null_mut())
    };
    if done == 0 { Ok(()) } else { Err(format!("sigaction: {}", std::io::Error::last_os_error())) }
}

struct Sampler {
    bench: &'static Bench,
    tid: u32,
    codes: Codes,
    tables: Tables,
    states: ThreadStates,
}

impl Sampler {
    /// One signal and its numbers; and whether the handler's walk over the Python frames was cut.
    fn ask(&mut self, way: Way, python: &Python) -> Result<(Numbers, bool), String> {
        const WAIT_MAX: Duration = Duration::from_secs(20);
        let mut states = self.states.of(self.tid);
        if states.len == 0 {
            self.states.refresh(&Guarded, python, std::process::id());
            states = self.states.of(self.tid);
        }
        let question = Question {
            thread: ThreadHints { pid: std::process::id(), tid: self.tid, states },
            native: true,
            counts_beyond: false,
            reading: Reading::Guarded,
        };
        let ticket = (way == Way::Handler).then(|| POOL.ask(0, question)).flatten();
        let before = self.bench.answered.load(SeqCst);
        self.bench.way.store(way as u64, SeqCst);
        send(self.tid, ticket.map_or(0, |ticket| ticket.to_value()))?;
        let asked = Instant::now();
        while self.bench.answered.load(SeqCst) == before {
            std::hint::spin_loop();
            if asked.elapsed() > WAIT_MAX {
                return Err(format!("no answer to a signal after {WAIT_MAX:?}, way {way:?}"));
            }
        }
        let mut numbers = self.bench.numbers();
        let mut cut = false;
        if let Some(ticket) = ticket {
            let answer = POOL.answered(ticket).ok_or("the handler answered without an answer")?;
            numbers.first_tsc = answer.handler_tsc;
            numbers.frames = answer.native_len;
            cut = answer.python_end != PythonEnd::Complete;
            for word in &answer.python[..answer.python_len] {
                if let PythonEntry::InTail { position, .. } = word.entry() {
                    self.codes.register(&mut self.tables, &answer.tail[..answer.tail_len], position);
                }
            }
            POOL.done(ticket);
        }
        Ok((numbers, cut))
    }
}

/// SIGURG with a ticket, as the agent sends it.
fn send(tid: u32, value: u64) -> Result<(), String> {
    let mut info = [0_u64; 16];
    info[0] = libc::SIGURG as u64;
    info[1] = u64::from(SAMPLE_CODE as u32);
    info[2] = u64::from(std::process::id());
    info[3] = value;
    // SAFETY: the kernel reads the 128 bytes.
    let sent =
        unsafe { libc::syscall(libc::SYS_rt_tgsigqueueinfo, std::process::id(), tid, libc::SIGURG, info.as_ptr()) };
    if sent == 0 { Ok(()) } else { Err(format!("rt_tgsigqueueinfo: {}", std::io::Error::last_os_error())) }
}

fn tsc() -> u64 {
    // SAFETY: reads a counter.
    unsafe { core::arch::x86_64::_rdtsc() }
}
