//! What the time of one thread is credited to: each nanosecond to one sample, or to none and counted as that.
//! Owns: how far each clock is credited, the waiting sample, what the next look may add to a running one. Never: reads a clock,
//! makes a system call, credits a nanosecond twice (I-02), ends a look twice (I-01). Partner: recorder.rs writes what is returned.

use crate::writing::outcomes::{Dropped, Refused};
use crate::writing::recorder::{More, Sample};
use genba_format::QUANTUM_NS;
use genba_format::state::{State, WaitedOn};
use genba_python::memory::Address;

pub mod ended;
#[cfg(test)]
mod tests;

/// What a thread's time is counted by. A further one is a further row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clock {
    /// The thread's clock.
    Cpu,
    /// The monotonic clock.
    Wall,
}

const CLOCKS: usize = 2;
/// What a sample of a thread stands for that ran.
pub const RUNS: &[Clock] = &[Clock::Cpu, Clock::Wall];
/// What a sample of a thread stands for that waited: its clock stood still.
pub const WAITS: &[Clock] = &[Clock::Wall];

/// How far each clock had come at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment([u64; CLOCKS]);

impl Moment {
    #[must_use]
    pub const fn new(now_ns: u64, cpu_ns: u64) -> Moment {
        Moment([cpu_ns, now_ns])
    }

    const fn of(self, clock: Clock) -> u64 {
        self.0[clock as usize]
    }

    fn midpoint(self, other: Moment) -> Moment {
        Moment(std::array::from_fn(|clock| self.0[clock].midpoint(other.0[clock])))
    }
}

/// Whole quanta of each clock.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Quanta([u64; CLOCKS]);

impl Quanta {
    #[must_use]
    pub const fn of(self, clock: Clock) -> u64 {
        self.0[clock as usize]
    }

    const fn more(self, end_ns: Option<u64>) -> More {
        More { end_ns, ticks: 0, cpu_quanta: self.of(Clock::Cpu), wall_quanta: self.of(Clock::Wall) }
    }
}

/// What a thread's sample says, beside what it stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Found {
    /// The thread's row.
    pub thread: u32,
    pub node: u32,
    pub state: State,
    pub ticks: u32,
}

/// What the recorder's sample at that position stands for besides.
#[derive(Clone, Copy, Debug)]
pub struct Extension {
    pub position: usize,
    pub more: More,
}

/// Why a look ended without a sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    Dropped(Dropped),
    Refused(Refused),
}

impl Why {
    /// The thread cannot be asked until the program does something about it: what it runs meanwhile is in no later sample.
    const fn lasts(self) -> bool {
        matches!(self, Why::Refused(Refused::SignalTaken | Refused::NoSignalStack | Refused::Masked))
    }
}

/// Looks that ended without a sample, and the wall time that no sample will tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unsampled {
    pub why: Why,
    pub ticks: u64,
    pub wall_ns: u64,
}

/// The sample of a running thread that the next look may add to.
#[derive(Clone, Copy, Debug)]
struct RunningSample {
    /// Among the recorder's samples of the next block.
    position: usize,
    at: Moment,
}

/// A waiting sample that goes on while the thread's clock stands still.
#[derive(Clone, Copy, Debug)]
pub struct WaitingSample {
    /// As each look sees it.
    pub state: State,
    /// What its system call waits on, found at the first look: part of the state where the sample is written.
    pub on: Option<WaitedOn>,
    /// Where the thread is named that holds the lock it waits for.
    pub lock_owner: Option<Address>,
    pub node: u32,
    pub ticks: u32,
    pub wall_quanta: u64,
    pub end_ns: u64,
    /// When it was first looked at, or last written: it waits since then at least.
    pub began_ns: u64,
    /// The context that it was found in; 0: not known.
    pub context_version: u64,
    /// Its C stack was cut where no table told the caller: the list of files at the time. A later list may.
    pub cut_at: Option<u64>,
}

impl WaitingSample {
    /// As the recording tells it.
    #[must_use]
    pub const fn sample(self, thread: u32) -> Sample {
        let state = match self.state {
            State::InSystemCall(number, _) => State::InSystemCall(number, self.on),
            state => state,
        };
        Sample {
            end_ns: self.end_ns,
            thread,
            node: self.node,
            state,
            ticks: self.ticks,
            cpu_quanta: 0,
            wall_quanta: self.wall_quanta,
        }
    }

    /// Its sample was written, and it goes on.
    const fn written(self) -> WaitingSample {
        WaitingSample { ticks: 0, wall_quanta: 0, began_ns: self.end_ns, ..self }
    }
}

pub struct Ledger {
    /// The thread's clock at the last look.
    cpu_ns: u64,
    /// Up to here each clock is in samples, or counted as in none. Of wall time a whole number of quanta, as the ends of samples are, so
    /// that from one sample to the next both tell the same.
    credited: [u64; CLOCKS],
    /// CPU that no sample will have, as the thread could not be asked: counted as credited.
    given_up_ns: u64,
    still: Option<WaitingSample>,
    /// Its last sample in this block, if the thread ran then and has not been seen waiting since.
    ran: Option<RunningSample>,
}

impl Ledger {
    /// Of a thread that is first seen now, with its clock there: all CPU that it used is still to be credited.
    #[must_use]
    pub const fn new(now_ns: u64, cpu_ns: u64) -> Ledger {
        let credited = Moment::new(now_ns.next_multiple_of(QUANTUM_NS), 0).0;
        Ledger { cpu_ns, credited, given_up_ns: 0, still: None, ran: None }
    }

    /// It began since the tick before: all that its clock tells it has run since then.
    pub const fn begins(&mut self) {
        self.cpu_ns = 0;
    }

    /// The thread's clock at the last look.
    #[must_use]
    pub const fn cpu_ns(&self) -> u64 {
        self.cpu_ns
    }

    /// CPU up to the last look that is in no sample.
    #[must_use]
    pub const fn cpu_not_sampled_ns(&self) -> u64 {
        self.given_up_ns + self.cpu_carried_ns()
    }

    /// The part of it that the next sample will have.
    #[must_use]
    pub const fn cpu_carried_ns(&self) -> u64 {
        self.cpu_ns.saturating_sub(self.credited[Clock::Cpu as usize])
    }

    /// Whether it ran while it could not be asked: no sample of it, and of none of its kind, tells what it did then.
    #[must_use]
    pub const fn gave_up(&self) -> bool {
        self.given_up_ns > 0
    }

    /// The waiting sample, if the thread was last seen waiting.
    #[must_use]
    pub const fn still(&self) -> Option<WaitingSample> {
        self.still
    }

    /// A look reads the thread's clock: how much of it is new. `None`: the clock went back, so this is another thread.
    pub fn advance(&mut self, cpu_ns: u64) -> Option<u64> {
        let ran_ns = cpu_ns.checked_sub(self.cpu_ns)?;
        self.cpu_ns = cpu_ns;
        Some(ran_ns)
    }

    /// CPU up to the last look, but no further than `from_ns`, is none of this recording's.
    pub fn begin_at(&mut self, from_ns: u64) {
        self.credited[Clock::Cpu as usize] = self.cpu_ns.min(from_ns);
    }

    /// Seen running, or waiting for a CPU: the sample that the answer makes.
    pub fn sample(&mut self, clocks: &[Clock], at: Moment, found: Found) -> Sample {
        let quanta = self.credit(clocks, at);
        let Found { thread, node, state, ticks } = found;
        let (cpu_quanta, wall_quanta) = (quanta.of(Clock::Cpu), quanta.of(Clock::Wall));
        Sample { end_ns: at.of(Clock::Wall), thread, node, state, ticks, cpu_quanta, wall_quanta }
    }

    /// The sample of the running thread was written there.
    pub const fn ran_at(&mut self, position: usize, at: Moment) {
        self.ran = Some(RunningSample { position, at });
    }

    /// Seen running twice in a row: of what lies between the two, the first half belongs to the first sample. If all of it belonged to
    /// the second one, what a program does late in a burst would weigh more than what it does early.
    pub fn went_on(&mut self, at: Moment) -> Option<Extension> {
        let ran = self.ran.take()?;
        let until = ran.at.midpoint(at);
        let more = self.credit(RUNS, until).more(Some(until.of(Clock::Wall)));
        Some(Extension { position: ran.position, more })
    }

    /// Seen running, then not: what it ran in between belongs to the sample, too.
    pub fn ran_until(&mut self, cpu_ns: u64) -> Option<Extension> {
        let ran = self.ran.take()?;
        let more = self.credit(&[Clock::Cpu], Moment::new(0, cpu_ns)).more(None);
        Some(Extension { position: ran.position, more })
    }

    /// Seen running, then it ended: what it did until its end belongs to the sample, and so do the looks that found it gone.
    pub fn ended(&mut self, at: Moment, ticks: u32) -> Option<Extension> {
        let ran = self.ran.take()?;
        let end_ns = Some(at.of(Clock::Wall)).filter(|&end_ns| end_ns > ran.at.of(Clock::Wall));
        let more = self.credit(RUNS, at).more(end_ns);
        Some(Extension { position: ran.position, more: More { ticks, ..more } })
    }

    /// Begins a waiting sample, without a tick yet.
    pub const fn wait(&mut self, still: WaitingSample) {
        self.still = Some(still);
    }

    /// One more tick of the waiting sample, which ends there now: how much longer it waited.
    pub fn waits_until(&mut self, end_ns: u64) -> u64 {
        let wall_quanta = self.credit(WAITS, Moment::new(end_ns, 0)).of(Clock::Wall);
        if let Some(still) = &mut self.still {
            still.ticks += 1;
            still.wall_quanta += wall_quanta;
            still.end_ns = end_ns;
        }
        wall_quanta
    }

    /// Ends the waiting sample. Nothing, where it has no tick.
    pub fn end_wait(&mut self) -> Option<WaitingSample> {
        self.still.take().filter(|still| still.ticks > 0)
    }

    /// Which context the waiting sample is in is not known from here on.
    pub const fn forget_context(&mut self) {
        if let Some(still) = &mut self.still {
            still.context_version = 0;
        }
    }

    /// Ends the waiting sample without a word: its time is told otherwise.
    pub const fn forget_wait(&mut self) {
        self.still = None;
    }

    /// A block ends that has nothing of the waiting sample yet; nothing is added to a running one any more.
    pub const fn end_block_in_wait(&mut self) {
        self.ran = None;
    }

    /// A block ends. Of the waiting sample it has what there is, and the sample goes on; nothing is added to a running one any more.
    pub fn end_block(&mut self, still: Option<WaitingSample>) {
        self.ran = None;
        self.still = still.map(WaitingSample::written);
    }

    /// Looks end without a sample: their CPU is carried, unless the reason lasts; their wall time is in no sample.
    pub fn lose(&mut self, why: Why, ticks: u64, now_ns: u64) -> Unsampled {
        if why.lasts() {
            self.give_up();
        }
        Unsampled { why, ticks, wall_ns: self.skip_wall(now_ns) }
    }

    /// What ran up to the last look is in no sample.
    fn give_up(&mut self) {
        self.ran = None;
        let carried_ns = self.cpu_carried_ns();
        self.given_up_ns += carried_ns;
        self.credited[Clock::Cpu as usize] += carried_ns;
    }

    /// Wall time that no sample will tell, in whole quanta, too.
    pub fn skip_wall(&mut self, now_ns: u64) -> u64 {
        self.credit(WAITS, Moment::new(now_ns, 0)).of(Clock::Wall) * QUANTUM_NS
    }

    /// Nothing that the thread did until now is in a sample: its clock counts from here. The wall time that passed.
    pub fn skip(&mut self, now_ns: u64, cpu_ns: u64) -> u64 {
        self.ran = None;
        self.cpu_ns = cpu_ns;
        self.begin_at(cpu_ns);
        self.skip_wall(now_ns)
    }

    /// Whole quanta between what was credited and that moment; the remainder stays for the next sample.
    fn credit(&mut self, clocks: &[Clock], up_to: Moment) -> Quanta {
        let mut quanta = Quanta::default();
        for &clock in clocks {
            let credited = &mut self.credited[clock as usize];
            let whole = up_to.of(clock).saturating_sub(*credited) / QUANTUM_NS;
            *credited += whole * QUANTUM_NS;
            quanta.0[clock as usize] = whole;
        }
        quanta
    }
}
