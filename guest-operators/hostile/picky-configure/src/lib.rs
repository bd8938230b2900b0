//! Wants a setting, refuses all values but `yes`, and panics or never comes back on some.

hostile_support::bindings!();

struct Guest;

hostile_support::describe!(
    "picky-configure",
    Kind::Flatmap,
    "0.1.0",
    vec![Setting { name: "please".into(), description: "Say `yes`.".into(), default: None }]
);

impl exports::overspill::operator::configure::Guest for Guest {
    fn configure(settings: Vec<(String, String)>) -> Result<(), SettingError> {
        let Some((name, value)) = settings.into_iter().next() else {
            return Err(SettingError { name: "please".into(), reason: "it is missing".into() });
        };
        match &*value {
            "yes" => Ok(()),
            "panic" => panic!("a panic was asked for"),
            "loop" => {
                let mut turns = 0_u64;
                loop {
                    turns = std::hint::black_box(turns + 1);
                }
            }
            _ => Err(SettingError { name, reason: format!("expected `yes`, found `{value}`") }),
        }
    }
}

hostile_support::flatmap!(|input| each(input, |value| vec![value.to_vec()]));
hostile_support::each!();
export!(Guest);
