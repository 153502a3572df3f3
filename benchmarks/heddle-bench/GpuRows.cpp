//===- GpuRows.cpp - what rows for GPUs hold beside the others' -----------===//

#include "GpuRows.h"
#include "Table.h"
#include "Timing.h"

#include "common/EmulatorReport.h"
#include "heddle/Target/GpuImages.h"

#include <cstring>
#include <map>

namespace heddle::bench {

Status runOnEmulator(const Function &function, const Program &program,
                     const std::vector<void *> &args,
                     const std::vector<void *> &results, Session &session,
                     Row &row, std::vector<HostTensor> &outputs) {
  EmulatorDeviceOptions options;
  options.sanitizers = session.options.sanitizers;
  options.threads = session.options.threads;
  options.target = session.options.target;
  std::unique_ptr<EmulatorExecutable> executable;
  if (Status s =
          EmulatorExecutable::load(function, program, options, executable);
      !s)
    return Status::error("load: " + s.message);
  EmulatorRuns runs;
  runs.target = executable->target();
  runs.sanitizers = options.sanitizers;
  // A run writes over donated arguments: each starts from the same ones.
  std::map<int64_t, std::vector<char>> donated;
  for (const NamedTensorType &result : function.results)
    if (result.alias >= 0) {
      const char *begin = static_cast<const char *>(args[result.alias]);
      donated[result.alias].assign(begin, begin + result.type.byteSize());
    }
  Stopwatch watch;
  for (int i = 0; i < session.options.seeds; ++i) {
    for (const auto &[argument, bytes] : donated)
      std::memcpy(args[argument], bytes.data(), bytes.size());
    uint64_t seed = static_cast<uint64_t>(i);
    session.progress("emulating, seed " + std::to_string(seed));
    executable->setSeed(seed);
    if (Status s = executable->run(args.data(), results.data()); !s)
      return Status::error("run: seed " + std::to_string(seed) + ": " +
                           s.message);
    runs.seeds.push_back(seed);
    for (size_t r = 0; r < function.results.size(); ++r) {
      HostTensor value(function.results[r].type);
      std::memcpy(value.bytes.data(), results[r], value.bytes.size());
      if (i == 0)
        outputs.push_back(std::move(value));
      else if (value.bytes != outputs[r].bytes)
        return Status::error("run: expected the same result for every order of "
                             "warps, got others with seeds 0 and " +
                             std::to_string(seed));
    }
  }
  runs.kernels = executable->reports();
  row["emulator_s"] = watch.seconds();
  row["sanitizers"] = sanitizerNames(runs.sanitizers);
  row["seeds"] = runs.seeds;
  row["checked_accesses"] = runs.checkedAccesses();
  row["counters"] = sumCounters(runs);
  return Status();
}

/// "sm_80 k: 16 bytes of spills, 32 of stack", or "" for a kernel that has
/// none.
static std::string excess(const GpuImage &image, const GpuKernel &k) {
  if (k.spillBytes <= 0 && k.stackBytes <= 0)
    return "";
  return image.target + " " + k.symbol + ": " + std::to_string(k.spillBytes) +
         " bytes of spills, " + std::to_string(k.stackBytes) + " of stack";
}

Status storeKernels(const Function &function, Row &row) {
  Row kernels = Row::array();
  std::string bad;
  for (const GpuImage &image : function.images) {
    for (const GpuKernel &k : image.kernels) {
      if (k.registers < 0)
        return Status::error("kernels: expected ptxas to assemble the kernels, "
                             "found none that can; install the CUDA toolkit or "
                             "set CUDA_HOME");
      Row kernel{{"target", image.target},
                 {"name", k.symbol},
                 {"tile", k.tile},
                 {"grid", k.grid[0]},
                 {"block", k.block[0]},
                 {"registers", k.registers},
                 {"spill_bytes", k.spillBytes},
                 {"stack_bytes", k.stackBytes},
                 {"shared_bytes",
                  k.sharedBytes + std::max<int64_t>(0, k.staticSharedBytes)}};
      if (std::optional<Occupancy> o = kernelOccupancy(image.target, k)) {
        kernel["blocks_per_sm"] = o->blocksPerSM;
        kernel["occupancy"] = o->fraction;
        kernel["limited_by"] = limitName(o->limit).str();
      }
      kernels.push_back(std::move(kernel));
      std::string one = excess(image, k);
      bad += (bad.empty() || one.empty() ? "" : "; ") + one;
    }
  }
  row["kernels"] = std::move(kernels);
  return bad.empty()
             ? Status()
             : Status::error("kernels: expected no spills and no stack, got " +
                             bad);
}

void printKernels(std::ostream &out, const std::vector<Row> &rows) {
  Table table({"kernel", "target", "grid", "block", "registers", "spills",
               "stack", "shared", "occupancy"});
  bool any = false;
  for (const Row &row : rows) {
    auto kernels = row.find("kernels");
    if (kernels == row.end())
      continue;
    any = true;
    for (const Row &k : *kernels) {
      std::vector<std::string> cells;
      for (const char *key : {"name", "target", "grid", "block", "registers",
                              "spill_bytes", "stack_bytes", "shared_bytes"})
        cells.push_back(valueText(k.at(key)));
      cells.push_back(formatNumber(100 * number(k, "occupancy", 0)) + " %");
      table.add(cells);
    }
  }
  if (!any)
    return;
  out << "\n";
  table.print(out);
}

} // namespace heddle::bench
