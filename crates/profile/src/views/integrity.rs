//! The accounting of each process, exactly, for `genba check`.
//! Never: judges; `genba_format::laws` does.

use genba_format::measure::Totals;

use crate::rules::verdict::not_followed;
use crate::rules::warnings::name;
use crate::tables::profile::{Process, ProcessIndex, Profile};
use crate::words::figures::{count, counted, duration, size};

pub fn text(profile: &Profile, shown: &str, bytes: u64, blocks: u64) -> String {
    if profile.is_imported() {
        let mut page = format!("{shown}: {}\n", size(bytes));
        for process in profile.processes.iter() {
            page +=
                &format!("  {}\n  {}\n", process.imported.as_deref().unwrap_or_default(), process.accounting.words());
        }
        return page;
    }
    let blocks = counted(blocks, "block", "blocks");
    let processes = counted(profile.processes.len() as u64, "process", "processes");
    let mut page = format!("{shown}: {}, {blocks}, {processes}\n", size(bytes));
    for (index, process) in profile.processes.enumerate() {
        page += &of_process(profile, index, process);
    }
    if let Some(words) = not_followed::words(&profile.not_followed) {
        page += &format!("{words}\n");
    }
    page
}

fn of_process(profile: &Profile, index: ProcessIndex, process: &Process) -> String {
    let clocks = profile.clocks_of(index);
    let mut page = format!("{}: {}", name(process), counted(process.blocks, "block", "blocks"));
    if process.blocks_lost > 0 {
        page += &format!(", {} lost", count(process.blocks_lost));
    }
    page += &format!(", {}\n", end_in_words(profile, index, process));
    if let Some(why) = &process.refused {
        return page + &format!("  not sampled: {why}\n");
    }
    page += &format!("  {}\n  {}\n", process.accounting.words(), clocks.words());
    if clocks.cpu_lost_ns > 0 {
        page += &format!("  lost: {} of the sampled CPU, with its blocks\n", duration(clocks.cpu_lost_ns));
    }
    if clocks.cpu_not_recorded_ns > 0 {
        page += &format!("  not recorded: {} of CPU after the last block\n", duration(clocks.cpu_not_recorded_ns));
    }
    if clocks.wall_not_sampled_ns > 0 {
        page += &format!("  wall time of refused and dropped ticks: {}\n", duration(clocks.wall_not_sampled_ns));
    }
    if let Some(mean_ns) = clocks.handler_ns.checked_div(clocks.handler_runs) {
        let runs = counted(clocks.handler_runs, "run", "runs");
        page += &format!("  in the handler: {} in {runs}, {mean_ns} ns each\n", duration(clocks.handler_ns));
    }
    for (measure, totals) in &process.measures {
        let name = measure.name().map_or_else(|| format!("measure {}", measure.stored()), ToOwned::to_owned);
        let unit = measure.unit().map_or(String::new(), |unit| format!(" {unit}"));
        let &Totals { exact, genba, sampled, not_sampled } = totals;
        let [exact, sampled, not_sampled, genba] = [exact, sampled, not_sampled, genba].map(count);
        page += &format!("  {name}: {exact}{unit} = sampled {sampled} + not sampled {not_sampled} + genba {genba}\n");
    }
    page
}

/// The agent writes `exit` also where a signal ends the process: that it was one is known of the program that the recorder waited for.
fn end_in_words(profile: &Profile, index: ProcessIndex, process: &Process) -> String {
    if profile.became_another(index) {
        return "became another program (exec)".to_owned();
    }
    let is_awaited = profile.processes.iter().next().is_some_and(|first| first.pid == process.pid);
    let signal = profile.recorder.as_ref().and_then(|recorder| recorder.exit_signal).filter(|_| is_awaited);
    match (process.ended.as_deref(), signal) {
        (Some("exit"), Some(signal)) => format!("was ended by signal {signal}"),
        (Some(why), _) => format!("ended ({why})"),
        (None, Some(signal)) => format!("no end block, was ended by signal {signal}"),
        (None, None) => "no end block".to_owned(),
    }
}
