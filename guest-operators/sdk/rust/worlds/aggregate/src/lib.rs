//! What `wit-bindgen` makes of the world `aggregate-operator`. A crate of its own, since the macros
//! of two worlds have the same names.
#![cfg(target_arch = "wasm32")]

// The generated code names the SDK as its users do: the modules are laid out as there.
extern crate self as overspill_operator;

/// The SDK's module of this name.
pub mod guest {
    pub use wit_bindgen::rt as runtime;

    /// The types that the worlds share are those of the world `flatmap-operator`.
    pub use overspill_world_flatmap::guest::flatmap;

    /// The world.
    pub mod aggregate {
        /// The bindings.
        #[expect(missing_docs, reason = "generated")]
        pub mod bindings {
            wit_bindgen::generate!({
                path: "../../../../../wit",
                world: "aggregate-operator",
                pub_export_macro: true,
                export_macro_name: "export",
                default_bindings_module: "overspill_operator::guest::aggregate::bindings",
                runtime_path: "overspill_operator::guest::runtime",
                with: {
                    "overspill:operator/types@0.1.0":
                        overspill_operator::guest::flatmap::bindings::overspill::operator::types,
                },
            });
        }
    }
}
