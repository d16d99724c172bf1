// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "foreign.hpp"

namespace meshpar_tools {

// The keys of a DeepSpeed configuration. The value "auto" counts as not given.
inline constexpr foreign_entry deepspeed_keys[] = {
    {"train_batch_size", takes::one, means::read},
    {"train_micro_batch_size_per_gpu", takes::one, means::read},
    {"gradient_accumulation_steps", takes::one, means::read},
    {"zero_optimization.stage", takes::one, means::sets, "zero"},
    {"zero_optimization.zero_hpz_partition_size", takes::one, means::unsupported,
     "a second copy of the weights in each node is not checked", "1"},
    {"zero_optimization.mics_shard_size", takes::one, means::unsupported,
     "sharding over a part of dp cannot be said; checked over all of it", "-1"},
    {"zero_optimization.*"},
    {"bf16.enabled", takes::one, means::sets, "precision.param", "bf16"},
    {"bf16.*"},
    {"fp16.enabled", takes::one, means::read},
    {"fp16.*"},
    {"amp.enabled", takes::one, means::read},
    {"amp.*"},
    {"data_types.grad_accum_dtype", takes::one, means::sets, "precision.grad", "fp32=f32 bf16=bf16 fp16=?"},
    {"communication_data_type", takes::one, means::sets, "precision.reduce", "fp32=f32 bf16=bf16 bfp16=bf16 fp16=?"},
    {"seq_parallel_communication_data_type"},
    {"tensor_parallel.autotp_size", takes::one, means::read},
    {"tensor_parallel.*"},
    {"sequence_parallel_size", takes::one, means::unsupported,
     "DeepSpeed's sequence parallelism is cp with the exchange of heads here; give --cp and --context-exchange heads",
     "1"},
    {"pipeline.*", takes::one, means::unsupported, "stages are not read from here; give --pp and --stage-layers"},
    {"activation_checkpointing.*"},
    {"gradient_clipping"},
    {"prescale_gradients"},
    {"gradient_predivide_factor"},
    {"sparse_gradients"},
    {"optimizer.*"},
    {"scheduler.*"},
    {"steps_per_print"},
    {"wall_clock_breakdown"},
    {"dump_state"},
    {"memory_breakdown"},
    {"flops_profiler.*"},
    {"comms_logger.*"},
    {"tensorboard.*"},
    {"wandb.*"},
    {"csv_monitor.*"},
    {"monitor_config.*"},
    {"checkpoint.*"},
    {"aio.*"},
    {"zero_allow_untested_optimizer"},
    {"zero_force_ds_cpu_optimizer"},
    {"disable_allgather"},
    {"elasticity.*", takes::one, means::unsupported, "a batch that changes with the number of ranks is not checked"},
    {"compression_training.*", takes::one, means::unsupported, "weights in fewer bits are not checked"},
};

}  // namespace meshpar_tools
