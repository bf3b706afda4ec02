//! How many requests are out at a time: in all, and to one place, so that a place that hangs keeps
//! nobody waiting but those who want something of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Requests that are out at a time.
const ALL: usize = 256;
/// Of these, to one host and port.
const SHARE: usize = 16;

/// Counts the requests that are out.
#[derive(Clone, Debug, Default)]
pub(super) struct Places(Arc<Mutex<Out>>);

#[derive(Debug, Default)]
struct Out {
    all: usize,
    to: HashMap<String, usize>,
}

/// Somebody is out; dropping it says that they are back.
#[derive(Debug)]
pub(super) struct Place {
    places: Places,
    name: String,
}

impl Places {
    /// A place for one more request to `name`, where there is one.
    pub(super) fn take(&self, name: &str) -> Option<Place> {
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let there = out.to.get(name).copied().unwrap_or(0);
        if out.all >= ALL || there >= SHARE {
            return None;
        }
        out.all += 1;
        out.to.insert(name.to_owned(), there + 1);
        Some(Place {
            places: self.clone(),
            name: name.to_owned(),
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut out = self.places.0.lock().unwrap_or_else(PoisonError::into_inner);
        out.all -= 1;
        let there = out.to.get(&self.name).copied().unwrap_or(1);
        if there > 1 {
            out.to.insert(self.name.clone(), there - 1);
        } else {
            out.to.remove(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_place_does_not_take_the_share_of_another() {
        let places = Places::default();
        let slow: Vec<_> = (0..SHARE).map(|_| places.take("slow:1").unwrap()).collect();
        assert!(places.take("slow:1").is_none());
        let quick = places.take("quick:1").unwrap();
        drop(slow);
        assert!(places.take("slow:1").is_some());
        drop(quick);
        let all: Vec<_> = (0..ALL)
            .map(|number| places.take(&number.to_string()).unwrap())
            .collect();
        assert!(places.take("one more").is_none());
        drop(all);
        let out = places.0.lock().unwrap();
        assert_eq!((out.all, out.to.len()), (0, 0), "nothing is kept");
    }
}
