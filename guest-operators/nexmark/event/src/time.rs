//! Times, as the events and the rows have them: `2015-07-15 00:00:02.752`, in UTC.

use std::fmt;

use overspill_operator::Rejection;
use serde::{Serialize, Serializer};

const DAY: i64 = 86_400_000;
const FORM: &[u8; 23] = b"0000-00-00 00:00:00.000";

/// A time in milliseconds since 1970-01-01T00:00:00 UTC. As text, and in JSON, it is
/// `yyyy-MM-dd HH:mm:ss.SSS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DateTime(pub i64);

impl DateTime {
    /// Reads `yyyy-MM-dd HH:mm:ss.SSS`.
    ///
    /// # Errors
    /// When it has another form.
    pub fn parse(text: &str) -> Result<Self, Rejection> {
        Self::read(text.as_bytes()).ok_or_else(|| {
            Rejection::new(format!(
                "expected a dateTime such as `2015-07-15 00:00:00.000`, found `{text}`"
            ))
        })
    }

    fn read(text: &[u8]) -> Option<Self> {
        let fits = text.len() == FORM.len()
            && text.iter().zip(FORM).all(|(byte, form)| match form {
                b'0' => byte.is_ascii_digit(),
                _ => byte == form,
            });
        if !fits {
            return None;
        }
        let number = |from: usize, to: usize| {
            text[from..to].iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0'))
        };
        let (year, month, day) = (number(0, 4), number(5, 7), number(8, 10));
        let (hour, minute, second) = (number(11, 13), number(14, 16), number(17, 19));
        let is_time = (1..=12).contains(&month)
            && (1..=31).contains(&day)
            && hour < 24
            && minute < 60
            && second < 60;
        let time = ((hour * 60 + minute) * 60 + second) * 1000 + number(20, 23);
        is_time.then(|| Self(days_since_1970(year, month, day) * DAY + time))
    }

    /// The text: the first ten bytes are the day, and bytes 11 to 16 the hour and minute.
    pub fn text(self) -> [u8; 23] {
        let mut text = *FORM;
        let (days, time) = (self.0.div_euclid(DAY), self.0.rem_euclid(DAY));
        let (year, month, day) = date(days);
        let mut put = |at: usize, digits: usize, mut number: i64| {
            for place in (at..at + digits).rev() {
                text[place] = b'0' + (number % 10) as u8;
                number /= 10;
            }
        };
        put(0, 4, year);
        put(5, 2, month);
        put(8, 2, day);
        put(11, 2, time / 3_600_000);
        put(14, 2, time / 60_000 % 60);
        put(17, 2, time / 1000 % 60);
        put(20, 3, time % 1000);
        text
    }

    /// The day: `2015-07-15`.
    pub fn day(self) -> String {
        self.part(0, 10)
    }

    /// The hour and minute: `23:59`.
    pub fn minute(self) -> String {
        self.part(11, 16)
    }

    fn part(self, from: usize, to: usize) -> String {
        self.text()[from..to].iter().copied().map(char::from).collect()
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(str::from_utf8(&self.text()).map_err(|_| fmt::Error)?)
    }
}

impl Serialize for DateTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.text();
        serializer.serialize_str(str::from_utf8(&text).map_err(serde::ser::Error::custom)?)
    }
}

/// Days from 1970-01-01 to a day of the Gregorian calendar. Years begin in March here, so that the
/// leap day is the last of its year.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year * 365 + year / 4 - year / 100 + day_of_year - 719_468
}

/// The year, month and day of a number of days since 1970-01-01.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = (month + 2) % 12 + 1;
    (era * 400 + year + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_and_written_alike() {
        for (text, millis) in [
            ("1970-01-01 00:00:00.000", 0),
            ("1969-12-31 23:59:59.999", -1),
            ("2015-07-15 00:00:02.752", 1_436_918_402_752),
            ("2000-02-29 12:34:56.789", 951_827_696_789),
            ("2100-03-01 00:00:00.000", 4_107_542_400_000),
            ("0001-01-01 00:00:00.000", -62_135_596_800_000),
        ] {
            assert_eq!(DateTime::parse(text).unwrap(), DateTime(millis), "{text}");
            assert_eq!(DateTime(millis).to_string(), text);
        }
        let time = DateTime::parse("2015-07-15 23:59:02.752").unwrap();
        assert_eq!((time.day().as_str(), time.minute().as_str()), ("2015-07-15", "23:59"));
    }

    #[test]
    fn every_day_of_four_centuries_comes_back() {
        for day in -200_000..200_000 {
            let (year, month, of_month) = date(day);
            assert_eq!(days_since_1970(year, month, of_month), day);
        }
    }

    #[test]
    fn another_form_is_rejected() {
        for text in
            ["2015-07-15T23:00:00.000", "2015-07-15 24:00:00.000", "", "2015-13-15 00:00:00.000"]
        {
            assert!(DateTime::parse(text).unwrap_err().reason().contains(text), "{text}");
        }
    }
}
