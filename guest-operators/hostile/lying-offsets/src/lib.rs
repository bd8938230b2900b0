//! Returns emissions that break the contract, each in the way that a record names; passes every
//! other record on.

hostile_support::operator!("lying-offsets", |input: Batch| {
    let mut emission = each(input, |value| vec![value.to_vec()]);
    let lie = LIES.iter().find(|(name, _)| {
        let values = &emission.records.values;
        let mut begin = 0;
        values.ends.iter().any(|&end| {
            let value = &values.data[begin..end as usize];
            begin = end as usize;
            value == name.as_bytes()
        })
    });
    if let Some((_, lie)) = lie {
        lie(&mut emission);
    }
    emission
});
hostile_support::each!();

type Lie = fn(&mut Emission);

const LIES: &[(&str, Lie)] = &[
    ("values end past their data", |emission| {
        *emission.records.values.ends.last_mut().unwrap() += 1;
    }),
    ("values end before they begin", |emission| {
        let len = emission.records.values.data.len() as u32;
        emission.records.values.ends = vec![u32::MAX, len];
        *emission.ends.last_mut().unwrap() = 2;
    }),
    ("too few ends", |emission| {
        emission.ends.pop();
    }),
    ("too many ends", |emission| {
        let last = *emission.ends.last().unwrap();
        emission.ends.push(last);
    }),
    ("ends past the records", |emission| *emission.ends.last_mut().unwrap() = u32::MAX),
    ("ends that decrease", |emission| {
        let last = emission.ends.len() as u32;
        emission.ends.insert(0, last + 7);
        emission.ends.pop();
    }),
    ("keys that are too few", |emission| {
        emission.records.keys = Some(Column { ends: Vec::new(), data: Vec::new() });
    }),
    ("times that are too many", |emission| {
        let records = emission.records.values.ends.len();
        emission.records.timestamps = Some(vec![0; records + 1]);
    }),
    ("rejects a record that isn't there", |emission| {
        emission.rejected.push(Rejection { index: u32::MAX, reason: "not there".into() });
    }),
    ("rejects a record and emits it", |emission| {
        emission.rejected.push(Rejection { index: 0, reason: "and emitted".into() });
    }),
    ("rejects a record twice", |emission| {
        emission.records.values = Column { ends: Vec::new(), data: Vec::new() };
        emission.ends.fill(0);
        for _ in 0..2 {
            emission.rejected.push(Rejection { index: 0, reason: "twice".into() });
        }
    }),
];
