//! The dates of cookies (RFC 6265 section 5.1.1), which take many forms. It must not know cookies.

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// Seconds since 1970; what is before counts as 1970. `None` where it is no date.
pub(super) fn parse(text: &str) -> Option<u64> {
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    let is_delimiter =
        |c: char| c.is_ascii() && !c.is_ascii_alphanumeric() && c != ':' || c.is_control();
    for token in text.split(is_delimiter).filter(|token| !token.is_empty()) {
        if time.is_none()
            && let Some(found) = parse_time(token)
        {
            time = Some(found);
        } else if day.is_none()
            && let Some(found) = number(token, 1..=2)
        {
            day = Some(found);
        } else if month.is_none()
            && let Some(found) = parse_month(token)
        {
            month = Some(found);
        } else if year.is_none()
            && let Some(found) = number(token, 2..=4)
        {
            year = Some(found);
        }
    }
    let year = match year? {
        short @ 70..=99 => short + 1900,
        short @ 0..=69 => short + 2000,
        long => long,
    };
    let (day, month, (hour, minute, second)) = (day?, month?, time?);
    let is_right =
        (1..=31).contains(&day) && year >= 1601 && hour < 24 && minute < 60 && second < 60;
    is_right.then(|| {
        let days = u64::from(days_since_1970(year, month, day));
        days * 86_400 + u64::from(hour * 3600 + minute * 60 + second)
    })
}

fn parse_time(token: &str) -> Option<(u32, u32, u32)> {
    let mut parts = token.split(':');
    let mut part = || number(parts.next()?, 1..=2);
    let time = (part()?, part()?, part()?);
    parts.next().is_none().then_some(time)
}

fn parse_month(token: &str) -> Option<u32> {
    let name = token.get(..3)?.to_ascii_lowercase();
    let index = MONTHS.iter().position(|month| *month == name)?;
    u32::try_from(index + 1).ok()
}

/// The digits at the beginning, where there are as many as allowed.
fn number(token: &str, digits: std::ops::RangeInclusive<usize>) -> Option<u32> {
    let count = token.bytes().take_while(u8::is_ascii_digit).count();
    digits
        .contains(&count)
        .then(|| token[..count].parse().ok())?
}

/// Days of the Gregorian calendar, with years that begin in March so that the leap day is the last.
fn days_since_1970(year: u32, month: u32, day: u32) -> u32 {
    let (year, month) = match month {
        1 | 2 => (year - 1, month + 9),
        _ => (year, month - 3),
    };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    days.saturating_sub(719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_in_every_form_that_servers_send() {
        for (text, expected) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Thu, 01-Jan-1970 00:00:10 GMT", Some(10)),
            ("Wed, 09 Jun 2021 10:18:14 GMT", Some(1_623_233_894)),
            ("Wednesday, 09-Jun-21 10:18:14 GMT", Some(1_623_233_894)),
            ("Wed Jun  9 10:18:14 2021", Some(1_623_233_894)),
            ("Thu, 29 Feb 2024 23:59:59 GMT", Some(1_709_251_199)),
            ("Fri, 31 Dec 9999 23:59:59 GMT", Some(253_402_300_799)),
            ("Mon, 01 Jan 1601 00:00:00 GMT", Some(0)),
            ("Thu, 01 Jan 1970 24:00:00 GMT", None),
            ("Thu, 32 Jan 1970 00:00:00 GMT", None),
            ("Thu, 01 Foo 1970 00:00:00 GMT", None),
            ("01 Jan 1970", None),
            ("", None),
            ("tomorrow", None),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
    }
}
