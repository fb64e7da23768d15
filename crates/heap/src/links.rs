//! The links of a list that should lead back to its head, in a process that may have damaged its own memory.
//! Owns: whether they ever do. Never: reads one.

/// Finds a circle that leaves out the head, within three times its length and that of the links before it (Brent 1980).
#[derive(Default)]
pub struct Links {
    kept: u64,
    /// Links since the kept one.
    steps: u64,
    steps_max: u64,
}

impl Links {
    /// `link`: the next one, which is not the head.
    pub fn have_no_end(&mut self, link: u64) -> bool {
        if link == self.kept {
            // At the beginning that is 0, a link that leads nowhere.
            return true;
        }
        self.steps += 1;
        if self.steps > self.steps_max {
            (self.kept, self.steps, self.steps_max) = (link, 0, self.steps_max * 2 + 1);
        }
        link == 0
    }
}

#[cfg(test)]
mod tests {
    use super::Links;

    /// So many links are passed until it is found.
    fn found(leading: u64, circle: u64) -> u64 {
        let mut links = Links::default();
        let link = |step: u64| 16 * (1 + if step < leading { step } else { leading + (step - leading) % circle });
        (0..10_000).find(|step| links.have_no_end(link(*step))).expect("a circle")
    }

    #[test]
    fn a_circle_is_found_wherever_it_begins() {
        for leading in [0, 1, 2, 7, 100, 1000] {
            for circle in [1, 2, 3, 50, 1000] {
                let steps = found(leading, circle);
                assert!(
                    steps >= leading + circle && steps <= 3 * (leading + circle) + 3,
                    "{leading} {circle}: {steps}"
                );
            }
        }
    }

    #[test]
    fn a_list_that_leads_nowhere_has_no_end() {
        let mut links = Links::default();
        assert!((1..100).all(|link| !links.have_no_end(16 * link)));
        assert!(links.have_no_end(0) && Links::default().have_no_end(0));
    }
}
