mod history;
mod reading;
mod request;
