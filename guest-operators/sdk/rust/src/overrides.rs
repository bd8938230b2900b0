//! A column of the output that most records inherit from their input.

/// The entries of a column that were set, by rising position. The others are inherited, and filled
/// in at the end of the batch, if any was set at all.
#[derive(Debug, Default)]
pub(crate) struct Overrides<Entries> {
    pub(crate) entries: Entries,
    positions: Vec<u32>,
}

impl<Entries> Overrides<Entries> {
    /// Notes that the entry just added is that of the output record at `position`.
    pub(crate) fn note(&mut self, position: usize) {
        self.positions.push(position as u32);
    }

    /// Forgets the entries from output record `position` on, and says how many are left.
    pub(crate) fn truncate(&mut self, position: usize) -> usize {
        while self.positions.last().is_some_and(|&last| last as usize >= position) {
            self.positions.pop();
        }
        self.positions.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// Calls `inherit(input)` or `set(entry)` for each output record in order, where `input` is the
    /// index of the record that made it and `entry` counts the entries that were set.
    pub(crate) fn fill<State>(
        &self,
        ends: &[u32],
        state: &mut State,
        inherit: impl Fn(&mut State, usize),
        set: impl Fn(&mut State, usize),
    ) {
        let mut positions = self.positions.iter().copied().enumerate().peekable();
        let mut output = 0;
        for (input, &end) in ends.iter().enumerate() {
            while output < end {
                match positions.next_if(|&(_, position)| position == output) {
                    Some((entry, _)) => set(state, entry),
                    None => inherit(state, input),
                }
                output += 1;
            }
        }
    }

    /// Whether every one of `outputs` records was set, so that the entries are the column.
    pub(crate) fn covers(&self, outputs: usize) -> bool {
        self.positions.len() == outputs
    }
}
