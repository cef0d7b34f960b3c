//! Both clients on the scripted model, over a real socket.

#[cfg(test)]
mod asking;
#[cfg(test)]
mod credentials;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod recovery;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod stage;
#[cfg(test)]
mod watchdogs;
