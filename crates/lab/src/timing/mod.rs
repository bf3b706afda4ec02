//! When things start and how long they may take: precise waits, arrivals by a timetable, deadlines. It
//! must not know what starts.

pub(crate) mod alarm;
pub(crate) mod pace;
pub(crate) mod watchdog;
