//! The state of the key that an operator is looking at.

/// The state of one key, while its records and timers are processed.
///
/// It knows whether it was changed: a state that was only read isn't written back.
#[derive(Debug)]
pub struct KeyState<S> {
    value: Option<S>,
    /// Whether the record at hand has changed it, or may have.
    touched: bool,
}

impl<S> KeyState<S> {
    pub(crate) fn new(value: Option<S>) -> Self {
        Self { value, touched: false }
    }

    /// The state, if the key has one.
    #[inline]
    pub fn get(&self) -> Option<&S> {
        self.value.as_ref()
    }

    /// The state, to be changed. It counts as changed from then on.
    #[inline]
    pub fn get_mut(&mut self) -> Option<&mut S> {
        self.touched |= self.value.is_some();
        self.value.as_mut()
    }

    /// The state, to be changed; one that isn't there is made.
    #[inline]
    pub fn get_or_insert_with(&mut self, make: impl FnOnce() -> S) -> &mut S {
        self.touched = true;
        self.value.get_or_insert_with(make)
    }

    /// The state, to be changed; one that isn't there is the default.
    #[inline]
    pub fn get_or_default(&mut self) -> &mut S
    where
        S: Default,
    {
        self.get_or_insert_with(S::default)
    }

    /// Replaces the state.
    #[inline]
    pub fn set(&mut self, value: S) {
        self.touched = true;
        self.value = Some(value);
    }

    /// Takes the state away: the key has none any more, and costs nothing.
    #[inline]
    pub fn take(&mut self) -> Option<S> {
        self.touched |= self.value.is_some();
        self.value.take()
    }

    /// Drops the state: the key has none any more, and costs nothing.
    #[inline]
    pub fn clear(&mut self) {
        self.take();
    }

    /// Whether it may have been changed since the last call of this.
    #[inline]
    pub(crate) fn take_touched(&mut self) -> bool {
        std::mem::take(&mut self.touched)
    }
}
