//! Built for a contract version that nobody serves.

wit_bindgen::generate!({
    world: "flatmap-operator",
    inline: "
        package overspill:operator@0.2.0;

        interface describe {
            describe: func() -> string;
        }

        interface configure {
            configure: func(settings: list<tuple<string, string>>);
        }

        interface flatmap {
            flat-map: func(input: list<u8>) -> list<u8>;
        }

        world flatmap-operator {
            export describe;
            export configure;
            export flatmap;
        }
    ",
});

struct Guest;

impl exports::overspill::operator::describe::Guest for Guest {
    fn describe() -> String {
        "from the future".into()
    }
}

impl exports::overspill::operator::configure::Guest for Guest {
    fn configure(_: Vec<(String, String)>) {}
}

impl exports::overspill::operator::flatmap::Guest for Guest {
    fn flat_map(input: Vec<u8>) -> Vec<u8> {
        input
    }
}

export!(Guest);
