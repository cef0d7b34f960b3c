//! The scripted model over a real socket, with a plain HTTP client at the other end.

#[cfg(test)]
mod chat;
#[cfg(test)]
mod client;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod refusing;
#[cfg(test)]
mod script;
#[cfg(test)]
mod serving;
#[cfg(test)]
mod stopping;
