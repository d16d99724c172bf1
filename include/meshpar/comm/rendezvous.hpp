// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <meshpar/comm/environment.hpp>

#include <utility>

namespace meshpar::inline v0 {

// Who this process is in the launched world.
struct rendezvous {
  int rank = 0, size = 1;
  int local_rank = 0, local_size = 1;  // among the processes of its node; -1: not said
  int node = 0;                        // -1: not said
  std::string master_address;          // of rank 0; "": not said
  int master_port = 0;                 // 0: not said
  std::string token;                   // what the ranks of one run show each other; "": none
  std::string source = "one process";  // who said so
  std::string ignored;                 // what looked like a world and was not believed, and why
};

// What the command line says, in its own words; nullptr: nothing.
struct rendezvous_arguments {
  const char* rank = nullptr;
  const char* world_size = nullptr;
  const char* local_rank = nullptr;
  const char* local_world_size = nullptr;
  const char* node_rank = nullptr;
  const char* master_address = nullptr;
  const char* master_port = nullptr;
  const char* token = nullptr;
};

namespace launching {

// The names under which one launcher tells a process who it is; nullptr where it has no such name. A launcher is
// believed when `rank` comes together with `witness`: others set some of these names with other meanings.
struct convention {
  const char *source, *rank, *size, *witness, *local_rank, *local_size, *node;
  const char* advice;  // what to do where it says too little
};

inline constexpr convention arguments{"arguments",    "--rank",
                                      "--world-size", nullptr,
                                      "--local-rank", "--local-world-size",
                                      "--node-rank",  "give both --rank and --world-size"};
inline constexpr convention own{"MESHPAR_RANK",       "MESHPAR_RANK",
                                "MESHPAR_WORLD_SIZE", nullptr,
                                "MESHPAR_LOCAL_RANK", "MESHPAR_LOCAL_WORLD_SIZE",
                                "MESHPAR_NODE_RANK",  "set both MESHPAR_RANK and MESHPAR_WORLD_SIZE"};
inline constexpr convention others[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK",
     "start with torchrun, or set both RANK and WORLD_SIZE"},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE", nullptr, "start with Open MPI's mpirun"},
    {"Hydra", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", nullptr,
     "start with MPICH's mpirun"},
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_ID", "SLURM_LOCALID", nullptr, "SLURM_NODEID",
     "start with srun"},
};

// Fills in what a launcher says, which must be whole.
inline rendezvous read(const convention& c, const environment& env) {
  rendezvous r;
  r.source = c.source;
  const char* spoke = env.has(c.rank) ? c.rank : env.has(c.local_rank) ? c.local_rank : c.local_size;
  r.size = env.number(c.size, 1, spoke, c.advice);
  r.rank = env.number(c.rank, 0, c.size, c.advice);
  if (r.rank >= r.size)
    throw env.refusal(c.rank, "is not below " + env.said(c.size) + "; ranks count from 0: " + c.advice);
  const int lone = r.size == 1 ? 1 : -1;
  r.local_size = env.number_or(c.local_size, 1, lone, c.advice);
  r.local_rank = env.number_or(c.local_rank, 0, r.size == 1 ? 0 : -1, c.advice);
  if (r.local_size > r.size) throw env.refusal(c.local_size, "is above " + env.said(c.size) + ": " + c.advice);
  if (r.local_rank >= (r.local_size > 0 ? r.local_size : r.size))
    throw env.refusal(
        c.local_rank,
        "is not below " + env.said(r.local_size > 0 && c.local_size ? c.local_size : c.size) + ": " + c.advice);
  r.node = env.number_or(c.node, 0, r.local_size == r.size ? 0 : -1, c.advice);
  return r;
}

// A batch script's own shell and Slurm's helpers have step numbers from here on; they are not tasks of a step.
inline constexpr const char* not_a_step[] = {"4294967290", "4294967291", "4294967292",
                                             "4294967293", "4294967294", "4294967295"};
inline bool speaks(const convention& c, const environment& env) {
  if (!c.witness) return env.has(c.rank) || env.has(c.size) || env.has(c.local_rank) || env.has(c.local_size);
  if (!env.has(c.witness)) return false;
  for (const char* number : not_a_step)
    if (env.value(c.witness) == number) return false;
  return env.has(c.rank);
}

inline rendezvous read_launcher(const environment& env) {
  if (speaks(own, env)) return read(own, env);
  std::string ignored;
  for (const convention& c : others) {
    if (speaks(c, env)) return read(c, env);
    const char* left = env.has(c.size) ? c.size : c.rank;
    if (ignored.empty() && env.has(left))
      ignored = env.said(left) + " is ignored: " + (env.has(c.witness) ? "no task has this " : "there is no ") +
                c.witness + "; " + c.advice;
  }
  rendezvous r;
  r.ignored = ignored;
  return r;
}

}  // namespace launching

// Sources in their order: arguments, MESHPAR_*, torchrun, Open MPI, Hydra, Slurm, one process. `look_up(name)` is the
// value of a variable of the environment or nullptr. What is incomplete, contradictory or no number is thrown as one
// line. The address of rank 0 may come from another source than the ranks; its port is 29500 unless said.
template <class LookUp>
rendezvous find_rendezvous(const rendezvous_arguments& said, LookUp look_up) {
  const auto argument = [&](std::string_view name) -> const char* {
    const std::pair<const char*, const char*> all[] = {{"--rank", said.rank},
                                                       {"--world-size", said.world_size},
                                                       {"--local-rank", said.local_rank},
                                                       {"--local-world-size", said.local_world_size},
                                                       {"--node-rank", said.node_rank},
                                                       {"--master-addr", said.master_address},
                                                       {"--master-port", said.master_port},
                                                       {"--token", said.token}};
    for (const auto& [key, value] : all)
      if (name == key) return value;
    return nullptr;
  };
  const auto both = [&](const char* name) -> const char* { return *name == '-' ? argument(name) : look_up(name); };
  const launching::environment env(both);
  rendezvous r = launching::speaks(launching::arguments, env) ? launching::read(launching::arguments, env)
                                                              : launching::read_launcher(env);
  r.master_address = env.first_of({"--master-addr", "MESHPAR_MASTER_ADDR", "MASTER_ADDR"});
  r.master_port = env.port_of({"--master-port", "MESHPAR_MASTER_PORT", "MASTER_PORT"});
  // torchrun's own store then listens at MASTER_PORT itself.
  if (env.value("TORCHELASTIC_USE_AGENT_STORE") == "True" && !env.has("--master-port") &&
      !env.has("MESHPAR_MASTER_PORT"))
    if (r.master_port > 0) r.master_port = r.master_port < 65535 ? r.master_port + 1 : r.master_port - 1;
  if (r.master_port == 0 && !r.master_address.empty()) r.master_port = 29500;
  r.token = env.first_of({"--token", "MESHPAR_TOKEN"});
  return r;
}

// Is this process one of those that a launcher, or the command line, has started?
inline bool by_a_launcher(const rendezvous& r) { return r.source != rendezvous{}.source; }

// rank 3 of 8, local rank 1 of 4, node 0, from torchrun
inline std::string describe(const rendezvous& r) {
  std::string s = "rank " + std::to_string(r.rank) + " of " + std::to_string(r.size);
  if (r.local_rank >= 0) s += ", local rank " + std::to_string(r.local_rank);
  if (r.local_rank >= 0 && r.local_size > 0) s += " of " + std::to_string(r.local_size);
  if (r.node > 0) s += ", node " + std::to_string(r.node);
  s += ", from " + r.source;
  return r.ignored.empty() ? s : s + " (" + r.ignored + ")";
}

}  // namespace meshpar::inline v0
