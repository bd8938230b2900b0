//! Imports what no operator is given: a way out to the network.

wit_bindgen::generate!({
    path: "../../../wit",
    world: "hostile:guest/ungiven-import",
    generate_all,
    inline: "
        package hostile:guest;

        world ungiven-import {
            include overspill:operator/flatmap-operator@0.1.0;
            import wasi:http/outgoing-handler@0.2.0;
        }

        package wasi:http@0.2.0 {
            interface outgoing-handler {
                handle: func(request: list<u8>) -> list<u8>;
            }
        }
    ",
});
hostile_support::names!();

struct Guest;

hostile_support::describe!("ungiven-import", Kind::Flatmap, "0.1.0", Vec::new());
hostile_support::configure!();
hostile_support::flatmap!(|input| each(input, |value| {
    vec![wasi::http::outgoing_handler::handle(value)]
}));
hostile_support::each!();
export!(Guest);
