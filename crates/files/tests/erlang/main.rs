//! Files beside what Erlang itself reads of them, where it is installed; those in `golden` were made by OTP 25.

mod common;
mod dets;
mod logs;
mod mnesia;
mod mnesia_made;
mod places;
