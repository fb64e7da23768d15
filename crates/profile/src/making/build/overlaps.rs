//! Which samples were taken while a thread without Python ran: a library's own thread does not say who gave it its work, and
//! whoever did was there at the same time.
//! Owns: the times when such threads ran. Never: says for whom; keeps a sample.

use std::cmp::Ordering;

/// Half open, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    pub start_ns: u64,
    pub end_ns: u64,
}

/// Times when at least one such thread ran: in order, apart from each other.
#[derive(Debug, Default)]
pub struct Spans {
    spans: Vec<Span>,
    /// So many of them are in order.
    settled: usize,
}

impl Spans {
    /// Unsettled spans beyond this are settled: threads that run on take little room.
    const UNSETTLED_MAX: usize = 1 << 16;

    pub fn add(&mut self, span: Span) {
        match self.spans.last_mut() {
            // The same thread ran on.
            Some(last) if last.end_ns == span.start_ns => last.end_ns = span.end_ns,
            _ => self.spans.push(span),
        }
        if self.spans.len() - self.settled > Self::UNSETTLED_MAX {
            self.settle();
        }
    }

    pub fn settle(&mut self) {
        self.spans.sort_unstable();
        let mut merged: Vec<Span> = Vec::new();
        for span in &self.spans {
            match merged.last_mut() {
                Some(last) if span.start_ns <= last.end_ns => last.end_ns = last.end_ns.max(span.end_ns),
                _ => merged.push(*span),
            }
        }
        self.settled = merged.len();
        self.spans = merged;
    }

    /// How much of `span` lies in them, once they are settled.
    pub fn within_ns(&self, span: Span) -> u64 {
        let ends_before = |at: &Span| if at.end_ns <= span.start_ns { Ordering::Less } else { Ordering::Greater };
        let first = self.spans.binary_search_by(ends_before).unwrap_or_else(|position| position);
        let overlapping = self.spans[first..].iter().take_while(|at| at.start_ns < span.end_ns);
        overlapping.map(|at| at.end_ns.min(span.end_ns).saturating_sub(at.start_ns.max(span.start_ns))).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn span(start_ns: u64, end_ns: u64) -> Span {
        Span { start_ns, end_ns }
    }

    #[test]
    fn what_lies_in_them() {
        let mut spans = Spans::default();
        for at in [span(50, 60), span(60, 70), span(10, 20), span(15, 30), span(65, 80)] {
            spans.add(at);
        }
        spans.settle();
        let within = |start_ns, end_ns| spans.within_ns(span(start_ns, end_ns));
        assert_eq!([within(0, 10), within(0, 11), within(12, 18), within(30, 50), within(25, 55)], [0, 1, 6, 0, 10]);
        assert_eq!([within(0, 100), within(80, 90), within(79, 90)], [50, 0, 1]);
    }

    #[test]
    fn settled_in_between_they_are_the_same() {
        let mut spans = Spans::default();
        for number in (0..200_000).rev() {
            spans.add(span(number * 10, number * 10 + 5));
        }
        spans.settle();
        assert_eq!(spans.within_ns(span(0, 2_000_000)), 1_000_000);
    }
}
