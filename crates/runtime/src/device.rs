//! Device names, full and partial, and the devices of a process.

use std::fmt;
use std::sync::Arc;
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::memory::Holder;
use thalweg_core::resource::ResourceStore;
use thalweg_core::step::DeviceContext;

/// `/job:J/replica:R/task:T/device:TYPE:N`, each part optional.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct DeviceSpec {
    pub job: Option<String>,
    pub replica: Option<u32>,
    pub task: Option<u32>,
    pub kind: Option<String>,
    pub index: Option<u32>,
}

impl DeviceSpec {
    /// Parses a full or partial name; `*` leaves a part open, `/cpu:0` is the old form of `/device:CPU:0`.
    pub fn parse(text: &str) -> Result<DeviceSpec> {
        let bad = || invalid!("'{text}' is not a device name: it looks like '/job:ps/task:0/device:CPU:0'");
        let number = |s: &str| -> Result<Option<u32>> {
            if s == "*" { Ok(None) } else { s.parse().map(Some).map_err(|_| bad()) }
        };
        let mut spec = DeviceSpec::default();
        for part in text.split('/').filter(|p| !p.is_empty()) {
            let (key, value) = part.split_once(':').ok_or_else(bad)?;
            match key {
                "job" if value == "*" => {}
                "job" if is_job_name(value) => spec.job = Some(value.to_string()),
                "replica" => spec.replica = number(value)?,
                "task" => spec.task = number(value)?,
                "device" => {
                    let (kind, index) = value.split_once(':').unwrap_or((value, "*"));
                    spec.kind = Some(kind.to_uppercase()).filter(|k| k != "*");
                    spec.index = number(index)?;
                }
                kind if kind.eq_ignore_ascii_case("cpu") || kind.eq_ignore_ascii_case("gpu") => {
                    spec.kind = Some(kind.to_uppercase());
                    spec.index = number(value)?;
                }
                _ => return Err(bad()),
            }
        }
        Ok(spec)
    }

    /// Whether a device of this full name satisfies this spec.
    pub fn matches(&self, full: &DeviceSpec) -> bool {
        fn ok<T: PartialEq>(want: &Option<T>, have: &Option<T>) -> bool {
            want.is_none() || want == have
        }
        ok(&self.job, &full.job)
            && ok(&self.replica, &full.replica)
            && ok(&self.task, &full.task)
            && ok(&self.kind, &full.kind)
            && ok(&self.index, &full.index)
    }

    /// This spec, with its open parts taken from another.
    pub fn or(self, other: DeviceSpec) -> DeviceSpec {
        DeviceSpec {
            job: self.job.or(other.job),
            replica: self.replica.or(other.replica),
            task: self.task.or(other.task),
            kind: self.kind.or(other.kind),
            index: self.index.or(other.index),
        }
    }

    /// The spec that satisfies both; `None` if they contradict each other.
    pub fn merge(&self, other: &DeviceSpec) -> Option<DeviceSpec> {
        fn both<T: PartialEq + Clone>(a: &Option<T>, b: &Option<T>) -> Option<Option<T>> {
            match (a, b) {
                (Some(x), Some(y)) if x != y => None,
                (Some(x), _) | (None, Some(x)) => Some(Some(x.clone())),
                (None, None) => Some(None),
            }
        }
        Some(DeviceSpec {
            job: both(&self.job, &other.job)?,
            replica: both(&self.replica, &other.replica)?,
            task: both(&self.task, &other.task)?,
            kind: both(&self.kind, &other.kind)?,
            index: both(&self.index, &other.index)?,
        })
    }
}

fn is_job_name(s: &str) -> bool {
    s.starts_with(|c: char| c.is_ascii_alphabetic())
        && s.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl fmt::Display for DeviceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(j) = &self.job {
            write!(f, "/job:{j}")?;
        }
        if let Some(r) = self.replica {
            write!(f, "/replica:{r}")?;
        }
        if let Some(t) = self.task {
            write!(f, "/task:{t}")?;
        }
        match (&self.kind, self.index) {
            (Some(k), Some(i)) => write!(f, "/device:{k}:{i}"),
            (Some(k), None) => write!(f, "/device:{k}:*"),
            _ => Ok(()),
        }
    }
}

/// A device that nodes can be placed on.
#[derive(Clone)]
pub struct Device {
    pub spec: DeviceSpec,
    pub context: Arc<DeviceContext>,
}

impl Device {
    pub fn new(context: Arc<DeviceContext>) -> Result<Device> {
        Ok(Device { spec: DeviceSpec::parse(&context.name)?, context })
    }

    pub fn name(&self) -> &str {
        &self.context.name
    }

    /// The same device under this name, with other state and another memory account.
    pub fn like(
        &self,
        name: Arc<str>,
        incarnation: u64,
        resources: ResourceStore,
        memory: Arc<Holder>,
    ) -> Result<Device> {
        let like = &self.context;
        Device::new(Arc::new(DeviceContext {
            incarnation,
            name,
            pool: like.pool.clone(),
            resources: Arc::new(resources),
            memory,
            entropy: like.entropy.clone(),
            print: like.print.clone(),
            access: like.access.clone(),
        }))
    }

    /// The same device for one of several sessions: resources without a name of their own belong to it, and end with it.
    pub fn for_session(&self) -> Result<Device> {
        let c = &self.context;
        self.like(c.name.clone(), c.incarnation, ResourceStore::of_session(&c.resources), c.memory.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_full_partial_and_old() {
        let full = DeviceSpec::parse("/job:localhost/replica:0/task:0/device:CPU:0").unwrap();
        assert_eq!(full.to_string(), "/job:localhost/replica:0/task:0/device:CPU:0");
        for part in ["", "/cpu:0", "/device:CPU:*", "/job:localhost", "/job:*/task:0/device:cpu:0", "/CPU:0"]
        {
            assert!(DeviceSpec::parse(part).unwrap().matches(&full), "{part}");
        }
        assert!(!DeviceSpec::parse("/job:ps").unwrap().matches(&full));
        for bad in ["/job:!!!/task:-5/cpu:99999999999999", "/task:x", "nonsense", "/cpu:99999999999"] {
            assert!(DeviceSpec::parse(bad).is_err(), "{bad}");
        }
        let ps = DeviceSpec::parse("/job:ps").unwrap();
        assert_eq!(ps.merge(&DeviceSpec::parse("/task:1").unwrap()).unwrap().to_string(), "/job:ps/task:1");
        assert!(ps.merge(&full).is_none());
    }
}
