//! One instance of a component: its store, its exports, and how its calls fail.

use std::fmt;
use std::time::{Duration, Instant};

use overspill_protocol::Cause;
use wasmtime::component::{ComponentNamedList, Instance, Lift, Lower, TypedFunc};
use wasmtime::{Store, Trap, UpdateDeadline};

use crate::convert::{ConfigureFunc, DescribeFunc, RawDescription, RawSettingError};
use crate::functions::Functions;
use crate::limits::Limiter;
use crate::load::Inner;
use crate::wasi::{Refused, Wasi};
use crate::{Description, Fault, InstanceError, LimitExceeded, LimitName, Limits};

/// What a description may take, in bytes.
const DESCRIPTION_BYTES: usize = 1 << 20;

/// What a store holds besides the instance.
pub(crate) struct State {
    limiter: Limiter,
    /// When the call under way is stopped.
    deadline: Instant,
    /// Present for a component that imports it.
    pub(crate) wasi: Option<Box<Wasi>>,
}

impl State {
    fn take_stderr(&mut self) -> String {
        self.wasi.as_deref_mut().map(Wasi::take_stderr).unwrap_or_default()
    }
}

/// An instance that is ready for batches, or for `configure`.
pub(crate) struct Guest {
    store: Store<State>,
    instance: Instance,
    limits: Limits,
    /// Looked up by `configure`; absent before.
    functions: Option<Functions>,
    calls: u64,
    /// From how much memory on it isn't used again, in bytes.
    recycle_memory: usize,
}

impl Guest {
    /// A new instance, and what it says of itself.
    pub(crate) fn start(
        operator: &Inner,
        limits: Limits,
    ) -> Result<(Self, RawDescription), InstanceError> {
        let shared = &operator.shared;
        let state = State {
            limiter: Limiter::new(limits),
            deadline: stop_at(Instant::now(), limits.deadline),
            wasi: (!operator.world.imports.is_empty()).then(Box::default),
        };
        let mut store = Store::new(&shared.engine, state);
        store.limiter(|state| &mut state.limiter);
        // A ticker that was held up makes up for lost ticks all at once, so ticks alone would stop
        // a call early: the clock has the last word.
        store.epoch_deadline_callback(|store| match Instant::now() >= store.data().deadline {
            true => Ok(UpdateDeadline::Interrupt),
            false => Ok(UpdateDeadline::Continue(1)),
        });
        let begun = Instant::now();
        store.set_epoch_deadline(shared.ticker.ticks(limits.deadline));
        let started = operator.pre.instantiate(&mut store);
        let mut guest = match started {
            Ok(instance) => Self {
                store,
                instance,
                limits,
                functions: None,
                calls: 0,
                recycle_memory: shared.options.recycle_memory,
            },
            Err(error) => {
                let fault = fault(&error, store.data_mut(), limits, limits.deadline, begun);
                return Err(InstanceError::Fault { doing: "instantiating the component", fault });
            }
        };
        let description = guest.describe(operator)?;
        Ok((guest, description))
    }

    /// A new instance with these settings.
    pub(crate) fn configured(
        operator: &Inner,
        settings: &[(String, String)],
        limits: Limits,
    ) -> Result<Self, InstanceError> {
        let (mut guest, description) = Self::start(operator, limits)?;
        if Description::check(description).as_ref() != Ok(operator.description()) {
            return Err(InstanceError::Fickle);
        }
        guest.configure(operator, settings)?;
        let begin = guest.memory().saturating_mul(2);
        guest.recycle_memory = begin.max(operator.shared.options.recycle_memory);
        Ok(guest)
    }

    fn describe(&mut self, operator: &Inner) -> Result<RawDescription, InstanceError> {
        let begun = Instant::now();
        let ticks = operator.shared.ticker.ticks(self.limits.deadline);
        self.store.set_epoch_deadline(ticks);
        self.store.data_mut().deadline = stop_at(begun, self.limits.deadline);
        self.store.set_hostcall_fuel(DESCRIPTION_BYTES);
        let described = self
            .typed(operator, "describe", "describe")
            .and_then(|func: DescribeFunc| func.call(&mut self.store, ()));
        match described {
            Ok((description,)) => Ok(description),
            Err(error) => Err(self.failed_start("`describe`", &error, begun)),
        }
    }

    fn configure(
        &mut self,
        operator: &Inner,
        settings: &[(String, String)],
    ) -> Result<(), InstanceError> {
        let begun = Instant::now();
        let ticks = operator.shared.ticker.ticks(self.limits.deadline);
        self.store.set_epoch_deadline(ticks);
        self.store.data_mut().deadline = stop_at(begun, self.limits.deadline);
        let configured = self
            .typed(operator, "configure", "configure")
            .and_then(|func: ConfigureFunc| func.call(&mut self.store, (settings,)))
            .and_then(|(result,)| {
                self.functions = Some(Functions::of(self, operator)?);
                Ok(result)
            });
        match configured {
            Ok(Ok(())) => Ok(()),
            Ok(Err(RawSettingError { name, reason })) => {
                Err(InstanceError::Refused { name, reason })
            }
            Err(error) => Err(self.failed_start("`configure`", &error, begun)),
        }
    }

    /// A function that the component exports.
    pub(crate) fn typed<P, R>(
        &mut self,
        operator: &Inner,
        interface: &str,
        function: &str,
    ) -> wasmtime::Result<TypedFunc<P, R>>
    where
        P: ComponentNamedList + Lower,
        R: ComponentNamedList + Lift,
    {
        let interface = operator.world.export(interface);
        let missing =
            || wasmtime::Error::msg(format!("`{interface}` has no function `{function}`"));
        let instance = self
            .instance
            .get_export_index(&mut self.store, None, &interface)
            .ok_or_else(missing)?;
        let index = self
            .instance
            .get_export_index(&mut self.store, Some(&instance), function)
            .ok_or_else(missing)?;
        let func = self.instance.get_func(&mut self.store, index).ok_or_else(missing)?;
        func.typed(&self.store)
    }

    fn failed_start(
        &mut self,
        doing: &'static str,
        error: &wasmtime::Error,
        begun: Instant,
    ) -> InstanceError {
        let fault = self.fault(error, self.limits.deadline, begun);
        InstanceError::Fault { doing, fault }
    }

    fn fault(&mut self, error: &wasmtime::Error, deadline: Duration, begun: Instant) -> Fault {
        fault(error, self.store.data_mut(), self.limits, deadline, begun)
    }

    /// The functions of the operator's kind.
    pub(crate) fn functions(&self) -> Functions {
        self.functions.expect("only configured instances get records")
    }

    /// One guest call. After a fault the instance is of no more use.
    pub(crate) fn call<T>(
        &mut self,
        operator: &Inner,
        deadline: Duration,
        begin: impl FnOnce(&mut Wasi),
        call: impl FnOnce(&mut Store<State>) -> wasmtime::Result<T>,
    ) -> Result<T, Fault> {
        let begun = Instant::now();
        self.calls += 1;
        self.store.set_epoch_deadline(operator.shared.ticker.ticks(deadline));
        self.store.data_mut().deadline = stop_at(begun, deadline);
        self.store.set_hostcall_fuel(self.limits.output);
        if let Some(wasi) = &mut self.store.data_mut().wasi {
            begin(wasi);
        }
        call(&mut self.store).map_err(|error| self.fault(&error, deadline, begun))
    }

    /// The fault of an answer that isn't what the contract promises.
    pub(crate) fn contract_fault(&mut self, error: &dyn fmt::Display) -> Fault {
        let stderr = self.store.data_mut().take_stderr();
        let reason = format!("the component's answer breaks the contract: {error}");
        Fault { cause: Cause::Contract, reason, limit: None, stderr }
    }

    /// The fault of an answer with too large a state.
    pub(crate) fn state_fault(&mut self, limit: LimitExceeded) -> Fault {
        let stderr = self.store.data_mut().take_stderr();
        Fault { cause: Cause::State, reason: limit.to_string(), limit: Some(limit), stderr }
    }

    /// Its linear memory, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.store.data().limiter.memory()
    }

    /// Whether it has had its time.
    pub(crate) fn is_due(&self, recycle_calls: u64) -> bool {
        self.calls >= recycle_calls || self.memory() > self.recycle_memory
    }

    /// Whether it has seen no batch yet.
    pub(crate) fn is_fresh(&self) -> bool {
        self.calls == 0
    }
}

/// What an error of wasmtime means.
fn fault(
    error: &wasmtime::Error,
    state: &mut State,
    limits: Limits,
    deadline: Duration,
    begun: Instant,
) -> Fault {
    let stderr = state.take_stderr();
    let limited = |cause, limit: LimitExceeded| Fault {
        cause,
        reason: limit.to_string(),
        limit: Some(limit),
        stderr: stderr.clone(),
    };
    if let Some(limit) = error.downcast_ref::<LimitExceeded>() {
        return limited(Cause::Memory, *limit);
    }
    if let Some(Trap::Interrupt) = error.downcast_ref::<Trap>() {
        let limit = LimitExceeded {
            name: LimitName::Deadline,
            limit: millis(deadline),
            current: millis(begun.elapsed()),
            requested: None,
        };
        return limited(Cause::Deadline, limit);
    }
    let text = format!("{error:#}");
    // Wasmtime keeps the type of this error to itself; a test holds the wording.
    if text.contains("fuel allocated for hostcalls has been exhausted") {
        let limit = LimitExceeded {
            name: LimitName::Output,
            limit: limits.output as u64,
            current: 0,
            requested: None,
        };
        return limited(Cause::Output, limit);
    }
    let (cause, reason) = if let Some(trap) = error.downcast_ref::<Trap>() {
        let trap = trap.to_string();
        let trap = trap.strip_prefix("wasm trap: ").unwrap_or(&trap);
        (Cause::Trap, format!("the component trapped: {trap}"))
    } else if let Some(Refused(what)) = error.downcast_ref::<Refused>() {
        (Cause::Trap, format!("the component was stopped: {what}"))
    } else {
        (Cause::Contract, format!("the component's answer breaks the contract: {text}"))
    };
    Fault { cause, reason, limit: None, stderr }
}

/// The end of a call; a deadline past a year is as good as none, and can't be added to a clock.
fn stop_at(begun: Instant, deadline: Duration) -> Instant {
    begun + deadline.min(Duration::from_secs(365 * 24 * 3600))
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
