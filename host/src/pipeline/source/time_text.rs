//! Times as text: RFC 3339, and Nexmark's form of it.

/// Milliseconds since 1970-01-01T00:00:00 UTC from a time such as `2015-07-15T00:00:00.000Z`,
/// with `T` or a space, and `Z`, an offset or nothing (which is UTC).
pub(crate) fn parse(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let digits = |from: usize, to: usize| -> Option<i64> {
        let digits = bytes.get(from..to)?;
        digits.iter().all(u8::is_ascii_digit).then_some(())?;
        Some(digits.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0')))
    };
    let is = |at: usize, allowed: &[u8]| bytes.get(at).is_some_and(|byte| allowed.contains(byte));
    let marks: [(usize, &[u8]); 5] = [(4, b"-"), (7, b"-"), (10, b"Tt "), (13, b":"), (16, b":")];
    if !marks.iter().all(|(at, allowed)| is(*at, allowed)) {
        return None;
    }
    let (year, month, day) = (digits(0, 4)?, digits(5, 7)?, digits(8, 10)?);
    let (hour, minute, second) = (digits(11, 13)?, digits(14, 16)?, digits(17, 19)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = [31, 28 + i64::from(leap), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = *days.get(usize::try_from(month).ok()?.checked_sub(1)?)?;
    // A leap second counts as the first of the next minute.
    if !(1..=length).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let mut rest = &bytes[19..];
    let mut millis = 0;
    if let [b'.', fraction @ ..] = rest {
        let len = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if len == 0 {
            return None;
        }
        for place in 0..3 {
            let digit = fraction[..len].get(place).map_or(0, |digit| i64::from(digit - b'0'));
            millis = millis * 10 + digit;
        }
        rest = &fraction[len..];
    }
    let offset = match rest {
        [] | [b'Z' | b'z'] => 0,
        [sign @ (b'+' | b'-'), a, b, b':', c, d]
            if [a, b, c, d].iter().all(|digit| digit.is_ascii_digit()) =>
        {
            let two = |a: &u8, b: &u8| i64::from(a - b'0') * 10 + i64::from(b - b'0');
            let minutes = two(a, b) * 60 + two(c, d);
            if *sign == b'+' { minutes } else { -minutes }
        }
        _ => return None,
    };
    let seconds = days_from_date(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
    Some((seconds - offset * 60) * 1_000 + millis)
}

/// Days since 1970-01-01 in the Gregorian calendar. The year is taken to begin in March, so that
/// the leap day is its last.
fn days_from_date(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year
        - 719_468
}

/// The date of a day, counted from 1970-01-01, as year, month and day.
fn date_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day = days.rem_euclid(146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month + 2) / 5 + 1;
    let (carry, month) = if month < 10 { (0, month + 3) } else { (1, month - 9) };
    (era * 400 + year + carry, month, day_of_month)
}

/// Appends a time as Nexmark's tables show it, such as `2015-07-15 00:00:00.000`; in UTC, for
/// the years 0 to 9999.
pub(in crate::pipeline) fn write(millis: i64, out: &mut Vec<u8>) {
    let (days, of_day) = (millis.div_euclid(86_400_000), millis.rem_euclid(86_400_000));
    let (year, month, day) = date_from_days(days);
    let mut text = *b"0000-00-00 00:00:00.000";
    let mut put = |at: usize, width: usize, mut value: i64| {
        for place in (at..at + width).rev() {
            text[place] = b'0' + (value % 10) as u8;
            value /= 10;
        }
    };
    put(0, 4, year);
    put(5, 2, month);
    put(8, 2, day);
    put(11, 2, of_day / 3_600_000);
    put(14, 2, of_day / 60_000 % 60);
    put(17, 2, of_day / 1_000 % 60);
    put(20, 3, of_day % 1_000);
    out.extend_from_slice(&text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_all_their_forms() {
        for (text, millis) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2015-07-15 00:00:00.000", 1_436_918_400_000),
            ("2015-07-15T02:00:00.5+02:00", 1_436_918_400_500),
            ("2000-02-29t23:59:59.123456789z", 951_868_799_123),
            ("1969-12-31T23:59:59.999Z", -1),
        ] {
            assert_eq!(parse(text), Some(millis), "{text}");
        }
        for text in [
            "",
            "2015-07-15",
            "2015-02-29T00:00:00Z",
            "2015-13-01T00:00:00Z",
            "2015-07-15T24:00:00Z",
            "2015-07-15T00:00:00.Z",
            "2015-07-15T00:00:00+2",
            "2015-07-15T00:00:00é",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn writing_is_the_inverse_of_reading() {
        for millis in (-60_000_000_000_000..250_000_000_000_000).step_by(86_399_999_877 / 7) {
            let mut text = Vec::new();
            write(millis, &mut text);
            let text = String::from_utf8(text).expect("it is ASCII");
            assert_eq!(parse(&text), Some(millis), "{text}");
        }
    }
}
