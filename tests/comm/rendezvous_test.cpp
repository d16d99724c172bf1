// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <meshpar/comm/rendezvous.hpp>
#include <meshpar/rules/world.hpp>

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

namespace mp = meshpar;

namespace {

using variables = std::map<std::string, std::string>;

mp::rendezvous found(const variables& env, const mp::rendezvous_arguments& said = {}) {
  return mp::find_rendezvous(said, [&](const char* name) {
    const auto at = env.find(name);
    return at == env.end() ? nullptr : at->second.c_str();
  });
}
std::string line(const variables& env, const mp::rendezvous_arguments& said = {}) {
  try {
    return describe(found(env, said));
  } catch (const std::runtime_error& e) {
    return e.what();
  }
}

const variables torchrun{{"RANK", "5"},       {"WORLD_SIZE", "8"},
                         {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "4"},
                         {"GROUP_RANK", "1"}, {"MASTER_ADDR", "10.0.0.1"}};
const variables open_mpi{{"OMPI_COMM_WORLD_RANK", "3"},
                         {"OMPI_COMM_WORLD_SIZE", "4"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "3"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                         {"PMIX_RANK", "3"}};
const variables hydra{{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "0"}, {"MPI_LOCALNRANKS", "2"}};
const variables slurm{{"SLURM_PROCID", "6"},
                      {"SLURM_NTASKS", "8"},
                      {"SLURM_LOCALID", "2"},
                      {"SLURM_NODEID", "1"},
                      {"SLURM_STEP_ID", "0"}};
const variables own{{"MESHPAR_RANK", "1"}, {"MESHPAR_WORLD_SIZE", "2"}, {"MESHPAR_LOCAL_RANK", "1"}};

variables with(variables env, const variables& more) {
  for (const auto& [name, value] : more) env[name] = value;
  return env;
}
variables without(variables env, const std::string& name) {
  env.erase(name);
  return env;
}

}  // namespace

TEST_CASE("each launcher is understood") {
  CHECK(line({}) == "rank 0 of 1, local rank 0 of 1, from one process");
  CHECK(line({}, {.rank = "1", .world_size = "2"}) == "rank 1 of 2, from arguments");
  CHECK(line(own) == "rank 1 of 2, local rank 1, from MESHPAR_RANK");
  CHECK(line(torchrun) == "rank 5 of 8, local rank 1 of 4, node 1, from torchrun");
  CHECK(line(open_mpi) == "rank 3 of 4, local rank 3 of 4, from Open MPI");
  CHECK(line(hydra) == "rank 2 of 4, local rank 0 of 2, from Hydra");
  CHECK(line(slurm) == "rank 6 of 8, local rank 2, node 1, from Slurm");
  CHECK(found(open_mpi).node == 0);  // all on one node
  CHECK(found(hydra).node == -1);
}

TEST_CASE("the first source in the order wins") {
  variables all;
  const std::pair<const variables*, const char*> order[] = {
      {&slurm, "Slurm"}, {&hydra, "Hydra"}, {&open_mpi, "Open MPI"}, {&torchrun, "torchrun"}, {&own, "MESHPAR_RANK"}};
  for (const auto& [env, source] : order) {
    all = with(all, *env);
    CHECK(found(all).source == source);
  }
  CHECK(found(all, {.rank = "0", .world_size = "1"}).source == "arguments");
}

TEST_CASE("names that others set with another meaning are not believed, and that is said") {
  CHECK(line({{"RANK", "1"}, {"WORLD_SIZE", "2"}}) ==
        "rank 0 of 1, local rank 0 of 1, from one process (WORLD_SIZE=2 is ignored: there is no LOCAL_RANK; start with "
        "torchrun, or set both RANK and WORLD_SIZE)");
  CHECK(found(with(slurm, {{"RANK", "1"}, {"WORLD_SIZE", "2"}})).source == "Slurm");
  const std::string shell = "SLURM_NTASKS=8 is ignored: ";
  CHECK(line(without(slurm, "SLURM_STEP_ID")).find(shell + "there is no SLURM_STEP_ID; start with srun") !=
        std::string::npos);
  CHECK(line(with(slurm, {{"SLURM_STEP_ID", "4294967291"}})).find(shell + "no task has this SLURM_STEP_ID") !=
        std::string::npos);
  CHECK(found(without(hydra, "MPI_LOCALRANKID")).size == 1);
}

TEST_CASE("what is incomplete, contradictory or no number is one line") {
  CHECK(line({{"MESHPAR_RANK", "3"}}) ==
        "meshpar: MESHPAR_RANK=3 is set but MESHPAR_WORLD_SIZE is not; set both MESHPAR_RANK and MESHPAR_WORLD_SIZE");
  CHECK(line({{"MESHPAR_WORLD_SIZE", "8"}}) ==
        "meshpar: MESHPAR_WORLD_SIZE=8 is set but MESHPAR_RANK is not; set both MESHPAR_RANK and MESHPAR_WORLD_SIZE");
  CHECK(line({}, {.rank = "3"}) ==
        "meshpar: --rank=3 is set but --world-size is not; give both --rank and --world-size");
  CHECK(line({{"MESHPAR_LOCAL_RANK", "0"}}).find("MESHPAR_WORLD_SIZE is not; set both") != std::string::npos);
  CHECK(line(with(torchrun, {{"RANK", "8"}})) ==
        "meshpar: RANK=8 is not below WORLD_SIZE=8; ranks count from 0: start with torchrun, or set both RANK and "
        "WORLD_SIZE");
  CHECK(
      line(with(torchrun, {{"WORLD_SIZE", "eight"}})) ==
      "meshpar: WORLD_SIZE='eight' is not a whole number from 1; start with torchrun, or set both RANK and WORLD_SIZE");
  CHECK(line(without(torchrun, "WORLD_SIZE")).starts_with("meshpar: RANK=5 is set but WORLD_SIZE is not; "));
  for (const char* bad : {"-1", "", " 1", "1 ", "1.0", "0x1", "99999999999", "1\n"})
    CHECK_MESSAGE(line(with(open_mpi, {{"OMPI_COMM_WORLD_RANK", bad}})).find(" is not a whole number from 0; ") !=
                      std::string::npos,
                  bad);
  CHECK(line(with(torchrun, {{"LOCAL_RANK", "4"}}))
            .starts_with("meshpar: LOCAL_RANK=4 is not below LOCAL_WORLD_SIZE=4: "));
  CHECK(line(with(torchrun, {{"LOCAL_WORLD_SIZE", "9"}}))
            .starts_with("meshpar: LOCAL_WORLD_SIZE=9 is above WORLD_SIZE=8: "));
  CHECK(line(with(slurm, {{"SLURM_LOCALID", "8"}}))
            .starts_with("meshpar: SLURM_LOCALID=8 is not below SLURM_NTASKS=8: "));
  CHECK(line(with(own, {{"MESHPAR_WORLD_SIZE", "0"}}))
            .starts_with("meshpar: MESHPAR_WORLD_SIZE=0 is not a whole number from 1"));
  const std::string hostile = line(with(own, {{"MESHPAR_RANK", std::string(5000, '\n')}}));
  CHECK(hostile.size() < 300);
  CHECK(hostile.find('\n') == std::string::npos);
}

TEST_CASE("the address of rank 0") {
  CHECK(found(torchrun).master_address == "10.0.0.1");
  CHECK(found(torchrun).master_port == 29500);
  CHECK(found(with(torchrun, {{"MASTER_PORT", "1234"}})).master_port == 1234);
  CHECK(found(with(slurm, {{"MASTER_ADDR", "a"}, {"MESHPAR_MASTER_ADDR", "b"}})).master_address == "b");
  CHECK(found(slurm, {.master_address = "c", .master_port = "7"}).master_port == 7);
  CHECK(found(slurm).master_address.empty());
  CHECK(found(slurm).master_port == 0);
  // The agent of torchrun listens there itself.
  CHECK(found(with(torchrun, {{"MASTER_PORT", "1234"}, {"TORCHELASTIC_USE_AGENT_STORE", "True"}})).master_port == 1235);
  for (const char* bad : {"0", "65536", "http", ""})
    CHECK(line(with(torchrun, {{"MASTER_PORT", bad}})).find("is not a port; set it to a number from 1 to 65535") !=
          std::string::npos);
  CHECK(line(with(torchrun, {{"MASTER_ADDR", ""}})) == "meshpar: MASTER_ADDR='' is empty; unset it or give it a value");
  CHECK(found(with(own, {{"MESHPAR_TOKEN", "secret"}})).token == "secret");
  CHECK(line(with(own, {{"MESHPAR_TOKEN", "secret"}})).find("secret") == std::string::npos);
}

TEST_CASE("the rule of the plan speaks of what was found") {
  const mp::plan eight{.dp = 2, .tp = 4};
  const mp::verdict v = mp::world_size_matches_plan(eight, found(open_mpi).size);
  CHECK(v.why == "ranks (4) are not pp * dp * cp * tp = 1 * 2 * 1 * 4 = 8; start 8 ranks");
  CHECK(mp::world_size_matches_plan(eight, found(torchrun).size).holds());
}
