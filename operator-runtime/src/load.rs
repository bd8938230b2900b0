//! From a component's bytes to an operator that can be run.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use overspill_protocol::Digest;
use wasmtime::Engine;
use wasmtime::component::{Component, InstancePre, Linker};

use crate::cache::{self, Cache};
use crate::engine::engine;
use crate::epoch::Ticker;
use crate::instance::{Guest, State};
use crate::world::{SERVED, World};
use crate::{
    ConfigureError, Description, InstanceError, Limits, LoadError, Pool, RuntimeError, wasi,
};

/// How a runtime is set up.
#[derive(Clone, Debug)]
pub struct RuntimeOptions {
    /// Where compiled components are kept. None: nowhere, each process compiles for itself. A
    /// file in it is native code that this process runs, so the folder must belong to this user
    /// and be closed to others.
    pub cache_dir: Option<PathBuf>,
    /// How much the cache may hold, in bytes; what was used longest ago goes first.
    pub cache_bytes: u64,
    /// The resolution of deadlines. A thread wakes up once a tick.
    pub tick: Duration,
    /// What `describe` may use when a component is loaded.
    pub describe_limits: Limits,
    /// How many idle instances a pool keeps at most.
    pub idle_instances: usize,
    /// From how much linear memory on, in bytes, an instance isn't used again: memory never
    /// shrinks. An operator that needs more than half of it to start with may have twice of what
    /// it started with.
    pub recycle_memory: usize,
    /// After how many guest calls an instance isn't used again.
    pub recycle_calls: u64,
}

impl Default for RuntimeOptions {
    fn default() -> Self {
        Self {
            cache_dir: cache::default_dir(),
            cache_bytes: 2 << 30,
            tick: Duration::from_millis(2),
            describe_limits: Limits::default(),
            idle_instances: std::thread::available_parallelism().map_or(4, |n| 2 * n.get()),
            recycle_memory: 64 << 20,
            recycle_calls: 1_000_000,
        }
    }
}

/// Loads components. A clone is the same runtime.
#[derive(Clone)]
pub struct Runtime(Arc<Shared>);

/// What a runtime and all its operators and instances share.
pub(crate) struct Shared {
    pub(crate) options: RuntimeOptions,
    pub(crate) engine: Engine,
    pub(crate) ticker: Ticker,
    cache: Option<Cache>,
}

impl Runtime {
    /// A runtime, and the thread that times its calls.
    ///
    /// # Errors
    /// When this machine can't run compiled WebAssembly. A cache folder that can't be used is no
    /// error: a warning is logged, and the runtime goes on without.
    pub fn new(options: RuntimeOptions) -> Result<Self, RuntimeError> {
        let engine = engine()?;
        let ticker = Ticker::start(&engine, options.tick)?;
        let cache = options
            .cache_dir
            .as_ref()
            .and_then(|dir| Cache::open(dir, options.cache_bytes, &engine));
        Ok(Self(Arc::new(Shared { options, engine, ticker, cache })))
    }

    /// Checks and compiles a component, or takes it from the cache of compiled ones.
    ///
    /// # Errors
    /// When the bytes are no component, or not one that can be used as an operator: the error
    /// says what was found and what was expected.
    pub fn load(&self, component_bytes: &[u8]) -> Result<Operator, LoadError> {
        let digest = Digest::of(component_bytes);
        if let Some(found) = self.cached(digest) {
            return self.operator(digest, found);
        }
        check_component(digest, component_bytes)?;
        let compile_failed = |error: wasmtime::Error| LoadError::NotAComponent {
            digest,
            reason: format!("{error:#}"),
        };
        let component = Component::new(&self.0.engine, component_bytes).map_err(compile_failed)?;
        let size = component_bytes.len() as u64;
        // What can't be used as an operator isn't worth a place in the cache.
        let operator = self.operator(digest, (component, size))?;
        if let Some(cache) = &self.0.cache {
            match operator.0.pre.component().serialize() {
                Ok(compiled) => cache.store(digest, size, &compiled),
                Err(error) => {
                    tracing::warn!(%digest, "can't keep the compiled component: {error:#}")
                }
            }
        }
        Ok(operator)
    }

    /// The operator of that digest, if the cache of compiled components has it.
    ///
    /// # Errors
    /// As [`Runtime::load`].
    pub fn load_cached(&self, digest: Digest) -> Result<Option<Operator>, LoadError> {
        self.cached(digest).map(|found| self.operator(digest, found)).transpose()
    }

    fn cached(&self, digest: Digest) -> Option<(Component, u64)> {
        self.0.cache.as_ref()?.load(digest, &self.0.engine)
    }

    fn operator(
        &self,
        digest: Digest,
        (component, size): (Component, u64),
    ) -> Result<Operator, LoadError> {
        let shared = Arc::clone(&self.0);
        let world = World::read(&shared.engine, &component.component_type())?;
        let mut linker = Linker::new(&shared.engine);
        let signature =
            |error: wasmtime::Error| LoadError::Signature { reason: format!("{error:#}") };
        if !world.imports.is_empty() {
            wasi::link(&mut linker, &component).map_err(signature)?;
        }
        let pre = linker.instantiate_pre(&component).map_err(signature)?;
        let draws_random = world.imports.iter().any(|import| import.starts_with("wasi:random/"));
        let mut inner = Inner { digest, description: None, size, draws_random, world, pre, shared };
        let description = describe(&inner)?;
        inner.description = Some(description);
        Ok(Operator(Arc::new(inner)))
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime").field("options", &self.0.options).finish_non_exhaustive()
    }
}

/// Says what bytes are that aren't a component.
fn check_component(digest: Digest, bytes: &[u8]) -> Result<(), LoadError> {
    // `\0asm`, then 16 bits of version and 16 of layer: 0 for a module, 1 for a component.
    let reason = match bytes.get(..8) {
        Some([0, b'a', b's', b'm', _, _, 1, 0]) => return Ok(()),
        Some([0, b'a', b's', b'm', _, _, 0, 0]) => {
            "it is a core module; make a component of it (`wasm-tools component new`, or the \
             SDK's build)"
        }
        _ if bytes.is_empty() => "there are no bytes",
        _ => "it doesn't begin with the bytes of WebAssembly",
    };
    Err(LoadError::NotAComponent { digest, reason: reason.to_owned() })
}

fn describe(operator: &Inner) -> Result<Description, LoadError> {
    let (_, raw) = Guest::start(operator, operator.shared.options.describe_limits)?;
    let wrong = |reason| LoadError::Description { reason };
    let description = Description::check(raw).map_err(wrong)?;
    let World { kind, version, .. } = &operator.world;
    if description.kind != *kind {
        return Err(wrong(format!(
            "it says that the component is a {} operator, but its exports are those of world `{}`",
            description.kind,
            kind.world()
        )));
    }
    if description.contract != *version {
        return Err(wrong(format!(
            "it says that the component was built for contract {}, but its exports are those of \
             {version} (this runtime serves {SERVED})",
            description.contract
        )));
    }
    Ok(description)
}

/// A loaded component. A clone is the same operator.
#[derive(Clone)]
pub struct Operator(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    digest: Digest,
    /// Absent only until the first instance has said it.
    description: Option<Description>,
    size: u64,
    /// Whether its answer may depend on where a batch is cut.
    pub(crate) draws_random: bool,
    pub(crate) world: World,
    pub(crate) pre: InstancePre<State>,
    pub(crate) shared: Arc<Shared>,
}

impl Inner {
    /// What a new instance must say of itself.
    pub(crate) fn description(&self) -> &Description {
        self.description.as_ref().expect("an operator is described before it is handed out")
    }
}

impl Operator {
    /// The SHA-256 of the component's bytes.
    pub fn digest(&self) -> Digest {
        self.0.digest
    }

    /// What the component says of itself.
    pub fn description(&self) -> &Description {
        self.0.description()
    }

    /// What the component imports, besides names for types. Empty for most.
    pub fn imports(&self) -> &[String] {
        &self.0.world.imports
    }

    /// Whether it can bring states of an older layout to its own: it exports `migrate-state`.
    pub fn migrates_state(&self) -> bool {
        self.0.world.migrates
    }

    /// The size of the component, in bytes.
    pub fn component_bytes_len(&self) -> u64 {
        self.0.size
    }

    /// Instances of the operator with these settings. One is made at once, so that bad settings
    /// are found before the first record.
    ///
    /// # Errors
    /// When the operator doesn't take the settings, or an instance can't be made within the limits.
    pub fn pool(
        &self,
        settings: &[(String, String)],
        limits: Limits,
    ) -> Result<Pool, ConfigureError> {
        let description = self.description();
        check_settings(description, settings)?;
        Pool::new(self.clone(), settings.to_vec(), limits).map_err(|error| match error {
            InstanceError::Refused { name, reason } => {
                ConfigureError::Refused { operator: description.name.clone(), name, reason }
            }
            error => error.into(),
        })
    }
}

impl fmt::Debug for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operator")
            .field("digest", &self.0.digest)
            .field("description", self.description())
            .finish_non_exhaustive()
    }
}

fn check_settings(
    description: &Description,
    settings: &[(String, String)],
) -> Result<(), ConfigureError> {
    let operator = || description.name.clone();
    for (index, (name, _)) in settings.iter().enumerate() {
        if settings[..index].iter().any(|(other, _)| other == name) {
            return Err(ConfigureError::Twice { operator: operator(), name: name.clone() });
        }
        if !description.settings.iter().any(|setting| setting.name == *name) {
            let known: Vec<String> =
                description.settings.iter().map(|s| format!("`{}`", s.name)).collect();
            return Err(ConfigureError::Unknown {
                operator: operator(),
                name: name.clone(),
                known: match known.is_empty() {
                    true => "none".to_owned(),
                    false => known.join(", "),
                },
            });
        }
    }
    for setting in &description.settings {
        let given = settings.iter().any(|(name, _)| *name == setting.name);
        if setting.default.is_none() && !given {
            return Err(ConfigureError::Missing {
                operator: operator(),
                name: setting.name.clone(),
                description: setting.description.clone(),
            });
        }
    }
    Ok(())
}
