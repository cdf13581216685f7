//! Launchers of MPI processes, recognised by their environment variables.

use std::ffi::OsString;

struct Known {
    name: &'static str,
    size: &'static str,
    rank: &'static str,
    libraries: &'static [&'static str],
}

const OPEN_MPI: &[&str] = &["libmpi.so.40"];
const MPICH: &[&str] = &["libmpi_abi.so.1", "libmpi.so.12", "libmpich.so.12"];
pub(crate) const ANY: &[&str] = &["libmpi_abi.so.1", "libmpi.so.40", "libmpi.so.12", "libmpich.so.12"];

/// The first one whose variables are set: mpirun also runs in jobs of Slurm. Not `SLURM_NTASKS`: batch scripts have it too.
static LAUNCHERS: &[Known] = &[
    Known {
        name: "mpirun of Open MPI",
        size: "OMPI_COMM_WORLD_SIZE",
        rank: "OMPI_COMM_WORLD_RANK",
        libraries: OPEN_MPI,
    },
    Known {
        name: "a PMI launcher (mpirun of MPICH, srun)",
        size: "PMI_SIZE",
        rank: "PMI_RANK",
        libraries: MPICH,
    },
    Known { name: "srun", size: "SLURM_STEP_NUM_TASKS", rank: "SLURM_PROCID", libraries: ANY },
];

/// Set by a launcher that understands only libraries with PMIx: `srun --mpi=pmix`.
const PMIX: &str = "PMIX_RANK";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launcher {
    pub name: &'static str,
    pub size: u32,
    pub rank: u32,
    pub(crate) libraries: &'static [&'static str],
}

impl Launcher {
    pub fn recognise(variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let number = |name: &str| variable(name)?.to_str()?.parse::<u32>().ok();
        LAUNCHERS.iter().find_map(|known| {
            let (size, rank) = (number(known.size)?, number(known.rank)?);
            let libraries = if variable(PMIX).is_some() { OPEN_MPI } else { known.libraries };
            Some(Self { name: known.name, size, rank, libraries })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launcher(variables: &[(&str, &str)]) -> Option<Launcher> {
        Launcher::recognise(|name| {
            variables.iter().find_map(|(set, value)| (*set == name).then(|| (*value).into()))
        })
    }

    #[test]
    fn launchers_are_distinguished() {
        let of = |variables: &[(&str, &str)]| {
            launcher(variables).map(|found| (found.name, found.size, found.rank, found.libraries))
        };
        assert_eq!(of(&[]), None);
        let open_mpi = [("OMPI_COMM_WORLD_SIZE", "4"), ("OMPI_COMM_WORLD_RANK", "3"), ("PMIX_RANK", "3")];
        assert_eq!(of(&open_mpi), Some(("mpirun of Open MPI", 4, 3, OPEN_MPI)));
        let hydra =
            [("PMI_SIZE", "2"), ("PMI_RANK", "0"), ("SLURM_STEP_NUM_TASKS", "1"), ("SLURM_PROCID", "0")];
        assert_eq!(of(&hydra), Some(("a PMI launcher (mpirun of MPICH, srun)", 2, 0, MPICH)));
        let slurm = [("SLURM_STEP_NUM_TASKS", "8"), ("SLURM_PROCID", "5")];
        assert_eq!(of(&slurm), Some(("srun", 8, 5, ANY)));
        assert_eq!(of(&[slurm[0], slurm[1], ("PMIX_RANK", "5")]), Some(("srun", 8, 5, OPEN_MPI)));
    }

    #[test]
    fn batch_scripts_and_damaged_variables_are_no_launcher() {
        assert_eq!(launcher(&[("SLURM_NTASKS", "8"), ("SLURM_PROCID", "0")]), None);
        assert_eq!(launcher(&[("PMI_SIZE", "four"), ("PMI_RANK", "0")]), None);
        assert_eq!(launcher(&[("PMI_SIZE", "4")]), None);
    }
}
