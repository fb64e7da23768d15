//! Threads that wait for work to come: a server for its next connection, an event loop for its next event, a pool's thread for its next task.
//! Owns: which waits those are. Never: calls a wait for an answer one of them: whoever asks waits for somebody else's work.
//!
//! Such a wait says only that nobody asked. Where a program has enough besides such waits to be judged, they do not decide what it is weighed by.

use foldhash::HashMap;

use syscalls::x86_64::Sysno;

use crate::rules::verdict::thresholds::{SAMPLES_MIN, TIME_NS_MIN};
use crate::rules::waits::pauses::recorded_ns;
use crate::rules::waits::short::ShortWaits;
use crate::tables::own_code::event_loop::EventLoop;
use crate::tables::own_code::{is_frame_of_library, is_of_library, own_code};
use crate::tables::owner::{Owner, is_typed, path_in_installed};
use crate::tables::profile::{File, FrameIndex, FrameKind, Function, Home, Node, NodeIndex, Profile, SampleGroup};
use crate::tables::table::TableIndex;
use crate::words::figures::share;
use genba_format::state::State;

/// The end of a file's path, and functions in it.
type Functions = (&'static str, &'static [&'static str]);

/// What these wait for is whatever their caller waits for.
const HELPERS: [&str; 13] = [
    "/selectors.py",
    "/threading.py",
    "/queue.py",
    "/multiprocessing/connection.py",
    "/multiprocessing/queues.py",
    "/multiprocessing/synchronize.py",
    "/billiard/connection.py",
    "/billiard/queues.py",
    "/billiard/synchronize.py",
    "/grpc/_common.py",
    "/kombu/connection.py",
    "/kombu/transport/virtual/base.py",
    "/kombu/utils/eventio.py",
];

/// What waits for a child is no helper of theirs: a pool that was given `subprocess.run` waits for its answer.
const CHILDREN: &str = "/subprocess.py";

/// The parents of a server that is started again whenever a file changed: they wait for it to end.
const PARENTS: [Functions; 2] = [
    ("/werkzeug/_reloader.py", &["ReloaderLoop.restart_with_reloader"]),
    ("/django/utils/autoreload.py", &["restart_with_reloader"]),
];

/// Loops that wait for nothing but work.
const LOOPS: [Functions; 26] = [
    ("/socket.py", &["socket.accept"]),
    ("/socketserver.py", &["BaseServer.serve_forever"]),
    ("/concurrent/futures/thread.py", &["_worker"]),
    ("/concurrent/futures/process.py", &["_ExecutorManagerThread.wait_result_broken_or_wakeup"]),
    (
        "/multiprocessing/pool.py",
        &["worker", "Pool._wait_for_updates", "Pool._handle_workers", "Pool._handle_tasks", "Pool._handle_results"],
    ),
    ("/multiprocessing/queues.py", &["Queue._feed"]),
    ("/multiprocessing/managers.py", &["Server.serve_forever", "Server.accepter", "Server.serve_client"]),
    ("/multiprocessing/forkserver.py", &["main"]),
    ("/multiprocessing/resource_tracker.py", &["main"]),
    ("/logging/handlers.py", &["QueueListener.dequeue", "QueueListener._monitor"]),
    ("/gunicorn/arbiter.py", &["Arbiter.sleep", "Arbiter.wait_for_signals"]),
    ("/gunicorn/workers/sync.py", &["SyncWorker.wait"]),
    ("/gunicorn/workers/gthread.py", &["TConn.wait_for_data", "ThreadWorker.wait_for_and_dispatch_events"]),
    ("/grpc/_server.py", &["_serve", "_Server.wait_for_termination"]),
    ("/waitress/wasyncore.py", &["poll", "poll2"]),
    ("/waitress/task.py", &["ThreadedTaskDispatcher.handler_thread"]),
    ("/werkzeug/_reloader.py", &["ReloaderLoop.run", "WatchdogReloaderLoop.run"]),
    ("/django/utils/autoreload.py", &["StatReloader.tick", "WatchmanReloader.tick"]),
    ("/kombu/asynchronous/hub.py", &["Hub.create_loop"]),
    ("/celery/worker/loops.py", &["synloop", "synloop.<locals>._loop_cycle"]),
    ("/celery/utils/timer2.py", &["Timer.run", "Timer._next_entry"]),
    // Celery's own `multiprocessing`.
    (
        "/billiard/pool.py",
        &[
            "Worker._make_recv_method.<locals>._recv",
            "Worker._make_protected_receive.<locals>.receive",
            "Supervisor.body",
            "TaskHandler.body",
            "TimeoutHandler.body",
            "ResultHandler.body",
            "ResultHandler._process_result",
            "Pool._setup_queues.<locals>._poll_result",
        ],
    ),
    // Its workers are asked whether they live, and wait for that question in a thread of their own.
    (
        "/uvicorn/supervisors/multiprocess.py",
        &["Multiprocess.run", "Process.ping", "Process._healthcheck", "Process.pong"],
    ),
    ("/uvicorn/supervisors/basereload.py", &["BaseReload.pause"]),
    ("/watchfiles/main.py", &["watch"]),
    ("/hypercorn/run.py", &["run"]),
];

/// They wait for work in a queue of that file. All else that they call is a task, which may be a function in C, such as `lock.acquire`.
const WORKERS: [(Functions, &str); 2] = [
    (("/concurrent/futures/process.py", &["_process_worker"]), "/multiprocessing/queues.py"),
    (("/anyio/_backends/_asyncio.py", &["WorkerThread.run"]), "/queue.py"),
];

/// A pool calls its tasks in them, so a thread below them is not idle, whosever code it is in.
const TASKS: [Functions; 4] = [
    ("/concurrent/futures/thread.py", &["_WorkItem.run"]),
    ("/multiprocessing/pool.py", &["mapstar", "starmapstar"]),
    ("/billiard/pool.py", &["mapstar", "starmapstar"]),
    ("/trio/_core/_thread_cache.py", &["WorkerThread._handle_job"]),
];

/// These wait for work in a server, and in a client for answers.
const LOOPS_OF_SERVERS: [Functions; 6] = [
    ("/asyncio/base_events.py", &["BaseEventLoop._run_once"]),
    ("/asyncio/runners.py", &["Runner.run"]),
    ("/uvloop/__init__.py", &["run"]),
    ("/gevent/hub.py", &["Hub.run"]),
    ("/trio/_core/_io_epoll.py", &["EpollIOManager.get_events"]),
    ("/twisted/internet/epollreactor.py", &["EPollReactor.doPoll"]),
];

/// A loop of the user's own that calls one of them asks many for the next event, as servers do. Who waits for one answer asks for that alone,
/// and a client has a library that does it.
const SELECTING: [Functions; 1] =
    [("/selectors.py", &["SelectSelector.select", "_PollLikeSelector.select", "EpollSelector.select"])];

/// A program that ran one of them is a server. One that only imports them is none. Each begins with the package as it is installed.
const SERVERS: [&str; 15] = [
    "uvicorn/",
    "hypercorn/",
    "daphne/",
    "granian/",
    "gunicorn/",
    "sanic/",
    "aiohttp/web",
    "tornado/httpserver.py",
    "tornado/tcpserver.py",
    "websockets/asyncio/server.py",
    "grpc/aio/_server.py",
    "gevent/baseserver.py",
    "gevent/pywsgi.py",
    "aiosmtpd/",
    "trio/_highlevel_serve_listeners.py",
];
const SERVING: [Functions; 2] = [
    (
        "/asyncio/selector_events.py",
        &["BaseSelectorEventLoop._accept_connection", "BaseSelectorEventLoop._accept_connection2"],
    ),
    ("/asyncio/base_events.py", &["Server.serve_forever", "Server._start_serving", "Server._attach"]),
];

const IMPORTLIB: &str = "<frozen importlib.";

/// Less of all that the threads did is not worth a line.
const FOR_WORK_MIN: f64 = 0.05;

/// What a stack waits for, when it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaits {
    Work,
    /// In the event loop of a server, which waits for work and for all that its requests wait for.
    Event,
    /// Of a thread that a library began, where it only sleeps or waits to be called.
    Call,
    /// Of a thread without Python.
    Native,
    SomethingElse,
}

/// Sums over all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    pub running_samples: u64,
    /// As if there had always been a CPU.
    pub working_ns: u64,
    pub for_work_ns: u64,
    pub other_waits_ns: u64,
}

impl Sums {
    /// Whether there is enough besides the waits for work to be judged.
    fn tell_enough(self) -> bool {
        let running = self.running_samples >= SAMPLES_MIN && self.working_ns >= self.other_waits_ns;
        let waiting = self.other_waits_ns > self.working_ns;
        let is_much = share(self.for_work_ns, self.for_work_ns.saturating_add(self.besides_ns())) >= FOR_WORK_MIN;
        is_much && self.besides_ns() >= TIME_NS_MIN && (running || waiting)
    }

    pub fn besides_ns(self) -> u64 {
        self.working_ns.saturating_add(self.other_waits_ns)
    }
}

#[derive(Debug)]
pub struct ForWork {
    pub is_server: bool,
    stacks: HashMap<Option<NodeIndex>, Awaits>,
    pub sums: Sums,
}

impl ForWork {
    /// Of a whole recording. None: the program had work for half of its time, or does little but wait for some.
    pub fn set_apart(profile: &Profile, short_waits: &ShortWaits) -> Option<ForWork> {
        if profile.is_imported() || short_waits.working_ns().saturating_mul(2) >= recorded_ns(profile) {
            return None;
        }
        ForWork::that_tell(profile, short_waits)
    }

    /// However much work the program had. None: it does little but wait for some.
    pub fn that_tell(profile: &Profile, short_waits: &ShortWaits) -> Option<ForWork> {
        Some(ForWork::of(profile, short_waits, is_server(profile))).filter(|found| found.sums.tell_enough())
    }

    /// Without that decision: of a part of a recording, too. `is_server`: as the whole recording tells.
    pub fn of(profile: &Profile, short_waits: &ShortWaits, is_server: bool) -> ForWork {
        let event_loop = EventLoop::of(profile);
        let has_users_code = has_users_code(profile);
        let sums = Sums { working_ns: short_waits.working_ns(), ..Sums::default() };
        let mut found = ForWork { is_server, stacks: HashMap::default(), sums };
        let add = |sum: &mut u64, part: u64| *sum = sum.saturating_add(part);
        for (index, group) in profile.samples.iter().enumerate() {
            if group.state.is_running() {
                add(&mut found.sums.running_samples, group.samples);
            }
            let short = short_waits.of_group(index).map(|wait| (wait.state, wait.wall_ns));
            let whole = group.state.is_waiting().then_some((group.state, group.wall_ns));
            for (state, wall_ns) in short.into_iter().chain(whole) {
                let stack = || awaits(profile, &event_loop, group.node, is_server, has_users_code);
                found.stacks.entry(group.node).or_insert_with(stack);
                match found.is(profile, group, state) {
                    true => add(&mut found.sums.for_work_ns, wall_ns),
                    false => add(&mut found.sums.other_waits_ns, wall_ns),
                }
            }
        }
        found
    }

    /// Whether some of it was the wait of an event loop, which may have been for what a request awaited.
    pub fn has_event_loop(&self) -> bool {
        self.stacks.values().any(|awaits| *awaits == Awaits::Event)
    }

    /// Whether a wait of this thread with this stack, in that state, is one for work.
    pub fn is(&self, profile: &Profile, group: &SampleGroup, state: State) -> bool {
        if !state.is_waiting() {
            return false;
        }
        let call = match state {
            State::InSystemCall(number, _) => Sysno::new(number as usize),
            _ => None,
        };
        let thread = &profile.threads[group.thread];
        let is_main = thread.tid == profile.processes[thread.process].pid;
        match self.stacks.get(&group.node) {
            Some(Awaits::Work | Awaits::Event) => true,
            Some(Awaits::Call) => !is_main && call.is_some_and(is_rest),
            Some(Awaits::Native) => !is_main && call.is_some_and(|call| is_rest(call) || is_for_an_event(call)),
            _ => matches!(call, Some(Sysno::accept | Sysno::accept4)),
        }
    }
}

fn is_server(profile: &Profile) -> bool {
    let serves = |function: &Function| {
        let Some(path) = path_of(profile, function) else { return false };
        is_of_server(profile, path) || is_one_of(&SERVING, path, &function.name)
    };
    let serving: Vec<bool> = profile.functions.iter().map(serves).collect();
    let runs = |(node, row): (NodeIndex, &Node)| {
        serving[profile.frames[row.frame].function.position()] && !is_import(profile, node)
    };
    serving.contains(&true) && profile.nodes.enumerate().any(runs)
}

/// Decided by the innermost Python function that is none of the helpers.
fn awaits(
    profile: &Profile,
    event_loop: &EventLoop,
    leaf: Option<NodeIndex>,
    is_server: bool,
    has_users_code: bool,
) -> Awaits {
    let own = own_code(profile, event_loop, leaf);
    // Where a process ran next to none of the user's code, its libraries count as that. Of a pool's parent they are not what was asked for.
    let is_users = |frame: &FrameIndex| !has_users_code || !is_frame_of_library(profile, *frame);
    let mut python = profile.stack(leaf).filter(|frame| profile.frames[*frame].kind == FrameKind::Python);
    let (mut is_for_child, mut is_selecting) = (false, false);
    // The file of the function that this one called.
    let mut called = "";
    let waits = python.find_map(|frame| {
        let function = profile.function_of(frame);
        let path = path_of(profile, function)?;
        let is_in = |functions: &[Functions]| is_one_of(functions, path, &function.name);
        let is_idle = |(worker, queue): &(Functions, &str)| is_in(&[*worker]) && called.ends_with(queue);
        let is_event_loop = is_server && is_in(&LOOPS_OF_SERVERS);
        let is_loop = is_in(&LOOPS) || is_event_loop || WORKERS.iter().any(is_idle);
        called = path;
        let is_helper = HELPERS.iter().any(|end| path.ends_with(end));
        let waits_for_child = path.ends_with(CHILDREN);
        is_for_child |= waits_for_child;
        let passes_on = is_helper || waits_for_child;
        // The frame before this one selects.
        let is_own_loop = is_selecting && !passes_on && !is_in(&LOOPS_OF_SERVERS) && own.frames.contains(&frame);
        is_selecting = is_in(&SELECTING);
        match is_in(&PARENTS) || is_own_loop || is_loop && !is_for_child {
            true => Some(if is_event_loop { Awaits::Event } else { Awaits::Work }),
            false => (!passes_on).then_some(Awaits::SomethingElse),
        }
    });
    match waits {
        Some(waits @ (Awaits::Work | Awaits::Event)) => waits,
        _ if own.deepest.is_none() => Awaits::Native,
        _ if !own.frames.iter().any(is_users) && !is_task(profile, leaf) => Awaits::Call,
        _ => Awaits::SomethingElse,
    }
}

/// Whether some process ran code that no library counts for.
fn has_users_code(profile: &Profile) -> bool {
    let own = |file: &File| file.owner == Owner::User && (is_typed(&file.path) || file.path.ends_with(".py"));
    profile.files.iter().any(|file| own(file) && !is_of_library(profile, &file.path))
}

/// A folder of the user's may have any name.
fn is_of_server(profile: &Profile, path: &str) -> bool {
    let installed = path_in_installed(&profile.packages, path);
    installed.is_some_and(|path| SERVERS.iter().any(|begin| path.starts_with(begin)))
}

/// Of the code of a server's module, and of what it calls while it is imported. One that was started, as by `python -m uvicorn`, is not imported.
fn is_import(profile: &Profile, node: NodeIndex) -> bool {
    let functions = profile.stack(Some(node)).map(|frame| profile.function_of(frame));
    let mut python = functions.filter_map(|function| Some((path_of(profile, function)?, &function.name)));
    let module = python.find(|(_, name)| *name == "<module>");
    module.is_some_and(|(path, _)| is_of_server(profile, path))
        && python.next().is_some_and(|(path, _)| path.starts_with(IMPORTLIB))
}

/// Of a stack that does not wait for work.
fn is_task(profile: &Profile, leaf: Option<NodeIndex>) -> bool {
    profile.stack(leaf).any(|frame| {
        let function = profile.function_of(frame);
        let Some(path) = path_of(profile, function) else { return false };
        let mut workers = WORKERS.iter();
        is_one_of(&TASKS, path, &function.name)
            || workers.any(|(worker, _)| is_one_of(&[*worker], path, &function.name))
    })
}

fn is_rest(call: Sysno) -> bool {
    matches!(call, Sysno::futex | Sysno::nanosleep | Sysno::clock_nanosleep)
}

fn is_for_an_event(call: Sysno) -> bool {
    let epoll = matches!(call, Sysno::epoll_wait | Sysno::epoll_pwait | Sysno::epoll_pwait2);
    epoll || matches!(call, Sysno::poll | Sysno::ppoll | Sysno::select | Sysno::pselect6)
}

fn is_one_of(functions: &[Functions], path: &str, name: &str) -> bool {
    functions.iter().any(|(end, names)| path.ends_with(end) && names.contains(&name))
}

fn path_of<'p>(profile: &'p Profile, function: &Function) -> Option<&'p str> {
    match function.home {
        Home::Python { file, .. } => Some(&profile.files[file].path),
        Home::C { .. } | Home::Mark => None,
    }
}
