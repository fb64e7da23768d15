//! The runs of a command as a line of cells.
//! Owns: which runs fall to a cell, and how high it is. Never: writes a unit.

pub const CELLS: usize = 20;
const RUNS_WITH_A_SHAPE: usize = 20;
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The times in the order in which they were measured, as many cells: each the mean of the runs that fall to it.
pub fn in_order(times_ns: &[f64], min_ns: f64, max_ns: f64) -> Option<String> {
    if times_ns.len() < RUNS_WITH_A_SHAPE || max_ns <= min_ns {
        return None;
    }
    let of_cell = |cell: usize| {
        let runs = &times_ns[cell * times_ns.len() / CELLS..(cell + 1) * times_ns.len() / CELLS];
        let mean_ns = runs.iter().sum::<f64>() / runs.len() as f64;
        LEVELS[((mean_ns - min_ns) / (max_ns - min_ns) * (LEVELS.len() - 1) as f64).round() as usize]
    };
    Some((0..CELLS).map(of_cell).collect())
}

/// How many runs took how long, from the shortest to the longest. None: too few runs to have a shape.
pub fn histogram(times_ns: &[f64], min_ns: f64, max_ns: f64) -> Option<String> {
    let width_ns = (max_ns - min_ns) / CELLS as f64;
    if times_ns.len() < RUNS_WITH_A_SHAPE || width_ns <= 0.0 {
        return None;
    }
    let mut cells = [0_usize; CELLS];
    for time_ns in times_ns {
        let cell = ((time_ns - min_ns) / width_ns) as usize;
        cells[cell.min(CELLS - 1)] += 1;
    }
    let most = cells.iter().copied().max().unwrap_or(1).max(1);
    let level = |runs: usize| match runs {
        0 => ' ',
        runs => LEVELS[(runs * LEVELS.len()).div_ceil(most) - 1],
    };
    Some(cells.into_iter().map(level).collect())
}

#[cfg(test)]
mod tests {
    #[test]
    fn enough_runs_have_a_histogram() {
        let times: Vec<f64> =
            [1.0, 1.0, 1.0, 1.0, 1.06, 1.06, 2.0].into_iter().cycle().take(21).map(|time| time * 1e8).collect();
        let strip = super::histogram(&times, 1e8, 2e8);
        assert_eq!(strip.as_deref(), Some("█▄                 ▂"));
        assert_eq!(super::histogram(&times[..19], 1e8, 2e8), None);
        assert_eq!(super::histogram(&[1e8; 30], 1e8, 1e8), None);
    }

    #[test]
    fn enough_runs_have_an_order() {
        let slower: Vec<f64> = (0..40).map(|run| 1e8 + f64::from(run) * 1e6).collect();
        assert_eq!(super::in_order(&slower, 1e8, 1.39e8).as_deref(), Some("▁▁▂▂▃▃▃▄▄▄▅▅▅▆▆▆▇▇██"));
        let first: Vec<f64> = (0..23).map(|run| if run == 0 { 2e8 } else { 1e8 }).collect();
        assert_eq!(super::in_order(&first, 1e8, 2e8).as_deref(), Some("█▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁"));
        assert_eq!(super::in_order(&first[..19], 1e8, 2e8), None);
        assert_eq!(super::in_order(&[1e8; 30], 1e8, 1e8), None);
    }
}
