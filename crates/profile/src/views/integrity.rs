//! The accounting of each process, exactly, for `genba check`.
//! Never: judges; `genba_format::laws` does.

use genba_format::measure::Totals;

use crate::rules::verdict::not_followed;
use crate::rules::warnings::name;
use crate::tables::profile::{Clocks, Process, Profile};
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
        page += &of_process(process, profile.clocks_of(index));
    }
    if let Some(words) = not_followed::words(&profile.not_followed) {
        page += &format!("{words}\n");
    }
    page
}

fn of_process(process: &Process, clocks: Clocks) -> String {
    let mut page = format!("{}: {}", name(process), counted(process.blocks, "block", "blocks"));
    if process.blocks_lost > 0 {
        page += &format!(", {} lost", count(process.blocks_lost));
    }
    page += &match &process.ended {
        Some(why) => format!(", ended ({why})\n"),
        None => ", no end block\n".to_string(),
    };
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
