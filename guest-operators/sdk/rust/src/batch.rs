//! The columns in which records come and go, as the contract (`wit/types.wit`) has them.

/// A sequence of byte strings, stored end to end: string `i` is `data[ends[i - 1]..ends[i]]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// Where each string ends, in bytes from the start of `data`; never decreasing.
    pub ends: Vec<u32>,
    /// The bytes of all strings.
    pub data: Vec<u8>,
}

impl Column {
    /// How many strings there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no string.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The string at `index`, counted from 0.
    ///
    /// # Panics
    /// When there is no such string, or the ends don't rise.
    pub fn get(&self, index: usize) -> &[u8] {
        let begin = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.data[begin as usize..self.ends[index] as usize]
    }

    /// The strings, in order.
    ///
    /// # Panics
    /// When the ends don't rise.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut begin = 0;
        self.ends.iter().map(move |&end| {
            let string = &self.data[begin..end as usize];
            begin = end as usize;
            string
        })
    }

    /// Adds a string at the end.
    ///
    /// # Panics
    /// When the column would pass 4 GiB.
    pub fn push(&mut self, string: &[u8]) {
        self.data.extend_from_slice(string);
        self.ends.push(u32::try_from(self.data.len()).expect("a column holds at most 4 GiB"));
    }
}

impl<S: AsRef<[u8]>> FromIterator<S> for Column {
    fn from_iter<I: IntoIterator<Item = S>>(strings: I) -> Self {
        let mut column = Self::default();
        for string in strings {
            column.push(string.as_ref());
        }
        column
    }
}

/// What stands for no event time in a column of times.
pub(crate) const NO_TIME: i64 = i64::MIN;

/// Records, in order. Every column that is present has one entry a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// The payload of each record.
    pub values: Column,
    /// The key of each record. Absent: every record has the empty key.
    pub keys: Option<Column>,
    /// The event time of each record, in milliseconds since 1970-01-01T00:00:00 UTC. Absent: no
    /// record has one.
    pub timestamps: Option<Vec<i64>>,
}

/// What a batch became.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Emission {
    /// The output records. An absent key or time column means: inherited from the input record.
    pub records: Batch,
    /// One entry an input record: input record `i` made the output records
    /// `ends[i - 1]..ends[i]`.
    pub ends: Vec<u32>,
    /// The input records that were rejected, by rising index.
    pub rejected: Vec<RejectedRecord>,
}

/// An input record that was rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedRecord {
    /// Which record of the input batch, counted from 0.
    pub index: u32,
    /// What was expected and what was found.
    pub reason: String,
}
